"""One golden line per record and command type: a changed field without a new version fails here."""

from __future__ import annotations

import math
from pathlib import Path

import msgspec
import pytest

from trainer_core.wire import commands, records
from trainer_core.wire.errors import ProtocolError

GOLDEN = Path(__file__).parent / "golden"


def golden_lines(name: str) -> dict[str, bytes]:
    lines = (GOLDEN / name).read_bytes().splitlines()
    tag = "cmd" if name == "commands.jsonl" else "type"
    return {msgspec.json.decode(line)[tag]: line for line in lines}


@pytest.mark.parametrize("kind", records.RECORD_TYPES, ids=lambda kind: kind.__name__)
def test_the_golden_record_decodes_and_encodes_to_itself(kind: type[records.Record]) -> None:
    line = golden_lines("records.jsonl")[str(kind.__struct_config__.tag)]
    record = records.decode(line)
    assert type(record) is kind
    assert records.encode(record) == line + b"\n"
    assert set(msgspec.json.decode(line)) == {"type", *kind.__struct_fields__}


def test_records_of_version_1_are_read_as_todays() -> None:
    old, new = golden_lines("records_v1.jsonl"), golden_lines("records.jsonl")
    assert set(old) == set(new)
    for kind, line in old.items():
        assert b'"v":1' in line
        later = {"trace_id", "reward_p10", "reward_p50", "reward_p90", "machine", "mind"} - set(
            msgspec.json.decode(line)
        )
        today = msgspec.json.decode(new[kind])
        assert records.decode(line) == records.decode(msgspec.json.encode(without(today, later))), kind


def without(record: dict[str, object], names: set[str]) -> dict[str, object]:
    return {name: value for name, value in record.items() if name not in names}


def test_another_trainers_update_needs_three_numbers_and_keeps_its_own() -> None:
    line = (
        b'{"type":"update","env_steps":10,"wall_time_s":1.0,"sps":10.0,'
        b'"metrics":{"charts/episodic_return":21.0},"v":2,"run_id":"r","seq":1,"time":0.0}'
    )
    record = records.decode(line)
    assert isinstance(record, records.UpdateRecord)
    assert record.reward_mean is msgspec.UNSET
    written = msgspec.json.decode(records.encode(record))
    assert "reward_mean" not in written
    assert written["metrics"] == {"charts/episodic_return": 21.0}


@pytest.mark.parametrize("kind", commands.COMMAND_TYPES, ids=lambda kind: kind.__name__)
def test_the_golden_command_decodes_and_encodes_to_itself(kind: type[commands.Command]) -> None:
    line = golden_lines("commands.jsonl")[str(kind.__struct_config__.tag)]
    command = commands.decode(line)
    assert type(command) is kind
    assert commands.encode(command) == line + b"\n"


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{}",
        b"not json",
        b'{"type":"update"}',
        b'{"type":"nonsense","seq":1}',
        b"\xff\xfe",
        b'{"type":"heartbeat","run_id":"r","seq":true,"time":0}',
    ],
)
def test_what_is_no_record_is_a_protocol_error(line: bytes) -> None:
    with pytest.raises(ProtocolError):
        records.decode(line)


def test_a_newer_schema_says_so() -> None:
    with pytest.raises(ProtocolError, match="newer"):
        records.decode(b'{"type":"heartbeat","v":3,"run_id":"r","seq":1,"time":0}')


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_refused_by_name(value: float) -> None:
    record = records.decode(golden_lines("records.jsonl")["update"])
    broken = msgspec.structs.replace(record, time_split={"learn": value})
    with pytest.raises(ProtocolError, match=r"time_split\.learn"):
        records.encode(broken)
