"""`dmglab explore`: find what a game shows from one start, then make a task of a place and train on it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.cli.ordering import Order
from trainer_core.cli.output import Result, say, trained_text
from trainer_core.cli.progress import PreparingLine
from trainer_core.cli.train import run as train
from trainer_core.cli.train_guest import follow
from trainer_core.host.process_start import load_torch
from trainer_core.lab.roms import named_rom
from trainer_core.runners.catalog import find_runner
from trainer_core.runners.explore.runner import RUNNER_ID, ExploreConfig
from trainer_core.runs.names import find_run
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import limits
from trainer_core.wire.regular_files import check_target
from trainer_core.wire.spec import RunSpec


@dataclass(frozen=True)
class Options:
    run: ExploreConfig = field(default_factory=ExploreConfig)
    rom: str = ""
    """A ROM instead of a task: its path, or its file name, title or hash in `dmglab rom list`."""
    minutes: float = field(default=0.0, metadata=limits(0, 100_000))
    """Time limit in minutes, instead of --seconds."""
    device: str = "cpu"
    """cpu or cuda:N."""
    name: str = ""
    """Name of the run in lists."""
    then_train: str = ""
    """Make a task of this place and train on it: `goal` (of the task), `deepest`, or the number of a cell."""
    id: str = ""
    """Id of that task; default found/ and the name of the run."""
    train_seconds: float = field(default=300.0, metadata=limits(0, 1_000_000))
    """Time limit of that training."""
    home: Home = None


@dataclass(frozen=True)
class FromArchive:
    run: Annotated[str, tyro.conf.Positional]
    """Run of `dmglab explore`: its name or id, or `latest`."""
    id: str
    """Name of the new task, for example found/door."""
    goal: str = "goal"
    """`goal` (of the task that was explored), `deepest`, or the number of a cell of `dmglab explore sheet`."""
    home: Home = None


@dataclass(frozen=True)
class SheetOptions:
    run: Annotated[str, tyro.conf.Positional]
    """Run of `dmglab explore`: its name or id, or `latest`."""
    out: Path
    """PNG to write."""
    count: int = field(default=60, metadata=limits(1, 400))
    """Greatest number of cells shown."""
    home: Home = None


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "explore", argv)
    home = home_paths(options.home)
    config = options.run
    if options.rom:
        if config.task != ExploreConfig().task:
            raise ConfigError("--rom and --task: give one of them")
        config = dataclasses.replace(config, task=str(named_rom(options.rom, home).resolve()))
    if options.minutes:
        config = dataclasses.replace(config, seconds=60 * options.minutes)
    if options.then_train == "goal":
        config = dataclasses.replace(config, until_goal=True)
    if config.until_goal and config.is_rom:
        raise ConfigError("a ROM has no goal: explore a task, or choose another --then-train")
    if not config.start.isdecimal():
        config = dataclasses.replace(config, start=str(Path(config.start).resolve()))
    runner = find_runner(RUNNER_ID)
    spec = dataclasses.replace(RunSpec.of(config, RUNNER_ID), device=options.device)
    found = follow(Order(runner, spec, home, options.name))
    if not options.then_train or not found["ok"]:
        return found
    task_id = options.id or f"found/{found['run_id'].replace('-', '_')}"
    made = from_archive([found["run_id"], "--id", task_id, "--goal", options.then_train, "--home", str(home.root)])
    say(f"task {task_id}: a way of {made['way_kept']} steps, shortened from {made['way_found']}")
    device = ["--device", options.device, "--home", str(home.root)]
    trained = train(["--task", task_id, "--seconds", str(options.train_seconds), "--target-success", "0.95", *device])
    return Result({**trained, "explored": dict(found), "task": made}, trained_text(trained))


def from_archive(argv: list[str]) -> dict[str, Any]:
    """Make a task of a cell of an archive."""
    options = parse(FromArchive, "task from-archive", argv)
    home = home_paths(options.home)
    paths = find_run(options.run, home)
    load_torch()
    from trainer_core.runners.explore.ways import Found, task_of

    folder, chosen = task_of(Found.read(paths, home), options.goal, options.id, PreparingLine())
    return Result({"ok": True, "task": options.id, "folder": str(folder), **chosen})


def sheet(argv: list[str]) -> dict[str, Any]:
    """Draw cells of an archive with their numbers."""
    options = parse(SheetOptions, "explore sheet", argv)
    check_target(options.out)
    home = home_paths(options.home)
    paths = find_run(options.run, home)
    load_torch()
    from trainer_core.runners.explore.ways import Found, sheet

    found = Found.read(paths, home)
    try:
        options.out.write_bytes(sheet(found, options.count))
    except OSError as error:
        raise ConfigError(f"{options.out}: cannot be written: {error.strerror}") from None
    return {"ok": True, "run_id": paths.run_id, "cells": len(found.cells["number"]), "out": str(options.out)}
