"""Checks of the files that a run reads: those of its task, and the weights it begins with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trainer_core.lab import checkpoint_manifest
from trainer_core.lab.arc_games import RUNNER_ID, find_game, is_arc
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.roms import rom_path
from trainer_core.lab.task_lists import expand_tasks, is_list, is_several, split_tasks
from trainer_core.lab.tasks import BUILT_IN_TASKS, Task, find_task, verify_file, verify_goal
from trainer_core.wire.algorithms import find_algorithm
from trainer_core.wire.buttons import CODEC_ID
from trainer_core.wire.checks import Check
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import CheckpointError, ConfigError, TaskError

PICK_ANOTHER = "Pick another task, or restore the file that is named"


def check_tasks(text: str, home: HomePaths, num_envs: int) -> Check:
    """Check that the task or the list of tasks `text` can be trained in one batch of `num_envs` consoles."""
    return find_checked_tasks(text, home, num_envs)[0]


def find_checked_tasks(text: str, home: HomePaths, num_envs: int) -> tuple[Check, dict[str, Task]]:
    """Check tasks like `check_tasks`; return the check, and the tasks by name as `game_tasks` does, none if it
    failed."""
    if not is_list(text):
        return _find_one(text, home)
    try:
        named = expand_tasks(text, home)
        if named != text:
            detail = f"{text[:80]} stands for {named}"
            return _failed(detail, "Name them all, so that the run says what it learned", task=named), {}
        found = {name: _mixable(name, home) for name in split_tasks(named)}
    except (ConfigError, TaskError) as error:
        return _failed(str(error), "Name tasks as a,b"), {}
    tasks = list(found.values())
    for task in tasks[1:]:
        if differs := _difference(tasks[0], task):
            return _failed(f"one batch cannot play these: {differs}", "Train them in runs of their own"), {}
    if num_envs < len(tasks):
        enough = 8 * len(tasks)
        fix = f"Use num_envs={enough} or more"
        return _failed(f"{len(tasks)} tasks and num_envs={num_envs}", fix, num_envs=enough), {}
    checks = [_check_files(task, home) for task in tasks]
    wrong = next((check for check in checks if check.status == "fail"), None)
    if wrong is not None:
        return wrong, {}
    roms = len({task.manifest.rom.sha256 for task in tasks})
    detail = f"{len(tasks)} tasks of {roms} ROM{'s' * (roms > 1)}, files match their hashes"
    return Check(name="Task", status="ok", detail=detail), found


def _failed(detail: str, fix: str, **remedy: Any) -> Check:
    return Check(name="Task", status="fail", detail=detail, fix=fix, remedy=remedy)


def _mixable(task_id: str, home: HomePaths) -> Task:
    """Return a task that can be trained beside others. Raises ConfigError unless it is a Game Boy task with a
    folder."""
    if task_id in BUILT_IN_TASKS or is_arc(task_id):
        raise ConfigError(f"{task_id} is no Game Boy: it trains alone, not beside other tasks")
    task = find_task(task_id, home)
    if task.manifest.ram is not None:
        raise ConfigError(f"{task_id} reads RAM: it trains alone, not beside other tasks")
    return task


def _difference(first: Task, other: Task) -> str:
    """Return a text on the first difference because of which two tasks cannot share a batch; "" if they can.

    All consoles of a batch step in one launch, so buttons, frames per step and observation must be equal.
    """
    a, b = first.manifest, other.manifest
    for name, mine, theirs in (
        ("buttons", a.codec.id, b.codec.id),
        ("frames a step", a.codec.frames_per_step, b.codec.frames_per_step),
        ("frames until release", a.codec.release_after_frames, b.codec.release_after_frames),
        ("observation", a.observation, b.observation),
    ):
        if mine != theirs:
            return f"{first.id} has {name} {mine}, {other.id} has {theirs}"
    return ""


def check_task(task_id: str, home: HomePaths) -> Check:
    """Check the files of a task that is the only one of its run."""
    if is_several(task_id):
        return _failed(f"{task_id[:200]}: this takes one task", "Name one; DMG Lab's own trainer takes several")
    return _find_one(task_id, home)[0]


def _find_one(name: str, home: HomePaths) -> tuple[Check, dict[str, Task]]:
    if name in BUILT_IN_TASKS:
        return Check(name="Task", status="ok", detail=f"{name}, built in"), {}
    if is_arc(name):
        return _check_arc(name, home), {}
    try:
        task = find_task(name, home)
    except TaskError as error:
        return _failed(str(error), PICK_ANOTHER), {}
    check = _check_files(task, home)
    return check, {} if check.status == "fail" else {name: task}


def _check_files(task: Task, home: HomePaths) -> Check:
    try:
        verify_file(task.starts_path, task.manifest.starts.sha256, "file of start states")
        verify_goal(task)
        verify_file(rom_path(task, home), task.manifest.rom.sha256, "ROM")
    except TaskError as error:
        return _failed(str(error), PICK_ANOTHER)
    if dawdling := task.manifest.reward.dawdling:
        return Check(name="Task", status="warn", detail=f"{task.id}: {dawdling}", fix=f"dmglab task update {task.id}")
    return Check(name="Task", status="ok", detail=f"{task.id}, files match their hashes")


def check_guest_task(task_id: str, home: HomePaths) -> Check:
    """Check the task of a run of another library's trainer, whose networks have seven actions."""
    if is_several(task_id):
        return check_task(task_id, home)
    check, tasks = _find_one(task_id, home)
    for task in tasks.values():
        codec = task.manifest.codec.id
        if codec != CODEC_ID:
            fix = "Name a task of the seven buttons; DMG Lab's own trainer takes both"
            return _failed(f"{task_id} has the buttons {codec}: this has {CODEC_ID}", fix)
        if task.manifest.ram is not None and task.manifest.ram.reads_ram:
            fix = "Set reads_ram = false in its task.toml, or take DMG Lab's own trainer"
            return _failed(f"{task_id} shows memory below the picture: this trainer takes the picture alone", fix)
    return check


def _check_arc(task_id: str, home: HomePaths) -> Check:
    """Check an ARC-AGI-3 task: its game, and the environment of the library that runs it."""
    try:
        game = find_game(task_id, home)
    except TaskError as error:
        return _failed(str(error), "Pick another task")
    if not (home.root / "envs" / RUNNER_ID / "bin" / "python").exists():
        detail = f"{task_id} is played by the library of ARC-AGI-3, which is not installed"
        return _failed(detail, f"dmglab runner install {RUNNER_ID}")
    return Check(name="Task", status="ok", detail=f"{task_id}: {game.title}, {game.folder}")


def check_warm_start(folder: str) -> Check:
    """Check the checkpoint with which a new run begins; a resumed run needs none."""
    try:
        meta = checkpoint_manifest.verify(Path(folder), (checkpoint_manifest.POLICY,))
    except CheckpointError as error:
        return Check(
            name="Warm start",
            status="fail",
            detail=str(error),
            fix="Pick another checkpoint, or begin without one",
            remedy={"warm_start": ""},
        )
    return Check(name="Warm start", status="ok", detail=f"{meta.run_id}, {meta.env_steps:,} steps")


def check_clips(config: RunConfig) -> Check | None:
    """Return a warning if the run records clips, an error where nobody would fetch them, else None."""
    if not config.record_clips:
        return None
    if config.on:
        detail = "clips of the training stay on the computer that trains: they are for runs on this one"
        return Check(name="Clips", status="fail", detail=detail, fix="Record none", remedy={"record_clips": 0})
    every = f"a clip every {config.record_clips} updates: recording and encoding may slow training down"
    return Check(name="Clips", status="warn", detail=every, fix="Record none", remedy={"record_clips": 0})


def check_algorithm(config: RunConfig) -> Check | None:
    """Return a warning if the configured algorithm is known not to learn with rollouts of this length, else None."""
    row = find_algorithm(config.algo)
    if config.num_steps <= (row.longest_rollout or config.num_steps) or set(split_tasks(config.task)) <= set(
        BUILT_IN_TASKS
    ):
        return None
    remedy = {"num_steps": 5, "num_minibatches": 1}
    return Check(name="Algorithm", status="warn", detail=row.caution, fix="Use rollouts of 5 steps", remedy=remedy)
