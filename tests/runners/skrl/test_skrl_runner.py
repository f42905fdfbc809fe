"""skrl itself, where its environment is; else skipped, and why.

dmglab runner install skrl; pytest -rs tests/runners/skrl/test_skrl_runner.py
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from tests.support.guests import PATIENCE_S, ended, history, home_with, newest, plays, run_to_end
from tests.support.processes import in_service, until
from trainer_core.lab import checkpoint_manifest
from trainer_core.lab.paths import HomePaths
from trainer_core.runners.skrl.runner import SkrlConfig
from trainer_core.runs.config_file import write_config
from trainer_core.runs.log_check import check_log
from trainer_core.service import TrainerService
from trainer_core.wire import commands, records
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec


def skrl_spec(steps: int, **options: Any) -> RunSpec:
    small = {
        "num_envs": 8,
        "rollouts": 16,
        "mini_batches": 2,
        "learning_epochs": 2,
        "eval_every": 0,
        "checkpoint_every": 0,
        "threads": 1,
    }
    return RunSpec(runner="skrl", task="tiny_goal", total_env_steps=steps, options={"algo": "ppo", **small, **options})


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return torch.load(folder / "agent.pt", weights_only=True)["policy"]


def test_numbers_that_are_left_to_the_runner_fit_the_device_and_are_in_the_plan(tmp_path: Path) -> None:
    for device, envs, parts in (("cpu", 32, 8), ("cuda:0", 1024, 32)):
        spec = RunSpec(runner="skrl", task="tiny_goal", device=device, options={"rollouts": 16})
        options = TrainerService(HomePaths(tmp_path)).plan(spec).spec.options
        assert (options["num_envs"], options["mini_batches"]) == (envs, parts)
        assert options["eval_every"] == 20 * envs * 16
    given: dict[str, Any] = {"num_envs": 4, "rollouts": 4, "mini_batches": 3, "eval_every": 0}
    assert given.items() <= asdict(SkrlConfig(**given).chosen()).items()
    with pytest.raises(ConfigError, match="mini_batches 17 is more than a rollout holds"):
        SkrlConfig(num_envs=4, rollouts=4, mini_batches=17)


@pytest.mark.slow
async def test_resumed_is_the_run_that_was_never_stopped(tmp_path: Path) -> None:
    home = home_with("skrl", tmp_path)
    async with in_service(home.root) as service:
        whole = await run_to_end(service, skrl_spec(512))
        assert whole.state is RunState.FINISHED, whole.reason
        half = await run_to_end(service, skrl_spec(256))
        assert half.env_steps == 256
        paths = home.run(half.run_id)
        write_config(paths, skrl_spec(512))
        await service.resume(half.run_id)
        again = await ended(service, half.run_id)
        assert (again.state, again.env_steps) == (RunState.FINISHED, 512), again.reason
        one, other, early = (
            weights(folder)
            for folder in (
                newest(home, whole.run_id),
                newest(home, again.run_id),
                checkpoint_manifest.list_checkpoints(paths)[0],
            )
        )
        assert all(torch.equal(one[name], other[name]) for name in one)
        assert not all(torch.equal(one[name], early[name]) for name in one)
        assert check_log(paths.train_log).errors == []
        updates = await history(service, again.run_id, records.UpdateRecord)
        assert len(updates) == 4
        assert {"Loss / Policy loss", "Stats / Algorithm update time (ms)"} <= set(updates[-1].metrics)


@pytest.mark.slow
async def test_it_does_what_its_capabilities_say(tmp_path: Path) -> None:
    home = home_with("skrl", tmp_path)
    async with in_service(home.root) as service:
        record = await service.start(service.plan(skrl_spec(0, eval_every=512, eval_episodes=8)))
        run_id, paths = record.run_id, home.run(record.run_id)
        await until(lambda: service.runs[run_id].env_steps >= 512, PATIENCE_S)
        await service.request(run_id, commands.Watch, envs=2)
        await until(paths.frames.exists, PATIENCE_S)
        await service.pause(run_id)
        await until(lambda: service.runs[run_id].state is RunState.PAUSED, PATIENCE_S)
        before = service.runs[run_id].env_steps
        await service.request(run_id, commands.SaveCheckpoint)
        await until(lambda: newest(home, run_id).name >= f"{before:012d}", PATIENCE_S)
        await service.unpause(run_id)
        await until(lambda: service.runs[run_id].env_steps > before, PATIENCE_S)
        process = psutil.Process(record.pid)
        await service.stop(run_id)
        stopped = service.runs[run_id]
        assert (stopped.state, stopped.reason) == (RunState.STOPPED, "stopped by you")
        assert not process.is_running()
        evals = await history(service, run_id, records.EvalRecord)
        assert {event.mode for event in evals} == {"greedy", "sample", "leave_loops"}
        for folder in checkpoint_manifest.list_checkpoints(paths):
            assert checkpoint_manifest.verify(folder).runner == "skrl"


@pytest.mark.slow
async def test_it_begins_with_a_donors_weights_and_plays(tmp_path: Path) -> None:
    home = home_with("skrl", tmp_path)
    async with in_service(home.root) as service:
        donor = await run_to_end(service, skrl_spec(256))
        folder = newest(home, donor.run_id)
        warm = skrl_spec(128, warm_start=str(folder), learning_rate=1e-7)
        heir = await run_to_end(service, warm)
        one, other = weights(folder), weights(newest(home, heir.run_id))
        assert all(torch.allclose(one[name], other[name], atol=1e-4) for name in one)
        other_size = skrl_spec(128, warm_start=str(folder), policy="nature")
        refused = await run_to_end(service, other_size)
        assert refused.state is RunState.FAILED
        assert "weights do not fit the network" in refused.reason
        await plays(home, folder)
