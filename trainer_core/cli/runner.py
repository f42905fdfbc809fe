"""`dmglab runner list|install|remove|check [RUNNER]`: the environments that runners train in.

`dmglab runner trust SHA256|FILE`: let guests' libraries open a checkpoint that came from elsewhere.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from trainer_core.cli.options import home_paths, parse
from trainer_core.cli.output import tell_progress
from trainer_core.lab.guest_environment import RunnerEnvironment
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.trust import named_hash, trust, trusted_list
from trainer_core.runners.catalog import AgentRunner, broken_runners, find_runner, registered_runners
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.wire.errors import ConfigError, LabError


@dataclass(frozen=True)
class Options:
    verb: Annotated[Literal["list", "install", "remove", "check", "trust"], tyro.conf.Positional]
    runner: Annotated[str, tyro.conf.Positional] = ""
    """Which runner; `list` needs none. Of `trust` the file, or its SHA-256."""
    home: Path | None = None
    """Where environments, runs and tasks lie; default DMGLAB_HOME or var/ of the checkout."""
    python: Path = Path(sys.executable)
    """install: the interpreter that the environment is made with."""


def run(argv: list[str]) -> dict[str, Any]:
    """Progress as JSON lines on standard output, the result last."""
    options = parse(Options, "runner", argv)
    home = home_paths(options.home)
    if options.verb == "list":
        rows = [_row(runner, home) for runner in registered_runners()]
        broken = broken_runners()
        return {"ok": True, "runners": rows} | ({"broken": broken} if broken else {})
    if options.verb == "trust":
        sha256 = named_hash(options.runner)
        trust(sha256)
        return {"ok": True, "trusted": sha256, "list": str(trusted_list())}
    environment = _environment(options.runner, home)
    match options.verb:
        case "install":
            environment.install(tell_progress, str(options.python))
            return {"ok": True, "progress": 1.0, **_checked(environment)}
        case "remove":
            environment.remove()
            return {"ok": True, "removed": str(environment.folder)}
    return {"ok": True, **_checked(environment)}


def _environment(runner_id: str, home: HomePaths) -> RunnerEnvironment:
    """Raises ConfigError for a runner that has none of its own."""
    guests = [runner for runner in registered_runners() if _has_environment(runner)]
    known = ", ".join(runner.id for runner in guests)
    if not runner_id:
        raise ConfigError(f"say which runner: {known}")
    runner = find_runner(runner_id)
    if not isinstance(runner, GuestRunner) or not _has_environment(runner):
        raise ConfigError(f"{runner.title} runs in this interpreter; others have one: {known}")
    return runner.environment(home)


def _has_environment(runner: AgentRunner) -> bool:
    return isinstance(runner, GuestRunner) and runner.own_environment


def _checked(environment: RunnerEnvironment) -> dict[str, Any]:
    began = time.monotonic()
    found = environment.check()
    return {
        "folder": str(environment.folder),
        "python": found["python"],
        "modules": found["modules"],
        "seconds": round(time.monotonic() - began, 2),
    }


def _row(runner: AgentRunner, home: HomePaths) -> dict[str, Any]:
    row: dict[str, Any] = {"id": runner.id, "title": runner.title, "algorithms": list(runner.algorithms)}
    if not isinstance(runner, GuestRunner):
        return row | {"ready": True, "environment": ""}
    environment = runner.environment(home)
    row["environment"] = str(environment.folder)
    try:
        environment.check()
    except LabError as error:
        return row | {"ready": False, "detail": str(error)}
    return row | {"ready": True}
