"""Pocket Quest in a batch of emulators: press buttons, read pictures and a few variables."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[2]
sys.path.insert(0, str(CHECKOUT))

from emulator import Cartridge, Emulator, Snapshot  # noqa: E402

ROM = HERE / "pocket_quest.gb"
ACTIONS = ("A", "B", "START", "UP", "DOWN", "LEFT", "RIGHT")
MASKS = np.array([16, 32, 128, 4, 8, 2, 1], dtype=np.uint8)  # joypad bits of ACTIONS
FRAMES_PER_STEP, RELEASE_AFTER = 24, 8
MAX_SHADE = 3
WINDOW_TEXT = slice(0x1C00, 0x1C00 + 6 * 32)  # tiles of the dialogue box, offset in the row
MARK = 4 * 32 + 18  # the blinking mark inside it
WRAM_OFFSET = 0x8000  # row offset = address - 0x8000 in work RAM


def symbols() -> dict[str, int]:
    """Addresses of the game's variables, from the .sym file beside the ROM."""
    rows = (line.split() for line in ROM.with_suffix(".sym").read_text().splitlines())
    return {name: int(place.split(":")[1], 16) for place, name in rows}


class GameBatch:
    """N copies of the game."""

    def __init__(self, num_envs: int) -> None:
        self.num_envs = num_envs
        self.emulator = Emulator(Cartridge.from_file(ROM), num_envs, "cpu")
        at = {name: address - WRAM_OFFSET for name, address in symbols().items()}
        player = at["actors"]
        self._bytes = [
            at["room"], at["room"] + 1, player, player + 1, player + 2, player + 3,
            at["dialogue_open"], at["shadow_bgp"], at["story"],
        ]  # fmt: skip

    def load(self, snapshots: list[Snapshot]) -> None:
        """Put env i into snapshots[i]; further envs repeat the last one."""
        index = np.minimum(np.arange(self.num_envs), len(snapshots) - 1)
        self.emulator.reset(None, self.emulator.state_cache(snapshots), index.astype(np.int32))

    def step(self, actions: np.ndarray) -> None:
        """One agent step: press ACTIONS[actions[i]] in env i, release, run on."""
        self.emulator.run(MASKS[actions], FRAMES_PER_STEP, RELEASE_AFTER)

    def pictures(self) -> np.ndarray:
        """uint8[N, 72, 80]"""
        return self.emulator.observations().numpy()

    def keys(self) -> list[tuple]:
        """What decides the future apart from chance: place, dialogue, fade, story."""
        rows = self.emulator.machine.ram.numpy()
        text = rows[:, WINDOW_TEXT].copy()
        text[:, MARK] = 0
        variables = rows[:, self._bytes]
        opened = variables[:, 6]
        return [
            (*v.tolist(), t.tobytes() if o else b"")
            for v, t, o in zip(variables, text, opened, strict=True)
        ]


def place(key: tuple) -> tuple[int, int, int, int] | None:
    """(room pointer, x, y, facing) if the player stands at rest and free to act, else None."""
    low, high, x, y, facing, steps, dialogue, palette = key[:8]
    if steps or dialogue or palette != 0xE4:
        return None
    return high << 8 | low, x, y, facing


def distances(pictures: np.ndarray, templates: np.ndarray) -> np.ndarray:
    """Mean absolute shade difference / 3 to the nearest template, float[N]."""
    found = [
        np.abs(pictures.astype(np.int16) - goal).sum((1, 2)) / (MAX_SHADE * goal.size)
        for goal in templates.astype(np.int16)
    ]
    return np.min(found, axis=0)
