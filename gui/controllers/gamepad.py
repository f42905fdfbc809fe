"""The gamepad as signals: found, lost, a button down, a button up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from PySide6.QtCore import QObject, QTimer, Signal

from gui.controllers.sdl_pads import SdlPads

READ_MS = 8
"""Twice a frame while a gamepad is there."""
LOOK_MS = 500
"""How often one is looked for while none is."""


class Pads(Protocol):
    def name(self) -> str: ...

    def held(self) -> set[str]: ...

    def close(self) -> None: ...


class Gamepad(QObject):
    """Silent where no library or no gamepad is. It reads only between `listen` and `rest`."""

    found = Signal(str)
    """Name of a gamepad that is there now."""
    lost = Signal(str)
    """It is gone; its buttons were let go before."""
    button = Signal(str, bool)
    """SDL's name of a button; whether it went down."""

    def __init__(self, open_pads: Callable[[], Pads] = SdlPads) -> None:
        super().__init__()
        self._open_pads = open_pads
        self._pads: Pads | None = None
        self._opening: threading.Thread | None = None
        self.why_not = ""
        """Why no gamepad can be used at all; empty while that is not known."""
        self.name = ""
        self._held: set[str] = set()
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self._look)

    def listen(self) -> None:
        """A game is on show. The library is loaded in a thread: the window goes on meanwhile."""
        if self.why_not or self._timer.isActive():
            return
        if self._opening is None:
            self._opening = threading.Thread(target=self._open, daemon=True)
            self._opening.start()
        self._timer.start()

    def rest(self) -> None:
        """No game is on show: buttons are let go, nothing is read."""
        self._timer.stop()
        self._release_all()

    def _open(self) -> None:
        try:
            self._pads = self._open_pads()
        except (ImportError, OSError) as error:
            self.why_not = str(error) or type(error).__name__

    def _look(self) -> None:
        if self.why_not:
            self._timer.stop()
            return
        if self._pads is None:
            return
        name = self._pads.name()
        if name != self.name:
            self._on_other(name)
        held = self._pads.held()
        gone, new, self._held = self._held - held, held - self._held, held
        for button in sorted(gone):
            self.button.emit(button, False)
        for button in sorted(new):
            self.button.emit(button, True)

    def _on_other(self, name: str) -> None:
        before, self.name = self.name, name
        self._timer.setInterval(READ_MS if name else LOOK_MS)
        if before:
            self._release_all()
            self.lost.emit(before)
        if name:
            self.found.emit(name)

    def _release_all(self) -> None:
        held, self._held = self._held, set()
        for button in sorted(held):
            self.button.emit(button, False)
