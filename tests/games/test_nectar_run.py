"""Nectar Run as a policy meets it: what flies is to be seen in 72x80 pictures, the hornet flees."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.warp
pytest.importorskip("warp")

from kit.game_batch import GameBatch  # noqa: E402
from kit.task_folder import TASKS  # noqa: E402

from emulator.state.snapshot import load_snapshots  # noqa: E402

GAME = Path(__file__).resolve().parents[2] / "assets" / "games" / "nectar_run"
sys.path.append(str(GAME))
from pilot import ARCADE, DROPS, FLYER_BYTES, ROM  # noqa: E402

OAM_LEFT, OAM_TOP, WIDE = 8, 16, 8  # a flyer is 16 pixels wide, 8 of an observation
BLACK = 3
LANES = range(24, 137, 16)
MIDDLE = 80


def flight(task: str, count: int = 1) -> GameBatch:
    game = GameBatch(ROM, count, ARCADE)
    game.load(load_snapshots(TASKS / "nectar_run" / task / "starts.npz")[:count])
    return game


def patch(game: GameBatch, x: int, y: int) -> np.ndarray:
    """What a picture shows of the flyer at OAM's `x`, `y`."""
    row, column = (y - OAM_TOP) // 2, (x - OAM_LEFT) // 2
    return game.pictures()[0][row : row + WIDE, column : column + WIDE]


def flying_drops(game: GameBatch) -> list[tuple[int, int]]:
    """Places of drops that are whole on the screen, above the bee's row."""
    found = []
    for k in range(DROPS):
        kind, x, y = (game.variable("drops", 0, FLYER_BYTES * k + part) for part in range(3))
        if kind and OAM_TOP <= y <= game.variable("bee_y") - 2 * WIDE:
            found.append((x, y))
    return found


def test_bee_and_drops_are_in_every_picture():
    game, black = flight("fill_jar"), []
    for _ in range(24):
        game.press("B")
        bee = patch(game, game.variable("bee_x"), game.variable("bee_y"))
        assert (bee > 0).sum() >= WIDE * WIDE // 2  # paler, but there, while it cannot be hurt
        black += [(patch(game, *drop) == BLACK).mean() for drop in flying_drops(game)]
    assert len(black) >= 8
    assert np.median(black) > 0.25  # one may fly behind a foe


def test_a_press_of_eight_frames_is_a_lane_and_drops_fall_in_lanes():
    game = flight("fill_jar")
    for name in ("LEFT", "RIGHT", "RIGHT", "UP", "LEFT"):
        game.press(name)
        assert game.variable("bee_x") in LANES
        assert all(x in LANES for x, _ in flying_drops(game))


def test_the_hornet_flees_from_where_it_was_hit_to_the_other_side():
    game = flight("fell_hornet")
    for _ in range(32):
        bee, hornet = game.variable("bee_x"), game.variable("hornet_x") + WIDE
        name = "A" if abs(bee - hornet) < WIDE else "LEFT" if hornet < bee else "RIGHT"
        before = game.variable("hornet_health")
        game.press(name)
        if game.variable("hornet_health") < before - 1:
            break
    else:
        raise AssertionError("never hit")
    game.press(*["B"] * 10)
    bee, hornet = game.variable("bee_x"), game.variable("hornet_x") + WIDE
    assert (bee < MIDDLE) != (hornet < MIDDLE)
