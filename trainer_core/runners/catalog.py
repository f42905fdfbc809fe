"""Every runner that app and command line can start: a new one is its module and its line here."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from trainer_core.lab.checkpoint_manifest import read_meta
from trainer_core.lab.paths import HomePaths, RunPaths, default_home
from trainer_core.runners.arc.runner import ARC
from trainer_core.runners.base import AgentRunner, Installation
from trainer_core.runners.cleanrl.runner import CLEANRL
from trainer_core.runners.corl.runner import CORL
from trainer_core.runners.d3rlpy.runner import D3RLPY
from trainer_core.runners.native import NATIVE
from trainer_core.runners.rllm.runner import RLLM
from trainer_core.runners.sb3.runner import SB3
from trainer_core.runners.skrl.runner import SKRL
from trainer_core.runners.spade_bdi.runner import SPADE_BDI
from trainer_core.runs.config_file import read_spec
from trainer_core.wire.errors import CheckpointError, ConfigError, LabError
from trainer_core.wire.spec import NATIVE_ID

__all__ = [
    "NATIVE",
    "AgentRunner",
    "Installation",
    "find_runner",
    "registered_runners",
    "runner_of_checkpoint",
]

_HERE = HomePaths(default_home())
_RUNNERS: tuple[AgentRunner, ...] = (
    NATIVE,
    SB3.at(_HERE),
    CLEANRL.at(_HERE),
    D3RLPY.at(_HERE),
    SKRL.at(_HERE),
    SPADE_BDI.at(_HERE),
    CORL.at(_HERE),
    ARC.at(_HERE),
    RLLM.at(_HERE),
)


def registered_runners() -> tuple[AgentRunner, ...]:
    return _RUNNERS


def find_runner(runner_id: str, runners: Iterable[AgentRunner] = _RUNNERS) -> AgentRunner:
    """Raises ConfigError naming the known ones."""
    by_id = {runner.id: runner for runner in runners}
    if runner_id not in by_id:
        raise ConfigError(f"no runner {runner_id!r}; known runners: {', '.join(by_id)}")
    return by_id[runner_id]


def runner_of_checkpoint(folder: Path, runners: Iterable[AgentRunner] = _RUNNERS) -> AgentRunner:
    """Who made a checkpoint: its manifest says so, else the run that it lies in, else we did."""
    try:
        return find_runner(read_meta(folder).runner, runners)
    except CheckpointError:
        pass
    try:
        runner_id = read_spec(RunPaths(folder.parent.parent)).runner
    except LabError:
        runner_id = NATIVE_ID
    return find_runner(runner_id, runners)
