"""The errors that callers tell apart. A message says what is wrong and the way out."""

from __future__ import annotations

import msgspec

LONGEST_SHOWN = 80
"""Letters of somebody else's text that a message repeats."""

BAD_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are no JSON of a type: cut, of another form, no UTF-8 inside a
string, nested too deep."""


class LabError(Exception):
    """Root of every error this project raises on purpose; shells print it as one line, exit 1."""


class ConfigError(LabError):
    """A configuration value that cannot work."""


class ProtocolError(LabError):
    """A line or file that does not follow docs/protocol.md."""


class TaskError(LabError):
    """A task folder that is missing, incomplete, or made for another ROM or codec."""


class CheckpointError(LabError):
    """A checkpoint that is missing, corrupt, or does not fit the task it is used with."""


def shown(text: object, most: int = LONGEST_SHOWN) -> str:
    """Return what a message repeats of a text that came from outside: one printable line, cut.

    A file or an argument may hold 50,000 letters, a newline, or what a terminal obeys.
    """
    whole = _digits(text) if isinstance(text, int) else str(text)
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in whole[: most + 1])
    return line if len(line) <= most else f"{line[: most - 3]}..."


def _digits(number: int) -> str:
    """Return its digits; Python refuses to write a whole number of thousands of them."""
    return str(number) if abs(number) < 10**LONGEST_SHOWN else "a huge number"


def in_words(error: LabError | OSError) -> str:
    """What a person is told: of a file its name and what the system says, without a number."""
    if isinstance(error, LabError) or not error.strerror:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
