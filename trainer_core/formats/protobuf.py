"""Reader of the protobuf wire format without a schema: it yields field numbers and undecoded values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
"""Wire types of protobuf."""
MOST_FIELDS = 100_000
"""Fields of one message: a field of two bytes takes a hundred once it is parsed."""


def text_of(value: Any) -> str:
    """Return the bytes of a protobuf field decoded as text. Raises ValueError if the field is a number."""
    if not isinstance(value, bytes):
        raise ValueError("a number where a text belongs")
    return value.decode(errors="replace")


def fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """Yield number and value of each field of a message. Raises ValueError or IndexError if it is no protobuf."""
    if not isinstance(message, bytes):
        raise ValueError("a number where a message belongs")
    at = count = 0
    while at < len(message):
        count += 1
        if count > MOST_FIELDS:
            raise ValueError(f"more than {MOST_FIELDS} fields")
        tag, at = varint(message, at)
        wire = tag & 7
        if wire == VARINT:
            value, at = varint(message, at)
        elif wire in (FIXED64, FIXED32):
            end = at + (8 if wire == FIXED64 else 4)
            value, at = message[at:end], end
        elif wire == BYTES:
            length, at = varint(message, at)
            value, at = message[at : at + length], at + length
            if len(value) < length:
                raise ValueError("a field that is longer than its message")
        else:
            raise ValueError(f"wire type {wire}")
        yield tag >> 3, value


def varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError("a number of more than 64 bits")


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _crc_table()


def crc32c(data: bytes) -> int:
    """Return the CRC-32C (Castagnoli) of `data`, RFC 3720 appendix B.4."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def masked_crc(data: bytes) -> int:
    """Return the CRC-32C of `data` as TFRecord files store it, rotated and with a constant added."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
