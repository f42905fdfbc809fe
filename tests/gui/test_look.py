"""Fonts, the ring of the keyboard focus, and controls that keep their place."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFontDatabase, QFontInfo, QFontMetricsF
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton, QVBoxLayout, QWidget

from gui.kit import theme
from gui.kit.containers import Segmented
from gui.kit.focus_ring import AWAY, WIDTH, FocusRings
from gui.kit.icons import icon
from tests.gui.conftest import until


def test_the_fonts_come_with_the_app_and_all_figures_are_equally_wide(qapp: QApplication) -> None:
    for font, family in (
        (theme.ui_font(), "Inter"),
        (theme.bold_font(), "Inter"),
        (theme.mono_font(), "JetBrains Mono"),
    ):
        assert QFontInfo(font).family() == family
        assert len({round(QFontMetricsF(font).horizontalAdvance(figure), 1) for figure in "0123456789"}) == 1
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


def test_the_focus_has_a_ring_after_tab_and_none_after_a_click(qapp: QApplication) -> None:
    window = QWidget()
    rings = FocusRings(window)
    column = QVBoxLayout(window)
    field, modes, last = QLineEdit(), Segmented("modes", [("a", "A", ""), ("b", "B", "")], "Modes"), QPushButton("Z")
    for widget in (field, modes, last):
        column.addWidget(widget)
    modes.set_value("a")
    window.show()
    window.activateWindow()
    until(window.isActiveWindow)
    field.setFocus(Qt.FocusReason.MouseFocusReason)
    assert rings.ring is None
    QTest.keyClick(field, Qt.Key.Key_Tab)
    assert rings.ring is not None
    away = WIDTH + AWAY
    assert rings.ring.geometry() == modes.geometry().adjusted(-away, -away, away, away), "around all joined buttons"
    QTest.keyClick(modes.button("a"), Qt.Key.Key_Tab)
    assert QApplication.focusWidget() is last, "Tab leaves the joined buttons"
    QTest.keyClick(last, Qt.Key.Key_Backtab)
    QTest.keyClick(modes.button("a"), Qt.Key.Key_Backtab)
    assert rings.ring.geometry() == field.geometry(), "inside of a field"
    QTest.mouseClick(last, Qt.MouseButton.LeftButton)
    assert rings.ring is None
    window.deleteLater()


def test_an_icon_is_as_sharp_on_a_fine_screen(qapp: QApplication) -> None:
    """A line of 1.5 covers whole device pixels at a scale of two, and at least one at a scale of one."""
    for scale, rows in ((1.0, 1), (2.0, 3)):
        drawn = icon("minus").pixmap(QSize(16, 16), scale).toImage()
        opaque = [drawn.pixelColor(drawn.width() // 2, y).alpha() for y in range(drawn.height())]
        assert opaque.count(255) == rows, (scale, opaque)
        assert sum(opaque) == pytest.approx(1.5 * scale * 255, abs=8)
