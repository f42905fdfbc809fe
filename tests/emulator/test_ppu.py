"""Timing facts of the PPU, one a test, on a console without a CPU.

Times are M-cycles; LCD-on at ON makes line 0 begin at ON - 3 for accesses (lcd_registers.py).
"""

from __future__ import annotations

import numpy as np
import pytest
from ppu_bench import BEGIN, END, IF, POKE_OAM, POKE_VRAM, READ, STABLE, WRITE, Bench

from emulator.constants import M_CYCLES_PER_FRAME

pytestmark = pytest.mark.warp

LCDC, STAT, SCX, LY, LYC = 0x40, 0x41, 0x43, 0x44, 0x45
ON = 10
LINE_0 = ON - 2  # an access at LINE_0 + m sees dot 4 * m - 1 of line 0
FRAME = M_CYCLES_PER_FRAME


@pytest.fixture
def bench() -> Bench:
    made = Bench(1)
    made.play([(BEGIN, 4, 0, 0), (WRITE, LCDC, 0x91, ON)])
    return made


def changes(bench: Bench, op: int, register: int, first: int, last: int) -> list[tuple[int, int]]:
    """(M-cycles since line 0, new value) whenever the result of `op` changes."""
    out = bench.play([(op, register, 0, LINE_0 + m) for m in range(first, last)])[0]
    return [(first + i, int(out[i])) for i in range(1, len(out)) if out[i] != out[i - 1]]


def test_the_first_line_has_no_mode_2_and_a_late_mode_3(bench: Bench) -> None:
    seen = changes(bench, READ, STAT, 2, 120)
    assert seen == [(22, 0x87), (65, 0x84), (115, 0x80), (116, 0x82)]


def test_modes_of_a_plain_line(bench: Bench) -> None:
    seen = changes(bench, READ, STAT, 117, 235)
    assert seen == [(114 + 22, 0x83), (114 + 65, 0x80), (228 + 2, 0x82)]


@pytest.mark.parametrize(("scx", "mode_0"), [(0, 65), (1, 65), (3, 65), (4, 66), (7, 66)])
def test_fine_scroll_lengthens_mode_3(bench: Bench, scx: int, mode_0: int) -> None:
    bench.play([(WRITE, SCX, scx, LINE_0 + 100)])
    seen = changes(bench, READ, STAT, 114 + 30, 114 + 100)
    assert seen == [(114 + mode_0, 0x80)]


def test_line_153_shows_its_number_for_one_m_cycle(bench: Bench) -> None:
    start = 153 * 114
    seen = changes(bench, READ, LY, start - 2, start + 114 + 130)
    assert seen == [(start + 1, 153), (start + 2, 0), (start + 114 + 115, 1)]


def test_lyc_0_compares_late_in_line_153(bench: Bench) -> None:
    start = 153 * 114
    equal = [(m, v & 4) for m, v in changes(bench, READ, STAT, start - 2, start + 60)]
    assert equal[-1] == (start + 4, 4)


def requests(bench: Bench, mask: int, first: int, last: int) -> list[tuple[int, int]]:
    """(boundary since line 0, bits) of interrupt requests, each acknowledged at once."""
    out = bench.play([(IF, 0, 0, LINE_0 - 1 + m) for m in range(first, last)])[0]
    return [(first + i, int(v) & mask) for i, v in enumerate(out) if int(v) & mask]


def test_vblank_and_its_mode_2_quirk(bench: Bench) -> None:
    bench.play([(WRITE, STAT, 0x20, LINE_0 + 60), (IF, 0, 0, LINE_0 + 60)])
    seen = requests(bench, 3, 143 * 114 + 3, 145 * 114)[1:]  # the first is line 143's
    assert seen == [(144 * 114 + 1, 2), (144 * 114 + 2, 3)]


def test_an_enabled_source_that_holds_the_line_blocks_the_next(bench: Bench) -> None:
    bench.play([(WRITE, STAT, 0x28, LINE_0 + 40), (IF, 0, 0, LINE_0 + 40)])
    seen = requests(bench, 2, 41, 114 * 3)
    # HBlank of each line requests; mode 2 that follows finds the line high already.
    assert [m % 114 for m, _ in seen] == [65, 65, 65]


def test_mode_2_does_not_hold_the_line_after_a_write_that_arrives_at_dot_4(bench: Bench) -> None:
    written = 114 + 1  # FF at dot 3 of line 1, the value at dot 4
    bench.play([(WRITE, STAT, 0x28, LINE_0 + written), (IF, 0, 0, LINE_0 + written + 1)])
    assert requests(bench, 2, written + 2, 2 * 114) == [(114 + 65, 2)], "HBlank finds it low"


def test_a_stat_write_on_a_dmg_requests_in_hblank(bench: Bench) -> None:
    bench.play([(IF, 0, 0, LINE_0 + 114 + 30), (WRITE, STAT, 0, LINE_0 + 114 + 40)])
    assert bench.play([(IF, 0, 0, LINE_0 + 114 + 41)])[0][0] & 2 == 0
    bench.play([(WRITE, STAT, 0, LINE_0 + 114 + 80)])
    assert bench.play([(IF, 0, 0, LINE_0 + 114 + 81)])[0][0] & 2 == 2


def test_vram_is_closed_in_mode_3_only(bench: Bench) -> None:
    assert changes(bench, POKE_VRAM, 0x8000, 114 + 2, 228) == [(114 + 22, 0), (114 + 65, 1)]


def test_oam_is_open_between_mode_2_and_mode_3(bench: Bench) -> None:
    seen = changes(bench, POKE_OAM, 0xFE00, 114 + 1, 228)
    assert seen == [(114 + 2, 0), (114 + 21, 1), (114 + 22, 0), (114 + 65, 1)]


@pytest.mark.parametrize("register", [STAT, LY])
def test_a_read_stays_the_same_until_the_announced_time(bench: Bench, register: int) -> None:
    rng = np.random.default_rng(1)
    for m in rng.integers(0, FRAME, 60).tolist() + [153 * 114 + k for k in range(6)]:
        t = LINE_0 + m
        until = int(bench.play([(STABLE, register, 0, t)])[0][0])
        steps = min(until - t, 130)
        assert steps >= 1
        values = bench.play([(READ, register, 0, t + i) for i in range(steps)])[0]
        assert len(set(values.tolist())) == 1, (m, until - t)


def test_cutting_a_run_into_launches_changes_nothing() -> None:
    """The same writes, with and without a launch boundary every 1000 M-cycles."""
    rng = np.random.default_rng(7)
    whole, cut = Bench(1), Bench(1)
    script = [(BEGIN, 1, 0, 0), (WRITE, LCDC, 0xA3, 10)]
    t = 20
    while t < 2 * FRAME:
        register = int(rng.choice([STAT, 0x42, SCX, LYC, 0x4A, 0x4B]))
        script.append((WRITE, register, int(rng.integers(0, 170)), t))
        script.append((READ, STAT, 0, t + 2))
        t += int(rng.integers(4, 300))
    end = 2 * FRAME + 50
    a = whole.play([*script, (END, end, 0, end)])[0]
    pieces, base = [], 0
    for op, x, y, at in script:
        while at - base > 1000 + 8:
            pieces.append((END, 1000, 0, 1000))
            base += 1000
        pieces.append((op, x, y, at - base))
    pieces.append((END, end - base, 0, end - base))
    b = cut.play(pieces)[0]
    assert a[-1] == b[-1]
    reads = [v for v, step in zip(a, script, strict=False) if step[0] == READ]
    cut_reads = [v for v, step in zip(b, pieces, strict=False) if step[0] == READ]
    assert reads == cut_reads
    for name in ("ppu_stat_line", "ppu_lyc_line", "ppu_window", "ppu_origin", "ppu_next"):
        assert whole.console()[name][0] == cut.console()[name][0], name
