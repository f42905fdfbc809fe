"""Options of the runs of all other libraries ("guests"): neutral fields of RunSpec, and those of the host."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import check_fields, option


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestConfig:
    """Options of a run with another library ("guest") that are the same for every library."""

    task: str = option("pocket_quest/leave_bedroom", "Task", "basics")
    """Task id (or task folder) to train on."""
    device: str = option("cpu", "Device", "basics")
    """cpu or cuda:N."""
    seconds: float = option(0.0, "Time limit", "basics", minimum=0, unit="s")
    """Stop after so many seconds of wall time; 0 = no limit."""
    total_env_steps: int = option(0, "Stop after steps", "basics", minimum=0)
    """Stop after so many environment steps; 0 = no limit."""
    target_success: float = option(0.0, "Stop at success", "basics", minimum=0, maximum=1)
    """Stop once greedy validation on held-out starts reaches this; 0 = go on."""
    seed: int = option(1, "Seed", "basics", minimum=0)
    """Seed of weights, sampling and starts."""
    warm_start: str = option("", "Warm start", "learning")
    """Checkpoint folder whose weights the run begins with (a warm start, not a resume)."""
    eval_every: int = option(20_000, "Validate every", "logging", minimum=0, unit="steps")
    """Environment steps between two validations; 0 disables."""
    eval_episodes: int = option(32, "Validation episodes", "logging", minimum=1)
    """Episodes of one validation, spread over the held-out starts."""
    checkpoint_every: int = option(100_000, "Checkpoint every", "logging", minimum=0, unit="steps")
    """Environment steps between two checkpoints; 0 = only at the end."""
    keep_checkpoints: int = option(5, "Keep checkpoints", "logging", minimum=1)
    """Checkpoints kept besides the best and the newest."""
    threads: int = option(0, "CPU threads", "logging", minimum=0)
    """Threads for torch on a CPU; 0 = choose."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayingGuestConfig(GuestConfig):
    """Options of a library that plays the game while it learns."""

    demo_starts: float = option(0.75, "Starts along demonstrations", "env", minimum=0, maximum=0.9)
    """Share of training episodes that begin along the task's demonstrations, if it has any; 0 = all
    at the task's own starts. Validation always begins there."""


@dataclass(frozen=True, kw_only=True)
class PixelFields:
    """Options of a library whose network sees pictures and learns by Adam; a mixin."""

    __slots__ = ()

    stack_k: int = option(1, "Stacked pictures", "env", minimum=1, maximum=8)
    """Pictures the policy sees."""
    learning_rate: float = option(1e-3, "Learning rate", "learning", minimum=1e-7, maximum=1)
    """Adam's step size."""


@dataclass(frozen=True, kw_only=True)
class CheckoutFields:
    """Options of a library that runs from a checkout of its source; a mixin."""

    __slots__ = ()

    checkout: str = option("", "Checkout", "basics", is_folder=True)
    """Folder with the library's source (its repository); its files run as they are."""

    @property
    def source(self) -> Path:
        return Path(self.checkout).expanduser()

    def require_source(self, library: str, file: Path) -> Path:
        """Return `file` of the checkout. Raises ConfigError if no checkout is named or it lacks the file."""
        if not self.checkout:
            raise ConfigError(f"no checkout of {library} was named: give its folder as --checkout")
        if not file.is_file():
            raise ConfigError(f"there is no {file}: give {library}'s folder as --checkout")
        return file
