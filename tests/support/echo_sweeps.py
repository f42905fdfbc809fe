"""Sweeps whose trials are echo_worker.py: each trial's success grows with its learning rate.

python -m tests.support.echo_sweeps HOME SWEEP_ID       conducts one, to be killed
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from tests.support.scripted_native import scripted_native
from trainer_core.lab.paths import HomePaths
from trainer_core.service import StopLadder
from trainer_core.sweeps.conductor import Conductor
from trainer_core.sweeps.slot import LocalSlots, TrialSlot
from trainer_core.sweeps.sweep import EarlyStop, Sweep, Trial, save_sweep
from trainer_core.wire.config import RunConfig

ENDLESS = 10**9
"""As `total_env_steps`: this trial only ends when it is stopped."""


ECHO_TRIALS = scripted_native(as_configured=True, interval_s=0.05)


class EchoSlot(TrialSlot):
    """A place for such trials."""

    def __init__(self, home: str, sweep_id: str) -> None:
        patient = StopLadder(command_s=120.0, terminate_s=120.0)  # forced, an echo saves nothing
        super().__init__(home, sweep_id, runners=(ECHO_TRIALS,), ladder=patient)


def made_sweep(home: HomePaths, values: list[dict[str, float]], **stop: object) -> Sweep:
    """A saved sweep of one trial for each of `values`."""
    trials = [
        Trial(number=number, setting=number, seed=7, values=setting, run_id=f"echo-t{number:03d}")
        for number, setting in enumerate(values)
    ]
    sweep = Sweep(
        sweep_id="echo",
        created_at=1.0,
        search="grid",
        vary=["learning_rate=..."],
        base=RunConfig(task="tiny_goal", total_env_steps=8 * 2048).to_dict(),
        trials=trials,
        early_stop=EarlyStop(**{"rule": "none", "metric": "success_rate", **stop}),
    )
    save_sweep(home, sweep)
    return sweep


def conductor(home: HomePaths, sweep: Sweep, jobs: int, said: list[str]) -> Conductor:
    slots = LocalSlots(["cpu"], jobs, lambda: EchoSlot(str(home.root), sweep.sweep_id))
    return Conductor(home, sweep, slots, said.append, poll_s=0.05)


if __name__ == "__main__":
    from trainer_core.sweeps.sweep import load_sweep

    there = HomePaths(Path(sys.argv[1]))
    asyncio.run(conductor(there, load_sweep(there, sys.argv[2]), 2, []).run())
