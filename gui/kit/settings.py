"""Settings saved in one JSON file in the home folder, read and written with types.

A home may come from another user. The values are only texts and bytes, and no reader here turns them into other
objects; QSettings, which unpickles objects from its INI files, is not used.
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

LAYOUT_VERSION = 4
"""Version of the dock layout; increase it when docks are added, removed or renamed, and old layouts are ignored."""
FILE, OLD_FILE, DAMAGED = "app.json", "app.ini", "app.json.damaged"
MOST_BYTES = 8 << 20
MOST_OLD_BYTES = 1 << 20
MOST_KEYS, LONGEST_KEY, LONGEST_TEXT, LONGEST_BLOB = 4096, 256, 1 << 20, 1 << 18
LOCK_S = 2.0
WRITE_MS = 500
"""Milliseconds from a change to its writing, so that a drag of a slider is written once."""

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
"""Pattern of one entry of an INI file: to the end of the line, or farther inside quotes and after a backslash."""
_INI_BYTES, _INI_OTHER = "@ByteArray(", "@"


class _Kept(msgspec.Struct):
    """Contents of the file: texts (also for numbers and flags), and bytes, which are base64 in JSON."""

    v: Literal[1] = 1
    values: Annotated[dict[_Key, _Text], msgspec.Meta(max_length=MOST_KEYS)] = {}
    blobs: Annotated[dict[_Key, _Blob], msgspec.Meta(max_length=MOST_KEYS)] = {}


class Settings:
    """Saved values by key, with defaults; a damaged file is renamed, and the defaults are used."""

    def __init__(self, home: HomePaths) -> None:
        self._folder = home.settings
        self.problem = ""
        """Reason why the saved values could not be read; empty when they could."""
        self._changed: set[str] = set()
        """Keys whose values have not been written to the file yet."""
        self._kept = self._read()
        self._writing: threading.Thread | None = None
        self._timer: QTimer | None = None

    def text(self, key: str, default: str = "") -> str:
        return self._kept.values.get(key, default)

    def number(self, key: str, default: float) -> float:
        """Return the value of a key as a finite number; the default if it is none."""
        try:
            number = float(self.text(key) or default)
        except ValueError:
            return default
        return number if math.isfinite(number) else default

    def flag(self, key: str, default: bool) -> bool:
        return self.text(key, "true" if default else "false") == "true"

    def decoded(self, key: str, kind: Any, default: Any) -> Any:
        """Return the JSON value of a key, checked to be of the type `kind`; the default if it is not."""
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
        """Write all changes now. If the disk is full, the old file stays."""
        if self._timer is not None:
            self._timer.stop()
        if self._writing is not None:
            self._writing.join()
        if self._changed:
            self._write(self._taken())

    # -- the file ---------------------------------------------------------------------------

    def _read(self) -> _Kept:
        """Return the contents of the file, or of an older version's INI file; a damaged file is renamed."""
        try:
            return _decode(self._folder / FILE)
        except FileNotFoundError:
            return self._migrate()
        except (OSError, ValueError) as error:
            self.problem = f"{self._folder / FILE}: {getattr(error, 'strerror', '') or error}"
            self._put_aside()
            return _Kept()

    def _migrate(self) -> _Kept:
        """Return the texts and bytes of an older version's INI file, which is not changed."""
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
        """Record that a key changed, and start the timer that writes the file in a thread."""
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
        """Return the keys that are not written yet, and clear that set."""
        changed, self._changed = self._changed, set()
        return changed

    def _write(self, changed: set[str]) -> None:
        """Write the values of the changed keys; other keys in the file may come from another app and stay."""
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
    """Return the contents of a settings file. Raises OSError or ValueError for any other file."""
    try:
        return msgspec.json.decode(read_regular(path, MOST_BYTES), type=_Kept)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(str(error)) from None


def _fits(key: str, value: str | bytes, longest: int) -> bool:
    return len(key) <= LONGEST_KEY and len(value) <= longest


def _is_unicode(text: str) -> bool:
    """Return whether the text can be encoded; half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a lock on the settings of the folder, against other app processes with the same home.

    Without the lock after LOCK_S seconds: a suspended process may hold it.
    """
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
    """Return the texts and the bytes by key from the text of a QSettings INI file; other values are skipped."""
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
    """Return the entries of an INI file that are neither blank nor comments."""
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
    """Return the key prefix for a group's line: `[view]` is "view/", `[General]` "", `[%General]` "General/"."""
    name = line[1:].partition("]")[0].strip()
    if name.lower() == "general":
        return ""
    return "General/" if name.lower() == "%general" else _ini_key(name) + "/"


def _ini_key(text: str) -> str:
    whole = _INI_PERCENT.sub(lambda found: _ini_letter(int(found[1] or found[2], 16)), text)
    return whole.replace("\\", "/")


def _ini_letter(number: int) -> str:
    """Return the character of a Unicode number; a question mark for an invalid one."""
    return chr(number) if number < 0xD800 or 0xDFFF < number < 0x110000 else "?"


def _ini_value(raw: str) -> str | None:
    """Return the text of an INI value; None for a list of several texts."""
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
