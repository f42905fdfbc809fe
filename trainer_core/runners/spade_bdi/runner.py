"""Description of the SPADE-BDI runner; SPADE-BDI is not imported here."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from trainer_core.lab.checkpoint_manifest import read_own_meta
from trainer_core.lab.paths import HomePaths
from trainer_core.runners.guest.config import GuestConfig
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.runs.names import find_checkpoint
from trainer_core.wire.capabilities import FULL
from trainer_core.wire.checks import Check, Found, judged
from trainer_core.wire.environment import child_environment
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import option
from trainer_core.wire.spec import RunSpec

Algorithm = Literal["bdi"]
ALGORITHMS = get_args(Algorithm)
PLANS = Path(__file__).with_name("plans")
"""Folder of the shipped example plans."""
CHECK_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SpadeBdiConfig(GuestConfig):
    """Options of a BDI agent: plans, skills, coach."""

    algo: Algorithm = option("bdi", "Algorithm", "basics", choices=ALGORITHMS)
    """bdi: beliefs, desires, intentions."""
    plans: str = option("", "Plans (.asl)", "basics", is_file=True)
    """File of AgentSpeak plans; empty = the example that leaves the bedroom."""
    skill: str = option("", "Skills", "basics", is_folder=True)
    """Checkpoint or run of ours, for .skill(Button); more of them as NAME=CHECKPOINT, ..."""
    coach: str = option("", "Coach (.asl)", "env", is_file=True)
    """Plans of a second agent to talk to; none = no coach; empty = the example."""
    exploration: float = option(0.1, "Exploration", "learning", minimum=0, maximum=1)
    """Share of .choose that picks any option, once all were tried."""
    total_env_steps: int = option(4_000, "Stop after steps", "basics", minimum=0)
    """Stop after so many environment steps; 0 = no limit."""
    eval_every: int = option(2_000, "Validate every", "logging", minimum=0, unit="steps")
    """Environment steps between two validations; 0 disables."""
    eval_episodes: int = option(16, "Validation episodes", "logging", minimum=1)
    """Episodes of one validation, spread over the held-out starts."""
    checkpoint_every: int = option(2_000, "Checkpoint every", "logging", minimum=0, unit="steps")
    """Environment steps between two checkpoints; 0 = only at the end."""
    log_every: int = option(4, "Log every", "logging", minimum=1, unit="episodes")
    """Episodes of one record."""

    @property
    def plans_file(self) -> Path:
        return Path(self.plans).expanduser() if self.plans else PLANS / "leave_bedroom.asl"

    @property
    def coach_file(self) -> Path | None:
        if self.coach == "none":
            return None
        return Path(self.coach).expanduser() if self.coach else PLANS / "coach.asl"


class SpadeBdiRunner(GuestRunner):
    def check_options(self, spec: RunSpec, found: Found, home: HomePaths) -> Iterable[Check]:
        yield from super().check_options(spec, found, home)
        config: SpadeBdiConfig = self.configure(spec)
        yield self._check_skills(config, home)
        files = [file for file in (config.plans_file, config.coach_file) if file]
        gone = [file for file in files if not file.is_file()]
        wrong = f"{gone[0]}: no such file" if gone else self._check_plans(files, home)
        names = ", ".join(file.name for file in files)
        yield Check(
            name="Plans",
            status="fail" if wrong else "ok",
            detail=wrong or names,
            fix="Mend the file of AgentSpeak plans, or leave --plans empty for the example",
        )

    def _check_plans(self, files: list[Path], home: HomePaths) -> str:
        """Have the runner's own interpreter parse the plans; return the first error.

        Returns "" if there is none, or if the environment is not installed.
        """
        environment = self.environment(home)
        if not environment.exists or environment.stale():
            return ""
        argv = [str(environment.python), "-P", "-m", "trainer_core.runners.spade_bdi.asl"]
        try:
            done = subprocess.run(
                [*argv, *map(str, files)],
                capture_output=True,
                text=True,
                timeout=CHECK_S,
                check=False,
                env=child_environment(argv[0]),
            )
            return json.loads(done.stdout)["error"]
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return ""  # the environment's own check reports the problem

    def _check_skills(self, config: SpadeBdiConfig, home: HomePaths) -> Check:
        def judge() -> str:
            names = named_skills(config.skill)
            for checkpoint in names.values():
                read_own_meta(find_checkpoint(checkpoint, home))
            if not names and not config.plans:
                raise ConfigError("the example's plans ask a learned skill, and none was named")
            return ", ".join(names) or "none"

        return judged(
            "Skills", judge, f"dmglab train --task {config.task} --target-success 0.9, then name it as --skill"
        )


def named_skills(skills: str) -> dict[str, str]:
    """Parse `name=checkpoint, checkpoint ...` to name -> checkpoint. Raises ConfigError.

    Entries without a name are called `skill`, `skill2`, `skill3` ...
    """
    found: dict[str, str] = {}
    for number, part in enumerate((p.strip() for p in skills.split(",") if p.strip()), 1):
        name, equals, checkpoint = (text.strip() for text in part.partition("="))
        if not equals:
            name, checkpoint = "skill" if number == 1 else f"skill{number}", part
        plain = name.isascii() and name.isidentifier() and name[0].islower() and len(name) < 40
        if not plain or name in found:
            raise ConfigError(f"skill name {name!r}: a small letter first, each another one (NAME=CHECKPOINT)")
        found[name] = checkpoint
    return found


SPADE_BDI = SpadeBdiRunner(
    id="spade_bdi",
    title="SPADE-BDI",
    summary="An agent whose plans are AgentSpeak and whose actions are our buttons.",
    capabilities=FULL.but(beliefs=True),
    algorithms=ALGORITHMS,
    config_type=SpadeBdiConfig,
    modules=("torch", "warp", "spade", "spade_bdi", "agentspeak", "pyjabber", "greenlet"),
    worker="trainer_core.runners.spade_bdi.worker",
    player="trainer_core.runners.spade_bdi.player",
    screens_only=True,
)
