"""A button whose menu has the save slots of the game, each with its picture."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QSize
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QMenu, QProxyStyle, QStyle, QToolButton

from gui.actions import ActionRegistry
from gui.controllers.slots import SLOTS, SlotsController
from gui.words import tr

PICTURE = QSize(80, 72)


class _LargeIcons(QProxyStyle):
    def pixelMetric(self, metric, option=None, widget=None) -> int:  # type: ignore[no-untyped-def]
        if metric == QStyle.PixelMetric.PM_SmallIconSize:
            return PICTURE.width()
        return super().pixelMetric(metric, option, widget)


class SlotButton(QToolButton):
    """Slots are read when the menu opens: another window may have saved into them."""

    def __init__(self, slots: SlotsController, actions: ActionRegistry) -> None:
        super().__init__()
        self._slots, self._actions = slots, actions
        self.setObjectName("slotButton")
        self.setText(tr("States"))
        self.setAccessibleName(tr("Save slots"))
        self.setToolTip(tr("Save and load states (F5, F9)"))
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        menu = QMenu(self)
        menu.setStyle(_LargeIcons(menu.style().name()))
        self._into = QMenu(tr("Save into"), menu)
        menu.aboutToShow.connect(self._fill)
        self.setMenu(menu)

    def _fill(self) -> None:
        menu, slots = self.menu(), self._slots
        menu.clear()
        for name in ("saveSlot", "loadSlot", "undoLoad"):
            menu.addAction(self._actions[name])
        self._into.clear()
        menu.addMenu(self._into)
        menu.addSeparator()
        for slot in SLOTS:
            self._into.addAction(slots.label(slot), partial(slots.save, slot))
            path = slots.path(slot)
            if path.is_file():
                picture = QIcon(str(path.with_suffix(".png")))
                menu.addAction(picture, tr("Load {label}", label=slots.label(slot)), partial(slots.load, slot))
