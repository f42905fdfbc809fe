"""The colours that a run's curves may have: those of the plots, which follow the theme."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtGui import QIcon, QPixmap
from PySide6.QtWidgets import QMenu, QWidget

from gui import theme
from gui.words import tr

COLORS = 12
SIZE = 14


def color_menu(parent: QWidget, current: int | None, choose: Callable[[int | None], None]) -> QMenu:
    """A menu; `current` and what `choose` gets are numbers of `theme.curve_color`, None for the
    colour that a run comes by."""
    menu = QMenu(parent)
    free = menu.addAction(tr("As it comes"))
    free.setCheckable(True)
    free.setChecked(current is None)
    free.triggered.connect(lambda: choose(None))
    menu.addSeparator()
    for number in range(COLORS):
        swatch = QPixmap(SIZE, SIZE)
        swatch.fill(theme.curve_color(number))
        action = menu.addAction(QIcon(swatch), tr("Colour {number}", number=number + 1))
        action.setCheckable(True)
        action.setChecked(number == current)
        action.triggered.connect(lambda _=False, number=number: choose(number))
    return menu
