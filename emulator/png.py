"""The smallest PNG writer that can hold a Game Boy picture: 8-bit grey, no filter."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

GREY_OF_SHADE = np.array([255, 170, 85, 0], dtype=np.uint8)


def write_screen(path: Path, shades: np.ndarray) -> None:
    """Write shades 0 (lightest) to 3, uint8[height, width], as grey 255, 170, 85, 0."""
    height, width = shades.shape
    lines = np.zeros((height, width + 1), dtype=np.uint8)
    lines[:, 1:] = GREY_OF_SHADE[shades]
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(lines.tobytes(), 6))
        + _chunk(b"IEND", b"")
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)
