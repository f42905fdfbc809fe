"""Exports of the runs on show: CSV (RFC 4180), pictures of plots, a report in HTML or PDF."""

from __future__ import annotations

import csv
import html
import io
import math
import re
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from PySide6.QtCore import QBuffer, QIODevice, QMarginsF, QObject, QPointF, QRectF, QSize, QSizeF, Qt
from PySide6.QtGui import QColor, QImage, QPageSize, QPainter, QPdfWriter, QTextDocument
from PySide6.QtSvg import QSvgGenerator

from gui.features.curves.card import HEAD, PlotCard
from gui.features.curves.plots import CurvesController
from gui.features.runs.columns import RunConfigs
from gui.features.runs.controller import RunsController
from gui.kit import theme
from gui.kit.painting import saved
from gui.kit.words import number, tr
from gui.state.bridge import Bridge
from gui.state.metric_series import Array
from gui.state.new_files import NewFiles
from gui.state.run_notes import Note, RunNotes
from gui.state.run_words import WORDS
from gui.state.telemetry import TelemetryModel
from trainer_core.wire.run_record import RunRecord

CSV_AXES = ("env_steps", "update", "wall_time_s")
"""Counters that are the first columns of the CSV, before the metrics."""
CONFIG_HEAD = "config."
"""Prefix of the column titles of configuration fields."""
EDGE = 12
"""Pixels beside the title of an exported plot."""
FILE_SIZE = QSize(640, 360)
"""Size of an exported plot in pixels; a PNG has twice as many."""
DOTS, PAGE_EDGE, PAGE_PLOT = 96, 48.0, 236.0
"""Dots per inch of SVG and PDF, and margin of a PDF page and height of a plot there in such dots."""
Table = list[tuple[str, list[str]]]
"""Rows of a table of runs: (field, its value for each run)."""
_STYLE = """
body {{ background: {window}; color: {text}; font: 14px/1.5 system-ui, sans-serif;
  margin: 32px auto; max-width: 1320px; padding: 0 24px; }}
h1 {{ font-weight: 500; }} h2 {{ font-weight: 500; margin-top: 32px; }}
p.muted, th {{ color: {muted}; font-weight: normal; }}
table {{ border-collapse: collapse; display: block; overflow-x: auto; }}
td, th {{ padding: 3px 12px 3px 0; text-align: left; white-space: nowrap;
  border-bottom: 1px solid {border}; font-variant-numeric: tabular-nums; }}
.plots {{ display: flex; flex-wrap: wrap; gap: 12px; }}
.plots svg {{ max-width: 100%; height: auto; }}
a {{ color: {accent}; }}
"""
MOST_BESIDE = 24
"""Most runs in a table with one column per run."""


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
        """Return why no curves can be exported now; empty when they can."""
        return "" if self._runs.compared() else tr("No run with curves is shown")

    def write_report(self, path: Path) -> None:
        """Write the curves on show, with tables of the runs and their notes, to `path`: PDF by its name, else HTML."""
        is_pdf = path.suffix.lower() == ".pdf"
        self._bridge.spawn(
            self._bridge.in_slices(self._pdf() if is_pdf else self._html()),
            title=tr("The report was not saved"),
            then=lambda content: self._files.write(path, lambda: content, tr("Report saved"), opens_file=True),
        )

    def write_curves(self, path: Path) -> None:
        """Write all records of the runs on show as CSV to `path`, one row per record."""
        tables = run_tables(self._telemetry)
        self._files.write(path, lambda: curves_csv(tables).encode(), tr("Curves saved"))

    def write_runs(self, run_ids: Sequence[str], path: Path) -> None:
        """Write a CSV table to `path` with one row per given run, including its configuration."""
        service = self._bridge.service
        runs = [service.runs[run_id] for run_id in run_ids if run_id in service.runs]

        def write(_: object) -> None:
            told = {run.run_id: self._configs.read(run.run_id) for run in runs}
            notes = {run.run_id: self._notes[run.run_id] for run in runs}
            self._files.write(path, lambda: runs_csv(runs, told, notes).encode(), tr("Table saved"))

        self._bridge.spawn(
            self._bridge.in_slices(self._configs.reading([run.run_id for run in runs])),
            title=tr("The table was not saved"),
            then=write,
        )

    # -- the report -------------------------------------------------------------------------

    def _report(self, theme_name: str) -> Report:
        model, known = self._telemetry, self._bridge.service.runs
        runs = [run for run in self._runs.on_show() if run.run_id in known]
        beside = runs[:MOST_BESIDE]
        return Report(
            title=tr("Report of {count} runs", count=len(runs)),
            made=f"{time.strftime('%Y-%m-%d %H:%M')}, {self._bridge.home.root}",
            runs=[model.label(run.run_id) for run in runs],
            colors=[theme.curve_color(model.slots.get(run.run_id, 0), theme_name).name() for run in runs],
            summary=self._summary([known[run.run_id] for run in runs]),
            compared=[model.label(run.run_id) for run in beside],
            differences=self._runs.differences(beside),
            outcomes=self._runs.outcomes(beside),
            notes=[
                (model.label(run.run_id), html_of(self._notes[run.run_id].text))
                for run in runs
                if self._notes[run.run_id].text
            ],
        )

    def _html(self) -> Generator[None, None, bytes]:
        """Return the report as HTML; yields after each plot, so that it can run in slices on the event loop."""
        report = self._report("")
        yield
        for group, metrics in self._curves.on_page():
            plots: list[str] = []
            for metric in metrics:
                svg = self._curves.draw(metric, "svg").decode("utf-8")
                plots.append(svg[svg.index("<svg") :])
                yield
            report.plots.append((group, plots))
        return to_html(report, asdict(theme.current())).encode()

    def _pdf(self) -> Generator[None, None, bytes]:
        """Return the report as PDF on pages of A4 in the light theme; yields after each plot."""
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        report = self._report("light")
        writer = QPdfWriter(buffer)
        writer.setTitle(report.title)
        writer.setResolution(DOTS)
        writer.setPageSize(QPageSize(QPageSize.PageSizeId.A4))
        writer.setPageMargins(QMarginsF())
        with QPainter(writer) as painter:
            page = QRectF(0, 0, writer.width(), writer.height()).marginsRemoved(QMarginsF(*[PAGE_EDGE] * 4))
            document = QTextDocument()
            document.setDefaultFont(theme.ui_font())
            document.setHtml(to_html(report, {**asdict(theme.colors("light")), "window": "#ffffff"}))
            shrunk = min(1.0, page.width() / document.idealWidth())  # a table with a column a run may be wide
            size = page.size() / shrunk
            document.setPageSize(size)
            for number in range(document.pageCount()):
                if number:
                    writer.newPage()
                with saved(painter):
                    painter.translate(page.topLeft())
                    painter.scale(shrunk, shrunk)
                    painter.translate(0, -number * size.height())
                    document.drawContents(painter, QRectF(0, number * size.height(), size.width(), size.height()))
            yield
            y = math.inf
            for metric in [metric for _, metrics in self._curves.on_page() for metric in metrics]:
                if y + PAGE_PLOT > page.bottom():
                    writer.newPage()
                    y = page.y()
                area = QRectF(page.x(), y, page.width(), PAGE_PLOT)
                if paint_plot(self._curves.card_of(metric), painter, area, "light"):
                    y += PAGE_PLOT + EDGE
                yield
        return bytes(buffer.data().data())

    def _summary(self, runs: list[RunRecord]) -> Table:
        rows = [
            [
                tr(WORDS[run.state]),
                run.task,
                run.runner,
                number(run.env_steps),
                number(run.best_success_rate, ".0%"),
                time.strftime("%Y-%m-%d %H:%M", time.localtime(run.created_at)),
                " ".join(f"#{tag}" for tag in self._notes[run.run_id].tags),
            ]
            for run in runs
        ]
        heads = [tr("State"), tr("Task"), tr("Trainer"), tr("Steps"), tr("Best success"), tr("Started"), tr("Tags")]
        return [(head, [row[place] for row in rows]) for place, head in enumerate(heads)]


def html_of(markdown: str) -> str:
    """Convert a Markdown note to HTML without the page around it."""
    document = QTextDocument()
    document.setMarkdown(markdown, QTextDocument.MarkdownFeature.MarkdownNoHTML)
    found = re.search(r"<body[^>]*>(.*)</body>", document.toHtml(), re.DOTALL)
    text = found[1] if found else ""
    return re.sub(r' style="[^"]*"', "", text)  # fonts and margins are the page's


def runs_csv(runs: Sequence[RunRecord], configs: Mapping[str, Mapping[str, str]], notes: Mapping[str, Note]) -> str:
    """Return a CSV table with one row per run: identity, progress, notes, and all configuration fields.

    `configs` and `notes` are by run id.
    """
    fields = list(dict.fromkeys(name for run in runs for name in configs.get(run.run_id, {})))
    head = ["run_id", "name", "state", "reason", "task", "trainer", "algo", "device", "steps",
            "best", "started", "ended", "tags", "notes"]  # fmt: skip
    rows = [[*head, *(CONFIG_HEAD + name for name in fields)]]
    for run in runs:
        told, note = configs.get(run.run_id, {}), notes.get(run.run_id, Note())
        rows.append([
            run.run_id, run.name, run.state, run.reason, run.task, run.runner, run.algo, run.device,
            str(run.env_steps), f"{run.best_success_rate:.10g}", _time(run.created_at),
            _time(run.finished_at), " ".join(note.tags), note.text,
            *(told.get(name, "") for name in fields),
        ])  # fmt: skip
    return _text(rows)


def run_tables(model: TelemetryModel, names: Sequence[str] = ()) -> list[tuple[str, str, dict[str, Array]]]:
    """Return (id, name, f64[records] by metric) of the runs on show, for `curves_csv`; all metrics without `names`."""
    runs = [model.runs[name] for name in model.shown() if name in model.runs]
    return [
        (run.run_id, model.label(run.run_id), {name: run.table.raw(name).copy() for name in names or run.table.names})
        for run in runs
    ]


def curves_csv(runs: Sequence[tuple[str, str, Mapping[str, Array]]]) -> str:
    """Return a CSV table with one row per record of each run; missing values are empty cells.

    A run is (id, name, f64[records] by metric).
    """
    every = list(dict.fromkeys(metric for _, _, columns in runs for metric in columns))
    head = [*(name for name in CSV_AXES if name in every), *(n for n in every if n not in CSV_AXES)]
    rows = [["run_id", "name", *head]]
    for run_id, name, columns in runs:
        length = max(map(len, columns.values()), default=0)
        texts = [_number_texts(columns[metric]) if metric in columns else [""] * length for metric in head]
        rows += [[run_id, name, *values] for values in zip(*texts, strict=True)]
    return _text(rows)


def _number_texts(values: Array) -> list[str]:
    missing = np.isnan(values).tolist()
    return ["" if is_missing else f"{value:.10g}" for value, is_missing in zip(values.tolist(), missing, strict=True)]


def _time(when: float) -> str:
    """Return a time, in seconds since 1970, as ISO 8601 in UTC; "" for zero."""
    return datetime.fromtimestamp(when, UTC).isoformat(timespec="seconds") if when else ""


def _text(rows: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()


def paint_plot(card: PlotCard, painter: QPainter, area: QRectF, theme_name: str = "") -> bool:
    """Paint the title and the whole plot of a card that is in no window; return False if no run measures it."""
    plot = card.file_plot(round(area.width()), round(area.height()), theme_name)
    if plot is None:
        return False
    colors = theme.colors(plot.shown.theme)
    painter.fillRect(area, QColor(colors.base))
    font = theme.ui_font()
    font.setBold(True)
    painter.setFont(font)
    painter.setPen(QColor(colors.text))
    row = QRectF(area.x() + EDGE, area.y(), area.width() - 2 * EDGE, HEAD)
    text = painter.fontMetrics().elidedText(card.spec.title, Qt.TextElideMode.ElideMiddle, int(row.width() * 0.6))
    painter.drawText(row, Qt.AlignmentFlag.AlignVCenter, text)
    row.setLeft(row.left() + painter.fontMetrics().horizontalAdvance(text) + EDGE)
    painter.setFont(theme.small_font())
    painter.setPen(QColor(colors.muted))
    painter.drawText(row, Qt.AlignmentFlag.AlignVCenter, card.line_words())
    plot.draw(painter, area.adjusted(0, HEAD, 0, 0))
    return True


def to_image(card: PlotCard, ratio: float = 2.0) -> QImage:
    image = QImage(FILE_SIZE * ratio, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(ratio)
    image.fill(QColor(theme.current().base))
    with QPainter(image) as painter:
        paint_plot(card, painter, QRectF(QPointF(), QSizeF(FILE_SIZE)))
    return image


def to_png(card: PlotCard) -> bytes:
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    to_image(card).save(buffer, "PNG")  # type: ignore[call-overload]
    return bytes(buffer.data().data())


def to_svg(card: PlotCard) -> bytes:
    buffer, area = QBuffer(), QRectF(QPointF(), QSizeF(FILE_SIZE))
    generator = QSvgGenerator()
    generator.setResolution(DOTS)
    generator.setOutputDevice(buffer)
    generator.setSize(FILE_SIZE)
    generator.setViewBox(area)
    generator.setTitle(card.spec.title)
    with QPainter(generator) as painter:
        paint_plot(card, painter, area)
    family = theme.ui_font().family().encode()
    return bytes(buffer.data().data()).replace(
        b'"%b"' % family, b'"%b, sans-serif"' % family
    )  # it may be missing there


@dataclass
class Report:
    title: str
    made: str
    """Text with the time of writing and the home folder."""
    runs: list[str] = field(default_factory=list)
    """Names of all runs of the report; values in the summary are in this order."""
    colors: list[str] = field(default_factory=list)
    summary: Table = field(default_factory=list)
    compared: list[str] = field(default_factory=list)
    """Names of the runs that have a column in the tables of settings and results."""
    differences: Table = field(default_factory=list)
    outcomes: Table = field(default_factory=list)
    notes: list[tuple[str, str]] = field(default_factory=list)
    """(run name, note as HTML) of each run that has a note."""
    plots: list[tuple[str, list[str]]] = field(default_factory=list)
    """(group title, SVG of each plot)."""


def to_html(report: Report, colors: Mapping[str, str]) -> str:
    """Return the report as one HTML file without external files.

    `colors` are by field name of `gui.kit.style_sheet.Colors`.
    """
    style = _STYLE.format_map(colors)
    parts = [
        "<!doctype html>",
        '<html><head><meta charset="utf-8">',
        f"<title>{html.escape(report.title)}</title>",
        f"<style>{style}</style></head><body>",
        f"<h1>{html.escape(report.title)}</h1>",
        f'<p class="muted">{html.escape(report.made)}</p>',
        f"<h2>{tr('Runs')}</h2>",
        _by_run(report),
    ]
    for title, table in ((tr("Settings that differ"), report.differences), (tr("Outcome"), report.outcomes)):
        if table:
            parts += [f"<h2>{html.escape(title)}</h2>", _side_by_side(report.compared, table)]
    if report.notes:
        parts.append(f"<h2>{tr('Notes')}</h2>")
        parts += [f"<h3>{html.escape(name)}</h3>{text}" for name, text in report.notes]
    for group, plots in report.plots:
        parts += [f"<h2>{html.escape(group)}</h2>", '<div class="plots">', *plots, "</div>"]
    return "\n".join([*parts, "</body></html>", ""])


def _by_run(report: Report) -> str:
    """Return an HTML table with one row per run, marked with the colour of the run's curves."""
    head = "".join(f"<th>{html.escape(name)}</th>" for name, _ in report.summary)
    rows = [f"<tr><th></th><th>{tr('Run')}</th>{head}</tr>"]
    for place, (name, color) in enumerate(zip(report.runs, report.colors, strict=True)):
        cells = _cells([values[place] for _, values in report.summary])
        swatch = f'<td><span style="color:{color}">&#9679;</span></td>'
        rows.append(f"<tr>{swatch}<td>{html.escape(name)}</td>{cells}</tr>")
    return f"<table>{''.join(rows)}</table>"


def _side_by_side(runs: Sequence[str], table: Table) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in runs)
    rows = [f"<tr><th>{html.escape(name)}</th>{_cells(values)}</tr>" for name, values in table]
    return f"<table><tr><th></th>{head}</tr>{''.join(rows)}</table>"


def _cells(values: Sequence[str]) -> str:
    # Qt gives the heading after a table that ends with an empty cell no margin.
    return "".join(f"<td>{html.escape(value) or '&nbsp;'}</td>" for value in values)
