"""Every trainer the app and the command line can start, as data: no import of what it names."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from trainer_core.protocol.capabilities import RunnerCapabilities
from trainer_core.protocol.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """One trainer: what it is called, what it can do, how its process is started."""

    id: str
    title: str
    summary: str
    capabilities: RunnerCapabilities
    algorithms: tuple[str, ...]
    modules: tuple[str, ...] = ()
    """Python modules its interpreter must find; preflight looks for them."""
    command: Callable[[Path], list[str]] = field(repr=False)
    """The exact argv for a run directory."""


def _native(run_dir: Path) -> list[str]:
    return [sys.executable, "-m", "trainer_core.worker", str(run_dir)]


NATIVE = Runner(
    id="native",
    title="DMG Lab",
    summary="PPO and streaming A2C on thousands of Game Boys in one process.",
    capabilities=RunnerCapabilities(
        pause=True,
        graceful_stop=True,
        checkpoints=True,
        exact_resume=True,
        warm_start=True,
        play=True,
        watch=True,
    ),
    algorithms=("ppo", "a2c"),
    modules=("torch", "warp"),
    command=_native,
)

_RUNNERS = (NATIVE,)


def registered_runners() -> tuple[Runner, ...]:
    return _RUNNERS


def find_runner(runner_id: str) -> Runner:
    """Raises ConfigError naming the known ones."""
    for runner in _RUNNERS:
        if runner.id == runner_id:
            return runner
    known = ", ".join(runner.id for runner in _RUNNERS)
    raise ConfigError(f"no runner {runner_id!r}; known runners: {known}")
