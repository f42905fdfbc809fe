"""Task folders: start states from inputs, goal templates, demonstrations, the manifest.

Every start is kept as the inputs that lead to it from power-on, so that the states can be made
again when the ROM or the emulator's state layout changes. A demonstration is kept likewise: the
number of the start it leaves, and its actions, in demo.json. start.png and goal.png show people the
whole screen at both ends of the first demonstration; training reads neither.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from kit.game_batch import (
    ACTIONS,
    CHECKOUT,
    CODEC,
    MASKS,
    Cartridge,
    Codec,
    GameBatch,
    Snapshot,
    distances,
    success_rate,
)

from emulator.state.snapshot import load_snapshots, save_snapshots  # isort: skip
from emulator.tools.input_script import InputScript, replay  # isort: skip

TASKS = CHECKOUT / "assets" / "tasks"
TRAIN_STARTS, HELDOUT_STARTS = 48, 32
RANDOM_ALLOWED = 0.02
SETTLED_STEPS = 4
"""Steps without a button after a demonstration; goal.png has the strongest picture, as a screen may fade in or out."""


@dataclass(frozen=True)
class Start:
    """Inputs that lead to one start state: wait without a button, then one action a step."""

    wait_frames: int
    actions: tuple[str, ...]

    def script(self, codec: Codec = CODEC) -> InputScript:
        masks = tuple(int(MASKS[ACTIONS.index(name)]) for name in self.actions)
        return InputScript(self.wait_frames, masks, *codec)


@dataclass(frozen=True)
class Task:
    """What a manifest says beside its files."""

    id: str
    title: str
    description: str
    game: str
    rom: Path
    tau: float
    horizon: int
    codec: Codec = CODEC

    @property
    def folder(self) -> Path:
        return TASKS / self.id


def play(rom: Path, starts: Sequence[Start], codec: Codec = CODEC) -> tuple[list[Snapshot], np.ndarray]:
    """Power on, play all inputs at once; states and pictures (uint8[S, 72, 80]) at their ends."""
    snapshots = replay(Cartridge.from_file(rom), [start.script(codec) for start in starts])
    game = GameBatch(rom, len(starts))
    game.load(snapshots)
    return snapshots, game.pictures()


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def write(task: Task, starts: Sequence[Start], templates: np.ndarray, mask: np.ndarray | None = None) -> None:
    """The whole folder; `templates` uint8[G, 72, 80], `mask` bool[G, 72, 80] what counts."""
    task.folder.mkdir(parents=True, exist_ok=True)
    masked = {} if mask is None else {"mask": mask}
    np.savez_compressed(task.folder / "goal.npz", templates=templates, **masked)
    rows = [{"wait_frames": s.wait_frames, "actions": " ".join(s.actions)} for s in starts]
    for name in ("demo.json", "demo.npz"):  # they belong to the starts of before
        (task.folder / name).unlink(missing_ok=True)
    (task.folder / "starts.json").write_text(json.dumps(rows, indent=0) + "\n")
    remake(task)
    print(f"{task.id}: {len(templates)} goal templates, {len(starts)} starts")


def add_demonstrations(task: Task, ways: Sequence[tuple[int, Sequence[str]]]) -> None:
    """Ways (number of a start, actions) to the goal, each cut where the goal is seen first.

    Raises RuntimeError for one that does not arrive.
    """
    snapshots = load_snapshots(task.folder / "starts.npz")
    goal = read_goal(task.folder)
    rows = []
    for number, actions in ways:
        game = GameBatch(task.rom, 1, task.codec)
        game.load([snapshots[number]])
        taken = []
        for name in actions:
            game.press(name)
            taken.append(name)
            if distances(game.pictures(), *goal)[0] < task.tau:
                break
        else:
            raise RuntimeError(f"{task.id}: the way from start {number} does not reach the goal")
        rows.append({"start": number, "actions": " ".join(taken)})
    (task.folder / "demo.json").write_text(json.dumps(rows, indent=0) + "\n")
    remake(task)
    lengths = [len(row["actions"].split()) for row in rows]
    print(f"{task.id}: demonstrations of {lengths} steps")


def read_goal(folder: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """Templates uint8[G, 72, 80], and the pixels that count if not all do."""
    with np.load(folder / "goal.npz") as data:
        return data["templates"], data.get("mask")


def _save_demonstrations(task: Task, snapshots: list[Snapshot]) -> None:
    """demo.npz from demo.json, as trainer_core.envs.demonstrations reads it."""
    rows = json.loads((task.folder / "demo.json").read_text())
    scripts = [Start(0, tuple(row["actions"].split())).script(task.codec) for row in rows]
    masks = [np.zeros((len(s.masks), task.codec.frames_per_step), np.uint8) for s in scripts]
    for frames, script in zip(masks, scripts, strict=True):
        frames[:, : task.codec.release_after] = np.array(script.masks, np.uint8)[:, None]
    save_snapshots(
        task.folder / "demo.npz",
        [snapshots[row["start"]] for row in rows],
        masks=np.concatenate([frames.reshape(-1) for frames in masks]),
        frames=np.array([frames.size for frames in masks]),
    )


def save_screens(task: Task) -> None:
    """start.png and goal.png, 160x144 in four greys, at the ends of the first demonstration."""
    row = json.loads((task.folder / "demo.json").read_text())[0]
    game = GameBatch(task.rom, 1, task.codec)
    game.load([load_snapshots(task.folder / "starts.npz")[row["start"]]])
    start = game.emulator.screens.numpy()[0].copy()
    game.press(*row["actions"].split())
    seen = [game.emulator.screens.numpy()[0].copy()]
    for _ in range(SETTLED_STEPS):
        game.emulator.run(None, task.codec.frames_per_step)
        seen.append(game.emulator.screens.numpy()[0].copy())
    for name, shades in (("start", start), ("goal", max(seen, key=np.std))):
        Image.fromarray(255 - 85 * shades).save(task.folder / f"{name}.png", optimize=True)


def read_starts(task: Task) -> list[Start]:
    rows = json.loads((task.folder / "starts.json").read_text())
    return [Start(r["wait_frames"], tuple(r["actions"].split())) for r in rows]


def remake(task: Task) -> None:
    """States from the inputs that are kept, and the manifest."""
    starts = read_starts(task)
    snapshots, pictures = play(task.rom, starts, task.codec)
    save_snapshots(task.folder / "starts.npz", snapshots, pictures=pictures)
    if (task.folder / "demo.json").is_file():
        _save_demonstrations(task, snapshots)
        save_screens(task)
    (task.folder / "task.toml").write_text(manifest(task, len(starts)))


def manifest(task: Task, count: int) -> str:
    return f'''schema = 1
id = "{task.id}"
title = "{task.title}"
description = "{task.description}"

[rom]
name = "{task.game}"
sha256 = "{sha256(task.rom)}"
path = "{task.rom.relative_to(CHECKOUT).as_posix()}"

[codec]
id = "buttons7.v1"  # {", ".join(ACTIONS)}
frames_per_step = {task.codec.frames_per_step}
release_after_frames = {task.codec.release_after}

[observation]
rule = "mean2x2.v1"
height = 72
width = 80

[starts]
file = "starts.npz"
count = {count}
heldout = {HELDOUT_STARTS}  # the last ones
sha256 = "{sha256(task.folder / "starts.npz")}"

[goal]
file = "goal.npz"
sha256 = "{sha256(task.folder / "goal.npz")}"
distance = "l1"
tau = {task.tau}
hold_steps = 1

[episode]
horizon = {task.horizon}

[reward]
step_cost = 0.005
alpha = 1.0
goal_bonus = 1.0
shaping = "new_minimum"
novelty_bonus = 0.004
{demonstrations(task)}'''


def demonstrations(task: Task) -> str:
    file = task.folder / "demo.npz"
    return (
        f'''
[demo]
file = "demo.npz"
sha256 = "{sha256(file)}"
'''
        if file.is_file()
        else ""
    )


def chances(task: Task, episodes: int) -> dict[str, float]:
    """Success of a random policy and of those that know one button, over the task's horizon."""
    snapshots = load_snapshots(task.folder / "starts.npz")
    templates, mask = read_goal(task.folder)
    rows = {"random": np.random.default_rng(0).integers(0, len(ACTIONS), (task.horizon, episodes))}
    for action, name in enumerate(ACTIONS):
        rows[name] = np.full((task.horizon, len(snapshots)), action)
    return {
        name: success_rate(
            GameBatch(task.rom, actions.shape[1], task.codec), snapshots, templates, task.tau, actions, mask
        )
        for name, actions in rows.items()
    }
