"""What the lab knows of CleanRL; nothing of it is imported here, and nothing of it is ours."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from trainer_core.lab.paths import HomePaths
from trainer_core.runners.guest.config import PlayingGuestConfig
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.wire.capabilities import RunnerCapabilities
from trainer_core.wire.checks import Check, Found
from trainer_core.wire.fields import described
from trainer_core.wire.spec import RunSpec

ALGORITHMS = ("ppo", "dqn", "ppo_atari")
GYMNASIUM_ID = re.compile(r"([\w:.-]+/)?[\w:.-]+-v\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanRlConfig(PlayingGuestConfig):
    """What a CleanRL script may be asked; its own options go into `arguments`."""

    task: str = field(default="pocket_quest/leave_bedroom", metadata=described("Task", "basics"))
    """Task id of ours, or a Gymnasium id such as CartPole-v1."""
    total_env_steps: int = field(
        default=0, metadata=described("Environment steps", "basics", minimum=0)
    )
    """The script's --total-timesteps; 0 = the script's own default."""
    algo: Literal["ppo", "dqn", "ppo_atari"] = field(
        default="ppo", metadata=described("Script", "basics", choices=ALGORITHMS)
    )
    """Which script: cleanrl/ALGO.py of the checkout."""
    checkout: str = field(default="", metadata=described("Checkout", "basics", is_folder=True))
    """Folder with CleanRL's source (its repository); its scripts run as they are."""

    arguments: str = field(default="", metadata=described("Arguments", "learning"))
    """More of the script's own options, for example `--num-envs 32 --learning-rate 1e-3`."""

    @property
    def script(self) -> Path:
        return Path(self.checkout).expanduser() / "cleanrl" / f"{self.algo}.py"

    @property
    def on_gymnasium(self) -> bool:
        """Whether `task` is an environment of Gymnasium's registry rather than one of ours."""
        return GYMNASIUM_ID.fullmatch(self.task) is not None


class CleanRlRunner(GuestRunner):
    def check_task(self, spec: RunSpec, home: HomePaths) -> Check:
        config = self.configure(spec)
        if config.on_gymnasium:
            return Check(name="Task", status="ok", detail=f"{spec.task}, Gymnasium's")
        if config.algo == "dqn" and "--num-envs" in config.arguments:
            return Check(
                name="Task", status="fail", detail="CleanRL's dqn.py knows one environment",
                fix="Leave --num-envs out",
            )  # fmt: skip
        return super().check_task(spec, home)

    def check_options(self, spec: RunSpec, found: Found, home: HomePaths) -> Iterable[Check]:
        yield from super().check_options(spec, found, home)
        config = self.configure(spec)
        if config.checkout and config.script.is_file():
            yield Check(name="Checkout", status="ok", detail=str(config.script))
            return
        detail = f"there is no {config.script}" if config.checkout else "no checkout was named"
        yield Check(
            name="Checkout", status="fail", detail=f"CleanRL: {detail}",
            fix="Clone CleanRL's repository (vwxyzjn/cleanrl) and give its folder as --checkout",
        )  # fmt: skip


CLEANRL = CleanRlRunner(
    id="cleanrl",
    title="CleanRL",
    summary="The single-file scripts ppo.py, dqn.py and ppo_atari.py, unmodified.",
    capabilities=RunnerCapabilities(
        pause=True,
        graceful_stop=True,
        checkpoints=True,
        warm_start=True,
        play=True,
        watch=True,
    ),
    algorithms=ALGORITHMS,
    config_type=CleanRlConfig,
    modules=("torch", "warp", "gymnasium", "tyro", "tensorboard"),
    worker="trainer_core.runners.cleanrl.worker",
    player="trainer_core.runners.cleanrl.player",
    writes_log=True,
    screens_only=True,
)
