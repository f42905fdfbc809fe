"""Fonts, the ring of the keyboard focus, and controls that keep their place."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from PySide6.QtCore import QDir, QSize, Qt
from PySide6.QtGui import QColor, QFontDatabase, QFontInfo, QFontMetricsF
from PySide6.QtWidgets import QApplication, QFileDialog, QLineEdit, QPushButton, QTextBrowser, QVBoxLayout, QWidget

from gui.features.curves.run_info import _html, sections_of
from gui.kit import dialogs, theme
from gui.kit.actions import Command, action_button
from gui.kit.containers import Segmented
from gui.kit.focus_ring import AWAY, WIDTH, FocusRings
from gui.kit.icons import icon
from gui.kit.settings import Settings
from gui.kit.style_sheet import ROW, TABLE_HEAD
from gui.kit.tables import row_table
from tests.gui.conftest import QtBot
from trainer_core.lab.paths import HomePaths
from trainer_core.wire.records import MetaRecord


def test_the_fonts_come_with_the_app_and_all_figures_are_equally_wide(qapp: QApplication) -> None:
    for font, family in (
        (theme.ui_font(), "Inter"),
        (theme.bold_font(), "Inter"),
        (theme.mono_font(), "JetBrains Mono"),
    ):
        assert QFontInfo(font).family() == family
        widths = [QFontMetricsF(font).horizontalAdvance(figure) for figure in "0123456789"]
        assert max(widths) - min(widths) < 0.25, "hinting moves them by a fraction; a 1 of its own width is 3 less"
    for file in theme.FONTS.glob("*.?tf"):
        assert QFontDatabase.addApplicationFont(str(file)) >= 0, file


def test_a_damaged_font_file_is_told_once_and_another_font_stands_in(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "Broken.otf").write_bytes(b"no font")
    monkeypatch.setattr(theme, "FONTS", tmp_path)
    with caplog.at_level(logging.WARNING):
        theme._load_fonts.__wrapped__()
    assert [record.getMessage() for record in caplog.records] == ["no font in Broken.otf: the system's fonts stand in"]
    assert theme._font(("No Such Family", theme.FONT_FAMILIES[-1]), 13).pixelSize() == 13


def test_the_focus_has_a_ring_after_tab_and_none_after_a_click(qtbot: QtBot, qapp: QApplication) -> None:
    window = QWidget()
    rings = FocusRings(window)
    column = QVBoxLayout(window)
    field, modes, last = QLineEdit(), Segmented("modes", [("a", "A", ""), ("b", "B", "")], "Modes"), QPushButton("Z")
    for widget in (field, modes, last):
        column.addWidget(widget)
    modes.set_value("a")
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    field.setFocus(Qt.FocusReason.MouseFocusReason)
    assert rings.ring is None
    qtbot.keyClick(field, Qt.Key.Key_Tab)
    assert rings.ring is not None
    away = WIDTH + AWAY
    assert rings.ring.geometry() == modes.geometry().adjusted(-away, -away, away, away), "around all joined buttons"
    qtbot.keyClick(modes.button("a"), Qt.Key.Key_Right)
    assert modes.button("b").isChecked(), "arrows choose"
    assert rings.ring.parent() is window
    qtbot.keyClick(modes.button("b"), Qt.Key.Key_Tab)
    assert QApplication.focusWidget() is last, "Tab leaves the joined buttons"
    qtbot.keyClick(last, Qt.Key.Key_Backtab)
    qtbot.keyClick(modes.button("b"), Qt.Key.Key_Backtab)
    assert rings.ring.geometry() == field.geometry(), "inside of a field"
    qtbot.mouseClick(last, Qt.MouseButton.LeftButton)
    assert rings.ring is None
    window.deleteLater()


def test_an_icon_is_as_sharp_on_a_fine_screen(qapp: QApplication) -> None:
    """A line of 1.5 covers whole device pixels at a scale of two, and at least one at a scale of one."""
    for scale, rows in ((1.0, 1), (2.0, 3)):
        drawn = icon("minus").pixmap(QSize(16, 16), scale).toImage()
        opaque = [drawn.pixelColor(drawn.width() // 2, y).alpha() for y in range(drawn.height())]
        assert opaque.count(255) == rows, (scale, opaque)
        assert sum(opaque) == pytest.approx(1.5 * scale * 255, abs=8)


def test_a_file_dialog_begins_where_that_kind_of_file_was_last(
    qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, begun, taken = Settings(HomePaths(tmp_path)), [], []
    monkeypatch.setattr(dialogs, "_settings", settings)

    def choose(parent: QWidget, title: str, begin: str, *kinds: str) -> tuple[str, str]:
        begun.append(begin)
        return str(tmp_path / "game.gb"), ""

    monkeypatch.setattr(QFileDialog, "getOpenFileName", choose)
    monkeypatch.setattr(QFileDialog, "getSaveFileName", choose)
    window = QWidget()
    for _ in range(2):
        dialogs.ask_file(window, "Open a ROM", "ROMs (*.gb *.gbc)", taken.append)
    dialogs.ask_new_file(window, "Report", "/else/where.html", taken.append)
    assert begun == [QDir.homePath(), str(tmp_path), "/else/where.html"]
    assert taken == [tmp_path / "game.gb"] * 3


def test_a_table_marks_the_whole_row_under_the_pointer_and_every_other_row(qtbot: QtBot, qapp: QApplication) -> None:
    theme.apply_theme(qapp, "dark")
    for other in qapp.topLevelWidgets():  # windows that other tests left would take the pointer
        other.hide()
    window, table = QWidget(), row_table("t", "Table", ["Name", "Count"], numbers=[1])
    QVBoxLayout(window).addWidget(table)
    theme.dress(window)
    table.setRowCount(3)
    window.resize(300, 200)
    with qtbot.waitExposed(window):
        window.show()

    def ground(row: int, column: int) -> str:
        place = table.visualRect(table.model().index(row, column)).center()
        return table.viewport().grab().toImage().pixelColor(place).name()

    assert [ground(row, 0) for row in range(3)] == [theme.DARK.window, theme.DARK.zebra, theme.DARK.window]

    def is_lit() -> bool:
        for row in (0, 2):  # from row to row: Qt tells nothing of a pointer that was there before
            qtbot.mouseMove(table.viewport(), table.visualRect(table.model().index(row, 0)).center())
        return ground(2, 0) != theme.DARK.window

    qtbot.waitUntil(is_lit)
    hover = QColor(theme.DARK.hover)
    for column in range(2):
        lit = QColor(ground(2, column))
        assert max(abs(a - b) for a, b in zip(lit.getRgb(), hover.getRgb(), strict=True)) <= 1  # type: ignore[arg-type]
    assert (table.rowHeight(0), table.horizontalHeader().height()) == (ROW, TABLE_HEAD)
    window.deleteLater()


def test_what_a_run_is_stands_in_two_columns_and_is_copied_whole(qapp: QApplication) -> None:
    meta = MetaRecord(
        run_id="r-1", seq=0, time=0.0, runner="native", algo="ppo", codec="b7", rom_sha256="ab" * 32,
        config={"num_envs": 32, "own <field>": "x"}, argv=["dmglab", "train"],
    )  # fmt: skip
    sections = sections_of(meta, 3_200_000)
    assert [title for title, _ in sections] == ["Run", "Game and pictures", "Settings", "Command"]
    rows = {name: value for _, section in sections for name, value, _ in section}
    assert (rows["Algorithm"], rows["Size on disk"], rows["Game"]) == ("PPO", "3.2 MB", "ab" * 32)
    assert "Start states" not in rows, "a value that is not known has no row"
    shown = QTextBrowser()
    shown.setHtml(_html(sections))
    assert "ab" * 6 + "\u2026" in shown.toPlainText()
    assert "own <field>" in shown.toPlainText()


def test_a_command_that_changes_under_the_pressed_pointer_is_not_done(qtbot: QtBot, qapp: QApplication) -> None:
    owner, done, words = QWidget(), [], ["Pause"]
    command = Command(owner, "pause", lambda: words[0], lambda: done.append(words[0]))
    command.refresh()
    made = action_button(command, "pauseButton")
    made.pressed.connect(lambda: words.__setitem__(0, "Resume"))
    made.pressed.connect(command.refresh)
    qtbot.mousePress(made, Qt.MouseButton.LeftButton)
    assert made.text() == "Pause", "its words wait"
    qtbot.mouseRelease(made, Qt.MouseButton.LeftButton)
    assert (made.text(), done) == ("Resume", [])
    qtbot.mouseClick(made, Qt.MouseButton.LeftButton)
    assert done == ["Resume"]
