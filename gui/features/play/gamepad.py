"""Gamepad input as Qt signals (found, lost, button down or up), by SDL2 where it is installed."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from typing import Any, Protocol

from PySide6.QtCore import QObject, QTimer, Signal

STICK = 16_000
"""Deflection, of 32,767, from which the left stick counts as a press of the D-pad."""
READ_MS = 8
"""Milliseconds between two readings of a gamepad: two per frame."""
LOOK_MS = 500
"""Milliseconds between two searches for a gamepad while there is none."""


class SdlPads:
    """Access to the first gamepad by the SDL2 library."""

    def __init__(self) -> None:
        """Load SDL, which takes some 0.2 s. Raises ImportError or OSError where it cannot be used."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it prints where it found the library
            import sdl2
        self._sdl: Any = sdl2
        self._pad: Any = None
        if sdl2.SDL_InitSubSystem(sdl2.SDL_INIT_GAMECONTROLLER) != 0:
            raise OSError(sdl2.SDL_GetError().decode(errors="replace"))
        sdl2.SDL_GameControllerEventState(sdl2.SDL_IGNORE)
        sdl2.SDL_JoystickEventState(sdl2.SDL_IGNORE)
        self._names = {
            number: sdl2.SDL_GameControllerGetStringForButton(number).decode()
            for number in range(sdl2.SDL_CONTROLLER_BUTTON_MAX)
        }

    def name(self) -> str:
        """Return the open gamepad's name, opening the first one found if none is open; empty without a gamepad."""
        sdl = self._sdl
        sdl.SDL_GameControllerUpdate()
        if self._pad is not None and not sdl.SDL_GameControllerGetAttached(self._pad):
            sdl.SDL_GameControllerClose(self._pad)
            self._pad = None
        if self._pad is None:
            for index in range(sdl.SDL_NumJoysticks()):
                if sdl.SDL_IsGameController(index):
                    self._pad = sdl.SDL_GameControllerOpen(index) or None
                    break
        if self._pad is None:
            return ""
        return (sdl.SDL_GameControllerName(self._pad) or b"gamepad").decode(errors="replace")

    def held(self) -> set[str]:
        """Return the names, as in SDL, of the held buttons; the left stick counts as the D-pad."""
        sdl, pad = self._sdl, self._pad
        if pad is None:
            return set()
        held = {name for number, name in self._names.items() if sdl.SDL_GameControllerGetButton(pad, number)}
        for axis, low, high in (
            (sdl.SDL_CONTROLLER_AXIS_LEFTX, "dpleft", "dpright"),
            (sdl.SDL_CONTROLLER_AXIS_LEFTY, "dpup", "dpdown"),
        ):
            place = sdl.SDL_GameControllerGetAxis(pad, axis)
            if abs(place) > STICK:
                held.add(low if place < 0 else high)
        return held

    def close(self) -> None:
        if self._pad is not None:
            self._sdl.SDL_GameControllerClose(self._pad)
            self._pad = None
        self._sdl.SDL_QuitSubSystem(self._sdl.SDL_INIT_GAMECONTROLLER)


class Pads(Protocol):
    def name(self) -> str: ...

    def held(self) -> set[str]: ...

    def close(self) -> None: ...


class Gamepad(QObject):
    """Gamepad signals; reads the device only between `listen` and `rest`, and does nothing without SDL2."""

    found = Signal(str)
    """Name of the gamepad that was found."""
    lost = Signal(str)
    """Name of the gamepad that was disconnected; `button` signals have released its buttons before."""
    button = Signal(str, bool)
    """SDL's name of a button, and True if it was pressed, False if released."""

    def __init__(self, open_pads: Callable[[], Pads] = SdlPads) -> None:
        super().__init__()
        self._open_pads = open_pads
        self._pads: Pads | None = None
        self._opening: threading.Thread | None = None
        self.why_not = ""
        """Reason why gamepads cannot be used, such as a missing library; empty otherwise."""
        self.name = ""
        self._held: set[str] = set()
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self._look)

    def listen(self) -> None:
        """Begin to read the gamepad while a game is visible; SDL is loaded in a thread."""
        if self.why_not or self._timer.isActive():
            return
        if self._opening is None:
            self._opening = threading.Thread(target=self._open, daemon=True)
            self._opening.start()
        self._timer.start()

    def rest(self) -> None:
        """Signal the release of every held button and stop reading."""
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
