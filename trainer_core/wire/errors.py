"""Exceptions that callers distinguish. A message names the fault and how to correct it."""

from __future__ import annotations

import os

import msgspec

BAD_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""Exceptions that msgspec raises for bytes that are no JSON of the wanted type: cut off, of another structure, not
UTF-8 inside a string, nested too deep."""


MOST_WORDS = 290
"""Characters of an error that are shown: its beginning and its end, where the correction stands."""


def visible(text: str) -> str:
    """Return `text` with control characters and lone surrogates written as escapes.

    File names, reasons and titles come from outside: an escape sequence in them could move the cursor of a terminal,
    rename its window or hide a line.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def shortened(text: str, most: int = MOST_WORDS) -> str:
    """Return `text` as at most `most` printable characters.

    If it is longer, the middles of long words are cut first, since these are paths, whose ends tell more; then the
    middle of the text.
    """
    text = visible(text)
    if len(text) > most:
        text = " ".join(map(_without_middle, text.split(" ")))
    if len(text) <= most:
        return text
    end = most // 2 - 5
    return f"{text[: most - end - 5]} ... {text[-end:]}"


def _without_middle(word: str) -> str:
    """Return a word of more than 70 characters, such as a path, without its middle."""
    return word if len(word) <= 70 else f"{word[:12]}...{word[-50:]}"


FAILED, UNUSABLE, INTERRUPTED = 1, 2, 130
"""Exit statuses of commands beside 0: the work failed; the input cannot be used; Ctrl-C ended it."""


class LabError(Exception):
    """Base class of the errors that this project raises on purpose; shells print it as one line.

    Its text quotes files and arguments, so `str` is always one short printable line.
    """

    exit_status = UNUSABLE

    def __str__(self) -> str:
        return shortened(super().__str__())


class FailureError(LabError):
    """Work that failed on usable input: a full disk, a silent process, an unreachable server."""

    exit_status = FAILED


class ConfigError(LabError):
    """A configuration value that cannot work."""


class ProtocolError(LabError):
    """A line or file that does not follow docs/reference/protocol.md."""


class TaskError(LabError):
    """A task folder that is missing, incomplete, or made for another ROM or codec."""


class CheckpointError(LabError):
    """A checkpoint that is missing, corrupt, or does not fit the task it is used with."""


def in_words(error: LabError | OSError) -> str:
    """Return an error's message for a user: of a LabError its text, of an OSError file name and reason without
    errno."""
    if isinstance(error, LabError) or not error.strerror:
        return shortened(str(error))
    place = f"{os.fsdecode(error.filename)}: " if error.filename else ""
    return shortened(f"{place}{error.strerror}")


LONGEST_QUOTE = 80
"""Characters of a text from outside that a message quotes."""


def shown(value: object, most: int = LONGEST_QUOTE) -> str:
    """Return a value from a file or an argument for quoting in a message: printable, and cut to `most` characters."""
    if isinstance(value, int) and abs(value) >= 10**LONGEST_QUOTE:
        return "a huge number"  # Python refuses to print thousands of digits
    text = str(value)
    line = visible(text[: most + 1])
    return line if len(text) <= most and len(line) <= most else f"{line[: most - 3]}..."


EXTRA_OF = {"warp": "emulator", "torch": "train", "safetensors": "train", "gymnasium": "train", "matplotlib": "train"}
"""Extras of the installation that bring the libraries of which the bare package has none."""


def missing_library(error: ModuleNotFoundError) -> str:
    """Return which library of `EXTRA_OF` is missing and the command that installs it; empty for any other module."""
    library = (error.name or "").partition(".")[0]
    if library not in EXTRA_OF:
        return ""
    return f"{library}, which is not installed: pip install 'dmglab[{EXTRA_OF[library]}]'"
