"""Where mode 3 ends, VRAM opens for each access of an instruction at its own time.

A single step asks the bus for every access; a launch looks once for how long VRAM is open.
"""

from __future__ import annotations

import numpy as np
import pytest

from emulator import Cartridge, Emulator
from emulator.frame_launcher import Executor

pytestmark = pytest.mark.warp

CODES = (
    bytes([0x34]) * 12,  # inc (hl)
    bytes([0x35, 0x34, 0x86]) * 5,  # dec (hl); inc (hl); add a, (hl)
    bytes([0x86]) * 24,
    bytes([0xF0, 0x41, 0x86, 0x86, 0x34]) * 4,  # STAT; ...
)
DELAYS = 12
STEPS = 600


def window_game(code: bytes, scx: int, delay: int) -> Cartridge:
    """Runs `code` once, with HL in VRAM, around the end of mode 3 of line 4 of the second frame;
    C100 is what A came to, C101 says that it is done.
    """
    program = bytes([0xAF, 0xE0, 0x40, 0x3E, 0x35, 0xEA, 0x00, 0x90])  # LCD off; 9000 is 35
    program += bytes([0x3E, scx, 0xE0, 0x43, 0x3E, 0x91, 0xE0, 0x40])  # SCX; LCD on
    for line in (140, 4):
        program += bytes([0xF0, 0x44, 0xFE, line, 0x20, 0xFA])
    program += bytes([0xF0, 0x41]) + bytes(30 + delay)
    program += bytes([0x21, 0x00, 0x90, 0xAF]) + code
    program += bytes([0xEA, 0x00, 0xC1, 0x3E, 0x01, 0xEA, 0x01, 0xC1, 0x18, 0xFE])
    image = bytearray(0x8000)
    image[0x14D] = 0xE7  # checksum of an empty header
    image[0x100:0x104] = bytes([0x00, 0xC3, 0x50, 0x01])
    image[0x150 : 0x150 + len(program)] = program
    return Cartridge.from_bytes(bytes(image), f"{scx} {delay}")


def results(emulator: Emulator) -> list[bytes]:
    """Of each env: what lies at 9000, C100 and C101."""
    rows = emulator.batch.ram.numpy()
    return [rows[env, [0x1000, 0x4100, 0x4101]].tobytes() for env in range(emulator.num_envs)]


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("executor", ["uniform", "native"])
def test_launch_and_single_steps_find_vram_open_alike(code: bytes, executor: Executor) -> None:
    games = [window_game(code, scx, delay) for scx in (0, 3, 7) for delay in range(DELAYS)]
    launched, stepped = (Emulator(games, len(games), executor=executor) for _ in range(2))
    for emulator in (launched, stepped):
        emulator.run(None, 1)
        emulator.draw()
    launched.run(None, 3)
    for _ in range(STEPS):
        stepped.step()
    found = results(stepped)
    assert {result[2] for result in found} == {1}
    assert len(np.unique(found)) > 1
    assert results(launched) == found


READS = 100


def status_game(lyc: int, line: int, delay: int) -> Cartridge:
    """Polls STAT from `line` on for some four lines; C100 and on are what it read. The first frame
    of a launch from power-on ends some lines before."""
    program = bytes([0xAF, 0xE0, 0x40, 0x3E, lyc, 0xE0, 0x45])  # LCD off; LYC
    turns = (17556 - 114 * (line - 2)) // 4
    for count in (turns // 2, turns - turns // 2):
        program += bytes([0x06, count & 0xFF, 0x05, 0x20, 0xFD])  # ld b, n; dec b; jr nz
    program += bytes([0x3E, 0x91, 0xE0, 0x40, 0x21, 0x00, 0xC1])  # LCD on
    program += bytes([0xF0, 0x44, 0xFE, line, 0x20, 0xFA]) + bytes(delay)
    program += bytes([0xF0, 0x41, 0x22]) * READS + bytes([0x18, 0xFE])
    image = bytearray(0x8000)
    image[0x14D] = 0xE7
    image[0x100:0x104] = bytes([0x00, 0xC3, 0x50, 0x01])
    image[0x150 : 0x150 + len(program)] = program
    return Cartridge.from_bytes(bytes(image), f"{lyc} {line} {delay}")


def test_status_changes_in_vblank_where_a_single_step_finds_it() -> None:
    games = [status_game(lyc, line, delay) for lyc in (0, 10, 144, 153) for line in (143, 151) for delay in range(3)]
    launched, stepped = (Emulator(games, len(games), "cpu") for _ in range(2))
    for emulator in (launched, stepped):
        emulator.run(None, 1)
        emulator.draw()
    launched.run(None, 2)
    for _ in range(STEPS):
        stepped.step()
    found = [emulator.batch.ram.numpy()[:, 0x4100 : 0x4100 + READS] for emulator in (stepped, launched)]
    assert (found[0] != 0).all(), "not done"
    assert len({row.tobytes() for row in found[0]}) > 5
    assert np.array_equal(*found)
