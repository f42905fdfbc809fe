"""`dmglab runner VERB`: the environments of other training libraries, and checkpoint files that they may open."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import Home, HomeOptions, home_paths, parse
from trainer_core.cli.output import Result, table
from trainer_core.cli.progress import tell_progress
from trainer_core.lab.guest_environment import RunnerEnvironment
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.trust import named_hash, trust, trusted_list
from trainer_core.runners.catalog import AgentRunner, broken_runners, find_runner, registered_runners
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.wire.errors import ConfigError, LabError

HEAD = ("trainer", "title", "state", "algorithms", "note")


@dataclass(frozen=True)
class Options:
    runner: Annotated[str, tyro.conf.Positional] = ""
    """Trainer, by its name in `dmglab runner list`."""
    home: Home = None


@dataclass(frozen=True)
class InstallOptions(Options):
    python: Path | None = None
    """Interpreter of the new environment; default the one that runs dmglab."""


@dataclass(frozen=True)
class TrustOptions:
    file: Annotated[str, tyro.conf.Positional]
    """Checkpoint file, or its SHA-256."""


def list_all(argv: list[str]) -> dict[str, Any]:
    home = home_paths(parse(HomeOptions, "runner list", argv).home)
    rows = [_row(runner, home) for runner in registered_runners()]
    broken = broken_runners()
    lines = [
        (row["id"], row["title"], "ready" if row["ready"] else "not ready", row["algorithms"], row.get("detail"))
        for row in rows
    ]
    lines += [(name, "", "broken", "", reason) for name, reason in broken.items()]
    return Result({"ok": True, "runners": rows} | ({"broken": broken} if broken else {}), table(HEAD, lines))


def install(argv: list[str]) -> dict[str, Any]:
    options = parse(InstallOptions, "runner install", argv)
    environment = _environment(options.runner, home_paths(options.home))
    environment.install(tell_progress, str(options.python or sys.executable))
    return _checked(environment, {"progress": 1.0})


def check(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "runner check", argv)
    return _checked(_environment(options.runner, home_paths(options.home)), {})


def remove(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "runner remove", argv)
    environment = _environment(options.runner, home_paths(options.home))
    environment.remove()
    return Result({"ok": True, "removed": str(environment.folder)}, f"Removed {environment.folder}.")


def trust_file(argv: list[str]) -> dict[str, Any]:
    sha256 = named_hash(parse(TrustOptions, "runner trust", argv).file)
    trust(sha256)
    found = {"ok": True, "trusted": sha256, "list": str(trusted_list())}
    return Result(found, f"Added {sha256} to {trusted_list()}.")


def _environment(runner_id: str, home: HomePaths) -> RunnerEnvironment:
    """Return the environment of a runner. Raises ConfigError for a runner without one."""
    guests = [runner for runner in registered_runners() if _has_environment(runner)]
    known = ", ".join(runner.id for runner in guests)
    if not runner_id:
        raise ConfigError(f"name a trainer: {known}")
    runner = find_runner(runner_id)
    if not isinstance(runner, GuestRunner) or not _has_environment(runner):
        raise ConfigError(f"{runner.title} runs in this interpreter; others have one: {known}")
    return runner.environment(home)


def _has_environment(runner: AgentRunner) -> bool:
    return isinstance(runner, GuestRunner) and runner.own_environment


def _checked(environment: RunnerEnvironment, more: dict[str, Any]) -> Result:
    began = time.monotonic()
    found = environment.check()
    seconds = round(time.monotonic() - began, 2)
    folder, python = str(environment.folder), found["python"]
    result = {"folder": folder, "python": python, "modules": found["modules"], "seconds": seconds}
    return Result({"ok": True, **more, **result}, f"Ready: {folder} (Python {python}, imported in {seconds:g} s).")


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
