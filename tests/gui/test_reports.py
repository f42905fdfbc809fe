"""What is on show as files: a report as one page, the run table, every record of every curve."""

# pyright: reportOptionalMemberAccess=false
from __future__ import annotations

import csv
import io
import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QFileDialog

from gui.app import App
from gui.features.curves.dock import TelemetryDock
from gui.features.curves.reports import html_of
from gui.features.runs.controller import RunsController
from gui.features.runs.model import RunList
from gui.kit import object_names as names
from gui.kit.plot_picture import clipped
from gui.kit.plot_shapes import Curve
from gui.state.notices import Notices
from gui.state.run_notes import Note
from gui.state.session import Navigation, Place
from gui.state.telemetry import TelemetryModel
from tests.gui.conftest import QtBot, find, foreign_record, replaced, show_dock
from tests.support.made_records import run_record, update_record
from trainer_core.wire import records
from trainer_core.wire.run_record import RunState


def put(app: App, run_id: str, rate: float, *log: records.Record) -> None:
    paths = app.bridge.home.run(run_id)
    paths.root.mkdir(parents=True)
    config = {"rate": rate, "envs": 8}
    meta = records.MetaRecord(run_id=run_id, seq=0, time=1.0, runner="native", task="t", config=config)
    lines = [meta, *(replaced(record, seq=seq) for seq, record in enumerate(log, 1))]
    paths.train_log.write_bytes(b"".join(map(records.encode, lines)))
    paths.config.write_text(f'{{"run": {{"rate": {rate}}}}}')
    app.bridge.service.runs[run_id] = run_record(run_id, RunState.FINISHED, env_steps=5)
    app[RunList].put(app.bridge.service.runs[run_id])


@pytest.fixture
def two(qtbot: QtBot, app: App) -> App:
    """Two runs on show, of two trainers, one with a note and a name that is no HTML."""
    app[Navigation].show(Place.CURVES)
    put(app, "r-aaaa", 0.1, *(update_record("r-aaaa", 0, update, 9.0) for update in (1, 2, 3)))
    put(app, "r-bbbb", 0.2, *(foreign_record(seq, **{"x/loss": seq / 2}) for seq in range(4)))
    app[RunsController].show("r-aaaa")
    app[RunsController].annotate("a <b> & c", Note(("keep",), "It **learned**: <i>see</i> below"))
    app[RunsController].show_all(["r-aaaa", "r-bbbb"])
    qtbot.waitUntil(lambda: all(run_id in app[TelemetryModel].runs for run_id in ("r-aaaa", "r-bbbb")))
    return app


def written(qtbot: QtBot, app: App, monkeypatch: pytest.MonkeyPatch, action: str, path: Path) -> str:
    told: list[object] = []
    app[Notices].told.connect(told.append)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *asked: (str(path), ""))
    app.actions[action].trigger()
    qtbot.waitUntil(lambda: told)
    assert path.parent.joinpath(f".{path.name}.partial").exists() is False
    return path.read_text("utf-8")


def test_a_report_has_runs_tables_notes_and_the_plots_on_the_page(
    qtbot: QtBot, two: App, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    find(two, "plotFilter").setText("x/loss|reward_mean")
    text = written(qtbot, two, monkeypatch, "writeReport", tmp_path / "report.html")
    assert text.count("<svg") == 2 == text.count("</svg>"), "a loss and the reward"
    for part in text.split("<svg")[1:]:
        ElementTree.fromstring("<svg" + part.partition("</svg>")[0] + "</svg>")
    assert "a &lt;b&gt; &amp; c" in text
    assert "<b> & c" not in text
    assert "#keep" in text
    assert "<tr><th>rate</th><td>0.1</td><td>0.2</td></tr>" in text
    assert "<th>envs</th>" not in text, "both were told the same"
    assert "<tr><th>x/loss</th><td>-</td><td>1.5</td></tr>" in text
    assert ">learned</span>" in text
    assert "<i>" not in text, "a note is Markdown, not HTML"
    assert "http" not in text.replace("http://www.w3.org", ""), "it needs nothing from elsewhere"


def test_a_report_by_a_name_of_pdf_is_one_with_a_page_for_tables_and_more_for_plots(
    qtbot: QtBot, two: App, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "report.pdf"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *asked: (str(path), ""))
    two.actions["writeReportPdf"].trigger()
    qtbot.waitUntil(path.is_file)
    content = path.read_bytes()
    assert content.startswith(b"%PDF")
    assert content.count(b"/Type /Page\n") >= 2 < len(content) // 10_000


def test_a_curve_in_a_file_ends_at_the_edges_of_its_plot() -> None:
    curve = Curve(("r",), np.empty(0), np.empty(0), QColor("red"))
    points = np.array([[0.0, 5.0], [10.0, 5.0], [10.0, 25.0], [12.0, 25.0], [12.0, 5.0], [30.0, 5.0]])
    pieces = clipped(curve, points, QRectF(5, 0, 20, 10))
    assert [piece.tolist() for piece in pieces] == [[[5, 5], [10, 5], [10, 10]], [[12, 10], [12, 5], [25, 5]]]


def test_every_record_and_every_run_go_into_tables(
    qtbot: QtBot, two: App, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = written(qtbot, two, monkeypatch, "curvesCsv", tmp_path / "curves.csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["run_id"] for row in rows] == ["r-aaaa"] * 3 + ["r-bbbb"] * 4
    assert [row["x/loss"] for row in rows] == ["", "", "", "0", "0.5", "1", "1.5"]
    assert float(rows[2]["env_steps"]) == 3 * 2048
    assert rows[6]["reward_mean"] == ""
    text = written(qtbot, two, monkeypatch, "runsCsv", tmp_path / "runs.csv")
    table = {row["run_id"]: row for row in csv.DictReader(io.StringIO(text))}
    assert table["r-aaaa"]["name"] == "a <b> & c"
    assert (table["r-aaaa"]["tags"], table["r-aaaa"]["steps"]) == ("keep", "5")
    assert {row["config.rate"] for row in table.values()} == {"0.1", "0.2"}


def test_a_note_is_markdown_beside_the_run(qtbot: QtBot, two: App) -> None:
    show_dock(qtbot, two, names.TELEMETRY_DOCK)
    two[TelemetryDock].tabs.setCurrentWidget(two[TelemetryDock].info)
    note = find(two, "runNote")
    qtbot.waitUntil(note.isVisible)
    assert note.text().startswith("It **learned**")
    two[RunsController].show("r-bbbb")
    qtbot.waitUntil(lambda: not note.isVisible())
    assert "<li>b</li>" in html_of("# A\n- b")


def test_a_place_that_cannot_be_written_is_named_and_another_is_asked_for(
    qtbot: QtBot, two: App, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "no_folder").touch()
    pipe, device = tmp_path / "pipe", tmp_path / "device"
    os.mkfifo(pipe)
    device.symlink_to("/dev/null")
    refused = {
        tmp_path / "no_folder" / "report.html": "Not a directory",
        pipe: "is no regular file",
        device: "is no regular file",
    }
    places = [*refused, tmp_path / "other.html"]
    asked: list[str] = []

    def choose(parent: object, title: str, name: str) -> tuple[str, str]:
        asked.append(Path(name).name)
        return str(places[len(asked) - 1]), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", choose)
    two.actions["writeReport"].trigger()
    for path, why in refused.items():
        said = f"The file was not saved: {path}: {why}; name another file"
        qtbot.waitUntil(lambda said=said: [b for b in two.window.banners.banners if b.accessibleName() == said])
        two.window.banners.banners[-1].button.click()
    qtbot.waitUntil(lambda: places[-1].is_file())
    assert asked == ["report.html", "report.html", "pipe", "device"]
    assert list(tmp_path.glob("**/.*")) == []
    assert pipe.is_fifo()
    assert device.is_symlink()
