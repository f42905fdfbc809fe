"""Pocket Quest in a batch of emulators: what decides the game's future, and where the player is."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

import kit.game_batch as kit_batch  # noqa: E402
from kit.game_batch import (  # noqa: E402
    ACTIONS,
    CHECKOUT,
    FRAMES_PER_STEP,
    MASKS,
    RELEASE_AFTER,
    Snapshot,
    distances,
)

__all__ = [
    "ACTIONS",
    "CHECKOUT",
    "FRAMES_PER_STEP",
    "MASKS",
    "RELEASE_AFTER",
    "ROM",
    "GameBatch",
    "Snapshot",
    "distances",
    "place",
    "symbols",
]

ROM = HERE / "pocket_quest.gb"
WINDOW_TEXT = slice(0x1C00, 0x1C00 + 18 * 32)  # tiles of boxes and menus, offset in the row
MARKS = (4 * 32 + 18, 15 * 32 + 18)  # the blinking mark inside a box, on a full page
WRAM_OFFSET = 0x8000  # row offset = address - 0x8000 in work RAM


def symbols() -> dict[str, int]:
    return kit_batch.symbols(ROM)


class GameBatch(kit_batch.GameBatch):
    """N copies of Pocket Quest."""

    def __init__(self, num_envs: int) -> None:
        super().__init__(ROM, num_envs)
        at = {name: address - WRAM_OFFSET for name, address in self.addresses.items()}
        player = at["actors"]
        self._bytes = [
            at["room"],
            at["room"] + 1,
            player,
            player + 1,
            player + 2,
            player + 3,
            at["dialogue_open"],
            at["shadow_bgp"],
            at["story"],
        ]

    def keys(self) -> list[tuple]:
        """What decides the future apart from chance: place, dialogue, fade, story."""
        rows = self.emulator.batch.ram.numpy()
        text = rows[:, WINDOW_TEXT].copy()
        text[:, MARKS] = 0
        variables = rows[:, self._bytes]
        opened = variables[:, 6]
        return [(*v.tolist(), t.tobytes() if o else b"") for v, t, o in zip(variables, text, opened, strict=True)]


def place(key: tuple) -> tuple[int, int, int, int] | None:
    """(room pointer, x, y, facing) if the player stands at rest and free to act, else None."""
    low, high, x, y, facing, steps, dialogue, palette = key[:8]
    if steps or dialogue or palette != 0xE4:
        return None
    return high << 8 | low, x, y, facing
