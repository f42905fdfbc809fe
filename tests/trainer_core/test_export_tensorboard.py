"""The TensorBoard export: its framing is checked byte by byte, its values against the log."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.made_records import update_record
from trainer_core.formats.protobuf import crc32c, masked_crc
from trainer_core.formats.tensorboard import export, main, tags_of
from trainer_core.lab.paths import RunPaths
from trainer_core.wire import records
from trainer_core.wire.errors import LabError


def varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def fields(data: bytes) -> list[tuple[int, Any]]:
    """(number, value) of a protobuf message, by the wire format's description alone."""
    found, at = [], 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<d", data, at)[0], at + 8
        elif kind == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        found.append((key >> 3, value))
    return found


def read_events(path: Path) -> list[dict[int, Any]]:
    data, at, found = path.read_bytes(), 0, []
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        assert struct.unpack_from("<I", data, at + 8)[0] == masked_crc(data[at : at + 8])
        body = data[at + 12 : at + 12 + size]
        assert struct.unpack_from("<I", data, at + 12 + size)[0] == masked_crc(body)
        found.append(dict(fields(body)))
        at += 16 + size
    return found


@pytest.fixture
def run(tmp_path: Path) -> RunPaths:
    paths = RunPaths(tmp_path / "run-1")
    paths.root.mkdir()
    lines = [records.encode(update_record("run-1", seq, seq + 1, 10.0)) for seq in range(3)]
    paths.train_log.write_bytes(b"".join(lines))
    return paths


def test_the_checksum_is_the_standards() -> None:
    assert crc32c(b"123456789") == 0xE3069283  # the check value of CRC-32C
    assert crc32c(bytes(32)) == 0x8A9136AA  # RFC 3720, B.4


def test_every_update_becomes_an_event_with_its_scalars(run: RunPaths, tmp_path: Path) -> None:
    list(export(run, tmp_path / "out"))
    (path,) = (tmp_path / "out").iterdir()
    first, *events = read_events(path)
    assert first[3] == b"brain.Event:2"
    assert [item[2] for item in events] == [2048, 4096, 6144]
    values = {}
    for _, value in fields(events[1][5]):
        name, number = (part for _, part in fields(value))
        values[name.decode()] = number
    wanted = update_record("run-1", 1, 2, 10.0)
    assert values["train/reward_mean"] == pytest.approx(wanted.reward_mean, rel=1e-6)
    assert values["train/entropy_mean"] == pytest.approx(wanted.entropy_mean, rel=1e-6)
    assert values["time/learn"] == pytest.approx(0.4)
    assert not {"train/update", "train/env_steps", "train/wall_time_s"} & set(values)


def test_what_has_no_field_of_its_own_becomes_a_curve_too() -> None:
    update = msgspec.structs.replace(
        update_record("run-1", 1, 2, 10.0), metrics={"reward_max": 1.0, "charts/return": 21.0}
    )
    tags = tags_of(update)
    assert (tags["train/reward_max"], tags["charts/return"]) == (1.0, 21.0)


def test_a_run_without_a_curve_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no update records yet"):
        list(export(RunPaths(tmp_path / "none"), tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    assert main([str(tmp_path / "none")]) == 1
