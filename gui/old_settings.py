"""Reads the INI file in which older apps kept their settings, as text and bytes alone.

QSettings wrote it, and would read it too; but that unpickles whatever `@Variant(...)` holds. This
reader knows plain texts and `@ByteArray(...)`, and passes over everything else.
"""

from __future__ import annotations

import re

_ESCAPES = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    '"': '"',
    "?": "?",
    "'": "'",
    "\\": "\\",
}
_PERCENT = re.compile(r"%U([0-9A-Fa-f]{4})|%([0-9A-Fa-f]{2})")
_PIECE = re.compile(
    r"\\x(?P<hex>[0-9A-Fa-f]+)|\\(?P<octal>[0-7]+)|\\\r?\n|\\(?P<letter>.)"
    r'|(?P<quote>")|(?P<comma>,)|(?P<plain>[^\\",]+)|(?P<end>\\)',
    re.DOTALL,
)
_LINE = re.compile(r'(?:[^"\\;\r\n]|\\\r?\n|\\.|"(?:[^"\\]|\\.)*"?)+', re.DOTALL)
"""One entry: to the end of its line, or farther inside quotes and after a backslash."""
_BYTES, _OTHER = "@ByteArray(", "@"


def read_ini(text: str) -> tuple[dict[str, str], dict[str, bytes]]:
    """Return texts and bytes by key; a value that is neither, or a list of several, is left out."""
    values: dict[str, str] = {}
    blobs: dict[str, bytes] = {}
    group = ""
    for line in _entries(text):
        if line.startswith("["):
            group = _group(line)
            continue
        name, equals, raw = line.partition("=")
        value = _value(raw.strip()) if equals else None
        if value is None:
            continue
        key = group + _key(name.strip())
        if value.startswith(_BYTES) and value.endswith(")"):
            blobs[key] = value[len(_BYTES) : -1].encode("latin-1", "replace")
        elif value.startswith("@@"):
            values[key] = value[1:]
        elif value.startswith("@String(") and value.endswith(")"):
            values[key] = value[len("@String(") : -1]
        elif not value.startswith(_OTHER):
            values[key] = value
    return values, blobs


def _entries(text: str) -> list[str]:
    """Lines without those that are comments or blank."""
    found, place = [], 0
    while place < len(text):
        if text[place] in "\r\n":
            place += 1
        elif text[place] == ";":
            end = text.find("\n", place)
            place = len(text) if end < 0 else end
        else:
            match = _LINE.match(text, place)
            if match is None:  # a backslash that nothing follows
                break
            found.append(match.group().strip(" \t"))
            place = match.end()
    return [line for line in found if line]


def _group(line: str) -> str:
    """`[view]` is "view/", `[General]` none; a group of that name is written `[%General]`."""
    name = line[1:].partition("]")[0].strip()
    if name.lower() == "general":
        return ""
    return "General/" if name.lower() == "%general" else _key(name) + "/"


def _key(text: str) -> str:
    whole = _PERCENT.sub(lambda found: _letter(int(found[1] or found[2], 16)), text)
    return whole.replace("\\", "/")


def _letter(number: int) -> str:
    """The letter of that number; of one that is none, or half of a pair, a question mark."""
    return chr(number) if number < 0xD800 or 0xDFFF < number < 0x110000 else "?"


def _value(raw: str) -> str | None:
    """The text that a value stands for; None for a list of several."""
    parts: list[str] = []
    in_quotes = False
    blanks = 0  # at the end of what stands without quotes: they do not count
    for piece in _PIECE.finditer(raw):
        blanks = 0
        match piece.lastgroup:
            case "hex":
                parts.append(_letter(int(piece["hex"][-8:], 16)))
            case "octal":
                parts.append(_letter(int(piece["octal"][-8:], 8)))
            case "letter":
                parts.append(_ESCAPES.get(piece["letter"], ""))
            case "quote":
                in_quotes = not in_quotes
            case "comma":
                if not in_quotes:
                    return None
                parts.append(",")
            case "plain":
                parts.append(piece["plain"])
                if not in_quotes:
                    blanks = len(piece["plain"]) - len(piece["plain"].rstrip())
            case _:
                pass  # a line that goes on in the next one
    whole = "".join(parts)
    return whole[: len(whole) - blanks] if blanks else whole
