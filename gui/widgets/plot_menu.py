"""The menu of one plot: commands about the plot under the pointer."""

from __future__ import annotations

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QMenu, QWidget

from gui.actions import ActionRegistry
from gui.models.plot_choices import PlotChoices

PLOT_MENU = (
    "plotMaximise",
    "plotPin",
    "plotLog",
    "plotHide",
    "",
    "plotPng",
    "plotSvg",
    "plotCsv",
    "",
    "followCurves",
    "resetPlots",
)


def show_plot_menu(parent: QWidget, actions: ActionRegistry, choices: PlotChoices, metric: str, place: QPoint) -> None:
    choices.speak_of(metric)
    menu = QMenu(parent)
    menu.setToolTipsVisible(True)
    for name in PLOT_MENU:
        if name:
            menu.addAction(actions[name])
        else:
            menu.addSeparator()
    menu.exec(place)
