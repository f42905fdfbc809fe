"""One machine that can be played frame by frame: a task's Game Boy, a bare ROM, or the tiny grid.

numpy and the emulator only, so that a person can play before torch would have loaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np

from emulator import Cartridge, Emulator, EmulatorError, Snapshot
from trainer_core.envs.roms import load_rom
from trainer_core.envs.start_states import load_starts
from trainer_core.envs.success import Progress, find_success_function
from trainer_core.envs.task_files import load_goal
from trainer_core.protocol.buttons import MASK_BITS
from trainer_core.protocol.errors import LabError, TaskError
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.recording import HEIGHT, WIDTH
from trainer_core.protocol.tasks import Goal, Reward, Task, find_task, verify_file

TINY_GOAL = "tiny_goal"
ROM_SUFFIXES = (".gb", ".gbc")
MAX_SHADE = 3


class Judge:
    """Goal distance, reward and success of one machine, as trainer_core.envs.episodes has them."""

    def __init__(
        self,
        templates: np.ndarray,
        mask: np.ndarray,
        goal: Goal,
        reward: Reward,
        horizon: int,
        success: str = "goal_template",
    ) -> None:
        self._templates, self._mask = templates.astype(np.int16), mask
        self._goal, self._reward, self.horizon = goal, reward, horizon
        self._success = find_success_function(success)
        self.begin(np.zeros(templates.shape[1:], np.uint8))

    def begin(self, observation: np.ndarray) -> None:
        """A new episode starts at `observation` u8[72, 80]."""
        self.dist = self.distance(observation)
        self.steps = self._held = 0

    def distance(self, observation: np.ndarray) -> float:
        apart = np.abs(observation.astype(np.int16) - self._templates) * self._mask
        scale = MAX_SHADE
        if self._goal.distance == "mse":
            apart, scale = apart**2, MAX_SHADE**2
        found = apart.sum((1, 2), dtype=np.int32) / (scale * self._mask.sum((1, 2)))
        return float(found.min())

    def judge(self, observation: np.ndarray) -> tuple[float, bool, bool]:
        """(reward, success, trunc) of one agent step that led to `observation`."""
        dist = self.distance(observation)
        self.steps += 1
        self._held = self._held + 1 if dist < self._goal.tau else 0
        # One machine's numbers: a success function is the same arithmetic on them.
        now: tuple[Any, Any] = np.float32(dist), np.int32(self._held)
        progress = Progress(*now, self._goal.tau, self._goal.hold_steps)
        success = bool(self._success(progress))
        pay = self._reward
        reward = pay.alpha * (self.dist - dist) - pay.step_cost + pay.goal_bonus * success
        self.dist = dist
        return reward, success, self.steps >= self.horizon and not success


class Console(Protocol):
    """What the player drives. `judge` is None where there is no goal."""

    task: str
    rom_sha256: str
    num_starts: int
    frames_per_step: int
    release_after_frames: int
    judge: Judge | None

    def restart(self, start: int) -> None:
        """Put the machine into start state `start`."""
        ...

    def frame(self, buttons: int) -> None:
        """Run one frame with the joypad mask `buttons` held."""
        ...

    def picture(self) -> np.ndarray:
        """u8[144, 160] shades of the last completed picture."""
        ...

    def observation(self) -> np.ndarray:
        """u8[72, 80], the downsampled picture."""
        ...

    def save_state(self, path: Path) -> None: ...

    def load_state(self, path: Path) -> None: ...


class GameConsole:
    """One Game Boy, with a task's starts and goal or with neither."""

    def __init__(
        self, cartridge: Cartridge, task: str, starts: list[Snapshot], judge: Judge | None
    ) -> None:
        self.task, self.judge = task, judge
        self.rom_sha256 = cartridge.sha256
        self.frames_per_step, self.release_after_frames = 24, 8
        self._emulator = Emulator(cartridge, 1, "cpu")
        self._starts = starts or [self._emulator.snapshot()]
        self._cache = self._emulator.state_cache(self._starts)
        self._buttons = np.zeros(1, np.uint8)
        self.num_starts = len(self._starts)

    def restart(self, start: int) -> None:
        self._emulator.reset(None, self._cache, np.array([start], np.int32))

    def frame(self, buttons: int) -> None:
        self._buttons[0] = buttons
        self._emulator.run(self._buttons, 1)

    def picture(self) -> np.ndarray:
        return self._emulator.screens.numpy()[0]

    def observation(self) -> np.ndarray:
        return self._emulator.observations().numpy()[0].copy()

    def save_state(self, path: Path) -> None:
        self._emulator.save_state(path)

    def load_state(self, path: Path) -> None:
        self._emulator.load_state(path)


class TinyConsole:
    """TinyGoalEnv's grid at frame speed: a direction moves the walker when it is pressed."""

    task, rom_sha256 = TINY_GOAL, ""
    frames_per_step, release_after_frames = 24, 8

    def __init__(self) -> None:
        from trainer_core.envs import toy  # torch; the grid is defined there, once

        self._pictures = toy.tile_pictures(toy.torch.device("cpu")).numpy()
        self._moves = toy.move_table(toy.torch.device("cpu")).numpy()
        self._starts = toy.start_tiles().numpy()
        self.num_starts = len(self._starts)
        template = self._pictures[toy.GOAL_TILE][None]
        goal = Goal(file="", sha256="", tau=toy.TAU)
        self.judge: Judge | None = Judge(
            template, np.ones(template.shape, bool), goal, Reward(), toy.HORIZON
        )
        self._directions = {
            1 << MASK_BITS.index(name.lower()): toy.ACTIONS.index(name) for name in toy.MOVES
        }
        self._tile, self._held = 0, 0

    def restart(self, start: int) -> None:
        self._tile, self._held = int(self._starts[start]), 0

    def frame(self, buttons: int) -> None:
        pressed = buttons & ~self._held
        self._held = buttons
        for bit, action in self._directions.items():
            if pressed & bit:
                self._tile = int(self._moves[self._tile, action])

    def picture(self) -> np.ndarray:
        return self.observation().repeat(2, 0).repeat(2, 1)

    def observation(self) -> np.ndarray:
        return self._pictures[self._tile]

    def save_state(self, path: Path) -> None:
        with path.open("wb") as file:
            np.savez(file, tile=np.int64(self._tile), held=np.int64(self._held))

    def load_state(self, path: Path) -> None:
        try:
            with np.load(path, allow_pickle=False) as data:
                self._tile, self._held = int(data["tile"]), int(data["held"])
        except (OSError, KeyError, ValueError) as error:
            raise TaskError(f"{path}: no state of {TINY_GOAL}: {error}") from None


def open_console(task_id: str, home: HomePaths) -> Console:
    """The machine for a task id, a task folder or a ROM file.

    Raises LabError naming what is missing.
    """
    if task_id == TINY_GOAL:
        return TinyConsole()
    try:
        if Path(task_id).suffix.lower() in ROM_SUFFIXES:
            return GameConsole(Cartridge.from_file(task_id), task_id, [], None)
        return _task_console(find_task(task_id, home), home)
    except EmulatorError as error:
        raise LabError(str(error)) from None


def _task_console(task: Task, home: HomePaths) -> Console:
    manifest = task.manifest
    cartridge = load_rom(task, home)
    verify_file(task.starts_path, manifest.starts.sha256, "file of start states")
    verify_file(task.goal_path, manifest.goal.sha256, "goal template")
    templates, mask = load_goal(task.goal_path)
    judge = Judge(
        templates, mask, manifest.goal, manifest.reward, manifest.episode.horizon, manifest.success
    )
    console = GameConsole(cartridge, manifest.id, load_starts(task, cartridge), judge)
    console.frames_per_step = manifest.codec.frames_per_step
    console.release_after_frames = manifest.codec.release_after_frames
    return console


def pack_picture(shades: np.ndarray) -> bytes:
    """5,760 bytes of u8[144, 160] shades: 4 pixels a byte, leftmost in the low bits."""
    quads = shades.reshape(HEIGHT, WIDTH // 4, 4)
    packed = quads[..., 0] | quads[..., 1] << 2 | quads[..., 2] << 4 | quads[..., 3] << 6
    return packed.astype(np.uint8).tobytes()


def unpack_pictures(packed: bytes | np.ndarray) -> np.ndarray:
    """u8[n, 144, 160] shades of `pack_picture`'s bytes, one after another."""
    data = np.frombuffer(packed, np.uint8) if isinstance(packed, bytes) else packed
    quads = np.stack([data >> shift & 3 for shift in (0, 2, 4, 6)], axis=-1)
    return quads.reshape(-1, HEIGHT, WIDTH)
