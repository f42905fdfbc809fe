"""The window fits the screen that is there, whatever was remembered."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QBoxLayout, QLabel

from gui.app import App
from gui.models.run_list import COLUMNS
from tests.gui.conftest import until


def test_a_window_larger_than_the_screen_or_off_it_comes_back(app: App) -> None:
    window, room = app.window, QGuiApplication.primaryScreen().availableGeometry()
    window.setMinimumSize(room.width() * 2, room.height() * 2)
    window.setGeometry(room.width() + 50, -400, room.width() * 2, room.height() * 2)
    window.layouts._clamp()
    assert room.contains(window.frameGeometry())
    assert window.minimumWidth() <= room.width()


def test_a_narrow_run_table_leaves_columns_out_instead_of_scrolling(app: App) -> None:
    dock = app.docks.runs
    hidden = {}
    for width in (300, 900):
        dock.resize(width, 200)
        dock._fit_columns()
        hidden[width] = [name for n, name in enumerate(COLUMNS) if dock.table.isColumnHidden(n)]
    assert hidden[900] == []
    assert "State" not in hidden[300]
    assert hidden[300]


def test_narrow_curves_have_their_controls_in_two_rows(app: App) -> None:
    curves = app.center.curves
    for width, beside in ((300, False), (900, True)):
        curves.resize(width, 400)
        curves._fit_head()
        is_beside = curves._rows.direction() == QBoxLayout.Direction.LeftToRight
        assert is_beside is beside


def test_the_welcome_forgets_how_narrow_it_was(app: App) -> None:
    welcome = app.center.welcome
    texts = [text for text in welcome.findChildren(QLabel) if text.wordWrap()]
    until(lambda: any(text.minimumHeight() for text in texts))
    wide, size = [text.minimumHeight() for text in texts], welcome.size()
    welcome.resize(120, 400)
    welcome.resize(size)
    assert [text.minimumHeight() for text in texts] == wide
