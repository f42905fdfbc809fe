"""The same sweep on a Ray cluster of two nodes. Skipped where Ray is not installed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.support.echo_sweeps import ENDLESS, EchoSlot, conductor, made_sweep
from tests.support.extras import extra_library
from tests.support.processes import until
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.index import RunRegistry
from trainer_core.sweeps.cluster import RaySlots, connect
from trainer_core.sweeps.conductor import Conductor
from trainer_core.sweeps.sweep import Sweep
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.run_record import RunRecord, RunState

ray = extra_library("ray")
CLOCKS = {"created_at", "finished_at", "pid", "pid_create_time"}


@pytest.fixture
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster  # pyright: ignore[reportMissingImports]

    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    found.second = found.add_node(num_cpus=1)
    yield found
    ray.shutdown()
    found.shutdown()


def on_ray(cluster: Any, home: HomePaths, sweep: Sweep, said: list[str]) -> Conductor:
    connected = connect(cluster.address)
    slots = RaySlots(connected, home, sweep, cpus=1, gpus=0, most=0, actor=EchoSlot)
    return Conductor(home, sweep, slots, said.append, poll_s=0.05)


def records_of(home: HomePaths) -> dict[str, dict[str, Any]]:
    found: dict[str, RunRecord] = RunRegistry(home).load()
    return {
        run_id: {k: v for k, v in msgspec.to_builtins(run).items() if k not in CLOCKS}
        for run_id, run in sorted(found.items())
    }


def test_records_are_the_same_with_ray_and_without(cluster: Any, tmp_path: Path) -> None:
    values = [{"learning_rate": rate} for rate in (1.0, 0.9, 0.8)]
    here, there = HomePaths(tmp_path / "here"), HomePaths(tmp_path / "there")
    local = conductor(here, made_sweep(here, values), 2, [])
    asyncio.run(asyncio.wait_for(local.run(), 120))
    far = on_ray(cluster, there, made_sweep(there, values), [])
    asyncio.run(asyncio.wait_for(far.run(), 240))
    assert records_of(here) == records_of(there)
    assert {run["state"] for run in records_of(there).values()} == {"finished"}
    config = [home.run("echo-t001").config.read_text() for home in (here, there)]
    assert config[0] == config[1]


async def test_a_lost_node_loses_no_trial_and_a_stop_reaches_those_that_wait(cluster: Any, tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    sweep = made_sweep(home, [{"learning_rate": 0.1, "total_env_steps": ENDLESS}] * 3)
    said: list[str] = []
    far = on_ray(cluster, home, sweep, said)
    task = asyncio.create_task(far.run())
    await until(lambda: sum("begins" in line for line in said) == 2, 120)
    await until(lambda: len(list(home.runs.glob("*/train_log.jsonl"))) == 2, 120)
    await asyncio.to_thread(cluster.remove_node, cluster.second, False)
    await until(lambda: any("its node was lost" in line for line in said), 120)
    far.stop("interrupted")
    await asyncio.wait_for(task, 120)
    states = [run.state for run in RunRegistry(home).reconcile().values()]
    assert RunState.STOPPED in states, "the one on the other node saved"
    assert set(states) <= {RunState.STOPPED, RunState.LOST}
    assert len(list(home.runs.iterdir())) == 2, "the third never began"


def test_a_trial_that_no_node_can_take_is_refused(cluster: Any, tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    sweep = made_sweep(home, [{"learning_rate": 0.1}])
    connected = connect(cluster.address)
    with pytest.raises(ConfigError, match="no node of the Ray cluster has 64 CPUs"):
        RaySlots(connected, home, sweep, cpus=64, gpus=0, most=0, actor=EchoSlot)
