"""The stream parser: whatever a child writes, good records come out and the rest is counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer_core.runs.log_reader import read_history
from trainer_core.service.event_stream import BadLine, LineParser
from trainer_core.wire import records


def heartbeat(seq: int) -> bytes:
    return records.encode(records.HeartbeatEvent(run_id="r", seq=seq, time=1.0))


def drain(parser: LineParser) -> list[records.Event | BadLine]:
    found = []
    while (item := parser.next()) is not None:
        found.append(item)
    return found


@pytest.mark.parametrize(
    "garbage",
    [b"Warp 1.19 initialized", b"\x1b[2J\x1b[31mepoch 3\x1b[0m |####  |\r", b"\xff\x00\xfe", heartbeat(7)[:-9]],
    ids=["words", "ANSI", "bytes", "half a record"],
)
def test_garbage_between_records_is_reported_and_the_stream_goes_on(garbage: bytes) -> None:
    parser = LineParser()
    parser.feed(heartbeat(0) + garbage + b"\n" + heartbeat(1))
    kinds = [type(item).__name__ for item in drain(parser)]
    assert kinds == ["HeartbeatEvent", "BadLine", "HeartbeatEvent"]
    assert parser.bad_lines == 1


def test_a_line_of_a_megabyte_is_dropped_once_and_costs_no_memory() -> None:
    parser = LineParser()
    found = []
    for _ in range(16):
        parser.feed(b"x" * 65536)
        found += drain(parser)
        assert parser.backlog <= 65536
    parser.feed(b"\n" + heartbeat(3))
    found += drain(parser)
    assert [type(item).__name__ for item in found] == ["BadLine", "HeartbeatEvent"]
    assert found[1].seq == 3


def test_half_a_line_at_the_end_is_reported() -> None:
    parser = LineParser()
    parser.feed(heartbeat(0)[:-5])
    assert parser.next() is None
    rest = parser.finish()
    assert rest is not None
    assert "middle of a line" in rest.reason


def test_a_record_with_nan_is_a_bad_line() -> None:
    line = heartbeat(0).replace(b'"time":1.0', b'"time":NaN')
    parser = LineParser()
    parser.feed(line)
    assert isinstance(parser.next(), BadLine)


@given(st.lists(st.integers(1, 40), max_size=60))
def test_records_survive_any_cutting_into_chunks(cuts: list[int]) -> None:
    data = b"".join(heartbeat(seq) for seq in range(8))
    parser, found, place = LineParser(), [], 0
    for cut in cuts:
        parser.feed(data[place : place + cut])
        place += cut
        found += drain(parser)
    parser.feed(data[place:])
    found += drain(parser)
    assert [item.seq for item in found] == list(range(8))


def test_history_stops_before_a_torn_line_and_goes_on_behind_it(tmp_path: Path) -> None:
    log = tmp_path / "train_log.jsonl"
    log.write_bytes(heartbeat(0) + heartbeat(1)[:20])
    first = read_history(log)
    assert [event.seq for event in first.events] == [0]
    log.write_bytes(heartbeat(0) + heartbeat(1) + b"garbage\n")
    second = read_history(log, first.offset)
    assert [event.seq for event in second.events] == [1]
    assert second.bad_lines == 1
    assert json.loads(heartbeat(1))["type"] == "heartbeat"


def test_the_history_of_a_run_without_a_log_is_empty(tmp_path: Path) -> None:
    assert read_history(tmp_path / "none.jsonl").events == ()


def test_the_stream_ends_within_a_line_that_is_being_dropped() -> None:
    parser = LineParser(limit=8)
    parser.feed(b"x" * 9)
    found = drain(parser)
    parser.feed(b"more of it")
    found += drain(parser)
    parser.feed(b"rest")
    assert parser.finish() is None
    assert [type(item).__name__ for item in found] == ["BadLine"]
    assert parser.bad_lines == 1
