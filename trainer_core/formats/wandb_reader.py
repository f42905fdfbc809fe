"""Reader of the binary file `run-ID.wandb` that W&B's client writes offline.

A head of seven bytes, then a LevelDB log (blocks of 32 KiB; a piece is CRC, length, kind, data) whose records are
protobuf messages. W&B documents neither; the field numbers are those of its wandb_internal.proto, unchanged since 2020,
and the tests read files of wandb 0.31. The CRC is zlib's over kind and data, where LevelDB has Castagnoli's.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trainer_core.formats.logged_run import MOST_LOGGED_BYTES, LoggedRun
from trainer_core.formats.protobuf import fields, text_of
from trainer_core.wire.decoding import parsing, plain
from trainer_core.wire.errors import LabError
from trainer_core.wire.regular_files import read_regular

HEAD = b":W&B" + struct.pack("<HB", 0xBEE1, 0)
BLOCK_BYTES = 32 << 10
MOST_ITEM_BYTES = 64 << 10
"""Greatest JSON text of one value, as in a record of ours; a longer one is no number."""
_PIECE = struct.Struct("<IHB")
_FULL, _FIRST, _MIDDLE, _LAST = 1, 2, 3, 4
_HISTORY, _CONFIG, _RUN = 2, 5, 17
"""Field numbers of Record that tell which message it holds."""


def read_file(path: Path) -> LoggedRun:
    """Return the run in a `.wandb` file, up to its last complete record.

    Raises LabError for a file of another kind and for data that does not match its CRC.
    """
    with parsing(f"{path}: cannot be read"):
        data = read_regular(path, MOST_LOGGED_BYTES)
    if not data.startswith(HEAD):
        raise LabError(f"{path}: no file of W&B's client; it wants the run-ID.wandb of offline-run-*")
    run = LoggedRun()
    with parsing(f"{path}: a record of it is not what W&B's client writes"):
        for message in _messages(path, data, run):
            _take(run, message)
    return run


def _messages(path: Path, data: bytes, run: LoggedRun) -> Iterator[bytes]:
    """Yield the complete records of the LevelDB log `data`; set `run.is_torn` if the last one is incomplete."""
    at, parts = len(HEAD), list[bytes]()
    while at < len(data):
        left = BLOCK_BYTES - at % BLOCK_BYTES
        if left < _PIECE.size or not any(data[at : at + _PIECE.size]):  # the rest of a block
            at += left
            continue
        if at + _PIECE.size > len(data):
            run.is_torn = True
            return
        crc, length, kind = _PIECE.unpack_from(data, at)
        piece = data[at + _PIECE.size : at + _PIECE.size + length]
        if len(piece) < length:
            run.is_torn = True
            return
        if zlib.crc32(bytes([kind]) + piece) != crc:
            raise LabError(f"{path}: damaged at byte {at}; nothing of it was taken")
        at += _PIECE.size + length
        if kind in (_FULL, _FIRST):
            parts = []
        if piece:
            parts.append(piece)
        if kind in (_FULL, _LAST):
            yield b"".join(parts)
            parts = []
    run.is_torn = bool(parts)


# -- messages --------------------------------------------------------------------------------


def _take(run: LoggedRun, message: bytes) -> None:
    for number, value in fields(message):
        if number == _RUN:
            _take_run(run, value)
        elif number == _CONFIG:
            run.add_config(_items(value, 1))
        elif number == _HISTORY:
            row = _items(value, 1)
            for inner, step in fields(value):
                if inner == 2:  # HistoryStep
                    row.setdefault("_step", dict(fields(step)).get(1, 0))
            row.setdefault("_step", len(run.rows))
            run.add_row(row)


def _take_run(run: LoggedRun, message: bytes) -> None:
    texts = {number: value for number, value in fields(message) if number in (1, 3, 8)}
    run.run_id, run.project, run.name = (text_of(texts.get(number, b"")) for number in (1, 3, 8))
    for number, value in fields(message):
        if number == 4:  # ConfigRecord
            run.add_config(_items(value, 1))


def _items(message: bytes, wanted: int) -> dict[str, Any]:
    """Return names and values of the items in field `wanted` of `message` (ConfigItem or HistoryItem).

    The parts of a nested name are joined by dots.
    """
    found: dict[str, Any] = {}
    for number, item in fields(message):
        if number != wanted:
            continue
        key, nested, text = "", list[str](), b"null"
        for inner, value in fields(item):
            if inner == 1:
                key = text_of(value)
            elif inner == 2:
                nested.append(text_of(value))
            elif inner == 16:
                text = value
        if (name := key or ".".join(nested)) and len(text) <= MOST_ITEM_BYTES:
            found[name] = plain(json.loads(text_of(text)))
    return found
