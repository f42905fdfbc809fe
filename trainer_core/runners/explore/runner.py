"""Description of the runner that explores; neither torch nor Warp is imported here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from trainer_core.lab.memory_estimate import CONSOLE_BYTES, SHARE, WORKER_BYTES, available_for
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.roms import ROM_SUFFIXES, has_rom_header, named_rom
from trainer_core.lab.tasks import find_task
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.wire.buttons import CODEC_ID, CODECS
from trainer_core.wire.capabilities import RunnerCapabilities
from trainer_core.wire.checks import Check, Found, judged, size
from trainer_core.wire.errors import ConfigError, TaskError
from trainer_core.wire.fields import check_fields, option
from trainer_core.wire.spec import RunSpec

RUNNER_ID = "explore"
ALGORITHMS = ("explore",)
CELL_BYTES = 47 << 10
"""Bytes of a cell on the device: its console's state, with up to 8 KiB of cartridge RAM, and its rows in the tables."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExploreConfig:
    """Options of a run that explores."""

    task: str = option("pocket_quest/whole_errand", "Task or ROM", "basics")
    """A task, whose start and goal are taken, or a ROM file."""
    start: str = option("0", "Start", "basics")
    """Number of the task's start state, or a file of one state; for a ROM file also 0, power-on."""
    seconds: float = option(300.0, "Time limit", "basics", minimum=0, unit="s")
    """Stop after so many seconds of wall time; 0 = no limit."""
    total_env_steps: int = option(0, "Stop after steps", "basics", minimum=0)
    """Stop after so many environment steps; 0 = no limit."""
    algo: Literal["explore"] = option("explore", "Algorithm", "basics", choices=ALGORITHMS)
    """explore: return to a cell, then press random buttons."""
    until_goal: bool = option(False, "Stop at the goal", "basics")
    """Stop as soon as the goal of the task is found."""
    seed: int = option(1, "Seed", "basics", minimum=0)
    """Seed of the buttons and of the choice of cells."""
    num_envs: int = option(256, "Consoles", "env", minimum=1, maximum=1 << 17)
    """Game Boys that explore side by side; some thousands on a GPU."""
    cells: int = option(20_000, "Cells", "env", minimum=64, maximum=1 << 22)
    """Places that are kept, 47 KiB of the device's memory each; then those that promise least are dropped."""
    branch_steps: int = option(16, "Steps from a cell", "env", minimum=1, maximum=256)
    """Steps that a console goes on from a cell before it returns to another."""
    hold: float = option(0.7, "Hold on", "env", minimum=0, maximum=0.99)
    """Probability of pressing the last button once more."""
    frames_per_step: int = option(24, "Frames a step", "env", minimum=1, maximum=600)
    """Frames of a step, for a ROM file; a task has its own."""
    release_after_frames: int = option(8, "Frames held", "env", minimum=1, maximum=600)
    """Frames for which a button is held, for a ROM file."""
    codec: str = option(CODEC_ID, "Buttons", "env", choices=tuple(CODECS))
    """Buttons of a step, for a ROM file: buttons7.v1, or buttons21.v1 with SELECT and pairs."""
    log_every: int = option(4, "Log every", "logging", minimum=1, unit="rounds")
    """Rounds, of `branch_steps` steps each, between two records."""
    checkpoint_every: int = option(500_000, "Checkpoint every", "logging", minimum=0, unit="steps")
    """Environment steps between two saved archives; 0 = only at the end."""
    keep_checkpoints: int = option(1, "Keep checkpoints", "logging", minimum=1)
    """Archives kept besides the newest."""

    def __post_init__(self) -> None:
        check_fields(self)
        if self.release_after_frames > self.frames_per_step:
            raise ConfigError(f"release_after_frames {self.release_after_frames} is above frames_per_step")

    @property
    def is_rom(self) -> bool:
        return self.task.lower().endswith(ROM_SUFFIXES)


@dataclass(frozen=True, kw_only=True)
class ExploreRunner(GuestRunner):
    """Runner of `explore/worker.py`, in DMG Lab's own environment."""

    def check_task(self, spec: RunSpec, home: HomePaths) -> Check:
        config: ExploreConfig = self.configure(spec)
        return judged("Task", lambda: _check_start(config, home), "Name another task or ROM (--task, --rom, --start)")

    def check_options(self, spec: RunSpec, found: Found, home: HomePaths) -> Iterable[Check]:
        yield from super().check_options(spec, found, home)
        config: ExploreConfig = self.configure(spec)
        yield check_cells(config, available_for(spec.device, found))


def _check_start(config: ExploreConfig, home: HomePaths) -> str:
    """Return a sentence on the start. Raises TaskError for a ROM, a task or a start that is not there."""
    if config.is_rom:
        path = named_rom(config.task, home)
        if not has_rom_header(path):
            raise TaskError(f"{path}: not a Game Boy ROM")
        count, what = 1, str(path)
    else:
        task = find_task(config.task, home)
        count, what = task.manifest.starts.count, task.id
    if not config.start.isdecimal():
        if not Path(config.start).is_file():
            raise TaskError(f"start {config.start!r}: no such file; give a number, or a file of one state")
    elif int(config.start) >= count:
        raise TaskError(f"start {config.start}: {what} has the starts 0 to {count - 1}, or give a file of one state")
    return f"{what}, start {config.start}"


def check_cells(config: ExploreConfig, available: int | None) -> Check:
    """Check that the archive fits into `available` bytes of its device; None = unknown."""
    fixed = WORKER_BYTES + config.num_envs * CONSOLE_BYTES
    need = fixed + config.cells * CELL_BYTES
    if available is None:
        return Check(name="Memory", status="warn", detail=f"{size(need)} needed, GPU unknown")
    detail = f"about {size(need)} of {size(available)}"
    if need <= SHARE * available:
        return Check(name="Memory", status="ok", detail=detail)
    fits = int((SHARE * available - fixed) // CELL_BYTES)
    if fits < 64:
        return Check(
            name="Memory", status="fail", detail=f"needs {detail}", fix="Free some memory, or use fewer consoles"
        )
    fix = f"Use cells={fits}, which would fit"
    return Check(name="Memory", status="fail", detail=f"needs {detail}", fix=fix, remedy={"cells": fits})


EXPLORE = ExploreRunner(
    id=RUNNER_ID,
    title="Explore",
    summary="Finds what a game shows, from one start state and pixels alone (Go-Explore), on thousands of Game Boys.",
    capabilities=RunnerCapabilities(pause=True, graceful_stop=True, checkpoints=True, exact_resume=True, watch=True),
    algorithms=ALGORITHMS,
    config_type=ExploreConfig,
    modules=("torch", "warp"),
    worker="trainer_core.runners.explore.worker",
    own_environment=False,
    trains=False,
)
