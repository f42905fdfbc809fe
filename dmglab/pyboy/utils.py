"""Names of `pyboy.utils`: events, errors, numbers in decimal digits, and a file of whole numbers."""

from __future__ import annotations

from functools import partialmethod
from typing import Any

cython_compiled = True
"""As in PyBoy's wheels: code that asks must not expect the interpreter's internals, of which there are none."""
STATE_VERSION = 29


class PyBoyException(Exception):
    """Base of the errors of `dmglab.pyboy`."""


class PyBoyInternalError(PyBoyException):
    """Error of the emulator itself."""


class PyBoyAssertException(PyBoyException):
    """Data, such as a state, that is not what it should be."""


class PyBoyOutOfBoundsException(PyBoyException):
    """Address, bank or number outside its range."""


class PyBoyNotImplementedException(PyBoyException):
    """Part of PyBoy that DMG Lab does not have."""


class PyBoyInvalidInputException(PyBoyException):
    """Argument that means nothing."""


class PyBoyInvalidOperationException(PyBoyException):
    """Call that is not allowed now."""


class PyBoyDependencyError(PyBoyException):
    """Library that is missing."""


class PyBoyFeatureDisabledError(PyBoyException):
    """Part that was switched off."""


BUTTONS = ("right", "left", "up", "down", "a", "b", "select", "start")
"""Names of the buttons by their bits in a joypad mask."""


class _Named(type):
    """Type of `WindowEvent`, whose names are made below."""

    def __getattr__(cls, name: str) -> int:
        raise AttributeError(f"WindowEvent.{name}: the events are {', '.join(_EVENTS)}")


class WindowEvent(metaclass=_Named):
    """Event for `PyBoy.send_input`: a button pressed or released, pause, quit; its names are whole numbers."""

    def __init__(self, event: Any) -> None:
        self._event = int(event)

    def __eq__(self, other: object) -> bool:
        return self._event == int(other) if isinstance(other, (int, WindowEvent)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._event)

    def __int__(self) -> int:
        return self._event

    def __lt__(self, other: Any) -> bool:
        return self._event < int(other)

    def __str__(self) -> str:
        return _EVENTS[self._event]


_EVENTS = (  # noqa: SIM905 - a list of words
    "QUIT PRESS_ARROW_UP PRESS_ARROW_DOWN PRESS_ARROW_RIGHT PRESS_ARROW_LEFT PRESS_BUTTON_A PRESS_BUTTON_B "
    "PRESS_BUTTON_SELECT PRESS_BUTTON_START RELEASE_ARROW_UP RELEASE_ARROW_DOWN RELEASE_ARROW_RIGHT "
    "RELEASE_ARROW_LEFT RELEASE_BUTTON_A RELEASE_BUTTON_B RELEASE_BUTTON_SELECT RELEASE_BUTTON_START "
    "_INTERNAL_TOGGLE_DEBUG PRESS_SPEED_UP RELEASE_SPEED_UP STATE_SAVE STATE_LOAD PASS SCREEN_RECORDING_TOGGLE "
    "PAUSE UNPAUSE PAUSE_TOGGLE PRESS_REWIND_BACK PRESS_REWIND_FORWARD RELEASE_REWIND_BACK RELEASE_REWIND_FORWARD "
    "WINDOW_FOCUS WINDOW_UNFOCUS _INTERNAL_RENDERER_FLUSH _INTERNAL_MOUSE _INTERNAL_MARK_TILE SCREENSHOT_RECORD "
    "DEBUG_MEMORY_SCROLL_DOWN DEBUG_MEMORY_SCROLL_UP MOD_SHIFT_ON MOD_SHIFT_OFF FULL_SCREEN_TOGGLE CYCLE_PALETTE "
    "SCREEN_RECORDING_TOGGLE_MP4"
).split()
for _number, _name in enumerate(_EVENTS):
    setattr(WindowEvent, _name, _number)


def _event(button: str, verb: str) -> int:
    kind = "ARROW" if button in BUTTONS[:4] else "BUTTON"
    return getattr(WindowEvent, f"{verb}_{kind}_{button.upper()}")


PRESS = {button: _event(button, "PRESS") for button in BUTTONS}
"""Number of the event that presses each button."""
RELEASE = {button: _event(button, "RELEASE") for button in BUTTONS}
"""Number of the event that releases each button."""


class IntIOWrapper:
    """File-like object that is read and written as whole numbers."""

    def __init__(self, buf: Any) -> None:
        self.buffer = buf

    def write(self, byte: int) -> int:
        """Write one byte. Raises PyBoyAssertException unless it is an int, OverflowError unless it is 0 to 255."""
        if not isinstance(byte, int):
            raise PyBoyAssertException(f"{byte!r}: give an int")
        return self.buffer.write(byte.to_bytes(1, "little"))

    def _read(self, count: int) -> int:
        """Return the next bytes as a number, the low one first. Raises PyBoyAssertException at the end."""
        data = self.buffer.read(count)
        if len(data) != count:
            raise PyBoyAssertException("the data ends too early")
        return int.from_bytes(data, "little")

    def _write(self, count: int, value: int) -> None:
        """Write the low bytes of a number."""
        self.buffer.write((value & (1 << 8 * count) - 1).to_bytes(count, "little"))

    read = partialmethod(_read, 1)
    read_16bit, write_16bit = partialmethod(_read, 2), partialmethod(_write, 2)
    read_32bit, write_32bit = partialmethod(_read, 4), partialmethod(_write, 4)
    read_64bit, write_64bit = partialmethod(_read, 8), partialmethod(_write, 8)

    def seek(self, pos: int) -> None:
        """Go to a byte."""
        self.buffer.seek(pos)

    def tell(self) -> int:
        """Return the number of the next byte."""
        return self.buffer.tell()

    def flush(self) -> None:
        """Write out what is buffered."""
        self.buffer.flush()


def dec_to_bcd(value: int, byte_width: int = 1, byteorder: Any = "little") -> int:
    """Return the number whose bytes hold two decimal digits of `value` each."""
    digits = [value // 100**place % 100 for place in range(byte_width)]
    return int.from_bytes([pair // 10 << 4 | pair % 10 for pair in digits], byteorder)


def bcd_to_dec(value: int, byte_width: int = 1, byteorder: Any = "little") -> int:
    """Return the number whose decimal digits the bytes of `value` hold, two each."""
    pairs = value.to_bytes(byte_width, byteorder)
    return sum(((pair >> 4) * 10 + (pair & 15)) * 100**place for place, pair in enumerate(pairs))
