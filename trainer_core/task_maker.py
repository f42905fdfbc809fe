"""A task from what a person captured: start states, a goal picture, the game they belong to."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np

from emulator import EmulatorError
from emulator.snapshot import Snapshot
from emulator.snapshot_set import save_snapshots
from trainer_core.console import GameConsole
from trainer_core.envs.roms import load_rom
from trainer_core.envs.task_files import load_goal
from trainer_core.protocol.errors import TaskError
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.tasks import Episode, Goal, Starts, TaskManifest, find_task, load_task

STARTS, GOAL, MANIFEST = "starts.npz", "goal.npz", "task.toml"
LEAST_DISTANCE = 0.001
MOST_TAU, TAU_SHARE = 0.02, 0.4
_ID = re.compile(r"[a-z0-9_]+(/[a-z0-9_]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequest:
    """What the new task is made of. `base` gives the game, the buttons and the reward."""

    id: str
    title: str
    base: str
    starts: tuple[Path, ...]
    goal: Path
    tau: float = 0.0
    """Distance below which a picture counts as the goal; 0 = choose it from the starts."""
    horizon: int = 128
    description: str = field(default="Made from captured states.")


def make_task(request: TaskRequest, home: HomePaths) -> Path:
    """Write the task's folder below the home's tasks, whole or not at all; returns it.

    Raises TaskError naming what is wrong: an id that is taken or no id, a state of another ROM.
    """
    if not _ID.fullmatch(request.id):
        raise TaskError(
            f"task id {request.id!r}: use lower-case letters, digits, _ and / between parts"
        )
    folder = home.tasks / request.id
    if folder.exists():
        raise TaskError(f"{folder}: this task exists; choose another id")
    if not request.starts:
        raise TaskError("a task needs at least one start state")
    base = find_task(request.base, home).manifest
    snapshots = [_load_state(path, base.rom.sha256) for path in request.starts]
    tau = request.tau or _choose_tau(request, snapshots, home)
    partial = folder.with_name(f".{folder.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        save_snapshots(partial / STARTS, snapshots)
        shutil.copyfile(request.goal, partial / GOAL)
        manifest = msgspec.structs.replace(
            base,
            id=request.id,
            title=request.title,
            description=request.description,
            starts=Starts(file=STARTS, count=len(snapshots), sha256=_sha256(partial / STARTS)),
            goal=Goal(file=GOAL, sha256=_sha256(partial / GOAL), tau=tau),
            episode=Episode(horizon=request.horizon),
        )
        (partial / MANIFEST).write_bytes(_toml(manifest))
        load_task(partial)
        os.replace(partial, folder)
    except OSError as error:
        raise TaskError(f"{folder}: cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _choose_tau(request: TaskRequest, snapshots: list[Snapshot], home: HomePaths) -> float:
    """Well below what separates the nearest start from the goal.

    A small sprite that walked a few tiles changes less than a hundredth of the picture, so a fixed
    tau would call such a goal reached before the first step.
    """
    templates, mask = load_goal(request.goal)
    console = GameConsole(
        load_rom(find_task(request.base, home), home), request.id, snapshots, None
    )
    nearest = 1.0
    for start in range(len(snapshots)):
        console.restart(start)
        picture = console.observation().astype(np.int16)
        apart = np.abs(picture - templates.astype(np.int16)) / 3
        nearest = min(nearest, *(float(d[m].mean()) for d, m in zip(apart, mask, strict=True)))
    if nearest < LEAST_DISTANCE:
        raise TaskError(
            f"{request.goal}: the goal looks like a start state (distance {nearest:.4f}); "
            "capture it somewhere that looks different"
        )
    return round(min(MOST_TAU, TAU_SHARE * nearest), 5)


def _load_state(path: Path, rom_sha256: str) -> Snapshot:
    try:
        snapshot = Snapshot.load(path)
    except EmulatorError as error:
        raise TaskError(str(error)) from None
    if snapshot.rom_sha256 != rom_sha256:
        raise TaskError(f"{path}: a state of another ROM than the base task's")
    return snapshot


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _toml(manifest: TaskManifest) -> bytes:
    """The manifest as TOML: scalars first, then one table a part."""
    parts = msgspec.to_builtins(manifest)
    lines = [f"{key} = {_value(value)}" for key, value in parts.items() if not _is_table(value)]
    for key, table in parts.items():
        if _is_table(table):
            lines += ["", f"[{key}]", *(f"{name} = {_value(v)}" for name, v in table.items())]
    return ("\n".join(lines) + "\n").encode()


def _is_table(value: object) -> bool:
    return isinstance(value, dict)


def _value(value: object) -> str:
    # JSON's strings, numbers and booleans are TOML's too.
    return msgspec.json.encode(value).decode()
