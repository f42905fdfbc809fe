"""Game that is played frame by frame: a task's console, a bare ROM, or the tiny grid.

Only numpy and the emulator are imported, so that play begins before torch would have loaded.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from emulator import Cartridge, Emulator, EmulatorError, Snapshot
from emulator.launch.watched_memory import Watch
from emulator.state.npz import ArchiveError, Wanted, read_arrays
from trainer_core.envs.compile_progress import tell_on_stderr
from trainer_core.envs.judge import Judge
from trainer_core.envs.ram_judge import RamJudge, ram_rows
from trainer_core.envs.scoring import task_rules
from trainer_core.envs.task_files import load_task_parts
from trainer_core.lab.arc_games import is_arc
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.ram_reward import Ram
from trainer_core.lab.roms import ROM_SUFFIXES, named_rom
from trainer_core.lab.tasks import Codec, Reward, find_task
from trainer_core.wire.buttons import MASK_BITS
from trainer_core.wire.errors import LabError, TaskError
from trainer_core.wire.frames import GAME_BOY, ScreenShape

if TYPE_CHECKING:
    from trainer_core.envs.arc.rules import ArcJudge

TINY_GOAL = "tiny_goal"


class Game(Protocol):
    """Interface of a game that the player runs. `judge` scores it; None where there is no goal."""

    task: str
    rom_sha256: str
    num_starts: int
    held_out_start: int
    """First start state held out from training; 0 if none is."""
    frames_per_step: int
    release_after_frames: int
    screen: ScreenShape
    """Size and colours of its pictures."""
    cartridge: Cartridge | None
    """Cartridge of the Game Boy; None in other games."""

    @property
    def judge(self) -> Judge | ArcJudge | None: ...

    def restart(self, start: int) -> None:
        """Begin again at start state `start`."""
        ...

    def frame(self, buttons: int) -> None:
        """Run one frame with the joypad mask `buttons` held."""
        ...

    def step(self, buttons: int) -> None:
        """Run the frames of one agent step: `buttons` are held for the first of them, then released, as the codec
        defines."""
        ...

    def picture(self) -> np.ndarray:
        """Return u8[H, W] as `screen` defines: shades of the last completed picture, or colours."""
        ...

    def observation(self) -> np.ndarray:
        """Return u8[H, W], the downsampled picture, 72 by 80, and below it the memory that a policy sees."""
        ...

    def snapshot(self) -> Any:
        """Return the game's full state as an immutable value for `restore`."""
        ...

    def restore(self, state: Any) -> None: ...

    def save_state(self, path: Path) -> None: ...

    def load_state(self, path: Path) -> None:
        """Continue from the state in a file. Raises TaskError for a file without a state of this game."""
        ...


class ConsoleGame:
    """Game on one Game Boy: a task with its start states and goal, or a bare ROM with neither."""

    screen = GAME_BOY

    def __init__(
        self,
        cartridge: Cartridge,
        task: str,
        starts: list[Snapshot],
        judge: Judge | None = None,
        codec: Codec | None = None,
        held_out_start: int = 0,
    ) -> None:
        """Make the console; without `starts` it starts at power-on."""
        codec = codec or Codec()
        self.task, self.judge, self.held_out_start = task, judge, held_out_start
        self.rom_sha256 = cartridge.sha256
        self.cartridge: Cartridge | None = cartridge
        self.frames_per_step = codec.frames_per_step
        self.release_after_frames = codec.release_after_frames
        self._emulator = Emulator(cartridge, 1, "cpu")
        self._starts = starts or [self._emulator.snapshot()]
        self._cache = self._emulator.state_cache(self._starts)
        self._buttons = np.zeros(1, np.uint8)
        self.num_starts = len(self._starts)
        self._watch: Watch | None = None
        self._rows = 0

    def read_ram(self, ram: Ram) -> None:
        """Watch the bytes that a task reads, for its judge, and for the observation if its policy sees them."""
        self._watch, self._rows = self._emulator.watch(**ram.items), ram.rows
        if self.judge is not None:
            self.judge.ram = RamJudge(ram.program(), lambda: self._watched().tobytes())

    def _watched(self) -> np.ndarray:
        """Return u8[B], the watched bytes now."""
        assert self._watch is not None
        self._watch.update()
        return self._watch.bytes.numpy()[0]

    def restart(self, start: int) -> None:
        self._emulator.reset(None, self._cache, np.array([start], np.int32))

    def frame(self, buttons: int) -> None:
        self._buttons[0] = buttons
        self._emulator.run(self._buttons, 1)

    def step(self, buttons: int) -> None:
        self._buttons[0] = buttons
        self._emulator.run(self._buttons, self.frames_per_step, self.release_after_frames)

    def picture(self) -> np.ndarray:
        return self._emulator.screens.numpy()[0]

    def observation(self) -> np.ndarray:
        picture = self._emulator.observations().numpy()[0].copy()
        return np.concatenate((picture, ram_rows(self._watched(), self._rows))) if self._rows else picture

    def snapshot(self) -> Snapshot:
        return self._emulator.snapshot()

    def restore(self, state: Snapshot) -> None:
        self._emulator.restore(state)

    def memory(self, address: int, count: int) -> np.ndarray:
        """Return u8[count] from `address` on, as the processor would read them, without side effects."""
        return self._emulator.peek(0, address, count)

    def hung(self) -> str:
        """Return the reason why the processor will never run again; empty while it may."""
        return self._emulator.hung()

    def save_state(self, path: Path) -> None:
        self._emulator.save_state(path)

    def load_state(self, path: Path) -> None:
        try:
            self._emulator.load_state(path)
        except EmulatorError as error:
            raise TaskError(str(error)) from None


TINY_STATE = {name: Wanted("iu", (0,), 8) for name in ("tile", "held")}


class TinyGame:
    """TinyGoalEnv's grid task as a game for the player, frame by frame: pressing a direction moves the walker."""

    task, rom_sha256, screen = TINY_GOAL, "", GAME_BOY
    frames_per_step, release_after_frames = 24, 8
    cartridge: Cartridge | None = None

    def __init__(self) -> None:
        from trainer_core.envs import toy  # imports torch; the grid is defined only there

        self._pictures = toy.tile_pictures(toy.torch.device("cpu")).numpy()
        self._moves = toy.move_table(toy.torch.device("cpu")).numpy()
        self._starts = toy.start_tiles().numpy()
        self.num_starts = len(self._starts)
        self.held_out_start = self.num_starts - toy.HELD_OUT
        template = self._pictures[toy.GOAL_TILE][None]
        self.judge: Judge | None = Judge(
            template, np.ones(template.shape, bool), toy.GOAL.distance, toy.tiny_rules(Reward())
        )
        self._directions = {1 << MASK_BITS.index(name.lower()): toy.ACTIONS.index(name) for name in toy.MOVES}
        self._tile, self._held = 0, 0

    def restart(self, start: int) -> None:
        self._tile, self._held = int(self._starts[start]), 0

    def frame(self, buttons: int) -> None:
        pressed = buttons & ~self._held
        self._held = buttons
        for bit, action in self._directions.items():
            if pressed & bit:
                self._tile = int(self._moves[self._tile, action])

    def step(self, buttons: int) -> None:
        self.frame(buttons)
        self.frame(0)

    def picture(self) -> np.ndarray:
        return self.observation().repeat(2, 0).repeat(2, 1)

    def observation(self) -> np.ndarray:
        return self._pictures[self._tile]

    def snapshot(self) -> tuple[int, int]:
        return self._tile, self._held

    def restore(self, state: tuple[int, int]) -> None:
        self._tile, self._held = state

    def save_state(self, path: Path) -> None:
        with path.open("wb") as file:
            np.savez(file, tile=np.int64(self._tile), held=np.int64(self._held))

    def load_state(self, path: Path) -> None:
        try:
            data = read_arrays(path, TINY_STATE)
            tile, held = int(data["tile"]), int(data["held"])
        except (OSError, ArchiveError) as error:
            raise TaskError(f"{path}: no state of {TINY_GOAL}: {error}") from None
        if not (0 <= tile < len(self._pictures) and 0 <= held <= 255):
            raise TaskError(f"{path}: no state of {TINY_GOAL}: tile {tile}, buttons {held}")
        self._tile, self._held = tile, held


def open_game(task_id: str, home: HomePaths, keep: Path | None = None) -> Game:
    """Return the game of a task id, a task folder, a ROM file, or an ARC game `arc/ID`.

    `keep` is the folder for files that a game writes: the library's own recordings. Raises LabError naming what is
    missing.
    """
    if task_id == TINY_GOAL:
        return TinyGame()
    if is_arc(task_id):
        from trainer_core.envs.arc.game import open_arc_game

        return open_arc_game(task_id, home, keep)
    try:
        if Path(task_id).suffix.lower() in ROM_SUFFIXES:
            path = named_rom(task_id, home)
            return ConsoleGame(Cartridge.from_file(path), str(path), [])
        task = find_task(task_id, home)
        parts = load_task_parts(task, home)
    except EmulatorError as error:
        raise LabError(str(error)) from None
    tell_on_stderr()
    manifest = task.manifest
    judge = Judge(parts.templates, parts.mask, manifest.goal.distance, task_rules(manifest))
    held_out = manifest.starts.indices(held_out=True)[0]
    game = ConsoleGame(parts.cartridge, manifest.id, parts.starts, judge, manifest.codec, held_out)
    if manifest.ram is not None:
        game.read_ram(manifest.ram)
    return game
