"""Settings kept between starts: one JSON file in the home, with typed access.

A home may come from another user. Nothing in the file can be more than a text or bytes, and no reader here makes
anything else of it; QSettings, which unpickles objects from its INI files, is not used.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import math
import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from PySide6.QtCore import QByteArray, QCoreApplication, QTimer

from trainer_core.lab import durable_files
from trainer_core.lab.paths import HomePaths
from trainer_core.wire.regular_files import read_regular

log = logging.getLogger(__name__)

LAYOUT_VERSION = 3
"""Increase it whenever docks are added, removed or renamed: an older layout is then ignored."""
FILE, OLD_FILE, DAMAGED = "app.json", "app.ini", "app.json.damaged"
MOST_BYTES = 8 << 20
MOST_OLD_BYTES = 1 << 20
MOST_KEYS, LONGEST_KEY, LONGEST_TEXT, LONGEST_BLOB = 4096, 256, 1 << 20, 1 << 18
LOCK_S = 2.0
WRITE_MS = 500
"""Milliseconds until a change is written: a drag of a slider is one write, not fifty."""

_Key = Annotated[str, msgspec.Meta(max_length=LONGEST_KEY)]
_Text = Annotated[str, msgspec.Meta(max_length=LONGEST_TEXT)]
_Blob = Annotated[bytes, msgspec.Meta(max_length=LONGEST_BLOB)]
_INI_ESCAPES = {
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
_INI_PERCENT = re.compile(r"%U([0-9A-Fa-f]{4})|%([0-9A-Fa-f]{2})")
_INI_PIECE = re.compile(
    r"\\x(?P<hex>[0-9A-Fa-f]+)|\\(?P<octal>[0-7]+)|\\\r?\n|\\(?P<letter>.)"
    r'|(?P<quote>")|(?P<comma>,)|(?P<plain>[^\\",]+)|(?P<end>\\)',
    re.DOTALL,
)
_INI_LINE = re.compile(r'(?:[^"\\;\r\n]|\\\r?\n|\\.|"(?:[^"\\]|\\.)*"?)+', re.DOTALL)
"""One entry: to the end of its line, or farther inside quotes and after a backslash."""
_INI_BYTES, _INI_OTHER = "@ByteArray(", "@"


class _Kept(msgspec.Struct):
    """Content of the file: texts (numbers and flags as text), and bytes, which JSON has as base64."""

    v: Literal[1] = 1
    values: Annotated[dict[_Key, _Text], msgspec.Meta(max_length=MOST_KEYS)] = {}
    blobs: Annotated[dict[_Key, _Blob], msgspec.Meta(max_length=MOST_KEYS)] = {}


class Settings:
    """Values with defaults; a damaged file reads as the defaults and is put aside."""

    def __init__(self, home: HomePaths) -> None:
        self._folder = home.settings
        self.problem = ""
        """Reason why the defaults replace the saved values; empty when they do not."""
        self._changed: set[str] = set()
        """Keys whose values are not on the disk yet."""
        self._kept = self._read()
        self._writing: threading.Thread | None = None
        self._timer: QTimer | None = None

    def text(self, key: str, default: str = "") -> str:
        return self._kept.values.get(key, default)

    def number(self, key: str, default: float) -> float:
        """Return a finite number, else the default."""
        try:
            number = float(self.text(key) or default)
        except ValueError:
            return default
        return number if math.isfinite(number) else default

    def flag(self, key: str, default: bool) -> bool:
        return self.text(key, "true" if default else "false") == "true"

    def decoded(self, key: str, kind: Any, default: Any) -> Any:
        """Return the JSON text of a key as `kind`; the default if it is not of that kind."""
        try:
            return msgspec.json.decode(self.text(key), type=kind)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return default

    def set(self, key: str, value: str | float | bool) -> None:
        if isinstance(value, bool):
            value = "true" if value else "false"
        text = str(value)
        if len(text) > LONGEST_TEXT or (not text.isascii() and not _is_unicode(text)):
            log.warning("the setting %s cannot be kept", key)
        elif self._kept.values.get(key) != text:
            self._kept.values[key] = text
            self._note(key)

    def blob(self, key: str) -> QByteArray:
        return QByteArray(self._kept.blobs.get(key, b""))

    def set_blob(self, key: str, value: QByteArray) -> None:
        data = bytes(value.data())
        if len(data) <= LONGEST_BLOB and self._kept.blobs.get(key) != data:
            self._kept.blobs[key] = data
            self._note(key)

    def remove(self, key: str) -> None:
        if key in self._kept.values or key in self._kept.blobs:
            self._kept.values.pop(key, None)
            self._kept.blobs.pop(key, None)
            self._note(key)

    def save(self) -> None:
        """Write every change before returning. If the disk is full, the old file stays."""
        if self._timer is not None:
            self._timer.stop()
        if self._writing is not None:
            self._writing.join()
        if self._changed:
            self._write(self._taken())

    # -- the file ---------------------------------------------------------------------------

    def _read(self) -> _Kept:
        """Return the file's content, or the INI file of an older version; put a damaged file aside."""
        try:
            return _decode(self._folder / FILE)
        except FileNotFoundError:
            return self._migrate()
        except (OSError, ValueError) as error:
            self.problem = f"{self._folder / FILE}: {getattr(error, 'strerror', '') or error}"
            self._put_aside()
            return _Kept()

    def _migrate(self) -> _Kept:
        """Return the texts and bytes of the INI file, which stays for older versions."""
        try:
            data = read_regular(self._folder / OLD_FILE, MOST_OLD_BYTES)
        except OSError:
            return _Kept()
        values, blobs = read_ini(data.decode("utf-8", "replace"))
        kept = _Kept(
            values={k: v for k, v in values.items() if _fits(k, v, LONGEST_TEXT)},
            blobs={k: v for k, v in blobs.items() if _fits(k, v, LONGEST_BLOB)},
        )
        self._changed = {*kept.values, *kept.blobs}
        return kept

    def _put_aside(self) -> None:
        with contextlib.suppress(OSError):
            (self._folder / FILE).replace(self._folder / DAMAGED)

    def _note(self, key: str) -> None:
        """Note that a key changed, and write it soon, off the UI thread."""
        self._changed.add(key)
        if QCoreApplication.instance() is None:
            return
        if self._timer is None:
            self._timer = QTimer(singleShot=True, interval=WRITE_MS)
            self._timer.timeout.connect(self._write_soon)
        if not self._timer.isActive():
            self._timer.start()

    def _write_soon(self) -> None:
        if self._writing is not None:
            self._writing.join(0.0)
            if self._writing.is_alive():
                return self._note_again()
        self._writing = threading.Thread(target=self._write, args=(self._taken(),), name="settings")
        self._writing.start()

    def _note_again(self) -> None:
        if self._timer is not None:
            self._timer.start()

    def _taken(self) -> set[str]:
        """Return the keys to write now and clear the set of changed keys."""
        changed, self._changed = self._changed, set()
        return changed

    def _write(self, changed: set[str]) -> None:
        """Write the changed keys into the file, whose other keys another app may have changed."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with _locked(self._folder):
                durable_files.replace_file(self._folder / FILE, self._merged(changed))
        except OSError as error:
            log.warning("settings are not kept: %s", error)
            self._changed.update(changed)  # retry with the next change, when the disk may have space again

    def _merged(self, changed: set[str]) -> bytes:
        ours = self._kept
        try:
            found = _decode(self._folder / FILE)
        except (OSError, ValueError) as error:
            if not isinstance(error, FileNotFoundError):
                self._put_aside()
            found, changed = _Kept(), {*ours.values, *ours.blobs}
        pairs: Any = ((found.values, ours.values), (found.blobs, ours.blobs))
        for there, here in pairs:
            for key in changed:
                there.pop(key, None)
                if key in here:
                    there[key] = here[key]
        return msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"


def _decode(path: Path) -> _Kept:
    """Return the content of a file. Raises OSError or ValueError for a file not of this app."""
    try:
        return msgspec.json.decode(read_regular(path, MOST_BYTES), type=_Kept)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _fits(key: str, value: str | bytes, longest: int) -> bool:
    return len(key) <= LONGEST_KEY and len(value) <= longest


def _is_unicode(text: str) -> bool:
    """Return whether a file can hold the text: half of a surrogate pair cannot be encoded."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock the file against other apps with this home."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        deadline = time.monotonic() + LOCK_S
        while time.monotonic() < deadline:  # then without: a suspended process may hold the lock
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(0.02)
        yield
    finally:
        os.close(descriptor)


def read_ini(text: str) -> tuple[dict[str, str], dict[str, bytes]]:
    """Return the texts and the bytes by key in a file of QSettings; other values are skipped."""
    values: dict[str, str] = {}
    blobs: dict[str, bytes] = {}
    group = ""
    for line in _ini_entries(text):
        if line.startswith("["):
            group = _ini_group(line)
            continue
        name, equals, raw = line.partition("=")
        value = _ini_value(raw.strip()) if equals else None
        if value is None:
            continue
        key = group + _ini_key(name.strip())
        if value.startswith(_INI_BYTES) and value.endswith(")"):
            blobs[key] = value[len(_INI_BYTES) : -1].encode("latin-1", "replace")
        elif value.startswith("@@"):
            values[key] = value[1:]
        elif value.startswith("@String(") and value.endswith(")"):
            values[key] = value[len("@String(") : -1]
        elif not value.startswith(_INI_OTHER):
            values[key] = value
    return values, blobs


def _ini_entries(text: str) -> list[str]:
    """Return the lines that are neither comments nor blank."""
    found, place = [], 0
    while place < len(text):
        if text[place] in "\r\n":
            place += 1
        elif text[place] == ";":
            end = text.find("\n", place)
            place = len(text) if end < 0 else end
        else:
            match = _INI_LINE.match(text, place)
            if match is None:  # a backslash at the end
                break
            found.append(match.group().strip(" \t"))
            place = match.end()
    return [line for line in found if line]


def _ini_group(line: str) -> str:
    """Return the key prefix of a group: `[view]` is "view/", `[General]` none, `[%General]` "General/"."""
    name = line[1:].partition("]")[0].strip()
    if name.lower() == "general":
        return ""
    return "General/" if name.lower() == "%general" else _ini_key(name) + "/"


def _ini_key(text: str) -> str:
    whole = _INI_PERCENT.sub(lambda found: _ini_letter(int(found[1] or found[2], 16)), text)
    return whole.replace("\\", "/")


def _ini_letter(number: int) -> str:
    """Return the letter with this number; a question mark for an invalid one or half of a pair."""
    return chr(number) if number < 0xD800 or 0xDFFF < number < 0x110000 else "?"


def _ini_value(raw: str) -> str | None:
    """Return the text of a value; None for a list of several."""
    parts: list[str] = []
    in_quotes = False
    blanks = 0  # trailing blanks outside quotes do not count
    for piece in _INI_PIECE.finditer(raw):
        blanks = 0
        match piece.lastgroup:
            case "hex":
                parts.append(_ini_letter(int(piece["hex"][-8:], 16)))
            case "octal":
                parts.append(_ini_letter(int(piece["octal"][-8:], 8)))
            case "letter":
                parts.append(_INI_ESCAPES.get(piece["letter"], ""))
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
                pass  # a line that continues in the next one
    whole = "".join(parts)
    return whole[: len(whole) - blanks] if blanks else whole
