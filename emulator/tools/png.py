"""Small PNG codec for Game Boy pictures: it writes 8-bit grey without a filter."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

GREY_OF_SHADE = np.array([255, 170, 85, 0], dtype=np.uint8)


def write_screen(path: Path, shades: np.ndarray) -> None:
    """Write shades, uint8[height, width] from 0 (lightest) to 3, as a PNG of grey 255, 170, 85, 0."""
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


MOST_PIXELS = 1 << 22


def read_grey(path: Path) -> np.ndarray:
    """Read the brightness of a PNG's pixels, uint8[height, width]; raise ValueError if it cannot be read.

    Grey, RGB or palette, with or without alpha, 1 to 8 bits a channel, not interlaced; colours are weighted by ITU-R
    601.
    """
    data = path.read_bytes()
    if data[:8] != b"\x89PNG\r\n\x1a\n":
        raise ValueError(f"{path}: no PNG")
    chunks: dict[bytes, bytes] = {}
    place = 8
    try:
        while place + 8 <= len(data):
            size, kind = struct.unpack_from(">I4s", data, place)
            chunks[kind] = chunks.get(kind, b"") + data[place + 8 : place + 8 + size]
            place += size + 12
        width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
        channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour]
        if interlaced or depth > 8:
            raise ValueError(f"{path}: interlaced and 16-bit PNGs are not read")
        pixel = channels * depth
        if width * height > MOST_PIXELS:
            raise ValueError(f"{path}: {width}x{height} pixels are too many")
        most = height * (1 + (width * pixel + 7) // 8)
        packed = zlib.decompressobj().decompress(chunks[b"IDAT"], most)
        lines = _unfilter(packed, height, width * pixel, pixel)
    except (LookupError, struct.error, zlib.error) as error:
        raise ValueError(f"{path}: damaged PNG ({error})") from None
    bits = np.unpackbits(lines, axis=1)[:, : width * pixel]
    weights = 1 << np.arange(depth - 1, -1, -1)
    values = (bits.reshape(height, width, channels, depth) * weights).sum(axis=3)
    if colour == 3:
        values = np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(-1, 3)[values[..., 0]]
    elif channels <= 2:
        return (values[..., 0] * (255 // ((1 << depth) - 1))).astype(np.uint8)
    return np.rint(values[..., :3] @ np.array([0.299, 0.587, 0.114])).astype(np.uint8)


def _unfilter(data: bytes, height: int, line_bits: int, pixel_bits: int) -> np.ndarray:
    """Return a PNG's image bytes with its line filters undone, uint8[height, line bytes].

    https://www.w3.org/TR/png/#9Filters
    """
    size = (line_bits + 7) // 8
    step = max(1, pixel_bits // 8)
    out = bytearray(height * size)
    before = bytes(size)
    for y in range(height):
        kind, *line = data[y * (size + 1) : (y + 1) * (size + 1)]
        for x in range(size):
            left = line[x - step] if x >= step else 0
            corner = before[x - step] if x >= step else 0
            up = before[x]
            guess = (0, left, up, (left + up) // 2, _paeth(left, up, corner))[kind]
            line[x] = (line[x] + guess) & 0xFF
        before = bytes(line)
        out[y * size : (y + 1) * size] = before
    return np.frombuffer(bytes(out), np.uint8).reshape(height, size)


def _paeth(left: int, up: int, corner: int) -> int:
    distances = [abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)]
    return (left, up, corner)[distances.index(min(distances))]
