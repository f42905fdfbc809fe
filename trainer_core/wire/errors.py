"""The errors that callers tell apart. A message says what is wrong and the way out."""

from __future__ import annotations

import os

import msgspec

BAD_JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for bytes that are no JSON of a type: cut, of another form, no UTF-8 inside a
string, nested too deep."""


MOST_WORDS = 290
"""Letters of an error that are shown: its beginning and its end, where the way out stands."""


def visible(text: str) -> str:
    """Return `text` with what a terminal would obey, and a lone surrogate, written as an escape.

    File names, reasons and titles are other people's words: an escape sequence in them could move
    the cursor, rename the window or hide a line.
    """
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text)


def shortened(text: str, most: int = MOST_WORDS) -> str:
    """Return `text` as at most `most` printable letters.

    Where it is longer, long words give way first, which are paths: their ends tell more. Then its
    middle does.
    """
    text = visible(text)
    if len(text) > most:
        text = " ".join(map(_without_middle, text.split(" ")))
    if len(text) <= most:
        return text
    end = most // 2 - 5
    return f"{text[: most - end - 5]} ... {text[-end:]}"


def _without_middle(word: str) -> str:
    """Return a long word, such as a path, by its beginning and its end."""
    return word if len(word) <= 70 else f"{word[:12]}...{word[-50:]}"


class LabError(Exception):
    """Root of every error this project raises on purpose; shells print it as one line, exit 1.

    Its text quotes files and arguments, so it is always one short printable line.
    """

    def __str__(self) -> str:
        return shortened(super().__str__())


class ConfigError(LabError):
    """A configuration value that cannot work."""


class ProtocolError(LabError):
    """A line or file that does not follow docs/reference/protocol.md."""


class TaskError(LabError):
    """A task folder that is missing, incomplete, or made for another ROM or codec."""


class CheckpointError(LabError):
    """A checkpoint that is missing, corrupt, or does not fit the task it is used with."""


def in_words(error: LabError | OSError) -> str:
    """What a person is told: of a file its name and what the system says, without a number."""
    if isinstance(error, LabError) or not error.strerror:
        return shortened(str(error))
    place = f"{os.fsdecode(error.filename)}: " if error.filename else ""
    return shortened(f"{place}{error.strerror}")


LONGEST_QUOTE = 80
"""Letters of one of somebody else's texts that a message repeats."""


def shown(value: object, most: int = LONGEST_QUOTE) -> str:
    """Return a value of a file or an argument as a message repeats it: printable, and cut."""
    if isinstance(value, int) and abs(value) >= 10**LONGEST_QUOTE:
        return "a huge number"  # Python refuses to write one of thousands of digits
    text = str(value)
    line = visible(text[: most + 1])
    return line if len(text) <= most and len(line) <= most else f"{line[: most - 3]}..."
