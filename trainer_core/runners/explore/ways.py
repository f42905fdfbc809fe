"""Ways of an archive: the goal of one is chosen, it is shortened by search, and becomes a task's demonstration."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from emulator import Snapshot
from trainer_core.author.capturing import sheet_png
from trainer_core.author.demonstration import save_demonstrations
from trainer_core.author.new_task import NewTask, make_task
from trainer_core.envs.demonstrations import Demonstration, play_actions
from trainer_core.envs.preparing import Preparing, silent
from trainer_core.envs.task_files import load_task_parts, save_goal
from trainer_core.lab.checkpoint_manifest import list_checkpoints, verify
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.lab.roms import named_rom
from trainer_core.lab.tasks import find_task
from trainer_core.runners.explore.explorer import Explorer
from trainer_core.runners.explore.runner import RUNNER_ID, ExploreConfig
from trainer_core.runners.explore.words import layouts
from trainer_core.runners.explore.worker import open_explorer, read_archive
from trainer_core.runs.config_file import read_spec
from trainer_core.wire.errors import CheckpointError, ConfigError

CANDIDATES = 64
"""Shorter ways that are played side by side."""
ROUNDS, IN_VAIN = 40, 4
"""Most rounds of candidates, and rounds in a row without a shorter way after which the search ends."""
GOAL, DEEPEST = "goal", "deepest"
"""Names of cells: the one at the task's goal, and the one farthest from the start."""


class Found:
    """Archive of a run that explored, without its consoles' states."""

    def __init__(self, config: ExploreConfig, home: HomePaths, state: dict[str, Any], rom_sha256: str = "") -> None:
        """Take the cells of `state`, an archive's; `rom_sha256` names its ROM, "" if unknown."""
        self.config, self.home, self.rom_sha256 = config, home, rom_sha256
        self.cells = {name.removeprefix("cells."): value for name, value in state.items() if name.startswith("cells.")}
        self._row = {int(number): row for row, number in enumerate(self.cells["number"].tolist())}

    @classmethod
    def read(cls, paths: RunPaths, home: HomePaths) -> Found:
        """Read the newest archive of a run. Raises LabError."""
        spec = read_spec(paths)
        if spec.runner != RUNNER_ID:
            raise ConfigError(f"{paths.run_id} is a run of {spec.runner}, not of `dmglab explore`")
        folders = list_checkpoints(paths)
        if not folders:
            raise CheckpointError(f"{paths.run_id} has saved no archive yet")
        meta, config = verify(folders[-1]), spec.configure(ExploreConfig)
        return cls(config, home, read_archive(folders[-1], config)["archive"], meta.hashes.get("rom", ""))

    def choose(self, text: str) -> int:
        """Return the cell that `text` names: its number, GOAL or DEEPEST. Raises ConfigError."""
        depth, number = self.cells["depth"], self.cells["number"]
        if text == DEEPEST:
            return int(number[depth.argmax()])
        if text == GOAL:
            at_goal = self.cells["goal"].nonzero().squeeze(1)
            if not len(at_goal):
                raise ConfigError(f"the goal of {self.config.task} is not among the {len(number):,} cells: explore on")
            return int(number[at_goal[depth[at_goal].argmin()]])
        if not text.isdecimal() or int(text) not in self._row:
            raise ConfigError(f"goal {text!r}: no such cell; give a number of `dmglab explore sheet`, goal or deepest")
        return int(text)

    def way(self, cell: int) -> list[int]:
        """Return the actions that lead from the start to a cell."""
        parts: list[list[int]] = []
        while cell:
            row = self._row[cell]
            parts.append(self.cells["actions"][row, : int(self.cells["steps"][row])].tolist())
            cell = int(self.cells["parent"][row])
        return [action for part in reversed(parts) for action in part]

    def shown(self, count: int) -> list[int]:
        """Return up to `count` cells that look unlike each other, by steps from the start: one for each place."""
        order = self.cells["depth"].argsort(stable=True).tolist()
        first: dict[int, int] = {}
        for row in order:
            first.setdefault(int(self.cells["place"][row]), row)
        rows = sorted({*first.values(), *self.cells["goal"].nonzero().flatten().tolist()}, key=order.index)
        chosen = np.unique(np.linspace(0, len(rows) - 1, min(count, len(rows))).round().astype(int))
        return [int(self.cells["number"][rows[n]]) for n in chosen]

    def depth(self, cell: int) -> int:
        return int(self.cells["depth"][self._row[cell]])

    def open(self, count: int) -> Explorer:
        """Return an explorer of `count` consoles at the start, with its goal, on the CPU; it keeps no cells.

        Raises LabError.
        """
        config = replace(self.config, num_envs=count, cells=64)
        explorer = open_explorer(config, self.home, torch.device("cpu"))
        if self.rom_sha256 not in ("", explorer.rom_sha256):
            explorer.close()
            raise ConfigError(f"{config.task}: another ROM (SHA-256 {explorer.rom_sha256[:12]}) than the archive's")
        return explorer


@dataclass(frozen=True, slots=True)
class Played:
    """Ways that were played side by side."""

    last: Tensor
    """u8[W, 72, 80], the last picture of each."""
    screens: Tensor
    """u8[W, 144, 160], the same on the screen."""
    keys: np.ndarray
    """i64[S + 1, W], the layouts along them."""
    at_goal: np.ndarray
    """bool[W], whether the last picture shows the goal of the task."""


def play(explorer: Explorer, ways: list[list[int]]) -> Played:
    """Play `ways`, at most as many as there are consoles, from the start."""
    count, longest = explorer.num_envs, max(map(len, ways))
    explorer.to_start()
    pictures = explorer.emulator.observe()
    last, screens, goal = pictures.clone(), explorer.screens(count).clone(), torch.zeros(count, dtype=torch.bool)
    keys = [layouts(pictures).numpy()]
    pressed = torch.zeros(count, dtype=torch.int64)
    for step in range(longest):
        for lane, way in enumerate(ways):
            pressed[lane] = way[step] if step < len(way) else 0
        explorer.press(pressed)
        pictures = explorer.emulator.observe()
        keys.append(layouts(pictures).numpy())
        ends = torch.tensor([len(way) == step + 1 for way in ways] + [False] * (count - len(ways)))
        last[ends] = pictures[ends]
        if ends.any():
            screens[ends] = explorer.screens(count)[ends]
        if explorer.goal is not None:
            goal |= ends & (explorer.goal.read(pictures)[0] < explorer.goal.tau)
    return Played(last[: len(ways)], screens[: len(ways)], np.stack(keys)[:, : len(ways)], goal[: len(ways)].numpy())


def sheet(found: Found, count: int) -> bytes:
    """Return a PNG of up to `count` cells' screens, each labelled with its number and its steps from the start."""
    cells = found.shown(count)
    explorer = found.open(len(cells))
    try:
        screens = play(explorer, [found.way(cell) for cell in cells]).screens
    finally:
        explorer.close()
    return sheet_png(list(screens.numpy()), [f"{cell}: {found.depth(cell)} steps" for cell in cells])


def shorten(
    explorer: Explorer, way: list[int], *, to_goal: bool, seed: int = 1, tell: Preparing | None = None
) -> list[int]:
    """Return a way to the same cell, or to the goal, from which actions were dropped.

    Candidates leave out a part between two equal cells, the longest first, or a short part anywhere. Raises ConfigError
    when the way itself does not arrive.
    """
    rng, tell = np.random.default_rng(seed), tell or silent()
    played = play(explorer, [way])
    end, keys = int(layouts(played.last)[0]), played.keys[:, 0]
    if to_goal and not played.at_goal[0]:
        raise ConfigError("the way of the archive does not lead to the goal of the task: was the task changed?")
    in_vain = 0
    for turn in range(ROUNDS):
        tell("shortening the way", turn, ROUNDS)
        cuts = _cuts(keys[: len(way) + 1], rng)
        ways = [way[:first] + way[last:] for first, last in cuts]
        tried = play(explorer, ways)
        arrived = tried.at_goal if to_goal else layouts(tried.last).numpy() == end
        in_vain = 0 if arrived.any() else in_vain + 1
        if in_vain == IN_VAIN or len(way) < 2:
            break
        if in_vain:
            continue
        best = min(np.flatnonzero(arrived), key=lambda lane: len(ways[lane]))
        way = ways[best]
        keys = tried.keys[:, best]
    return way


def _cuts(keys: np.ndarray, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Return up to CANDIDATES parts (first, end) of a way to leave out; `keys` i64[S + 1] are its layouts."""
    steps = len(keys) - 1
    loops = [(i, int(j)) for i in range(steps) for j in np.flatnonzero(keys[i + 1 :] == keys[i]) + i + 1]
    loops.sort(key=lambda cut: cut[0] - cut[1])
    chosen = loops[: CANDIDATES // 4]
    rest = loops[CANDIDATES // 4 :]
    if rest:
        chosen += [rest[n] for n in rng.choice(len(rest), min(len(rest), CANDIDATES // 2), replace=False)]
    while len(chosen) < CANDIDATES:
        first = int(rng.integers(steps))
        chosen.append((first, min(steps, first + int(rng.geometric(0.3)))))
    return [cut for cut in chosen if cut[1] - cut[0] < steps] or [(0, 1)]


def task_of(found: Found, goal: str, task_id: str, tell: Preparing | None = None) -> tuple[Path, dict[str, Any]]:
    """Write a task that begins where exploring began and ends at a cell; its way, shortened, is its demonstration.

    Returns its folder and the chosen numbers, each with its reason. Raises LabError.
    """
    cell = found.choose(goal)
    way, config, to_goal = found.way(cell), found.config, goal == GOAL
    if not way:
        raise ConfigError("cell 0 is the start itself: choose another goal")
    explorer = found.open(CANDIDATES)
    try:
        short = shorten(explorer, way, to_goal=to_goal, tell=tell)
        end = play(explorer, [short]).last
        start, codec = explorer.start, explorer.codec
    finally:
        explorer.close()
    with tempfile.TemporaryDirectory(prefix="dmglab-way-") as made:
        folder = Path(made)
        save_demonstrations(folder / "way.npz", [Demonstration(start, play_actions(np.array(short), codec))])
        base = {} if config.is_rom else {"base": config.task}
        rom = {"rom": str(named_rom(config.task, found.home)), "codec": codec} if config.is_rom else base
        if to_goal:
            task = find_task(config.task, found.home)
            manifest = task.manifest
            starts = _saved(load_task_parts(task, found.home).starts, folder)
            more: dict[str, Any] = {
                "starts": starts,
                "goals": (task.goal_path,),
                "tau": manifest.goal.tau,
                "distance": manifest.goal.distance,
                "hold_steps": manifest.goal.hold_steps,
                "success": manifest.success,
                "heldout": manifest.starts.heldout,
                "horizon": manifest.episode.horizon,
            }
        else:
            save_goal(folder / "goal.npz", end.numpy())
            starts = _saved([start], folder)
            goals = (folder / "goal.npz",)
            around: dict[str, Any] = {"around": True, "spread": 0.0, "min_distinct": 1}  # a title has few pictures
            more = {"starts": starts, "goals": goals, **around}
        request = NewTask(id=task_id, way=folder / "way.npz", **rom, **more)
        written, chosen = make_task(request, found.home, tell)
    return written, {"cell": cell, "way_found": len(way), "way_kept": len(short), **chosen}


def _saved(states: list[Snapshot], folder: Path) -> tuple[Path, ...]:
    """Save states as one file each; return the paths."""
    paths = tuple(folder / f"start{number}.npz" for number in range(len(states)))
    for path, state in zip(paths, states, strict=True):
        state.save(path)
    return paths
