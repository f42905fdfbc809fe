"""Switches of mode and task, which the agent dock and the strip both have; the session has the choices.

One widget that moves between the two crashed PySide 6.11 in a third of all tries.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox

from gui.kit import object_names as names
from gui.kit.actions import ActionRegistry
from gui.kit.boxes import named
from gui.kit.containers import Segmented
from gui.kit.labels import ElidedBox
from gui.kit.words import tr
from gui.state.session import Mode, Session

_TIP = Qt.ItemDataRole.ToolTipRole


def mode_switch(session: Session, actions: ActionRegistry, prefix: str = "") -> Segmented:
    """Return a switch of the session's mode; `prefix` begins the objectNames of all but the first one."""
    made = Segmented(
        prefix + names.MODE_SWITCH,
        [
            (Mode.HUMAN, tr("Human"), prefix + names.MODE_HUMAN),
            (Mode.HYBRID, tr("Hybrid"), prefix + names.MODE_HYBRID),
            (Mode.AGENT, tr("Agent"), prefix + names.MODE_AGENT),
        ],
        tr("Mode"),
    )
    made.picked.connect(lambda value: session.set_mode(Mode(value)))
    made.button(Mode.HUMAN).clicked.connect(actions["playGame"].trigger)
    session.mode_changed.connect(made.set_value)
    made.set_value(session.mode)
    return made


def plain_box(name: str, accessible: str) -> QComboBox:
    made = named(ElidedBox(), name, accessible)
    made.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
    made.setMinimumContentsLength(10)
    return made


def add_broken(box: QComboBox, name: str, reason: str) -> None:
    """Add an entry that cannot be selected, with the reason as its tooltip."""
    box.addItem(tr("{name}: cannot be used", name=name), None)
    row = box.count() - 1
    box.setItemData(row, reason, _TIP)
    box.setItemData(row, 0, Qt.ItemDataRole.UserRole - 1)  # not enabled


def shows_rom(session: Session) -> bool:
    """Return whether the task list shows a ROM that the user plays instead of a task."""
    return bool(session.rom) and session.mode is Mode.HUMAN


def task_box(session: Session, prefix: str = "") -> QComboBox:
    """Return a list of all tasks, and of the ROM that is played, with the session's choice selected."""
    made = plain_box(prefix + names.TASK_CATALOG, tr("Game and task"))

    def select(*_: object) -> None:
        row = 0 if shows_rom(session) else made.findData(session.task)
        made.setCurrentIndex(max(0, row))

    def fill(*_: object) -> None:
        made.clear()
        if session.rom:
            made.addItem(Path(session.rom).name, "")
        for task_id, title in session.task_titles().items():
            made.addItem(title, task_id)
            made.setItemData(made.count() - 1, task_id, _TIP)
        for place, reason in session.broken_tasks().items():
            add_broken(made, place, reason)
        select()

    made.activated.connect(lambda: session.set_task(str(made.currentData())))
    for signal in (session.rom_changed, session.tasks_changed):
        signal.connect(fill)
    for signal in (session.task_changed, session.mode_changed):
        signal.connect(select)
    fill()
    return made
