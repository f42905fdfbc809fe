"""A game in a batch of emulators: press buttons, look at pictures and a few variables."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

CHECKOUT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(CHECKOUT)]

from emulator import Cartridge, Emulator, Snapshot  # noqa: E402

ACTIONS = ("A", "B", "START", "UP", "DOWN", "LEFT", "RIGHT")
MASKS = np.array([16, 32, 128, 4, 8, 2, 1], dtype=np.uint8)  # joypad bits of ACTIONS
MAX_SHADE = 3


class Codec(NamedTuple):
    """How long a step lasts, and for how much of it its button is held; frames."""

    frames_per_step: int = 24
    release_after: int = 8


CODEC = Codec()
"""That of games in which a press is a square or a page."""
FRAMES_PER_STEP, RELEASE_AFTER = CODEC


def symbols(rom: Path) -> dict[str, int]:
    """Addresses of the game's variables, from the .sym file beside the ROM."""
    rows = (line.split() for line in rom.with_suffix(".sym").read_text().splitlines())
    return {name: int(place.split(":")[1], 16) for place, name in rows}


class GameBatch:
    """N copies of a game."""

    def __init__(self, rom: Path, num_envs: int, codec: Codec = CODEC) -> None:
        self.rom, self.num_envs, self.codec = rom, num_envs, codec
        self.emulator = Emulator(Cartridge.from_file(rom), num_envs, "cpu")
        self.addresses = symbols(rom)

    def load(self, snapshots: Sequence[Snapshot]) -> None:
        """Put env i into snapshots[i]; further envs repeat the last one."""
        index = np.minimum(np.arange(self.num_envs), len(snapshots) - 1)
        self.emulator.reset(None, self.emulator.state_cache(snapshots), index.astype(np.int32))

    def step(self, actions: np.ndarray) -> None:
        """One agent step: press ACTIONS[actions[i]] in env i, release, run on."""
        self.emulator.run(MASKS[actions], *self.codec)

    def press(self, *names: str) -> None:
        """The same steps in every env."""
        for name in names:
            self.step(np.full(self.num_envs, ACTIONS.index(name)))

    def pictures(self) -> np.ndarray:
        """uint8[N, 72, 80]"""
        return self.emulator.observations().numpy()

    def variable(self, name: str, env: int = 0, offset: int = 0) -> int:
        """One byte of a C variable."""
        return int(self.emulator.peek(env, self.addresses[name] + offset, 1)[0])


def distances(pictures: np.ndarray, templates: np.ndarray, mask: np.ndarray | None = None) -> np.ndarray:
    """Mean absolute shade difference / 3 to the nearest template, float[N]; over `mask`
    bool[G, 72, 80] if there is one."""
    masks = np.ones(templates.shape, bool) if mask is None else mask
    found = [
        (np.abs(pictures.astype(np.int16) - goal) * of).sum((1, 2)) / (MAX_SHADE * of.sum())
        for goal, of in zip(templates.astype(np.int16), masks, strict=True)
    ]
    return np.min(found, axis=0)


def success_rate(
    game: GameBatch,
    snapshots: Sequence[Snapshot],
    templates: np.ndarray,
    tau: float,
    actions: np.ndarray,
    mask: np.ndarray | None = None,
) -> float:
    """Share of episodes (one per column of actions[horizon, N]) that see the goal."""
    game.load([snapshots[n % len(snapshots)] for n in range(actions.shape[1])])
    done = np.zeros(actions.shape[1], dtype=bool)
    for row in actions:
        game.step(row)
        done |= distances(game.pictures(), templates, mask) < tau
    return float(done.mean())
