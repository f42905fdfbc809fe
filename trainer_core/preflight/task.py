"""Whether the files are there that a run reads: its task's, and the weights it begins with."""

from __future__ import annotations

from pathlib import Path

from trainer_core.preflight.findings import Check
from trainer_core.protocol import checkpoints
from trainer_core.protocol.arc import RUNNER_ID, find_game, is_arc
from trainer_core.protocol.errors import CheckpointError, TaskError
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.roms import rom_path
from trainer_core.protocol.tasks import BUILT_IN_TASKS, find_task, verify_file


def check_task(task_id: str, home: HomePaths) -> Check:
    if task_id in BUILT_IN_TASKS:
        return Check(name="Task", status="ok", detail=f"{task_id}, built in")
    if is_arc(task_id):
        return _check_arc(task_id, home)
    try:
        task = find_task(task_id, home)
        verify_file(task.starts_path, task.manifest.starts.sha256, "file of start states")
        verify_file(task.goal_path, task.manifest.goal.sha256, "goal template")
        verify_file(rom_path(task, home), task.manifest.rom.sha256, "ROM")
    except TaskError as error:
        return Check(
            name="Task",
            status="fail",
            detail=str(error),
            fix="Pick another task, or restore the file that is named",
        )
    return Check(name="Task", status="ok", detail=f"{task.id}, files match their hashes")


def _check_arc(task_id: str, home: HomePaths) -> Check:
    """Its game, and the environment with the library that plays it."""
    try:
        game = find_game(task_id, home)
    except TaskError as error:
        return Check(name="Task", status="fail", detail=str(error), fix="Pick another task")
    if not (home.root / "envs" / RUNNER_ID / "bin" / "python").exists():
        return Check(
            name="Task", status="fail",
            detail=f"{task_id} is played by the library of ARC-AGI-3, which is not installed",
            fix=f"dmglab runner install {RUNNER_ID}",
        )  # fmt: skip
    return Check(name="Task", status="ok", detail=f"{task_id}: {game.title}, {game.folder}")


def check_warm_start(folder: str) -> Check:
    """The donor of a run that begins; a run that goes on needs none."""
    try:
        meta = checkpoints.verify(Path(folder), (checkpoints.POLICY,))
    except CheckpointError as error:
        return Check(
            name="Warm start",
            status="fail",
            detail=str(error),
            fix="Pick another checkpoint, or begin without one",
            remedy={"warm_start": ""},
        )
    return Check(name="Warm start", status="ok", detail=f"{meta.run_id}, {meta.env_steps:,} steps")
