"""`dmglab task list|check|audit|probe`: list tasks, check them, measure their difficulty."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import Home, HomeOptions, home_paths, parse
from trainer_core.cli.output import Result, fields, table
from trainer_core.cli.progress import PreparingLine, tell_progress
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.roms import rom_path
from trainer_core.lab.tasks import BUILT_IN_TASKS, Task, broken_tasks, find_task, list_tasks, verify_file, verify_goal
from trainer_core.wire.errors import ConfigError, LabError
from trainer_core.wire.fields import MAX_SEED, limits
from trainer_core.wire.regular_files import is_regular

MAX_EPISODES = 100_000
HEAD = ("task", "title", "state", "note")


@dataclass(frozen=True)
class ReportOptions:
    task: Annotated[str, tyro.conf.Positional]
    """Task id, or the folder of a task."""
    episodes: int = 128
    """Random episodes to play; an audit plays half of that number with an untrained network."""
    seed: int = 1
    nice: int = field(default=0, metadata=limits(0, 19))
    """Niceness of the process; a higher one leaves the processor to other programs."""
    home: Home = None


@dataclass(frozen=True)
class ProbeOptions:
    start: tuple[Path, ...]
    """Captured start states at which random play begins."""
    goal: Path | None = None
    """Captured goal picture, with its region if it has one; without it only --kept is written."""
    rom: str = ""
    """The ROM: its path, or its file name, title or hash in `dmglab rom list`."""
    base: str = ""
    """Or a task of the same game."""
    tau: float = field(default=0.0, metadata=limits(0, 1))
    """Distance to try; 0 = the suggested one."""
    way: Path | None = None
    """Demonstration (demo.npz) whose pictures before the goal suggest it, as in `dmglab task new`."""
    seconds: float = field(default=60.0, metadata=limits(1, 600))
    """Game time that each console plays at random."""
    consoles: int = field(default=16, metadata=limits(1, 1024))
    seed: int = field(default=1, metadata=limits(0, MAX_SEED))
    kept: Path | None = None
    """File of the pictures of the random play: read if it belongs to the same play, else written."""
    home: Home = None


def list_all(argv: list[str]) -> dict[str, Any]:
    home = home_paths(parse(HomeOptions, "task list", argv).home)
    built_in = [{"id": name, "title": title} for name, title in BUILT_IN_TASKS.items()]
    rows = [_row(task, home) for task in list_tasks(home)]
    broken = [{"folder": folder, "broken": reason} for folder, reason in broken_tasks(home).items()]
    lines = [(row["id"], row["title"], _state(row), row.get("broken") or row.get("warning")) for row in built_in + rows]
    lines += [(row["folder"], "", "broken", row["broken"]) for row in broken]
    return Result({"ok": True, "tasks": [*built_in, *rows], "broken": broken}, table(HEAD, lines))


def _state(row: dict[str, str]) -> str:
    state = "broken" if "broken" in row else "warning" if "warning" in row else "ready"
    return ", ".join(filter(None, (state, row.get("badge"))))


def check(argv: list[str]) -> dict[str, Any]:
    from trainer_core.author.reports import check_task

    options, task, home = _parse("task check", argv)
    one_thread()
    found = check_task(task, home, episodes=options.episodes, seed=options.seed, tell=PreparingLine())
    verdict = f"{task.id}: {len(found['problems'])} problems, {len(found['warnings'])} warnings"
    return Result(found, "\n".join([verdict, *found["problems"], *found["warnings"], "", _figures(found)]))


def _figures(found: dict[str, Any]) -> str:
    return fields({name: value for name, value in found.items() if name not in ("task", "problems", "warnings")})


def audit(argv: list[str]) -> dict[str, Any]:
    options, task, home = _parse("task audit", argv)
    os.nice(options.nice)
    from trainer_core.author.reports import audit_task

    one_thread()
    return audit_task(task, home, episodes=options.episodes, seed=options.seed, tell=PreparingLine())


def probe(argv: list[str]) -> dict[str, Any]:
    from trainer_core.author.probing import RandomPlay, probe_goal

    options = parse(ProbeOptions, "task probe", argv)
    play = RandomPlay(
        rom=options.rom,
        base=options.base,
        starts=options.start,
        seconds=options.seconds,
        consoles=options.consoles,
        seed=options.seed,
    )
    found = probe_goal(
        play,
        options.goal,
        home_paths(options.home),
        tau=options.tau,
        way=options.way,
        kept=options.kept,
        on_progress=tell_progress,
    )
    return {"ok": True, "progress": 1.0, **found}


def one_thread() -> None:
    """Limit torch to one thread: on a busy core, two threads make waiting nine times as long."""
    import torch

    torch.set_num_threads(1)


def _row(task: Task, home: HomePaths) -> dict[str, str]:
    """Return id and title; `broken` says why the task is unusable now, `warning` why it is not advisable."""
    row = {"id": task.id, "title": task.manifest.title}
    row |= {"badge": task.manifest.badge} if task.manifest.badge else {}
    try:
        verify_file(task.starts_path, task.manifest.starts.sha256, "file of start states")
        verify_goal(task)
        if not is_regular(rom_path(task, home)):
            raise LabError(f"{rom_path(task, home)}: the ROM is not there; see `dmglab rom list`")
    except LabError as error:
        row["broken"] = str(error)
    if dawdling := task.manifest.reward.dawdling:
        row["warning"] = f"{dawdling}; `dmglab task update {task.id}` gives it today's reward"
    return row


def _parse(command: str, argv: list[str]) -> tuple[ReportOptions, Task, HomePaths]:
    options = parse(ReportOptions, command, argv)
    if not 1 <= options.episodes <= MAX_EPISODES:
        raise ConfigError(f"episodes must be 1 to {MAX_EPISODES:,}, got {options.episodes}")
    if not -(2**63) <= options.seed < 2**63:
        raise ConfigError(f"seed {options.seed} does not fit into 64 bits")
    home = home_paths(options.home)
    if options.task in BUILT_IN_TASKS:
        raise ConfigError(f"{options.task} is built in: it has no files to look at")
    return options, find_task(options.task, home), home
