"""Input movies of other emulators: buttons per frame, replayed on our console.

PyBoy   `.replay`: zlib over JSON `[[[frame, [event, ...], picture], ...], hash, state]`; hash is
        the ROM's SHA-256, state a save state or null, both in base64; the picture is the screen
        before that frame, and what the import is checked against (pyboy/plugins/record_replay.py)
VBM     VisualBoyAdvance, tasvideos.org/EmulatorResources/VBA/VBM: a header of 64 bytes, then two
        bytes a frame and controller. Only movies of a plain Game Boy that begin at power-on with
        one controller say everything that a DMG needs; the others are refused by name
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from trainer_core.lab.recording import HEIGHT, MAX_FRAMES, WIDTH
from trainer_core.wire.buttons import MASK_BITS
from trainer_core.wire.decoding import parsing
from trainer_core.wire.errors import LabError
from trainer_core.wire.regular_files import read_regular

MAX_MOVIE_BYTES = 64 << 20
MAX_UNPACKED_BYTES = 1 << 28
"""Maximum unpacked size: 2,900 pictures, enough for four buttons a second for twelve minutes."""
MAX_ROW_BYTES = 1 << 20
"""Maximum size of one row of a PyBoy movie, or of its save state; a picture has 92,160 letters."""
PIECE_BYTES = 1 << 20
"""Bytes unpacked at a time: the file is read value by value, so that a small file cannot fill the memory."""
PYBOY_BOOT_FRAMES = 64
"""Frames of PyBoy 2.8.1's own boot program, which our console does not run."""
PYBOY_BUTTONS = ("up", "down", "right", "left", "a", "b", "select", "start")
"""Buttons that events 1 to 8 press and events 9 to 16 release (pyboy/utils.py: WindowEvent)."""
PYBOY_SHADES = np.full(256, 255, np.uint8)
"""Shade of each grey level: PyBoy's own four (its second is 0x99), and evenly spaced ones; 255 is no shade."""
PYBOY_SHADES[[0xFF, 0x99, 0xAA, 0x55, 0x00]] = 0, 1, 1, 2, 3
VBM_MAGIC = b"VBM\x1a"
VBM_BUTTONS = ("a", "b", "select", "start", "right", "left", "up", "down")
"""Buttons of bits 0 to 7 of a controller's word."""
VBM_RESET = 0x0C00
_VBM = struct.Struct("<4sIIII4B12s12sBBHIII")


@dataclass(frozen=True, slots=True)
class Movie:
    """Contents of a movie file."""

    masks: bytes
    """One joypad mask per frame."""
    what: str
    rom_sha256: str = ""
    title: str = ""
    """ROM's title from its header; empty when the file has its hash."""
    checksum: int = -1
    """The header's global checksum; -1 if unknown."""
    pyboy_state: bytes = b""
    """Save state at the beginning; empty at power-on."""
    pictures: tuple[tuple[int, bytes], ...] = ()
    """Pairs (frame, hash of the screen's shades before that frame), to compare the replay with."""
    cut: int = 0
    """Frames of the file beyond a recording's ten minutes."""


def read_movie(path: Path) -> Movie:
    """Read a movie file. Raises LabError naming the file and what is wrong."""
    with parsing(f"{path}: cannot be read"):
        data = read_regular(path, MAX_MOVIE_BYTES)
    if data.startswith(VBM_MAGIC):
        return _read_vbm(path, data)
    if path.suffix.lower() == ".vbm":
        raise LabError(f"{path}: no VBM movie: it does not begin with VBM")
    return _read_pyboy(path, data)


def _bit(name: str) -> int:
    return 1 << MASK_BITS.index(name)


# -- VisualBoyAdvance ----------------------------------------------------------------------------


def _read_vbm(path: Path, data: bytes) -> Movie:
    if len(data) < _VBM.size:
        raise LabError(f"{path}: cut off: {len(data)} bytes, a VBM movie begins with {_VBM.size}")
    (_, version, _, frames, _, start, controllers, system, _, _, title, _, _, checksum, _, _, offset) = (
        _VBM.unpack_from(data)
    )
    kinds = {1: "a Game Boy Advance", 2: "a Game Boy Color", 4: "a Super Game Boy"}
    if version != 1:
        raise LabError(f"{path}: VBM of version {version}; only version 1 is documented")
    if system & 7:
        kind = kinds.get(system & 7, "several systems at once")
        raise LabError(f"{path}: a movie of {kind}; this lab has the first Game Boy")
    if start & 3:
        what = "a save state of VisualBoyAdvance" if start & 1 else "a battery's memory"
        raise LabError(f"{path}: begins from {what}, which cannot be read; only power-on can")
    if controllers & 15 != 1:
        raise LabError(f"{path}: uses controllers {controllers & 15:04b}; a Game Boy has one")
    kept = min(frames, MAX_FRAMES)
    end = offset + 2 * frames
    if offset < _VBM.size or not frames or len(data) < end:
        raise LabError(f"{path}: cut short: {frames} frames from byte {offset} of {len(data)}")
    words = np.frombuffer(data, "<u2", kept, offset)
    if resets := np.flatnonzero(words & VBM_RESET).tolist():
        raise LabError(f"{path}: resets the console in frame {resets[0] + 1}; a recording cannot")
    masks = np.zeros(kept, np.uint8)
    for bit, name in enumerate(VBM_BUTTONS):
        masks |= (words >> bit & 1).astype(np.uint8) * np.uint8(_bit(name))
    name = title.split(b"\0")[0].decode("ascii", "replace").strip()
    return Movie(masks.tobytes(), "VBM movie", title=name, checksum=checksum, cut=frames - kept)


# -- PyBoy ---------------------------------------------------------------------------------------


MOST_EVENTS = 256
"""Maximum number of events in one frame; PyBoy has about twenty kinds."""
Event = Annotated[int, Meta(ge=-(1 << 31), lt=1 << 31)]
Row = tuple[
    Annotated[int, Meta(ge=-(1 << 40), le=1 << 40)], Annotated[list[Event], Meta(max_length=MOST_EVENTS)], str | None
]


def _read_pyboy(path: Path, data: bytes) -> Movie:
    with parsing(f"{path}: no movie of PyBoy or VisualBoyAdvance"):
        masks, held, at = bytearray(), 0, 0
        screens: list[tuple[int, bytes]] = []
        text = _Text(data)
        rows = [(frame, pressed, _digest_of(screen)) for frame, pressed, screen in _rows(text)]
        text.expect(",")
        sha256 = base64.b64decode(msgspec.convert(text.value(), str), validate=True).hex()
        text.expect(",")
        state = msgspec.convert(text.value(), str | None)
        text.expect("]")
        begun = base64.b64decode(state, validate=True) if state else b""
    if not rows:
        raise LabError(f"{path}: a movie without a button")
    for counted, pressed, screen in rows:
        frame = max(0, counted - (0 if begun else PYBOY_BOOT_FRAMES))
        if frame < at:
            raise LabError(f"{path}: its frames go back from {at} to {frame}")
        masks += bytes([held]) * (min(frame, MAX_FRAMES) - len(masks))
        at = frame
        if screen and frame:
            screens.append((frame, screen))
        for event in pressed:
            if 1 <= event <= 16:
                bit = _bit(PYBOY_BUTTONS[(event - 1) % 8])
                held = held | bit if event <= 8 else held & ~bit
    masks += bytes([held]) * min(60, MAX_FRAMES - len(masks))  # one more second, to show the result
    return Movie(
        bytes(masks),
        "PyBoy movie",
        rom_sha256=sha256,
        pyboy_state=begun,
        pictures=tuple(screen for screen in screens if screen[0] < len(masks)),
        cut=max(0, at - MAX_FRAMES),
    )


_BLANKS = re.compile(r"[ \t\r\n]*")


class _Text:
    """Reader of the JSON in a zlib stream, value by value. Raises ValueError, zlib.error."""

    def __init__(self, data: bytes) -> None:
        self._packed, self._unpacker = data, zlib.decompressobj()
        self._text, self._at, self._unpacked, self._is_all = "", 0, 0, False
        self._decoder = json.JSONDecoder()

    def expect(self, letters: str) -> None:
        """Skip `letters`, each possibly after blanks; raises ValueError if other letters come."""
        for letter in letters:
            if self.next_is(letter):
                self._at += 1
            else:
                raise ValueError(f"{self._text[self._at : self._at + 1]!r} in the place of {letter!r}")

    def next_is(self, letter: str) -> bool:
        self._fill()
        return self._text.startswith(letter, self._at)

    def value(self) -> Any:
        """Return the next JSON value, decoded."""
        self._fill()
        value, end = self._decoder.raw_decode(self._text, self._at)
        if end - self._at > MAX_ROW_BYTES:
            raise ValueError(f"a value of more than {MAX_ROW_BYTES} letters")
        self._at = end
        return value

    def _fill(self) -> None:
        """Unpack at least the longest allowed value, if there is that much, and skip blanks before it."""
        while True:
            while len(self._text) - self._at <= MAX_ROW_BYTES and not self._is_all:
                self._unpack()
            found = _BLANKS.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text) or self._is_all:
                return

    def _unpack(self) -> None:
        piece = self._unpacker.decompress(self._packed, PIECE_BYTES)
        self._packed = self._unpacker.unconsumed_tail
        self._is_all = not piece  # its end, or where it was cut off
        self._unpacked += len(piece)
        if self._unpacked > MAX_UNPACKED_BYTES:
            raise ValueError(f"more than {MAX_UNPACKED_BYTES >> 20} MiB unpacked")
        self._text, self._at = self._text[self._at :] + piece.decode("ascii"), 0


def _rows(text: _Text) -> Iterator[Row]:
    """Yield the rows of a movie, at most one row per frame with a button."""
    text.expect("[[")
    count = 0
    while not text.next_is("]"):
        if count:
            text.expect(",")
        count += 1
        if count > MAX_FRAMES:
            raise ValueError(f"more than {MAX_FRAMES} rows")
        yield msgspec.convert(text.value(), Row)
    text.expect("]")


def digest(shades: np.ndarray) -> bytes:
    """Return a 16-byte hash of a picture u8[144, 160]: a movie has thousands of pictures."""
    return hashlib.blake2b(shades.tobytes(), digest_size=16).digest()


def _digest_of(screen: str | None) -> bytes:
    """Return the `digest` of a PyBoy screen (base64), after converting its greys to shades.

    Returns b"" for no screen and for other palettes.
    """
    try:
        data = np.frombuffer(base64.b64decode(screen or "", validate=True), np.uint8)
        grey = data.reshape(HEIGHT, WIDTH, 3)[..., 0]
    except (ValueError, TypeError):
        return b""
    shades = PYBOY_SHADES[grey]
    return digest(shades) if (shades <= 3).all() else b""
