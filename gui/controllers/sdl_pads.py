"""Gamepads through SDL2's game controllers (PySDL2, the extra `play`).

https://wiki.libsdl.org/SDL2/CategoryGameController. SDL knows the layout of a thousand pads and
names their buttons alike. Its state is polled, so SDL gets no event loop of its own.
"""

from __future__ import annotations

import warnings
from typing import Any

STICK = 16_000
"""Of 32,767: further than this the left stick counts as the cross."""


class SdlPads:
    """The first gamepad that is there."""

    def __init__(self) -> None:
        """Loads SDL, some 0.2 s. Raises ImportError or OSError where it cannot be used."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it tells where it found the library
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
        """Of the gamepad that is open; looks for one if none is. Empty where there is none."""
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
        """SDL's names of the buttons that are held now; the left stick is the cross too."""
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
