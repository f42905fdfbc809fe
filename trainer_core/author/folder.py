"""A task's folder, written atomically."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from emulator import Snapshot
from emulator.state.snapshot import save_snapshots
from trainer_core.author.demonstration import FILE as DEMO
from trainer_core.author.demonstration import save_demonstrations
from trainer_core.author.goals import GoalPictures
from trainer_core.author.suggestions import suggest_reward
from trainer_core.envs.demonstrations import Demonstration
from trainer_core.envs.task_files import save_goal
from trainer_core.lab import durable_files
from trainer_core.lab.manifest_checks import ID_RULE, is_task_id
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.ram_reward import MOST_BYTES
from trainer_core.lab.tasks import (
    Codec,
    Demo,
    Episode,
    Goal,
    Reward,
    Rom,
    Starts,
    TaskManifest,
    Training,
    find_task,
    load_task,
    task_roots,
)
from trainer_core.wire.errors import TaskError, shown
from trainer_core.wire.regular_files import DEEPEST

LEFT_S = 3_600.0
"""Seconds without a change after which an unfinished folder counts as abandoned: writing one takes seconds."""
_HIDDEN = re.compile(r"\.[a-z0-9_-]+\.[a-z0-9_]{8}")
"""Name of a task's folder while it is written; before November 2026 tempfile chose the suffix."""
STARTS, GOAL, MANIFEST, INPUTS = "starts.npz", "goal.npz", "task.toml", "starts.json"


def free_folder(task_id: str, home: HomePaths) -> Path:
    """Return the path for a new task's folder, after checking the id and that the home can be written.

    First removes unfinished folders in the home's tasks. Raises TaskError for an invalid or existing id, and for a home
    that cannot be written.
    """
    if not is_task_id(task_id):
        raise TaskError(f"task id '{shown(task_id)}': {ID_RULE}")
    for root in task_roots(home):
        if os.path.lexists(root / task_id):
            raise TaskError(f"{root / task_id}: this task exists; choose another id, or `dmglab task remove`")
        for parent in (root / task_id).parents:
            if parent != root and root in parent.parents and (parent / MANIFEST).exists():
                raise TaskError(f"{parent} is a task: {task_id} cannot lie inside it")
    remove_left(home.tasks)
    folder = home.tasks / task_id
    _try_to_write(folder)
    return folder


def _try_to_write(folder: Path) -> None:
    """Raise TaskError if no folder can be made there; leave nothing behind."""
    there = next(parent for parent in folder.parents if os.path.lexists(parent))
    try:
        with tempfile.TemporaryDirectory(prefix=".try.", dir=there):
            pass
    except OSError as error:
        raise TaskError(f"{folder}: cannot be written: {error.strerror or error}") from None


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Yield a hidden folder to fill; rename it to `folder` if the block succeeds, else remove it.

    The hidden folder is locked until then; `remove_left` takes unlocked ones for abandoned.
    """
    made: Path | None = None
    lock = -1
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        hidden = folder.with_name(f".{folder.name[:100]}.{secrets.token_hex(4)}")
        hidden.mkdir()  # not by tempfile, which makes folders private whatever the umask is
        made = hidden
        lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield made
        os.rename(made, folder)
    except OSError as error:
        raise TaskError(f"{folder}: cannot be written: {error.strerror or error}") from None
    finally:
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)
        if lock >= 0:
            os.close(lock)


def remove_left(root: Path) -> int:
    """Remove hidden task folders that a kill left unfinished; return their number.

    Removes only unlocked folders that are an hour old, since a folder is made a moment before it is locked. Skips what
    cannot be read.
    """
    removed, left = 0, [(root, 0)]
    while left:
        place, depth = left.pop()
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            for entry in entries:
                if not entry.is_dir(follow_symlinks=False):
                    continue
                path = Path(entry.path)
                if _HIDDEN.fullmatch(entry.name):
                    removed += _remove_if_left(path)
                elif not entry.name.startswith(".") and depth < DEEPEST:
                    left.append((path, depth + 1))
    return removed


def _remove_if_left(folder: Path) -> bool:
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if time.time() - os.fstat(lock).st_mtime < LEFT_S:
            return False
        shutil.rmtree(folder, ignore_errors=True)
        return True
    except OSError:  # another process uses it
        return False
    finally:
        os.close(lock)


def own_folder(task_id: str, home: HomePaths) -> Path:
    """Return the folder of one of the user's own tasks, without checking its contents.

    Raises TaskError for a missing task and for a shipped one.
    """
    if not is_task_id(task_id):
        raise TaskError(f"task id '{shown(task_id)}': {ID_RULE}")
    folder = home.tasks / task_id
    if not os.path.lexists(folder / MANIFEST):
        shipped = (task_roots(home)[-1] / task_id / MANIFEST).is_file()
        what = "comes with DMG Lab and stays" if shipped else "no task of yours"
        raise TaskError(f"{task_id}: {what}; `dmglab task list` shows all")
    return folder


def remove_task(task_id: str, home: HomePaths) -> Path:
    """Remove one of the user's own tasks; return its former folder.

    Runs that trained on it stay, but cannot be resumed without it. Raises TaskError as `own_folder` does, and for a
    home that cannot be written.
    """
    folder = own_folder(task_id, home)
    gone = folder.with_name(f".{folder.name[:100]}.{secrets.token_hex(4)}")
    try:
        os.rename(folder, gone)  # in one step: no listing sees half of it
        shutil.rmtree(gone)
        for parent in folder.parents:
            if parent == home.tasks:
                break
            parent.rmdir()  # removes `a` of `a/b` if `b` was its last entry
    except OSError as error:
        if os.path.lexists(folder) or os.path.lexists(gone):
            raise TaskError(f"{folder}: cannot be removed: {error.strerror or error}") from None
    return folder


def update_reward(task_id: str, home: HomePaths) -> dict[str, Any]:
    """Replace the reward in the manifest of one of the user's own tasks by the current default; return the changes.

    Keeps the distance's weight (`alpha`) and the goal's bonus. Raises TaskError.
    """
    own_folder(task_id, home)
    task = find_task(task_id, home)
    before, today = task.manifest.reward, suggest_reward(None)[0]
    reward = msgspec.structs.replace(today, alpha=before.alpha, goal_bonus=before.goal_bonus)
    manifest = msgspec.structs.replace(task.manifest, reward=reward)
    path = task.folder / MANIFEST
    try:
        durable_files.replace_file(path, manifest_toml(manifest))
    except OSError as error:
        raise TaskError(f"{path}: cannot be written: {error.strerror or error}") from None
    was, now = msgspec.structs.asdict(before), msgspec.structs.asdict(reward)
    changed = {name: f"{was[name]} to {now[name]}" for name in now if was[name] != now[name]}
    return {"task": task_id, "changed": changed}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContents:
    """Contents of a new task's folder; the manifest adds the hashes."""

    id: str
    title: str
    description: str
    rom: Rom
    codec: Codec
    starts: list[Snapshot]
    start_pictures: np.ndarray
    """u8[S, 72, 80], the picture of each start."""
    start_inputs: list[dict[str, Any]]
    """Inputs that reach each start; empty for starts given as states."""
    heldout: int
    goal: GoalPictures
    tau: float
    hold_steps: int
    horizon: int
    reward: Reward
    demos: list[Demonstration]
    success: str
    training: Training


def write_task(folder: Path, task: TaskContents) -> None:
    """Write the folder of a new task. Raises TaskError; no folder is left then."""
    goal = task.goal
    with new_folder(folder) as made:
        save_snapshots(made / STARTS, task.starts, pictures=task.start_pictures)
        same_mask = goal.mask.all()
        save_goal(made / GOAL, goal.templates, None if same_mask else goal.mask)
        if task.start_inputs:
            text = json.dumps(task.start_inputs, indent=0) + "\n"
            (made / INPUTS).write_text(text, encoding="utf-8")
        demo = None
        if task.demos:
            save_demonstrations(made / DEMO, task.demos)
            demo = Demo(file=DEMO, sha256=file_sha256(made / DEMO))
        count, starts_sha256 = len(task.starts), file_sha256(made / STARTS)
        manifest = TaskManifest(
            schema=1,
            id=task.id,
            title=task.title,
            description=task.description,
            success=task.success,
            rom=task.rom,
            codec=task.codec,
            starts=Starts(file=STARTS, count=count, heldout=task.heldout, sha256=starts_sha256),
            goal=Goal(
                file=GOAL,
                sha256=file_sha256(made / GOAL),
                distance=goal.distance,
                tau=task.tau,
                hold_steps=task.hold_steps,
            ),
            episode=Episode(horizon=task.horizon),
            reward=task.reward,
            demo=demo,
            training=task.training,
        )
        (made / MANIFEST).write_bytes(manifest_toml(manifest))
        load_task(made)


def held_out_share(count: int) -> int:
    """Return how many of `count` starts to hold out: a third, rounded down, at least 1 of two or more."""
    return max(count // 3, 1) if count > 1 else 0


def file_sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def manifest_toml(manifest: TaskManifest) -> bytes:
    """Return the manifest as TOML: scalars first, then one table per part."""
    parts = {k: v for k, v in msgspec.to_builtins(manifest).items() if v is not None}
    if not manifest.has_goal:
        del parts["goal"]
    return ("\n".join(_lines(parts, "")) + "\n").encode()


def _lines(table: dict[str, Any], name: str) -> Iterator[str]:
    """Yield the lines of a table: its values, then the tables and lists of tables in it, whose names begin with
    `name`."""
    inner = {
        k: v
        for k, v in table.items()
        if isinstance(v, dict) or (v and isinstance(v, (list, tuple)) and isinstance(v[0], dict))
    }
    shown = _places if name == "ram.watch." else _value
    yield from (f"{key} = {shown(value)}" for key, value in table.items() if key not in inner)
    for key, value in inner.items():
        heading = f"[{name}{key}]" if isinstance(value, dict) else f"[[{name}{key}]]"
        for one in filter(None, [value] if isinstance(value, dict) else value):
            yield from ("", heading, *_lines(one, f"{name}{key}."))


def _places(value: object) -> str:
    """Return watched places, with addresses in hexadecimal."""
    if isinstance(value, list):
        return f"[{', '.join(map(_places, value))}]"
    return f"0x{value:04X}" if isinstance(value, int) and value > MOST_BYTES else _value(value)


def _value(value: object) -> str:
    # JSON strings, numbers and booleans are also TOML's, except that TOML requires DEL to be escaped.
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")
