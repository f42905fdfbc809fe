"""Whether the files are there that a run reads: its task's, and the weights it begins with."""

from __future__ import annotations

from pathlib import Path

from trainer_core.lab import checkpoint_manifest
from trainer_core.lab.arc_games import RUNNER_ID, find_game, is_arc
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.roms import rom_path
from trainer_core.lab.task_lists import expand_tasks, is_list, is_several, split_tasks
from trainer_core.lab.tasks import BUILT_IN_TASKS, Task, find_task, verify_file
from trainer_core.wire.algorithms import find_algorithm
from trainer_core.wire.buttons import CODEC_ID
from trainer_core.wire.checks import Check
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import CheckpointError, ConfigError, TaskError


def check_tasks(text: str, home: HomePaths, num_envs: int) -> Check:
    """Of one task, or of several that one policy learns in one batch of `num_envs` consoles."""
    if not is_list(text):
        return check_task(text, home)
    try:
        named = expand_tasks(text, home)
        if named != text:
            return Check(
                name="Task",
                status="fail",
                detail=f"{text[:80]} stands for {named}",
                fix="Name them all, so that the run says what it learned",
                remedy={"task": named},
            )
        ids = split_tasks(named)
        tasks = [_mixable(task_id, home) for task_id in ids]
    except (ConfigError, TaskError) as error:
        return Check(name="Task", status="fail", detail=str(error), fix="Name tasks as a,b")
    for task in tasks[1:]:
        if differs := _difference(tasks[0], task):
            return Check(
                name="Task",
                status="fail",
                detail=f"one batch cannot play these: {differs}",
                fix="Train them in runs of their own",
            )
    if num_envs < len(tasks):
        return Check(
            name="Task",
            status="fail",
            detail=f"{len(tasks)} tasks and num_envs={num_envs}",
            fix=f"Use num_envs={8 * len(tasks)} or more",
            remedy={"num_envs": 8 * len(tasks)},
        )
    found = [check_task(task.id, home) for task in tasks]
    wrong = next((check for check in found if check.status == "fail"), None)
    roms = len({task.manifest.rom.sha256 for task in tasks})
    detail = f"{len(tasks)} tasks of {roms} ROM{'s' * (roms > 1)}, files match their hashes"
    return wrong or Check(name="Task", status="ok", detail=detail)


def _mixable(task_id: str, home: HomePaths) -> Task:
    """Raises ConfigError for a task that is no folder of a Game Boy's."""
    if task_id in BUILT_IN_TASKS or is_arc(task_id):
        raise ConfigError(f"{task_id} is no Game Boy: it trains alone, not beside other tasks")
    return find_task(task_id, home)


def _difference(first: Task, other: Task) -> str:
    """What keeps two tasks out of one batch, "" for nothing: a step is one launch for all."""
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
    if is_several(task_id):
        return Check(
            name="Task",
            status="fail",
            detail=f"{task_id[:200]}: this takes one task",
            fix="Name one; DMG Lab's own trainer takes several",
        )
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
            name="Task", status="fail", detail=str(error), fix="Pick another task, or restore the file that is named"
        )
    if dawdling := task.manifest.reward.dawdling:
        return Check(name="Task", status="warn", detail=f"{task.id}: {dawdling}", fix=f"dmglab task update {task.id}")
    return Check(name="Task", status="ok", detail=f"{task.id}, files match their hashes")


def check_guest_task(task_id: str, home: HomePaths) -> Check:
    """Of a trainer that is not ours: its networks have the seven buttons."""
    found = check_task(task_id, home)
    if found.status == "fail" or task_id in BUILT_IN_TASKS or is_arc(task_id):
        return found
    codec = find_task(task_id, home).manifest.codec.id
    if codec == CODEC_ID:
        return found
    return Check(
        name="Task",
        status="fail",
        detail=f"{task_id} has the buttons {codec}: this has {CODEC_ID}",
        fix="Name a task of the seven buttons; DMG Lab's own trainer takes both",
    )


def _check_arc(task_id: str, home: HomePaths) -> Check:
    """Its game, and the environment with the library that plays it."""
    try:
        game = find_game(task_id, home)
    except TaskError as error:
        return Check(name="Task", status="fail", detail=str(error), fix="Pick another task")
    if not (home.root / "envs" / RUNNER_ID / "bin" / "python").exists():
        return Check(
            name="Task",
            status="fail",
            detail=f"{task_id} is played by the library of ARC-AGI-3, which is not installed",
            fix=f"dmglab runner install {RUNNER_ID}",
        )
    return Check(name="Task", status="ok", detail=f"{task_id}: {game.title}, {game.folder}")


def check_warm_start(folder: str) -> Check:
    """The donor of a run that begins; a run that goes on needs none."""
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


def check_algorithm(config: RunConfig) -> Check | None:
    """A warning where this run will most likely learn nothing, else None."""
    caution = find_algorithm(config.algo).caution
    if not caution or set(split_tasks(config.task)) <= set(BUILT_IN_TASKS):
        return None
    return Check(name="Algorithm", status="warn", detail=caution, fix="Use PPO", remedy={"algo": "ppo"})
