"""The lossy live path and the lossless one from the file; exports."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from tests.support.made_records import update_record
from tests.support.processes import in_service, start, until
from trainer_core.lab.paths import RunPaths
from trainer_core.service.telemetry import recent_metrics
from trainer_core.wire import records
from trainer_core.wire.errors import ConfigError, LabError


async def test_a_slow_listener_gets_the_newest_records_and_the_count_of_the_others(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:
        run_id = await start(service, updates=60, interval_s=0.001)
        with service.telemetry.live(run_id, capacity=8) as stream:
            await until(lambda: service.runs[run_id].state.is_end)
            seen = [event async for event in stream]  # only now it finds the time
        assert len(seen) == 8
        assert stream.dropped > 40
        assert any(isinstance(event, records.CheckpointRecord) for event in seen)
        kept = [event async for event in service.telemetry.follow(run_id)]
        assert [event.seq for event in kept] == list(range(62))  # meta, 60 updates, checkpoint


async def test_who_follows_the_file_misses_nothing_while_the_run_goes_on(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:
        run_id = await start(service, updates=40, interval_s=0.005)
        with service.telemetry.live(run_id) as stream:
            live = asyncio.create_task(_all(stream))
            kept = [event.seq async for event in service.telemetry.follow(run_id)]
            lived = [event.seq for event in await live if isinstance(event, records.LogRecord)]
        assert kept == list(range(42))
        assert stream.dropped == 0
        assert lived == kept
        recent = await service.telemetry.recent_metrics(run_id, 3)
        assert [point["update"] for point in recent] == [38, 39, 40]


async def _all(stream) -> list[records.Event]:
    return [event async for event in stream]


async def test_exports_are_made_by_a_process_of_their_own(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:
        run_id = await start(service, updates=3, interval_s=0.001)
        await until(lambda: service.runs[run_id].state.is_end)
        folder = await service.telemetry.export_to_tensorboard(run_id)
        assert list(folder.glob("events.out.tfevents.*"))
        folder = await service.telemetry.export_to_wandb_history(run_id)
        rows = [json.loads(line) for line in (folder / "history.jsonl").read_text().splitlines()]
        assert [row["_step"] for row in rows] == [2048, 4096, 6144]
        assert rows[0]["_runtime"] == 0
        assert rows[-1]["train/reward_mean"] == pytest.approx(-0.01 + 0.02 * 3 / 50)
        summary = json.loads((folder / "summary.json").read_text())
        assert summary == rows[-1]
        with pytest.raises(ConfigError, match="no run 'x'"):
            await service.telemetry.export_to_tensorboard("x")


async def test_a_run_without_records_cannot_be_exported(tmp_path: Path) -> None:
    async with in_service(tmp_path) as service:
        run_id = await start(service, says="")
        await until(lambda: service.runs[run_id].state.is_end)
        with pytest.raises(LabError, match="no update records yet"):
            await service.telemetry.export_to_wandb_history(run_id)
        assert await service.telemetry.recent_metrics(run_id, 5) == []


def test_recent_points_are_found_before_a_long_tail_of_other_records(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path / "r")
    paths.root.mkdir()
    other = records.ErrorRecord(run_id="r", seq=0, time=0.0, kind="k", message="x" * 1000)
    with paths.train_log.open("wb") as log:
        for seq in range(3):
            log.write(records.encode(update_record("r", seq, seq + 1, 1.0)))
        log.write(records.encode(other) * 1000)
    assert [point["seq"] for point in recent_metrics(paths, 2)] == [1, 2]
    assert recent_metrics(paths, 0) == []
    assert len(recent_metrics(paths, 99)) == 3
