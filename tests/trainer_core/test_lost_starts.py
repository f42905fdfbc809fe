"""Starts from which the game is lost already are found, those that can be won are kept."""

from __future__ import annotations

import numpy as np
import pytest

from emulator import Cartridge, Emulator, Snapshot
from emulator.tools.warmup import blank_rom
from trainer_core.author.goals import GoalPictures
from trainer_core.author.lost import Way, find_lost
from trainer_core.lab.tasks import Codec

pytestmark = pytest.mark.warp

# The screen is one shade. RIGHT darkens it by one (0 to 3, then 0); B blackens it for good.
PROGRAM = bytes.fromhex(
    "AF E047 47 4F"  # palette, B and C are 0
    "3E10 E000 F000 CB4F 281C"  # 0x155: B is pressed: go to 0x17B
    "3E20 E000 F000 CB47 200E"  # RIGHT is not: go to 0x177
    "79 B7 20E8 0E01 78 C655 47 E047 18DE"  # pressed anew: the next palette
    "0E00 18DA"  # 0x177: released
    "3EFF E047 18FE"  # 0x17B: black, and nothing is read again
)
RIGHT, B = 1, 32


def darkening() -> Cartridge:
    rom = bytearray(blank_rom().ljust(0x8000, b"\0"))
    rom[0x100:0x104] = bytes.fromhex("00C35001")
    rom[0x150 : 0x150 + len(PROGRAM)] = PROGRAM
    return Cartridge.from_bytes(bytes(rom), "darkening")


def state_after(cartridge: Cartridge, *presses: int) -> Snapshot:
    emulator = Emulator(cartridge, 1, "cpu")
    for mask in (0, *presses):
        emulator.run(np.array([mask], np.uint8), 24, 8)
    return emulator.snapshot()


def test_what_no_play_leaves_is_lost_and_what_the_way_leads_out_of_is_not() -> None:
    cartridge = darkening()
    shades = np.arange(4, dtype=np.uint8)[:, None, None] * np.ones((1, 72, 80), np.uint8)
    goal = GoalPictures(shades[2:3], np.ones((1, 72, 80), bool), "l1")
    codec = Codec()
    right = codec.actions.index("RIGHT")
    way = Way(shades[:2], np.array([right, right]))
    states = [state_after(cartridge, *p) for p in ((), (B,), (RIGHT,), (RIGHT, B))]
    lost = find_lost(cartridge, states, way, goal, 0.01, codec, seed=1)
    assert lost.tolist() == [False, True, False, True]
    nothing = Way(shades[:0], np.zeros(0, np.int64))
    assert not find_lost(cartridge, states, nothing, goal, 0.01, codec, seed=1).any()
