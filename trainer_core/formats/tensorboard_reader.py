"""Reader of TensorBoard event files, as TensorFlow, PyTorch and tensorboardX write them.

TFRecords of Event messages (tensorboard/compat/proto/event.proto, summary.proto, tensor.proto). A scalar is a
`simple_value`, or a tensor of one number. Hyperparameters come from the plugin `hparams`, and from the table that
CleanRL writes as a text.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trainer_core.formats.logged_run import MOST_LOGGED_BYTES, LoggedRun
from trainer_core.formats.protobuf import fields, masked_crc, text_of
from trainer_core.wire.decoding import parsing
from trainer_core.wire.errors import LabError
from trainer_core.wire.regular_files import read_regular

EVENTS = "*.tfevents.*"
_HEAD, _CRC = struct.Struct("<QI"), struct.Struct("<I")
_CHECKED_BYTES = 16 << 10
"""Greatest length of a record whose CRC is checked: curves and texts, not pictures."""
_NUMBERS = {1: (5, "<f"), 2: (6, "<d"), 3: (7, "<i"), 9: (10, "<q")}
"""TensorProto's field and format of the values, by its data type."""
_STRING, _STRINGS = 7, 8
_MOST_ROWS = 200
"""Limit for a table of hyperparameters."""


def event_files(folder: Path) -> list[Path]:
    """Return the event files of one run, the oldest first; the logging program made one at each start."""
    return sorted(path for path in folder.glob(EVENTS) if path.is_file())


def run_folders(folder: Path) -> list[Path]:
    """Return the folders at and below `folder` that hold event files, which TensorBoard treats as runs, by name."""
    return sorted({path.parent for path in folder.rglob(EVENTS) if path.is_file()})


def read_folder(folder: Path) -> LoggedRun:
    """Return the run in the event files of a folder, up to the last complete record of each.

    Raises LabError for a file of another kind and for data that does not match its CRC.
    """
    run = LoggedRun(name=folder.name)
    for path in event_files(folder):
        with parsing(f"{path}: cannot be read"):
            data = read_regular(path, MOST_LOGGED_BYTES)
        with parsing(f"{path}: a record of it is no event of TensorBoard"):
            for message in _records(path, data, run):
                _take(run, message)
    began = min((row["_timestamp"] for row in run.rows), default=0.0)
    for row in run.rows:
        row["_runtime"] = row["_timestamp"] - began
    return run


def _records(path: Path, data: bytes, run: LoggedRun) -> Iterator[bytes]:
    """Yield the complete TFRecords in `data`, the content of `path`; set `run.is_torn` if the last one is
    incomplete."""
    at = 0
    while at < len(data):
        if len(data) - at < _HEAD.size:
            run.is_torn = True
            return
        length, crc = _HEAD.unpack_from(data, at)
        if masked_crc(data[at : at + 8]) != crc:
            known = "damaged at byte" if at else "no event file of TensorBoard: at byte"
            raise LabError(f"{path}: {known} {at}; nothing of it was taken")
        begin, end = at + _HEAD.size, at + _HEAD.size + length
        if end + _CRC.size > len(data):
            run.is_torn = True
            return
        message = data[begin:end]
        if length <= _CHECKED_BYTES and masked_crc(message) != _CRC.unpack_from(data, end)[0]:
            raise LabError(f"{path}: damaged at byte {at}; nothing of it was taken")
        yield message
        at = end + _CRC.size


def _take(run: LoggedRun, message: bytes) -> None:
    """Add a row to `run` with the scalars of the Event `message`, if it has a Summary."""
    row: dict[str, Any] = {"_step": 0, "_timestamp": 0.0}
    for number, value in fields(message):
        if number == 1:
            row["_timestamp"] = struct.unpack("<d", value)[0]
        elif number == 2:
            row["_step"] = int(value)
        elif number == 5:
            for inner, summary in fields(value):
                if inner == 1:
                    _take_value(run, row, dict(fields(summary)))
    if len(row) > 2:
        run.add_row(row)


def _take_value(run: LoggedRun, row: dict[str, Any], value: dict[int, Any]) -> None:
    """Add the scalar in one Summary.Value to `row`, or its hyperparameters to `run`.

    `value` maps field numbers to values: 1 tag, 2 simple_value, 8 tensor, 9 metadata.
    """
    tag = text_of(value.get(1, b""))
    if 9 in value:
        run.add_config(_hparams(value[9]))
    if 2 in value:
        row[tag] = struct.unpack("<f", value[2])[0]
    elif 8 in value:
        found = _content(value[8])
        if not isinstance(found, str):
            row[tag] = found
        elif found.startswith("|param|value|"):
            run.add_config(_table(found))


def _content(tensor: bytes) -> float | str:
    """Return the single number or text of a TensorProto; "" for any other."""
    found = dict(fields(tensor))
    kind = found.get(1, 0)
    if kind == _STRING:
        return text_of(found.get(_STRINGS, b""))
    if kind not in _NUMBERS:
        return ""
    number, form = _NUMBERS[kind]
    data = found.get(4, found.get(number, b""))  # tensor_content, else the repeated values
    if isinstance(data, int):
        return float(data)
    return float(struct.unpack(form, data)[0]) if len(data) == struct.calcsize(form) else ""


def _hparams(metadata: bytes) -> dict[str, Any]:
    """Return the hyperparameters in SummaryMetadata of the plugin `hparams`."""
    plugin = dict(fields(dict(fields(metadata)).get(1, b"")))
    if plugin.get(1) != b"hparams":
        return {}
    session = dict(fields(plugin.get(2, b""))).get(3, b"")
    found: dict[str, Any] = {}
    for number, entry in fields(session):
        if number == 1:  # an entry of the map: name, google.protobuf.Value
            pair = dict(fields(entry))
            for kind, value in fields(pair.get(2, b"")):
                name = text_of(pair.get(1, b""))
                found[name] = (
                    struct.unpack("<d", value)[0] if kind == 2 else text_of(value) if kind == 3 else bool(value)
                )
    return found


def _table(text: str) -> dict[str, Any]:
    """Return names and values of the rows `|name|value|` of a Markdown table, below the two lines of its head."""
    rows = (line.strip().strip("|").partition("|") for line in text.splitlines()[2:_MOST_ROWS])
    return {name.strip(): value.strip() for name, _, value in rows if name.strip()}
