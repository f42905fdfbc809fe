"""Input movies of other emulators: buttons a frame, pressed again on our console.

PyBoy   `.replay`: zlib over JSON `[[[frame, [event, ...], picture], ...], hash, state]`; hash is
        the ROM's SHA-256, state a save state or null, both in base64; the picture is the screen
        before that frame, and what the import is checked against (pyboy/plugins/record_replay.py)
VBM     VisualBoyAdvance, tasvideos.org/EmulatorResources/VBA/VBM: a header of 64 bytes, then two
        bytes a frame and controller. Only movies of a plain Game Boy that begin at power-on with
        one controller say everything that a DMG needs; the others are refused by name
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from trainer_core.protocol.buttons import MASK_BITS
from trainer_core.protocol.errors import LabError
from trainer_core.protocol.recording import HEIGHT, MAX_FRAMES, WIDTH
from trainer_core.protocol.regular_files import read_regular

MAX_MOVIE_BYTES = 64 << 20
MAX_UNPACKED_BYTES = 1 << 30
PYBOY_BOOT_FRAMES = 64
"""PyBoy 2.8.1 counts the frames of its own boot program, which our console does not run."""
PYBOY_BUTTONS = ("up", "down", "right", "left", "a", "b", "select", "start")
"""Events 1 to 8 press these, 9 to 16 let them go (pyboy/utils.py: WindowEvent)."""
PYBOY_SHADES = np.full(256, 255, np.uint8)
"""Shade of each grey: PyBoy's own four (its second is 0x99), and even ones; 255 is no shade."""
PYBOY_SHADES[[0xFF, 0x99, 0xAA, 0x55, 0x00]] = 0, 1, 1, 2, 3
VBM_MAGIC = b"VBM\x1a"
VBM_BUTTONS = ("a", "b", "select", "start", "right", "left", "up", "down")
"""Bits 0 to 7 of a controller's word."""
VBM_RESET = 0x0C00
_VBM = struct.Struct("<4sIIII4B12s12sBBHIII")


@dataclass(frozen=True, slots=True)
class Movie:
    """What a file says."""

    masks: bytes
    """A joypad mask a frame."""
    what: str
    rom_sha256: str = ""
    title: str = ""
    """Of the ROM, from its header; empty where the file names its hash."""
    checksum: int = -1
    """The header's global checksum; -1 not told."""
    pyboy_state: bytes = b""
    """Where it begins; empty at power-on."""
    pictures: tuple[tuple[int, np.ndarray], ...] = ()
    """(frame before which it was on the screen, shades u8[144, 160])."""
    cut: int = 0
    """Frames of the file that were left out because a recording ends after ten minutes."""


def read_movie(path: Path) -> Movie:
    """Raises LabError naming the file and what it holds."""
    try:
        data = read_regular(path, MAX_MOVIE_BYTES)
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}") from None
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
    (_, version, _, frames, _, start, controllers, system, _, _, title, _, _, checksum, _, _,
     offset) = _VBM.unpack_from(data)  # fmt: skip
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


def _read_pyboy(path: Path, data: bytes) -> Movie:
    try:
        unpacker = zlib.decompressobj()
        text = unpacker.decompress(data, MAX_UNPACKED_BYTES)
        if unpacker.unconsumed_tail:
            raise ValueError("more than 1 GiB unpacked")
        events, rom_hash, state = json.loads(text)
        sha256 = base64.b64decode(rom_hash, validate=True).hex()
        begun = base64.b64decode(state, validate=True) if state else b""
        skipped = 0 if begun else PYBOY_BOOT_FRAMES
        rows = [(int(frame) - skipped, [int(event) for event in held], screen)
                for frame, held, screen in events]  # fmt: skip
    except (zlib.error, ValueError, TypeError, RecursionError) as error:
        raise LabError(f"{path}: no movie of PyBoy or VisualBoyAdvance: {error}") from None
    if not rows:
        raise LabError(f"{path}: a movie without a button")
    masks, held, at = bytearray(), 0, 0
    for frame, pressed, _ in rows:
        frame = max(0, frame)
        if frame < at:
            raise LabError(f"{path}: its frames go back from {at} to {frame}")
        masks += bytes([held]) * (min(frame, MAX_FRAMES) - len(masks))
        at = frame
        for event in pressed:
            if 1 <= event <= 16:
                bit = _bit(PYBOY_BUTTONS[(event - 1) % 8])
                held = held | bit if event <= 8 else held & ~bit
    masks += bytes([held]) * min(60, MAX_FRAMES - len(masks))  # a second more, to see what came
    screens = tuple(
        (frame, shades) for frame, _, screen in rows
        if 0 < frame < len(masks) and (shades := _screen(screen)) is not None
    )  # fmt: skip
    return Movie(
        bytes(masks), "PyBoy movie", rom_sha256=sha256, pyboy_state=begun, pictures=screens,
        cut=max(0, at - MAX_FRAMES),
    )  # fmt: skip


def _screen(text: str) -> np.ndarray | None:
    """u8[144, 160] shades of a picture in PyBoy's greys or even ones; None for another palette."""
    try:
        data = np.frombuffer(base64.b64decode(text, validate=True), np.uint8)
        grey = data.reshape(HEIGHT, WIDTH, 3)[..., 0]
    except (ValueError, TypeError):
        return None
    shades = PYBOY_SHADES[grey]
    return shades if (shades <= 3).all() else None
