"""Recorded launches: one thread at a time prepares them."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from emulator.launch import recorded_launches
from emulator.launch.recorded_launches import RecordedLaunches


class Command:
    """A recorded launch that counts how often it runs."""

    runs = 0

    def launch(self) -> None:
        Command.runs += 1


def test_first_launches_of_several_threads_are_prepared_one_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    inside = threading.Semaphore(1)
    overlaps = []

    def prepare(kernel: str, **_: Any) -> Command:
        alone = inside.acquire(blocking=False)
        overlaps.append(not alone)
        time.sleep(0.02)
        if alone:
            inside.release()
        return Command()

    monkeypatch.setattr(recorded_launches.wp, "launch", prepare)
    shards = [RecordedLaunches() for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda shard: shard.launch("draw", 1, [1], "cpu"), shards))
    assert overlaps == [False] * 4
    assert Command.runs == 4
