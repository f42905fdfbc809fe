"""Description of the CleanRL runner; CleanRL's code is the user's checkout and is not imported here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from trainer_core.lab.paths import HomePaths
from trainer_core.runners.guest.checkout import check_checkout
from trainer_core.runners.guest.config import CheckoutFields, PlayingGuestConfig
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.wire.capabilities import FULL
from trainer_core.wire.checks import Check, Found
from trainer_core.wire.fields import option
from trainer_core.wire.spec import RunSpec

Algorithm = Literal["ppo", "dqn", "ppo_atari"]
ALGORITHMS = get_args(Algorithm)
GYMNASIUM_ID = re.compile(r"([\w:.-]+/)?[\w:.-]+-v\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanRlConfig(CheckoutFields, PlayingGuestConfig):
    """Options of a CleanRL run; the script's own options go into `arguments`."""

    task: str = option("pocket_quest/leave_bedroom", "Task", "basics")
    """Task id of ours, or a Gymnasium id such as CartPole-v1."""
    total_env_steps: int = option(0, "Stop after steps", "basics", minimum=0)
    """The script's --total-timesteps; 0 = the script's own default."""
    algo: Algorithm = option("ppo", "Script", "basics", choices=ALGORITHMS)
    """Which script: cleanrl/ALGO.py of the checkout."""
    arguments: str = option("", "Arguments", "learning")
    """More of the script's own options, for example `--num-envs 32 --learning-rate 1e-3`."""

    @property
    def script(self) -> Path:
        return self.source / "cleanrl" / f"{self.algo}.py"

    @property
    def on_gymnasium(self) -> bool:
        """True if `task` is an environment of Gymnasium's registry and not one of ours."""
        return GYMNASIUM_ID.fullmatch(self.task) is not None


class CleanRlRunner(GuestRunner):
    def check_task(self, spec: RunSpec, home: HomePaths) -> Check:
        config = self.configure(spec)
        if config.on_gymnasium:
            return Check(name="Task", status="ok", detail=f"{spec.task}, Gymnasium's")
        if config.algo == "dqn" and "--num-envs" in config.arguments:
            return Check(
                name="Task", status="fail", detail="CleanRL's dqn.py knows one environment", fix="Leave --num-envs out"
            )
        return super().check_task(spec, home)

    def check_options(self, spec: RunSpec, found: Found, home: HomePaths) -> Iterable[Check]:
        yield from super().check_options(spec, found, home)
        config: CleanRlConfig = self.configure(spec)
        yield check_checkout(self.title, config.source, lambda: config.require_source(self.title, config.script))


CLEANRL = CleanRlRunner(
    id="cleanrl",
    title="CleanRL",
    summary="The single-file scripts ppo.py, dqn.py and ppo_atari.py, unmodified.",
    capabilities=FULL.but(exact_resume=False),
    algorithms=ALGORITHMS,
    config_type=CleanRlConfig,
    modules=("torch", "warp", "gymnasium", "tyro", "tensorboard"),
    worker="trainer_core.runners.cleanrl.worker",
    player="trainer_core.runners.cleanrl.player",
    screens_only=True,
)
