"""Task folders: `task.toml` and the arrays beside it. Shareable without the ROM.

Only the manifest is read here; arrays are loaded by trainer_core.envs, goal pictures by the app.
"""

from __future__ import annotations

import hashlib
import tomllib
from pathlib import Path

import msgspec

from trainer_core.protocol.buttons import CODEC_ID
from trainer_core.protocol.errors import TaskError
from trainer_core.protocol.paths import ASSETS, CHECKOUT, HomePaths

OBSERVATION_RULE = "mean2x2.v1"
BUILT_IN_TASKS = {"tiny_goal": "Walk a 10x9 grid to one tile: no ROM, seconds to learn"}
"""Tasks that are code, not a folder, with their titles."""


class Rom(msgspec.Struct, kw_only=True, frozen=True):
    name: str
    sha256: str
    path: str = ""
    """Relative to the checkout for games we ship; empty for a user's ROM, found by its hash."""


class Codec(msgspec.Struct, kw_only=True, frozen=True):
    id: str = CODEC_ID
    frames_per_step: int = 24
    release_after_frames: int = 8


class Observation(msgspec.Struct, kw_only=True, frozen=True):
    rule: str = OBSERVATION_RULE
    height: int = 72
    width: int = 80


class Starts(msgspec.Struct, kw_only=True, frozen=True):
    file: str
    count: int
    sha256: str
    heldout: int = 0
    """The last `heldout` of the `count` states are for evaluation only."""


class Goal(msgspec.Struct, kw_only=True, frozen=True):
    file: str
    sha256: str
    distance: str = "l1"
    """l1: mean absolute shade difference over the mask, / 3, so 0 to 1; mse likewise, / 9."""
    tau: float
    hold_steps: int = 1


class Episode(msgspec.Struct, kw_only=True, frozen=True):
    horizon: int


class Reward(msgspec.Struct, kw_only=True, frozen=True):
    step_cost: float = 0.01
    alpha: float = 1.0
    goal_bonus: float = 1.0
    novelty_bonus: float = 0.0


class TaskManifest(msgspec.Struct, kw_only=True, frozen=True):
    schema: int
    id: str
    title: str
    description: str = ""
    success: str = "goal_template"
    """Name of the function that decides success; swapping it swaps bonus, done and success_rate."""
    rom: Rom
    codec: Codec = Codec()
    observation: Observation = Observation()
    starts: Starts
    goal: Goal
    episode: Episode
    reward: Reward = Reward()


class Task(msgspec.Struct, frozen=True):
    """A manifest and the folder it was read from."""

    folder: Path
    manifest: TaskManifest

    @property
    def id(self) -> str:
        return self.manifest.id

    @property
    def starts_path(self) -> Path:
        return self.folder / self.manifest.starts.file

    @property
    def goal_path(self) -> Path:
        return self.folder / self.manifest.goal.file

    @property
    def rom_path(self) -> Path | None:
        return CHECKOUT / self.manifest.rom.path if self.manifest.rom.path else None


def load_task(folder: Path) -> Task:
    """Read `folder/task.toml`. Raises TaskError that names the file and the field."""
    path = folder / "task.toml"
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
        manifest = msgspec.convert(raw, TaskManifest)
    except FileNotFoundError:
        raise TaskError(f"{path}: no such task; `dmglab task list` shows what there is") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TaskError(f"{path}: cannot be read: {error}") from None
    except msgspec.ValidationError as error:
        raise TaskError(f"{path}: {error}") from None
    _check(path, manifest)
    return Task(folder, manifest)


def find_task(task_id: str, home: HomePaths) -> Task:
    """The task of that id in the home or among the shipped ones, or of that folder."""
    for root in task_roots(home):
        if (root / task_id / "task.toml").is_file():
            return load_task(root / task_id)
    if (Path(task_id) / "task.toml").is_file():
        return load_task(Path(task_id))
    known = ", ".join([*BUILT_IN_TASKS, *sorted(task.id for task in list_tasks(home))])
    raise TaskError(f"no task {task_id!r}; known tasks: {known}")


def list_tasks(home: HomePaths) -> list[Task]:
    """Every readable task, shipped ones first; a broken folder is left out."""
    found = []
    for root in reversed(task_roots(home)):
        for manifest in sorted(root.rglob("task.toml")):
            try:
                found.append(load_task(manifest.parent))
            except TaskError:
                continue
    return found


def task_roots(home: HomePaths) -> tuple[Path, ...]:
    return home.tasks, ASSETS / "tasks"


def verify_file(path: Path, sha256: str, what: str) -> None:
    """Raises TaskError unless the file is there and has that hash."""
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise TaskError(f"{path}: {what} cannot be read: {error.strerror}") from None
    if found != sha256:
        raise TaskError(
            f"{path}: this {what} has SHA-256 {found[:12]}..., "
            f"the task was made for {sha256[:12]}..."
        )


def _check(path: Path, manifest: TaskManifest) -> None:
    if manifest.schema != 1:
        raise TaskError(f"{path}: schema {manifest.schema} is not 1: update DMG Lab to read it")
    if manifest.codec.id != CODEC_ID:
        raise TaskError(f"{path}: codec {manifest.codec.id!r} is unknown, expected {CODEC_ID!r}")
    if manifest.observation.rule != OBSERVATION_RULE:
        raise TaskError(
            f"{path}: observation rule {manifest.observation.rule!r} is unknown, "
            f"expected {OBSERVATION_RULE!r}"
        )
    if not 1 <= manifest.codec.release_after_frames <= manifest.codec.frames_per_step:
        raise TaskError(f"{path}: release_after_frames must lie in 1..frames_per_step")
    if manifest.goal.distance not in ("l1", "mse"):
        raise TaskError(f"{path}: goal distance {manifest.goal.distance!r} is neither l1 nor mse")
    for name, value in (
        ("episode.horizon", manifest.episode.horizon),
        ("goal.hold_steps", manifest.goal.hold_steps),
        ("starts.count", manifest.starts.count),
    ):
        if value < 1:
            raise TaskError(f"{path}: {name} must be at least 1, got {value}")
    if not 0 <= manifest.starts.heldout < manifest.starts.count:
        raise TaskError(f"{path}: starts.heldout must leave at least one start for training")
