"""Save slots: nine saved states per game, each with a picture, and the button with their menu."""

from __future__ import annotations

import hashlib
import time
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QSize, Signal
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QMenu, QProxyStyle, QStyle, QToolButton

from gui.features.play.controller import PlayController
from gui.kit.actions import ActionRegistry
from gui.kit.screen import Palette, image_of
from gui.kit.words import tr
from gui.state.bridge import Bridge
from gui.state.notices import Notices
from trainer_core.lab.roms import ROM_SUFFIXES, sha256_of_rom
from trainer_core.wire import commands

SLOTS = range(1, 10)
SLOT_PICTURE = QSize(80, 72)


class SlotsController(QObject):
    """Save slots: files below `slots/` of the home folder, one subfolder per game."""

    changed = Signal()

    def __init__(self, bridge: Bridge, playing: PlayController, notices: Notices, palette: Palette) -> None:
        super().__init__()
        self._bridge, self._playing = bridge, playing
        self._notices, self._palette = notices, palette
        self.current = 1
        """Number of the slot used by the keys for saving and loading."""
        self.can_undo = False
        self._games: dict[str, Path] = {}
        """Cached folder of each game, so that a ROM is hashed only once."""
        playing.started.connect(self._on_started)
        playing.changed.connect(self.changed)

    def _on_started(self) -> None:
        self.can_undo = False
        self._games.clear()  # a ROM may have been rebuilt under its name
        self.changed.emit()

    def path(self, slot: int) -> Path:
        """Return the state file of a slot of the playing game; the picture beside it has the suffix .png."""
        request = self._playing.request
        return self._folder(request.task if request else "") / f"slot_{slot}.npz"

    def _folder(self, task: str) -> Path:
        """Return the slots' folder of a task or ROM; that of a ROM is named by its hash, not its path."""
        if task not in self._games:
            shelf = self._bridge.home.root / "slots"
            by_name = shelf / hashlib.sha256(task.encode()).hexdigest()[:16]
            rom = sha256_of_rom(Path(task)) if task.lower().endswith(ROM_SUFFIXES) else ""
            self._games[task] = shelf / rom[:16] if rom else by_name
            if rom and by_name.is_dir() and not self._games[task].exists():
                by_name.rename(self._games[task])  # made when a ROM was known by its path
        return self._games[task]

    def label(self, slot: int) -> str:
        path = self.path(slot)
        if not path.is_file():
            return tr("Slot {slot}, empty", slot=slot)
        saved = time.strftime("%d %b %H:%M:%S", time.localtime(path.stat().st_mtime))
        return tr("Slot {slot}, {saved}", slot=slot, saved=saved)

    def load_refusal(self) -> str:
        if refusal := self._playing.solo_refusal():
            return refusal
        empty = not self.path(self.current).is_file()
        return tr("Slot {current} is empty", current=self.current) if empty else ""

    def undo_refusal(self) -> str:
        if refusal := self._playing.solo_refusal():
            return refusal
        return "" if self.can_undo else tr("No load to undo")

    def save(self, slot: int = 0) -> None:
        """Save the game's state in `slot`; 0 means the current slot."""
        self.current = slot or self.current
        self._bridge.spawn(self._save(self.current), title=tr("The state was not saved"))

    async def _save(self, slot: int) -> None:
        path = self.path(slot)
        _, picture = await self._playing.capture(commands.SaveState, path=str(path))
        image_of(self._palette, picture).save(str(path.with_suffix(".png")))
        self._notices.tell(tr("State saved"), tr("slot {slot}", slot=slot), "good")
        self.changed.emit()

    def load(self, slot: int = 0) -> None:
        """Load the state in `slot`; 0 means the current slot."""
        self.current = slot or self.current
        if self.path(self.current).is_file():
            self._playing.load_state(self.path(self.current), self._on_loaded)
        else:
            self._bridge.problem.emit(tr("No state"), tr("slot {current} is empty", current=self.current))

    def _on_loaded(self) -> None:
        self.can_undo = True
        self.changed.emit()

    def undo(self) -> None:
        """Restore the state from before the last load; a second call restores the loaded state."""
        self._playing.undo_load()


class _LargeIcons(QProxyStyle):
    def pixelMetric(self, metric, option=None, widget=None) -> int:  # type: ignore[no-untyped-def]
        if metric == QStyle.PixelMetric.PM_SmallIconSize:
            return SLOT_PICTURE.width()
        return super().pixelMetric(metric, option, widget)


class SlotButton(QToolButton):
    """Button with a menu of the slots, read from the disk when it opens, as another window may have saved."""

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
