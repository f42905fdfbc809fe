"""A failed paint is told once, and never leaves a dead window."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import qInstallMessageHandler
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPixmap
from PySide6.QtWidgets import QApplication, QStyledItemDelegate, QWidget

import gui
from gui.app import App
from gui.features.curves.dock import TelemetryDock
from gui.features.log.dock import LogDock
from gui.features.roll.piano_roll import PianoRoll
from gui.kit import object_names as names
from gui.kit.painting import PLACEHOLDER, guarded, guarded_item
from gui.kit.plot_overlay import Overlay
from gui.state.telemetry import TelemetryModel
from tests.gui.conftest import QtBot, find, foreign_record, show_dock

SOURCES = sorted(Path(gui.__file__).parent.rglob("*.py"))


def name_of(node: ast.expr) -> str:
    """The last word of a call's or a decorator's name."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def decorated(node: ast.FunctionDef) -> set[str]:
    return {name_of(one) for one in node.decorator_list}


def faults(path: Path) -> Iterator[str]:
    """Places of a module that paint without the border."""
    tree = ast.parse(path.read_text("utf-8"))
    opened = {id(item.context_expr) for node in ast.walk(tree) if isinstance(node, ast.With) for item in node.items}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            is_item = node.name == "paint" and "painter" in {one.arg for one in node.args.args}
            if node.name == "paintEvent" and "guarded" not in decorated(node):
                yield f"{path.name}:{node.lineno}: paintEvent is not @guarded"
            elif is_item and "guarded_item" not in decorated(node):
                yield f"{path.name}:{node.lineno}: paint of an item is not @guarded_item"
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called == "QPainter" and id(node) not in opened:
                yield f"{path.name}:{node.lineno}: QPainter is not opened by `with`"
            elif called == "painter.save" and path.name != "painting.py":
                yield f"{path.name}:{node.lineno}: painter.save without `with saved(painter)`"


def test_every_paint_has_its_border() -> None:
    found = [fault for path in SOURCES for fault in faults(path)]
    assert not found, "\n".join(found)


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """What reaches the app's border for failures that nobody expected."""
    found: list[BaseException] = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: found.append(error))
    return found


@pytest.fixture
def qt_warnings() -> Iterator[list[str]]:
    found: list[str] = []
    before = qInstallMessageHandler(lambda kind, context, text: found.append(text))
    yield found
    qInstallMessageHandler(before)


def test_a_failed_paint_is_told_once_and_shows_a_placeholder(
    qapp: QApplication, told: list[BaseException], qt_warnings: list[str]
) -> None:
    class Part(QWidget):
        fails = True

        @guarded
        def paintEvent(self, event: QPaintEvent) -> None:
            with QPainter(self) as painter:
                painter.fillRect(self.rect(), QColor("red"))
                painter.save()
                if self.fails:
                    raise ValueError("assignment destination is read-only")

    part = Part()
    part.resize(240, 60)
    picture = [part.grab().toImage() for _ in range(20)][-1]
    assert [str(error) for error in told] == ["assignment destination is read-only"]
    assert picture.pixelColor(1, 1) == part.palette().window().color()
    colors = {picture.pixelColor(x, y).name() for x in range(240) for y in range(60)}
    assert len(colors) > 2, f"it says {PLACEHOLDER!r}"
    part.fails = False
    assert part.grab().toImage().pixelColor(1, 1) == QColor("red"), "it is alive again"
    assert not [text for text in qt_warnings if "endPaint" in text or "begin" in text]


def test_a_scroll_area_has_its_placeholder_in_the_viewport(
    qapp: QApplication, told: list[BaseException], qt_warnings: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    roll = PianoRoll()
    roll.show_masks(bytes(9), 9, 9)

    def fail(*_: object) -> None:
        raise IndexError("a row that is gone")

    monkeypatch.setattr(roll, "_paint_row", fail)
    pictures = [roll.grab().toImage() for _ in range(3)]
    assert len(told) == 1
    assert pictures[0].pixelColor(20, 20) == roll.palette().window().color()
    assert not [text for text in qt_warnings if "QPainter" in text or "endPaint" in text]


def test_an_item_that_fails_leaves_its_neighbours_alone(
    qapp: QApplication, told: list[BaseException], qt_warnings: list[str]
) -> None:
    class Delegate(QStyledItemDelegate):
        @guarded_item
        def paint(self, painter: QPainter, option, index) -> None:
            painter.translate(100, 100)
            raise KeyError(index)

    picture = QPixmap(20, 20)
    with QPainter(picture) as painter:
        for index in range(10):
            Delegate().paint(painter, None, index)
        assert painter.transform().isIdentity()
    assert len(told) == 1
    assert not qt_warnings


def test_a_plot_that_cannot_be_drawn_leaves_the_app_alive(
    qtbot: QtBot, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Overlay, *place: object) -> None:
        raise ZeroDivisionError("no room")

    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: app.bridge.tell_unexpected(error))
    monkeypatch.setattr(Overlay, "_paint_marks", fail)
    show_dock(qtbot, app, names.TELEMETRY_DOCK)
    telemetry = app[TelemetryModel]
    telemetry.set_focus("r")
    for seq in (1, 2, 3):
        telemetry.take("r", foreign_record(seq, score=float(seq)))
    log = find(app, "logView")
    qtbot.waitUntil(lambda: "ZeroDivisionError: no room" in log.toPlainText())
    for _ in range(5):
        app.window.grab()
    app[LogDock].flush()
    text = log.toPlainText()
    assert text.count("Traceback (most recent call last)") == 1
    app[LogDock].level.setCurrentIndex(2)
    assert "test_painting.py" in log.toPlainText(), "a traceback is whole among the errors"


def test_a_plot_that_cannot_be_computed_leaves_the_others_their_turn(
    qtbot: QtBot, app: App, told: list[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    show_dock(qtbot, app, names.TELEMETRY_DOCK)
    telemetry = app[TelemetryModel]
    telemetry.set_focus("r")
    for seq in (1, 2, 3):
        telemetry.take("r", foreign_record(seq, bad=1.0, score=float(seq)))
    qtbot.waitUntil(lambda: {"bad", "score"} <= app[TelemetryDock].board.cards.keys())
    cards = app[TelemetryDock].board.cards

    def fail(*_: object) -> bool:
        raise ZeroDivisionError("no room")

    monkeypatch.setattr(cards["bad"], "redraw", fail)
    telemetry.take("r", foreign_record(4, bad=1.0, score=4.0))
    before = cards["score"].redraws
    qtbot.waitUntil(lambda: told and cards["score"].redraws > before)
    for _ in range(20):
        app[TelemetryDock].board.tick()
    assert len(told) == 1
