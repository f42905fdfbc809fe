"""Options that every guest has: the neutral fields of RunSpec, and what GuestRun does for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from trainer_core.wire.fields import check_fields, described


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestConfig:
    """The part of a guest's configuration that is not its library's."""

    task: str = field(default="pocket_quest/leave_bedroom", metadata=described("Task", "basics"))
    """Task id (or task folder) to train on."""
    device: str = field(default="cpu", metadata=described("Device", "basics"))
    """cpu or cuda:N."""
    seconds: float = field(
        default=0.0, metadata=described("Time limit", "basics", minimum=0, unit="s")
    )
    """Stop after so many seconds of wall time; 0 = no limit."""
    total_env_steps: int = field(
        default=0, metadata=described("Environment steps", "basics", minimum=0)
    )
    """Stop after so many environment steps; 0 = no limit."""
    target_success: float = field(
        default=0.0, metadata=described("Stop at success", "basics", minimum=0, maximum=1)
    )
    """Stop once greedy validation on held-out starts reaches this; 0 = go on."""
    seed: int = field(default=1, metadata=described("Seed", "basics", minimum=0))
    """Seed of weights, sampling and starts."""
    warm_start: str = field(default="", metadata=described("Warm start", "learning"))
    """Checkpoint folder whose weights the run begins with (a warm start, not a resume)."""
    eval_every: int = field(
        default=20_000, metadata=described("Validate every", "logging", minimum=0, unit="steps")
    )
    """Environment steps between two validations; 0 disables."""
    eval_episodes: int = field(
        default=32, metadata=described("Validation episodes", "logging", minimum=1)
    )
    """Episodes of one validation, spread over the held-out starts."""
    checkpoint_every: int = field(
        default=100_000, metadata=described("Checkpoint every", "logging", minimum=0, unit="steps")
    )
    """Environment steps between two checkpoints; 0 = only at the end."""
    keep_checkpoints: int = field(
        default=5, metadata=described("Keep checkpoints", "logging", minimum=1)
    )
    """How many to keep besides the best and the newest."""
    threads: int = field(default=0, metadata=described("CPU threads", "logging", minimum=0))
    """Threads for torch on a CPU; 0 = choose."""

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayingGuestConfig(GuestConfig):
    """Of a guest that plays while it learns."""

    demo_starts: float = field(
        default=0.75, metadata=described("Starts along demos", "env", minimum=0, maximum=0.9)
    )
    """Share of training episodes that begin along the task's demonstrations, if it has any; 0 = all
    at the task's own starts. Validation always begins there."""
