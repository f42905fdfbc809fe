"""What is on show as files for others: a report, the run table, every curve's numbers."""

from __future__ import annotations

import re
import time
from collections.abc import Generator, Sequence
from dataclasses import asdict
from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QTextDocument

from gui import theme
from gui.bridge import Bridge
from gui.controllers.curves import CurvesController
from gui.controllers.new_files import NewFiles
from gui.controllers.runs import RunsController
from gui.models.csv_files import curves_csv, runs_csv
from gui.models.report import Report, Table, to_html
from gui.models.run_columns import RunConfigs
from gui.models.run_notes import RunNotes
from gui.models.run_telemetry import TelemetryModel
from gui.models.run_words import WORDS
from gui.words import tr
from trainer_core.wire.run_record import RunRecord

MOST_BESIDE = 24
"""Runs that tables side by side have columns for."""


class Reports(QObject):
    def __init__(
        self,
        bridge: Bridge,
        telemetry: TelemetryModel,
        runs: RunsController,
        curves: CurvesController,
        configs: RunConfigs,
        notes: RunNotes,
        files: NewFiles,
    ) -> None:
        super().__init__()
        self._files = files
        self._bridge, self._telemetry, self._runs = bridge, telemetry, runs
        self._curves, self._configs, self._notes = curves, configs, notes

    def refusal(self) -> str:
        """Why there are no curves to write; empty when there are."""
        return "" if self._runs.compared() else tr("No run with curves is on show")

    def write_report(self, path: Path) -> None:
        """What is on show in *Curves*, with tables and notes, as one HTML file."""
        self._bridge.spawn(
            self._bridge.in_slices(self._reporting()),
            title=tr("The report was not written"),
            then=lambda text: self._files.write(path, text.encode, tr("Report written"), opens_file=True),
        )

    def write_curves(self, path: Path) -> None:
        """Every record of every run on show, a row each."""
        model = self._telemetry
        known = [(name, model.label(name), model.runs[name].table) for name in model.shown() if name in model.runs]
        tables = [
            (run_id, label, {metric: table.raw(metric).copy() for metric in table.names})
            for run_id, label, table in known
        ]
        self._files.write(path, lambda: curves_csv(tables).encode(), tr("Curves written"))

    def write_runs(self, run_ids: Sequence[str], path: Path) -> None:
        """A row for each of these runs, with all that it was told."""
        service = self._bridge.service
        runs = [service.runs[run_id] for run_id in run_ids if run_id in service.runs]

        def write(_: object) -> None:
            told = {run.run_id: self._configs.read(run.run_id) for run in runs}
            notes = {run.run_id: self._notes[run.run_id] for run in runs}
            self._files.write(path, lambda: runs_csv(runs, told, notes).encode(), tr("Table written"))

        self._bridge.spawn(
            self._bridge.in_slices(self._configs.reading([run.run_id for run in runs])),
            title=tr("The table was not written"),
            then=write,
        )

    # -- the report -------------------------------------------------------------------------

    def _reporting(self) -> Generator[None, None, str]:
        """The report's text, a plot a step."""
        model, known = self._telemetry, self._bridge.service.runs
        runs = [run for run in self._runs.on_show() if run.run_id in known]
        beside = runs[:MOST_BESIDE]
        report = Report(
            title=tr("Report of {count} runs", count=len(runs)),
            made=f"{time.strftime('%Y-%m-%d %H:%M')}, {self._bridge.home.root}",
            runs=[model.label(run.run_id) for run in runs],
            colors=[theme.curve_color(model.slots.get(run.run_id, 0)).name() for run in runs],
            summary=self._summary([known[run.run_id] for run in runs]),
            compared=[model.label(run.run_id) for run in beside],
            differences=self._runs.differences(beside),
            outcomes=self._runs.outcomes(beside),
        )
        report.notes = [
            (model.label(run.run_id), html_of(self._notes[run.run_id].text))
            for run in runs
            if self._notes[run.run_id].text
        ]
        yield
        for group, metrics in self._curves.on_page():
            plots: list[str] = []
            for metric in metrics:
                svg = self._curves.draw(metric, "svg").decode("utf-8")
                plots.append(svg[svg.index("<svg") :])
                yield
            report.plots.append((group, plots))
        return to_html(report, asdict(theme.current()))

    def _summary(self, runs: list[RunRecord]) -> Table:
        rows = [
            [
                tr(WORDS[run.state]),
                run.task,
                run.runner,
                f"{run.env_steps:,}",
                f"{run.best_success_rate:.3g}",
                time.strftime("%Y-%m-%d %H:%M", time.localtime(run.created_at)),
                " ".join(f"#{tag}" for tag in self._notes[run.run_id].tags),
            ]
            for run in runs
        ]
        heads = [tr("State"), tr("Task"), tr("Trainer"), tr("Steps"), tr("Best"), tr("Started"), tr("Tags")]
        return [(head, [row[place] for row in rows]) for place, head in enumerate(heads)]


def html_of(markdown: str) -> str:
    """A note as the inside of a page."""
    document = QTextDocument()
    document.setMarkdown(markdown, QTextDocument.MarkdownFeature.MarkdownNoHTML)
    found = re.search(r"<body[^>]*>(.*)</body>", document.toHtml(), re.DOTALL)
    text = found[1] if found else ""
    return re.sub(r' style="[^"]*"', "", text)  # fonts and margins are the page's
