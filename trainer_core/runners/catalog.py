"""Catalog of the runners that app and command line can start: ours and plug-ins.

A plug-in is an installed distribution with an entry point of the group `dmglab.runners`, whose name is the runner's id
and whose object is an AgentRunner (docs/reference/write_a_runner.md). Ours are in pyproject.toml too, but are read
from here: a checkout has no metadata, and that of an editable install may be older than the code. A runner's module
is imported on first use.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from trainer_core.lab.checkpoint_manifest import read_meta
from trainer_core.lab.paths import RunPaths
from trainer_core.runners.base import AgentRunner, Installation
from trainer_core.runners.native import NATIVE
from trainer_core.runs.config_file import read_spec
from trainer_core.wire.errors import CheckpointError, ConfigError, LabError, shown
from trainer_core.wire.fields import check_fields
from trainer_core.wire.spec import NATIVE_ID

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = [
    "NATIVE",
    "AgentRunner",
    "Installation",
    "broken_runners",
    "find_runner",
    "registered_runners",
    "runner_of_checkpoint",
]

GROUP = "dmglab.runners"
OURS = {
    "native": "trainer_core.runners.native:NATIVE",
    "sb3": "trainer_core.runners.sb3.runner:SB3",
    "cleanrl": "trainer_core.runners.cleanrl.runner:CLEANRL",
    "d3rlpy": "trainer_core.runners.d3rlpy.runner:D3RLPY",
    "skrl": "trainer_core.runners.skrl.runner:SKRL",
    "rllib": "trainer_core.runners.rllib.runner:RLLIB",
    "spade_bdi": "trainer_core.runners.spade_bdi.runner:SPADE_BDI",
    "corl": "trainer_core.runners.corl.runner:CORL",
    "arc": "trainer_core.runners.arc.runner:ARC",
    "rllm": "trainer_core.runners.rllm.runner:RLLM",
    "explore": "trainer_core.runners.explore.runner:EXPLORE",
}
"""Module and attribute of each of our runners, in display order."""
MOST_WORDS = 160
"""Maximum length of the error text of a plug-in that cannot be loaded."""


def registered_runners() -> tuple[AgentRunner, ...]:
    """Return our runners, then those of plug-ins by name, without the ones that cannot be loaded.

    The runners do not refer to a home yet: `AgentRunner.at` returns a runner for one home.
    """
    return (*map(_ours, OURS), *_plug_ins()[0].values())


def broken_runners() -> dict[str, str]:
    """Return the one-line error of each broken plug-in, by name."""
    return dict(_plug_ins()[1])


def find_runner(runner_id: str, runners: Iterable[AgentRunner] | None = None) -> AgentRunner:
    """Return the runner with that id out of `runners`, or of all; raises ConfigError without it."""
    if runners is None and runner_id in OURS:
        return _ours(runner_id)
    runners = registered_runners() if runners is None else runners
    by_id = {runner.id: runner for runner in runners}
    if runner_id in by_id:
        return by_id[runner_id]
    if reason := broken_runners().get(runner_id):
        raise ConfigError(reason)
    raise ConfigError(f"no runner {shown(runner_id, 60)!r}; known runners: {', '.join(by_id)}")


def runner_of_checkpoint(folder: Path, runners: Iterable[AgentRunner] | None = None) -> AgentRunner:
    """Return the runner that made a checkpoint: named in its manifest, else that of its run, else ours."""
    try:
        return find_runner(read_meta(folder).runner, runners)
    except CheckpointError:
        pass
    try:
        runner_id = read_spec(RunPaths(folder.parent.parent)).runner
    except LabError:
        runner_id = NATIVE_ID
    return find_runner(runner_id, runners)


# -- inside -----------------------------------------------------------------------------------


def _ours(runner_id: str) -> AgentRunner:
    module, _, name = OURS[runner_id].partition(":")
    return getattr(importlib.import_module(module), name)


@functools.cache
def _plug_ins() -> tuple[dict[str, AgentRunner], dict[str, str]]:
    """Return runners of other distributions by id, and errors of broken ones by name."""
    from importlib.metadata import entry_points

    found: dict[str, AgentRunner] = {}
    broken: dict[str, str] = {}
    try:
        points = sorted(entry_points(group=GROUP))
    except Exception as error:  # broken metadata of any installed distribution
        return {}, {"plug-ins": f"no plug-in was looked for: {_words(error)}"}
    for point in points:
        of = point.dist.name if point.dist else "no distribution"
        if of == "dmglab":
            continue
        name = shown(point.name, 60)
        try:
            if point.name in OURS or point.name in found:
                raise ConfigError("there is another runner of that name")
            found[point.name] = _load(point)
        except (Exception, SystemExit) as error:
            broken[name] = (
                f"runner {name} of {shown(of, 60)} cannot be used: {_words(error)}; mend that package or uninstall it"
            )
    return found, broken


def _load(point: EntryPoint) -> AgentRunner:
    """Return the plug-in's runner; raises what its module raises, and LabError."""
    with contextlib.redirect_stdout(sys.stderr):  # our standard output is JSON for other programs
        runner = point.load()
    if not isinstance(runner, AgentRunner):
        raise ConfigError(f"{point.value} is no AgentRunner")
    if runner.id != point.name:
        raise ConfigError(f"its entry point is called {point.name!r}, its id is {runner.id!r}")
    check_fields(runner.config_type())  # default values of a form
    if not runner.algorithms:
        raise ConfigError("it names no algorithms")
    return runner


def _words(error: BaseException) -> str:
    said = str(error) if isinstance(error, LabError) else f"{type(error).__name__}: {error}"
    return shown(said, MOST_WORDS)
