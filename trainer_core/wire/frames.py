"""Memory-mapped file frames.bin with the newest pictures of a process.

    header, 64 bytes, little endian
      0  magic      4s   b"DMGF"
      4  version    u16  1
      6  format     u8   0 = one shade 0..3 a byte, 1 = RGB888
      7  slots      u8   pictures are written round robin; readers take the newest
      8  width      u16  pixels
      10 height     u16
      12 envs       u16  pictures per slot, one an env, stacked one below the other
      16 seq        u64  number of slots published so far; 0 = nothing yet
    then `slots` times: slot header, 64 bytes, and envs * height * width * (1 or 3) bytes
      0  seq        u64  the value of the header's seq once this slot is complete; 0 while writing
      8  env_steps  u64
      16 time       f64  time.monotonic() of the writer
      24 reward     f32
      28 dist       f32
      32 speed      f32  measured, 1.0 = 59.7 frames a second
      36 buttons    u8   joypad mask held in this picture
      37 who        u8   0 agent, 1 human
      38 action     i8   index into buttons7.v1, -1 none
      39 flags      u8   bit 0 done, bit 1 trunc, bit 2 success, bit 3 recording
      40 frame      u64  frames since the player or worker started

A plain file, unlike a named shared memory segment, needs no clean-up, and works the same on every system.
"""

from __future__ import annotations

import errno
import mmap
import os
import struct
import time
from dataclasses import dataclass
from pathlib import Path

from trainer_core.wire.errors import ProtocolError
from trainer_core.wire.regular_files import open_regular

MAGIC = b"DMGF"
VERSION = 1
FORMAT_SHADE = 0
FORMAT_RGB888 = 1
BYTES_PER_PIXEL = {FORMAT_SHADE: 1, FORMAT_RGB888: 3}
_HEADER = struct.Struct("<4sHBBHHHxxQ")
_SLOT = struct.Struct("<QQdfffBBbBQ")
_HEADER_BYTES = 64
_SEQ_OFFSET = 16

FLAG_DONE, FLAG_TRUNC, FLAG_SUCCESS, FLAG_RECORDING = 1, 2, 4, 8


@dataclass(frozen=True, slots=True)
class FrameInfo:
    """Data published with a picture in a slot's header."""

    env_steps: int = 0
    time: float = 0.0
    reward: float = 0.0
    dist: float = 0.0
    speed: float = 0.0
    buttons: int = 0
    who: int = 0
    action: int = -1
    flags: int = 0
    frame: int = 0


@dataclass(frozen=True, slots=True)
class FrameShape:
    width: int
    height: int
    envs: int = 1
    format: int = FORMAT_SHADE
    slots: int = 3

    @property
    def picture_bytes(self) -> int:
        return self.width * self.height * self.envs * BYTES_PER_PIXEL[self.format]

    @property
    def slot_bytes(self) -> int:
        return 64 + self.picture_bytes

    @property
    def file_bytes(self) -> int:
        return _HEADER_BYTES + self.slots * self.slot_bytes


@dataclass(frozen=True, slots=True)
class ScreenShape:
    """Size and colours of the pictures that a game shows."""

    width: int
    height: int
    palette: tuple[int, ...] = ()
    """Colour 0xRRGGBB of each pixel value; empty = the four shades of a Game Boy, in the viewer's colours."""

    @property
    def colours(self) -> tuple[tuple[int, int, int], ...]:
        """Colour (red, green, blue) of each pixel value; empty for the shades of a Game Boy."""
        return tuple((rgb >> 16, rgb >> 8 & 255, rgb & 255) for rgb in self.palette)

    @property
    def frame_shape(self) -> FrameShape:
        """Shape of a frames.bin with such pictures."""
        kind = FORMAT_RGB888 if self.palette else FORMAT_SHADE
        return FrameShape(self.width, self.height, format=kind)


GAME_BOY = ScreenShape(160, 144)


class FrameWriter:
    """Writer of a frames.bin; a file has only one. It replaces an old file, which its readers can still read."""

    def __init__(self, path: Path, shape: FrameShape) -> None:
        """Create the file `path` for pictures of `shape`. Raises OSError, and leaves no partial file then."""
        self.shape = shape
        self._seq = 0
        partial = path.with_suffix(".tmp")
        try:
            with partial.open("w+b") as file:
                _allocate(file.fileno(), shape.file_bytes)
                self._map = mmap.mmap(file.fileno(), shape.file_bytes)
        except OSError:
            partial.unlink(missing_ok=True)
            raise
        _HEADER.pack_into(
            self._map, 0, MAGIC, VERSION, shape.format, shape.slots, shape.width, shape.height, shape.envs, 0
        )
        os.replace(partial, path)

    def publish(self, picture: bytes | memoryview, info: FrameInfo) -> int:
        """Publish one picture (`shape.picture_bytes` bytes). Return its sequence number."""
        if len(picture) != self.shape.picture_bytes:
            raise ProtocolError(f"picture has {len(picture)} bytes, the file holds {self.shape.picture_bytes}")
        self._seq += 1
        start = _HEADER_BYTES + (self._seq % self.shape.slots) * self.shape.slot_bytes
        struct.pack_into("<Q", self._map, start, 0)  # invalidates the slot for a reader that is copying it
        self._map[start + 64 : start + 64 + len(picture)] = picture
        _SLOT.pack_into(
            self._map,
            start,
            self._seq,
            info.env_steps,
            info.time or time.monotonic(),
            info.reward,
            info.dist,
            info.speed,
            info.buttons,
            info.who,
            info.action,
            info.flags,
            info.frame,
        )
        struct.pack_into("<Q", self._map, _SEQ_OFFSET, self._seq)
        return self._seq

    def close(self) -> None:
        self._map.close()


def _allocate(descriptor: int, size: int) -> None:
    """Extend the file by zeros with blocks reserved on the disk: writing to a hole on a full disk ends the process by
    SIGBUS."""
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(descriptor, 0, size)
            return
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
                raise
    os.truncate(descriptor, size)


class FrameReader:
    """Reader of the newest complete picture of a frames.bin; never blocks, never writes."""

    def __init__(self, path: Path) -> None:
        """Map the file. Raises ProtocolError when it is missing, cut short or of another version."""
        try:
            with open_regular(path) as file:
                size = os.fstat(file.fileno()).st_size
                if size < _HEADER_BYTES:
                    raise ProtocolError(f"{path}: {size} bytes, shorter than a frames.bin header")
                self._map = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ)
        except OSError as error:
            raise ProtocolError(f"{path}: {error.strerror}") from None
        magic, version, fmt, slots, width, height, envs, _ = _HEADER.unpack_from(self._map, 0)
        if magic != MAGIC or version != VERSION or fmt not in BYTES_PER_PIXEL:
            raise ProtocolError(f"{path}: not a frames.bin of version {VERSION}")
        if 0 in (slots, width, height, envs):
            raise ProtocolError(f"{path}: {slots} slots of {envs} pictures of {width}x{height}")
        self.shape = FrameShape(width, height, envs, fmt, slots)
        if size < self.shape.file_bytes:
            raise ProtocolError(f"{path}: {size} bytes, expected {self.shape.file_bytes}")

    @property
    def seq(self) -> int:
        """Sequence number of the newest picture, 0 before the first."""
        return struct.unpack_from("<Q", self._map, _SEQ_OFFSET)[0]

    def latest(self) -> tuple[int, FrameInfo, bytes] | None:
        """Return (seq, info, picture bytes) of the newest picture, or None before the first."""
        for _ in range(4):  # the writer may overwrite the slot meanwhile; two slots behind it is safe
            seq = self.seq
            if seq == 0:
                return None
            start = _HEADER_BYTES + (seq % self.shape.slots) * self.shape.slot_bytes
            before, *fields = _SLOT.unpack_from(self._map, start)
            picture = self._map[start + 64 : start + 64 + self.shape.picture_bytes]
            (after,) = struct.unpack_from("<Q", self._map, start)
            if before == after == seq:
                return seq, FrameInfo(*fields), picture
        return None

    def close(self) -> None:
        self._map.close()


MEMORY_FILE = "memory.bin"
"""File in the player's folder with the Game Boy's memory, in the format of frames.bin."""
BASE = 0x8000
"""Game Boy address of the first byte in memory.bin; the ROM, at lower addresses, is left out."""
MEMORY_SHAPE = FrameShape(256, 128)
