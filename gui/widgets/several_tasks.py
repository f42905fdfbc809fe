"""Several tasks for one run: a menu of boxes that stays open while they are ticked."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QMenu, QToolButton, QWidgetAction

from gui.words import tr

SEVERAL_TASKS = "severalTasksButton"


class SeveralTasks(QToolButton):
    """One policy may learn several tasks side by side; which, is ticked here."""

    picked = Signal(tuple)
    """Ids of the tasks that are ticked now, in the menu's order; at least one."""

    def __init__(self, titles: Callable[[], Mapping[str, str]], chosen: Callable[[], tuple[str, ...]]) -> None:
        """Both are asked whenever the menu opens: titles by id, and the ids that are ticked."""
        super().__init__()
        self._titles, self._chosen = titles, chosen
        self.boxes: dict[str, QCheckBox] = {}
        self.setObjectName(SEVERAL_TASKS)
        self.setText("+")
        self.setAccessibleName(tr("Several tasks for one run"))
        self.setToolTip(tr("One policy learns several tasks side by side: tick them"))
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        menu = QMenu(self)
        menu.aboutToShow.connect(self.fill)
        self.setMenu(menu)

    def fill(self) -> None:
        menu, ticked = self.menu(), self._chosen()
        menu.clear()
        self.boxes = {}
        for task, title in self._titles().items():
            box = QCheckBox(title)
            box.setToolTip(task)
            box.setChecked(task in ticked)
            box.toggled.connect(self._on_toggled)
            holder = QWidgetAction(menu)
            holder.setDefaultWidget(box)
            menu.addAction(holder)
            self.boxes[task] = box

    def _on_toggled(self) -> None:
        if found := tuple(task for task, box in self.boxes.items() if box.isChecked()):
            self.picked.emit(found)
