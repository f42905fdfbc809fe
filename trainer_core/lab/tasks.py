"""Task folders: `task.toml` and the arrays beside it, which can be shared without the ROM.

Only the manifest is read here; trainer_core.envs loads the arrays, the app the goal pictures.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import tomllib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import msgspec

from trainer_core.lab.manifest_checks import (
    ID_RULE,
    LONGEST_NAME,
    SHA256_RULE,
    check_ranges,
    is_file_name,
    is_sha256,
    is_task_id,
    refuse_long_keys,
    refuse_unknown_keys,
)
from trainer_core.lab.paths import ASSETS, HomePaths, shipped_file
from trainer_core.lab.ram_reward import BADGE, Ram, check_ram
from trainer_core.wire.buttons import ALL_MASKS, CODEC_ID, CODECS
from trainer_core.wire.errors import TaskError, shown
from trainer_core.wire.regular_files import folders_with, read_regular

OBSERVATION_RULE = "mean2x2.v1"
MAX_MANIFEST_BYTES = 64 << 10
MAX_TASK_FILE_BYTES = 64 << 20
"""Greatest size of start states and goals, as in `emulator.state.npz`."""
BUILT_IN_TASKS = {"tiny_goal": "Walk a 10x9 grid to one tile: no ROM, seconds to learn"}
"""Tasks that are code, not a folder, with their titles."""


class Rom(msgspec.Struct, kw_only=True, frozen=True):
    name: str
    sha256: str
    path: str = ""
    """`assets/...` for a shipped game; empty for a user's ROM, which is found by its hash."""


class Codec(msgspec.Struct, kw_only=True, frozen=True):
    id: str = CODEC_ID
    frames_per_step: int = 24
    release_after_frames: int = 8

    @property
    def actions(self) -> tuple[str, ...]:
        """Names of the actions that an agent may choose in a step."""
        return CODECS[self.id]

    @property
    def masks(self) -> tuple[int, ...]:
        """Joypad mask of each action."""
        return ALL_MASKS[: len(self.actions)]


class Observation(msgspec.Struct, kw_only=True, frozen=True):
    rule: str = OBSERVATION_RULE
    height: int = 72
    width: int = 80


class Starts(msgspec.Struct, kw_only=True, frozen=True):
    file: str
    count: int
    sha256: str
    heldout: int = 0
    """Number of states for evaluation only; they are the last of `count`."""

    def indices(self, held_out: bool) -> range:
        """Return the indices of the start states to validate on (`held_out`) or to train on.

        A task without held-out states uses all states for both.
        """
        split = self.count - self.heldout
        return range(split, self.count) if held_out and self.heldout else range(split)


class Goal(msgspec.Struct, kw_only=True, frozen=True):
    """Goal pictures; a score task, which has none, has no file and a tau that no distance is below."""

    file: str
    sha256: str
    distance: str = "l1"
    """l1: mean absolute shade difference over the mask, / 3, so 0 to 1; mse likewise, / 9."""
    tau: float
    hold_steps: int = 1


NO_GOAL = Goal(file="", sha256="", tau=0.0)


class Demo(msgspec.Struct, kw_only=True, frozen=True):
    """Demonstrations of the way to the goal, as joypad masks frame by frame from a state."""

    file: str
    sha256: str


class Episode(msgspec.Struct, kw_only=True, frozen=True):
    horizon: int


class Reward(msgspec.Struct, kw_only=True, frozen=True):
    step_cost: float = 0.01
    alpha: float = 1.0
    shaping: str = "difference"
    """Quantity that `alpha` multiplies. `difference`: previous distance - distance, so that a detour costs.
    `new_minimum`: only the decrease of the episode's least distance."""
    goal_bonus: float = 1.0
    novelty_bonus: float = 0.0

    @property
    def pays_for_dawdling(self) -> bool:
        """True if a step that only shows a new picture earns more than it costs."""
        return self.novelty_bonus > 0 and self.novelty_bonus >= self.step_cost

    @property
    def dawdling(self) -> str:
        """Warning that new pictures pay more than steps cost; empty if they do not."""
        if not self.pays_for_dawdling:
            return ""
        return (
            f"novelty_bonus {self.novelty_bonus:g} is not below step_cost {self.step_cost:g}: "
            "where every picture is new, staying there pays"
        )


class Training(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """Training options that the task suggests in place of a preset's; None suggests nothing."""

    gamma: float | None = None
    stack_k: int | None = None


class TaskManifest(msgspec.Struct, kw_only=True, frozen=True):
    schema: int
    id: str
    title: str
    description: str = ""
    success: str = "goal_template"
    """Name of the function that decides success; it determines bonus, done and success_rate."""
    rom: Rom
    codec: Codec = Codec()
    observation: Observation = Observation()
    starts: Starts
    goal: Goal = NO_GOAL
    episode: Episode
    reward: Reward = Reward()
    demo: Demo | None = None
    training: Training = Training()
    ram: Ram | None = None
    """Memory that reward, success or policy read; None in a task of pictures only."""

    @property
    def badge(self) -> str:
        """Words of lists, cards and run info for a task that reads memory; empty for one of pictures only."""
        return BADGE if self.ram is not None else ""

    @property
    def has_goal(self) -> bool:
        """True if there are goal pictures."""
        return bool(self.goal.file)


class Task(msgspec.Struct, frozen=True):
    """Task: its manifest and the folder that it was read from."""

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
    def demo_path(self) -> Path | None:
        return self.folder / self.manifest.demo.file if self.manifest.demo else None

    @property
    def rom_path(self) -> Path | None:
        """Path of a shipped ROM; None for a user's. Absolute only in a task that a benchmark made in memory."""
        if not self.manifest.rom.path:
            return None
        path = Path(self.manifest.rom.path)
        return path if path.is_absolute() else shipped_file(str(path))


def load_task(folder: Path) -> Task:
    """Return the task in `folder/task.toml`. Raises TaskError that names the file and the field."""
    path = folder / "task.toml"
    try:
        return Task(folder, _manifest(path, read_regular(path, MAX_MANIFEST_BYTES)))
    except FileNotFoundError:
        raise TaskError(f"{path}: no such task; `dmglab task list` shows what there is") from None
    except OSError as error:
        raise TaskError(f"{path}: cannot be read: {error.strerror}") from None
    except msgspec.ValidationError as error:
        raise TaskError(f"{path}: {shown(error)}") from None
    except RecursionError:
        raise TaskError(f"{path}: cannot be read: lists or tables nested too deep") from None
    except (ValueError, OverflowError) as error:  # not UTF-8, not TOML, a number of 5,000 digits
        raise TaskError(f"{path}: cannot be read: {shown(error, 120)}") from None


@functools.lru_cache(maxsize=256)
def _manifest(path: Path, data: bytes) -> TaskManifest:
    """Return the manifest in `data`, the content of `path`; cached, since the app often reads all tasks again."""
    refuse_long_keys(path, data)
    raw = tomllib.loads(data.decode())
    refuse_unknown_keys(path, raw, TaskManifest)
    manifest = msgspec.convert(raw, TaskManifest)
    _check(path, manifest)
    return manifest


def find_task(task_id: str, home: HomePaths) -> Task:
    """Return the task whose id, among the home's and the shipped ones, or whose folder is `task_id`.

    Raises TaskError for an invalid task, an id that differs from its folder, and an unknown task.
    """
    if (found := known_task(task_id, home)) is not None:
        return found
    known = [*BUILT_IN_TASKS, *sorted(task.id for task in list_tasks(home))]
    near = difflib.get_close_matches(task_id[:200], known, 3)
    is_rom = task_id.lower().endswith((".gb", ".gbc"))
    way = "a ROM becomes a task with `dmglab task new`; " if is_rom else ""
    raise TaskError(
        f"no task '{shown(task_id)}'; {way}{'near' if near else 'known'} tasks: "
        f"{shown(', '.join(near or known), 120)}; `dmglab task list` shows all"
    )


def known_task(task_id: str, home: HomePaths) -> Task | None:
    """Return the task with that id or folder, or None if there is none; other tasks are not read."""
    for root in task_roots(home):
        # An id is a relative path without "..": any other text is a folder, or unknown.
        if is_task_id(task_id) and (root / task_id / "task.toml").is_file():
            return _load_at(root, root / task_id)
    return load_task(Path(task_id)) if _is_folder_of_task(task_id) else None


def _is_folder_of_task(text: str) -> bool:
    try:
        return (Path(text) / "task.toml").is_file()
    except (OSError, ValueError):  # too long for a path, or a NUL in it
        return False


def list_tasks(home: HomePaths) -> list[Task]:
    """Return every readable task, shipped ones first; `broken_tasks` returns the others."""
    return [found for found in _scan(home) if isinstance(found, Task)]


def broken_tasks(home: HomePaths) -> dict[str, str]:
    """Return the reason for each task that cannot be read, by its folder."""
    return dict(found for found in _scan(home) if not isinstance(found, Task))


def _scan(home: HomePaths) -> Iterator[Task | tuple[str, str]]:
    """Yield each shipped task and each of the home: the Task, or its folder and the reason why it cannot be read."""
    for root in reversed(task_roots(home)):
        for folder in sorted(folders_with(root, "task.toml")):
            try:
                yield _load_at(root, folder)
            except TaskError as error:
                yield str(folder), str(error)


def _load_at(root: Path, folder: Path) -> Task:
    task = load_task(folder)
    place = folder.relative_to(root).as_posix()
    if task.id != place:
        raise TaskError(
            f"{folder / 'task.toml'}: id '{shown(task.id)}' lies in the folder '{shown(place)}'; make the two the same"
        )
    return task


def task_roots(home: HomePaths) -> tuple[Path, ...]:
    return home.tasks, ASSETS / "tasks"


def verify_file(path: Path, sha256: str, what: str) -> None:
    """Raise TaskError, calling the file `what`, unless it exists and has that SHA-256."""
    try:
        found = hashlib.sha256(read_regular(path, MAX_TASK_FILE_BYTES)).hexdigest()
    except OSError as error:
        raise TaskError(f"{path}: {what} cannot be read: {error.strerror}") from None
    if found != sha256:
        raise TaskError(f"{path}: this {what} has SHA-256 {found[:12]}..., the task was made for {sha256[:12]}...")


def verify_goal(task: Task) -> None:
    """Raise TaskError unless the task's goal pictures are those of its manifest, or it has none."""
    if task.manifest.has_goal:
        verify_file(task.goal_path, task.manifest.goal.sha256, "goal template")


def _check(path: Path, manifest: TaskManifest) -> None:
    if manifest.schema != 1:
        raise TaskError(f"{path}: schema {shown(manifest.schema)} is not 1: update DMG Lab to read it")
    if not is_task_id(manifest.id):
        raise TaskError(f"{path}: id '{shown(manifest.id)}': {ID_RULE}")
    for name, text in (
        ("title", manifest.title),
        ("success", manifest.success),
        ("rom.name", manifest.rom.name),
        ("rom.path", manifest.rom.path),
    ):
        if len(text) > LONGEST_NAME or "\0" in text:
            raise TaskError(f"{path}: {name} '{shown(text)}' must have at most {LONGEST_NAME} letters without NUL")
    rom = PurePosixPath(manifest.rom.path)
    if manifest.rom.path and (rom.parts[0] != "assets" or ".." in rom.parts):
        raise TaskError(
            f"{path}: rom.path '{shown(manifest.rom.path)}' is not below assets/; leave it out for "
            "a ROM of your own, which is found by its hash"
        )
    if not is_sha256(manifest.rom.sha256):
        raise TaskError(f"{path}: rom.sha256 '{shown(manifest.rom.sha256)}': {SHA256_RULE}")
    if not manifest.has_goal and manifest.ram is None:
        raise TaskError(f"{path}: Object missing required field `goal`")
    parts = {"starts": manifest.starts, "goal": manifest.goal if manifest.has_goal else None, "demo": manifest.demo}
    for name, part in parts.items():
        if part is None:
            continue
        if not is_file_name(part.file):
            raise TaskError(f"{path}: {name}.file '{shown(part.file)}' must name a file beside task.toml")
        if not is_sha256(part.sha256):
            raise TaskError(f"{path}: {name}.sha256 '{shown(part.sha256)}': {SHA256_RULE}")
    for name, value, known in (
        ("codec.id", manifest.codec.id, tuple(CODECS)),
        ("observation.rule", manifest.observation.rule, (OBSERVATION_RULE,)),
        ("observation.height", manifest.observation.height, (72,)),
        ("observation.width", manifest.observation.width, (80,)),
        ("goal.distance", manifest.goal.distance, ("l1", "mse")),
        ("reward.shaping", manifest.reward.shaping, ("difference", "new_minimum")),
    ):
        if value not in known:
            choices = " or ".join(map(str, known))
            said = f"'{shown(value)}'" if isinstance(value, str) else shown(value)
            raise TaskError(f"{path}: {name} {said} is unknown, expected {choices}")
    check_ranges(path, manifest)
    if manifest.codec.release_after_frames > manifest.codec.frames_per_step:
        raise TaskError(f"{path}: release_after_frames must lie in 1..frames_per_step")
    if manifest.ram is not None:
        check_ram(path, manifest.ram, manifest.has_goal)
    if manifest.starts.heldout >= manifest.starts.count:
        raise TaskError(f"{path}: starts.heldout must leave at least one start for training")
