"""Records that look like a run's, for tests of what reads them."""

from __future__ import annotations

import time
from typing import Any

from trainer_core.wire import records
from trainer_core.wire.run_record import RunRecord, RunState


def update_record(run_id: str, seq: int, update: int, sps: float) -> records.UpdateRecord:
    done = min(1.0, update / 50)
    return records.UpdateRecord(
        run_id=run_id, seq=seq, time=time.time(), trace_id=f"{run_id}-{update}", update=update,
        env_steps=update * 2048, opt_steps=update * 12, wall_time_s=update * 0.05, sps=sps,
        updates_per_s=20.0, reward_mean=-0.01 + 0.02 * done, done_rate=done / 20,
        trunc_rate=(1 - done) / 64, reset_rate=done / 20 + (1 - done) / 64, success_rate=done,
        episodes=100, dist_p10=0.05, dist_p50=0.2, dist_p90=0.3, entropy_mean=1.94 - done,
        value_mean=done, value_std=0.1, action_hist=[293, 293, 293, 293, 292, 292, 292],
        policy_loss=-0.01, value_loss=0.02, entropy_loss=-1.9, approx_kl=0.01, clipfrac=0.1,
        vf_clipfrac=0.0, explained_variance=done, grad_norm=0.4, learning_rate=5e-4,
        time_split={"emulate": 0.02, "observe": 0.0, "forward": 0.01, "learn": 0.02, "log": 0.0},
    )  # fmt: skip


def run_record(run_id: str, state: RunState = RunState.RUNNING, **fields: Any) -> RunRecord:
    return RunRecord(
        run_id=run_id,
        runner="native",
        task="t",
        algo="ppo",
        device="cpu",
        state=state,
        created_at=1.0,
        config_sha256="0" * 64,
        **fields,
    )


def eval_record(run_id: str, seq: int, *, success_rate: float) -> records.EvalRecord:
    """A greedy validation."""
    return records.EvalRecord(
        run_id=run_id, seq=seq, time=time.time(), env_steps=(seq + 1) * 2048,
        task="t", mode="greedy", episodes=32, distinct_starts=32, n=1, wall_time_s=0.5,
        success_rate=success_rate,
        pass_at_1=success_rate, pass_at_n=success_rate, median_steps_to_goal=12.0, mean_return=0.0,
    )  # fmt: skip
