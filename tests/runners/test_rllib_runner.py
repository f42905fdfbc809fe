"""RLlib's PPO itself, where its environment is; else skipped, and why.

dmglab runner install rllib; pytest -rs --extras tests/runners/test_rllib_runner.py
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.guests import history, home_with, newest, plays, run_to_end
from tests.support.processes import in_service
from trainer_core.runners.rllib.runner import RllibConfig
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.records import EvalRecord, UpdateRecord
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec


def test_a_batch_larger_than_a_rollout_is_one_line() -> None:
    with pytest.raises(ConfigError, match="minibatch_size 128 is more than a rollout holds: 2 x 32 steps"):
        RllibConfig(num_envs=2)


@pytest.mark.slow
async def test_it_learns_the_tiny_goal_validates_saves_warm_starts_and_plays(tmp_path: Path) -> None:
    home = home_with("rllib", tmp_path / "home")
    options = {"eval_every": 4096, "eval_episodes": 16}
    async with in_service(home.root, within_s=400) as service:
        spec = RunSpec(
            runner="rllib", task="tiny_goal", seconds=170, total_env_steps=40960, target_success=0.9, options=options
        )
        run = await run_to_end(service, spec)
        assert (run.state, run.best_success_rate >= 0.9) == (RunState.FINISHED, True), run.reason
        updates = await history(service, run.run_id, UpdateRecord)
        assert {"policy_loss", "vf_loss", "entropy"} <= updates[-1].metrics.keys()
        assert updates[-1].policy_loss == updates[-1].metrics["policy_loss"]
        folder = newest(home, run.run_id)
        await plays(home, folder)
        spec = RunSpec(
            runner="rllib", task="tiny_goal", total_env_steps=2048, options=options | {"warm_start": str(folder)}
        )
        heir = await run_to_end(service, spec)
        assert heir.state is RunState.FINISHED, heir.reason
        (last,) = [one for one in await history(service, heir.run_id, EvalRecord) if one.mode == "greedy"]
        assert last.success_rate >= 0.5, "it began with what the other had learned"
