"""A task's folder, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from emulator import Snapshot
from emulator.state.snapshot_set import save_snapshots
from trainer_core.envs.demonstrations import Demonstration
from trainer_core.envs.task_files import save_goal
from trainer_core.play.authoring.demonstration import FILE as DEMO
from trainer_core.play.authoring.demonstration import save_demonstrations
from trainer_core.play.authoring.goals import GoalPictures
from trainer_core.protocol.errors import TaskError
from trainer_core.protocol.manifest_checks import ID_RULE, is_task_id
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.tasks import (
    Codec,
    Demo,
    Episode,
    Goal,
    Reward,
    Rom,
    Starts,
    TaskManifest,
    load_task,
    task_roots,
)

STARTS, GOAL, MANIFEST, INPUTS = "starts.npz", "goal.npz", "task.toml", "starts.json"


def free_folder(task_id: str, home: HomePaths) -> Path:
    """Where a new task of that id goes. Raises TaskError for one that is taken, or no id."""
    if not is_task_id(task_id):
        raise TaskError(f"task id {task_id!r}: {ID_RULE}")
    for root in task_roots(home):
        if (root / task_id).exists():
            raise TaskError(f"{root / task_id}: this task exists; choose another id")
        for parent in (root / task_id).parents:
            if parent != root and root in parent.parents and (parent / MANIFEST).exists():
                raise TaskError(f"{parent} is a task: {task_id} cannot lie inside it")
    return home.tasks / task_id


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A hidden folder to fill; it becomes `folder` when the block ends well, else nothing stays."""
    made: Path | None = None
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        yield made
        made.chmod(0o755)
        os.rename(made, folder)
    except OSError as error:
        raise TaskError(f"{folder}: cannot be written: {error.strerror or error}") from None
    finally:
        if made is not None:
            shutil.rmtree(made, ignore_errors=True)


def write_task(
    folder: Path,
    *,
    task_id: str,
    title: str,
    description: str,
    rom: Rom,
    codec: Codec,
    starts: list[Snapshot],
    start_pictures: np.ndarray | None,
    start_inputs: list[dict[str, Any]],
    heldout: int,
    goal: GoalPictures,
    tau: float,
    hold_steps: int,
    horizon: int,
    reward: Reward,
    demos: list[Demonstration],
    success: str = "goal_template",
) -> TaskManifest:
    """Raises TaskError; the folder then is not there."""
    with new_folder(folder) as made:
        pictures = {} if start_pictures is None else {"pictures": start_pictures}
        save_snapshots(made / STARTS, starts, **pictures)
        same_mask = goal.mask.all()
        save_goal(made / GOAL, goal.templates, None if same_mask else goal.mask)
        if start_inputs:
            text = json.dumps(start_inputs, indent=0) + "\n"
            (made / INPUTS).write_text(text, encoding="utf-8")
        demo = None
        if demos:
            save_demonstrations(made / DEMO, demos)
            demo = Demo(file=DEMO, sha256=file_sha256(made / DEMO))
        manifest = TaskManifest(
            schema=1,
            id=task_id,
            title=title,
            description=description,
            success=success,
            rom=rom,
            codec=codec,
            starts=Starts(
                file=STARTS, count=len(starts), heldout=heldout, sha256=file_sha256(made / STARTS)
            ),
            goal=Goal(
                file=GOAL, sha256=file_sha256(made / GOAL), distance=goal.distance, tau=tau,
                hold_steps=hold_steps,
            ),
            episode=Episode(horizon=horizon),
            reward=reward,
            demo=demo,
        )  # fmt: skip
        (made / MANIFEST).write_bytes(manifest_toml(manifest))
        load_task(made)
    return manifest


def held_out_share(count: int) -> int:
    """A third of the starts, rounded down; at least one as soon as there are two."""
    return max(count // 3, 1) if count > 1 else 0


def file_sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def manifest_toml(manifest: TaskManifest) -> bytes:
    """The manifest as TOML: scalars first, then one table a part."""
    parts = {k: v for k, v in msgspec.to_builtins(manifest).items() if v is not None}
    scalars = {key: value for key, value in parts.items() if not isinstance(value, dict)}
    lines = [f"{key} = {_value(value)}" for key, value in scalars.items()]
    for key, table in parts.items():
        if isinstance(table, dict):
            lines += ["", f"[{key}]", *(f"{name} = {_value(v)}" for name, v in table.items())]
    return ("\n".join(lines) + "\n").encode()


def _value(value: object) -> str:
    # JSON's strings, numbers and booleans are TOML's too, but for DEL, which TOML wants escaped.
    return msgspec.json.encode(value).decode().replace("\x7f", "\\u007f")
