"""Lines drawn side by side from VRAM that changed between them, against one thread's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import warp as wp
from ppu_bench import BEGIN, END, POKE_OAM, POKE_VRAM, WRITE, Bench

from emulator import constants as k
from emulator.kernels.ppu import render_parallel, render_serial

pytestmark = pytest.mark.warp

FRAME = k.M_CYCLES_PER_FRAME
TOP = 8 + FRAME - 2  # line 0 of the second frame after the LCD is switched on
HBLANK = 98  # M-cycle of a line by which mode 3 has ended


def busy_picture(*more: tuple[int, int, int, int]) -> Bench:
    """Eight consoles with a picture undrawn whose tiles, maps, registers and window all changed."""
    bench = Bench(8)
    random = np.random.default_rng(3)
    bench.rows[:, :0x2000] = random.integers(0, 256, (8, 0x2000))
    bench.rows[:, k.ROW_OAM : k.ROW_OAM + 160] = random.integers(0, 170, (8, 160))
    script = list(more)
    for line in range(2, 120):
        at = TOP + line * 114
        for i in range(4):  # an address comes more than once, with others of its pair
            address = 0x8000 + int(random.integers(0, 64)) * 120 + i % 2
            script.append((POKE_VRAM, address, int(random.integers(0, 256)), at + HBLANK + 2 * i))
        if line % 20 == 7:  # in mode 3: an exact line
            script.append((WRITE, 0x43, line, at + 30))
        if line in (40, 90):  # the window from line 50 on, 8x16 objects, tiles from 9000 on
            script.append((WRITE, 0x40, 0xF7 if line == 40 else 0xA3, at + HBLANK + 10))
    script.sort(key=lambda step: step[3])
    bench.play(
        [
            (BEGIN, 2, 0, 0),
            (WRITE, 0x47, 0xE4, 1),
            (WRITE, 0x4A, 50, 2),
            (WRITE, 0x4B, 60, 3),
            (WRITE, 0x40, 0x93, 10),
            *script,
            (END, 2 * FRAME, 0, TOP + 150 * 114),
        ]
    )
    return bench


def drawn(bench: Bench, draw: Callable[[], None]) -> tuple[np.ndarray, np.ndarray]:
    """Consoles and rows as `draw` leaves them; the bench is as it was afterwards."""
    consoles, rows = bench.console(), bench.rows
    before = consoles.copy(), rows.copy()
    draw()
    after = consoles.copy(), rows.copy()
    consoles[:], rows[:] = before
    return after


def both_ways(bench: Bench) -> list[tuple[np.ndarray, np.ndarray]]:
    """Drawn side by side, and by one thread."""
    return [
        drawn(bench, lambda: render_parallel.render_pictures(bench.batch, bench.plans)),
        drawn(bench, lambda: render_serial.render_pictures(bench.batch, wp.launch)),
    ]


def test_lines_side_by_side_are_those_of_one_thread() -> None:
    bench = busy_picture()
    consoles = bench.console()
    assert (consoles["ppu_finished"] == 1).all()
    assert (consoles["ppu_undo_done"] > 200).all()
    assert (consoles["ppu_draft_log"] >= 8).all()
    beside, alone = both_ways(bench)
    np.testing.assert_array_equal(beside[0], alone[0])
    np.testing.assert_array_equal(beside[1], alone[1])
    # Not so without the log: lines saw bytes that changed below them.
    consoles["ppu_undo_done"] = consoles["ppu_undo_count"] = 0
    unaware, _ = both_ways(bench)
    screens = slice(k.ROW_SCREENS, k.ROW_SCREENS + 2 * k.SCREEN_BYTES)
    lines = (unaware[1][:, screens] != beside[1][:, screens]).reshape(8, 288, 40).any(2)
    assert lines.sum(1).min() > 20


def test_a_picture_during_which_oam_changed_is_one_threads_affair() -> None:
    bench = busy_picture(*((POKE_OAM, 0xFE00 + i, 90, TOP + 70 * 114 + 99 + i) for i in range(8)))
    beside, alone = both_ways(bench)
    np.testing.assert_array_equal(beside[0], alone[0])
    np.testing.assert_array_equal(beside[1], alone[1])
