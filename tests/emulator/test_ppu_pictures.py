"""Pixels: the line renderer, the exact path and a plain NumPy reference must agree."""

from __future__ import annotations

from typing import no_type_check

import numpy as np
import pytest
import warp as wp
from ppu_bench import BEGIN, END, POKE_OAM, POKE_VRAM, WRITE, Bench

from emulator import constants as k
from emulator.kernels.intrinsics import Q, U
from emulator.kernels.ppu import render_serial
from emulator.kernels.ppu.mode_timing import is_plain, plain_end
from emulator.kernels.ppu.pixel_fifo import run_line
from emulator.kernels.ppu.pixel_fifo_state import Fifo
from emulator.kernels.ppu.render_parallel import observe
from emulator.kernels.ppu.scanline import byte_of, draw_plain

pytestmark = pytest.mark.warp

ROW = 0x8000
CASES = 3000


@no_type_check
@wp.kernel(enable_backward=False, module="unique")
def draw_both(
    rows: wp.uint64,
    cases: wp.array2d(dtype=wp.int32),
    plain: wp.uint64,
    exact: wp.uint64,
    ends: wp.array2d(dtype=wp.int32),
):
    """Thread i draws case i (lower, upper, line, window, window_y, short) in both ways."""
    i = wp.tid()
    mem = rows + Q(i) * Q(0x2100)
    oam = mem + Q(0x2000)
    lower = U(cases[i, 0])
    upper = U(cases[i, 1])
    line = cases[i, 2]
    window = cases[i, 3]
    window_y = cases[i, 4]
    f = Fifo()
    f.vram = mem
    f.oam = oam
    f.dest = exact + Q(i) * Q(40)
    f.log_count = 0
    f.line = line
    f.short_line = 0
    f.lcdc = byte_of(lower, 0)
    f.scy = byte_of(lower, 1)
    f.scx = byte_of(lower, 2)
    f.bgp = byte_of(lower, 3)
    f.obp0 = byte_of(upper, 0)
    f.obp1 = byte_of(upper, 1)
    f.wy = byte_of(upper, 2)
    f.wx = byte_of(upper, 3)
    f.window = window
    f.window_y = window_y - 1
    f.dma = -100000
    run_line(f)
    draw_plain(mem, oam, line, lower, upper, window, window_y, plain + Q(i) * Q(40))
    ends[i, 0] = plain_end(oam, line, 0, f.lcdc, f.scx, f.wx, window)
    ends[i, 1] = f.x
    ends[i, 2] = wp.where(is_plain(f.lcdc, f.scx, f.wx, window), 1, 0)


def unpack_lines(packed: np.ndarray) -> np.ndarray:
    """Shades uint8 [n, 160] of packed lines uint8 [n, 40]."""
    planes = np.unpackbits(packed.reshape(-1, 2, 20), axis=2)
    return planes[:, 0] + 2 * planes[:, 1]


def tile_pixel(vram: np.ndarray, lcdc: int, map_bit: int, x: int, y: int) -> int:
    """Colour 0-3 of one background or window pixel."""
    base = 0x1C00 if lcdc & map_bit else 0x1800
    tile = int(vram[base + (y >> 3) * 32 + (x >> 3)])
    at = tile * 16 if lcdc & 0x10 or tile >= 128 else 0x1000 + tile * 16
    low, high = int(vram[at + 2 * (y & 7)]), int(vram[at + 2 * (y & 7) + 1])
    bit = 7 - (x & 7)
    return (low >> bit & 1) | (high >> bit & 1) << 1


def line_sprites(oam: np.ndarray, line: int, lcdc: int) -> list[np.ndarray]:
    """The line's objects, first the one that wins."""
    height = 16 if lcdc & 4 else 8
    hit = [o for o in oam.reshape(40, 4) if 0 <= line + 16 - int(o[0]) < height][:10]
    return sorted(hit, key=lambda o: int(o[1]))


def sprite_pixel(vram: np.ndarray, sprites: list, line: int, lcdc: int, x: int) -> tuple[int, int]:
    """(colour, flags) of the object layer at screen column x."""
    for y, left, tile, flags in ([int(v) for v in o] for o in sprites):
        if not 0 <= x + 8 - left < 8:
            continue
        height = 16 if lcdc & 4 else 8
        row = line + 16 - y
        row = height - 1 - row if flags & 0x40 else row
        tile = tile & 0xFE if height == 16 else tile
        low, high = int(vram[tile * 16 + 2 * row]), int(vram[tile * 16 + 2 * row + 1])
        bit = x + 8 - left if flags & 0x20 else 7 - (x + 8 - left)
        colour = (low >> bit & 1) | (high >> bit & 1) << 1
        if colour:
            return colour, flags
    return 0, 0


def reference_line(vram: np.ndarray, oam: np.ndarray, r: dict[str, int]) -> np.ndarray:
    """One line pixel by pixel, as Pan Docs tells it."""
    lcdc, line = r["lcdc"], r["line"]
    sprites = line_sprites(oam, line, lcdc) if lcdc & 2 else []
    shades = np.zeros(160, np.uint8)
    for x in range(160):
        colour = 0
        if lcdc & 1:
            if lcdc & 0x20 and r["window"] and r["wx"] < 166 and x + 7 >= r["wx"]:
                colour = tile_pixel(vram, lcdc, 0x40, x + 7 - r["wx"], r["window_y"])
            else:
                column, y = (x + r["scx"]) & 255, (line + r["scy"]) & 255
                colour = tile_pixel(vram, lcdc, 0x08, column, y)
        shade = r["bgp"] >> 2 * colour & 3
        obj, flags = sprite_pixel(vram, sprites, line, lcdc, x)
        if obj and not (flags & 0x80 and colour):
            shade = r["obp1" if flags & 0x10 else "obp0"] >> 2 * obj & 3
        shades[x] = shade
    return shades


@pytest.fixture(scope="module")
def drawn() -> dict[str, np.ndarray]:
    """Random memories and registers, and what both paths make of them."""
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 256, (CASES, 0x2100)).astype(np.uint8)
    sparse = rng.random((CASES, 1)) < 0.5
    rows[:, :0x1800] &= np.where(sparse, rng.integers(0, 256, (CASES, 0x1800)), 255).astype(np.uint8)
    line = rng.integers(0, 144, CASES)
    oam = rows[:, 0x2000:0x20A0].reshape(CASES, 40, 4)
    near = rng.random((CASES, 40)) < 0.4
    oam[:, :, 0] = np.where(near, line[:, None] + rng.integers(0, 17, (CASES, 40)), oam[:, :, 0])
    oam[:, :, 1] = np.where(rng.random((CASES, 40)) < 0.9, oam[:, :, 1] % 170, oam[:, :, 1])
    registers = rng.integers(0, 256, (CASES, 8))
    registers[:, 0] |= 0x80
    registers[::2, 0] |= 0x23
    registers[::3, 7] = rng.integers(0, 168, len(registers[::3]))
    packed = registers.astype(np.uint8).view(np.int32)
    window_y = np.minimum(rng.integers(0, 144, CASES), line)
    window = (rng.random(CASES) < 0.6).astype(int)
    # A line on which WY is met now would latch the window in the exact path only.
    registers[:, 6] = np.where(registers[:, 6] == line, 200, registers[:, 6])
    packed = registers.astype(np.uint8).view(np.int32)
    cases = np.column_stack([packed, line, window, window_y, 0 * line]).astype(np.int32)
    memory = wp.array(rows, dtype=wp.uint8, device="cpu")
    plain = wp.zeros((CASES, 40), dtype=wp.uint8, device="cpu")
    exact = wp.zeros((CASES, 40), dtype=wp.uint8, device="cpu")
    ends = wp.zeros((CASES, 3), dtype=wp.int32, device="cpu")
    inputs = [memory.ptr, wp.array(cases, dtype=wp.int32, device="cpu"), plain.ptr, exact.ptr, ends]
    wp.launch(draw_both, dim=CASES, inputs=inputs, device="cpu")
    return {
        "rows": rows,
        "registers": registers,
        "cases": cases,
        "ends": ends.numpy(),
        "plain": unpack_lines(plain.numpy()),
        "exact": unpack_lines(exact.numpy()),
    }


def test_the_exact_path_agrees_with_the_line_renderer_on_quiet_lines(drawn: dict) -> None:
    quiet = drawn["ends"][:, 2] == 1
    assert quiet.sum() > CASES // 2
    different = (drawn["plain"] != drawn["exact"]).any(1) & quiet
    assert not different.any(), drawn["registers"][different][:5]


def test_the_length_of_mode_3_follows_from_the_penalties(drawn: dict) -> None:
    quiet = drawn["ends"][:, 2] == 1
    wrong = (drawn["ends"][:, 0] != drawn["ends"][:, 1]) & quiet
    assert not wrong.any(), drawn["ends"][wrong][:5]


def test_the_line_renderer_agrees_with_pan_docs_pixel_by_pixel(drawn: dict) -> None:
    names = ["lcdc", "scy", "scx", "bgp", "obp0", "obp1", "wy", "wx"]
    for i in range(0, CASES, 25):
        r = dict(zip(names, (int(v) for v in drawn["registers"][i]), strict=True))
        r |= {"line": int(drawn["cases"][i, 2]), "window": int(drawn["cases"][i, 3])}
        r |= {"window_y": int(drawn["cases"][i, 4])}
        row = drawn["rows"][i]
        expected = reference_line(row[:0x2000], row[0x2000:0x20A0], r)
        np.testing.assert_array_equal(drawn["plain"][i], expected, err_msg=str(r))


ON = 10
FRAME = k.M_CYCLES_PER_FRAME
LINE_0 = ON - 2


def random_memory(bench: Bench, seed: int) -> None:
    """Fill VRAM and OAM."""
    rng = np.random.default_rng(seed)
    for env in range(bench.n):
        bench.rows[env, :0x2000] = rng.integers(0, 256, 0x2000)
        bench.rows[env, k.ROW_OAM : k.ROW_OAM + 160] = rng.integers(0, 170, 160)


def second_frame(bench: Bench, script: list[tuple[int, int, int, int]]) -> np.ndarray:
    """Play `script` (times since line 0 of the second frame) and return the picture [144, 160]."""
    start = LINE_0 + FRAME - 2
    begin = [(BEGIN, 2, 0, 0), (WRITE, 0x47, 0xE4, 1), (WRITE, 0x40, 0x93, ON)]
    shifted = [(op, a, b, start + t) for op, a, b, t in script]
    end = start + 150 * 114
    bench.play([*begin, *shifted, (END, 2 * FRAME, 0, max(end, 2 * FRAME))])
    return bench.pictures()[0].copy()


def test_a_vram_write_changes_only_the_lines_below_it() -> None:
    before, after, mixed = Bench(1), Bench(1), Bench(1)
    for bench in (before, after, mixed):
        random_memory(bench, 5)
    changed = [(POKE_VRAM, a, (a * 7 + 1) & 255) for a in range(0x9800, 0x9880)]
    top = second_frame(before, [])
    for _, a, v in changed:
        after.rows[0, a - ROW] = v
    bottom = second_frame(after, [])
    # The bytes are written in the HBlanks of line 5 to 12; map rows 0-3 are lines 0-31.
    script = [(op, a, v, (5 + i // 16) * 114 + 95 + i % 16) for i, (op, a, v) in enumerate(changed)]
    picture = second_frame(mixed, script)
    np.testing.assert_array_equal(picture[:6], top[:6])
    np.testing.assert_array_equal(picture[14:], bottom[14:])
    assert (top[14:32] != bottom[14:32]).any()


def test_more_writes_than_the_logs_hold_still_give_the_exact_picture() -> None:
    quiet, busy = Bench(1), Bench(1)
    for bench in (quiet, busy):
        random_memory(bench, 6)
    expected = second_frame(quiet, [])
    script = []
    for line in range(144):
        # Eighteen writes a line to a tile that the next line's HBlank puts right again.
        for i in range(9):
            address = 0x8000 + (line * 9 + i) % 64
            old = int(busy.rows[0, address - ROW])
            script.append((POKE_VRAM, address, old ^ 0xFF, line * 114 + 90 + i))
            script.append((POKE_VRAM, address, old, line * 114 + 100 + i))
    assert len(script) > (0x1E00 - 0x100) // 4
    np.testing.assert_array_equal(second_frame(busy, script), expected)


def test_later_vram_writes_do_not_reach_a_finished_picture() -> None:
    quiet, late = Bench(1), Bench(1)
    for bench in (quiet, late):
        random_memory(bench, 8)
    expected = second_frame(quiet, [])
    script = [(POKE_VRAM, 0x8000 + i, 0x55, 144 * 114 + 10 + i // 8) for i in range(2500)]
    memory = late.rows
    np.testing.assert_array_equal(second_frame(late, script), expected)
    assert (memory[0, :2500] == 0x55).all()  # and the console keeps what it wrote


def test_vram_writes_between_the_last_line_and_vblank_stay_unseen() -> None:
    quiet, late = Bench(1), Bench(1)
    for bench in (quiet, late):
        random_memory(bench, 12)
    expected = second_frame(quiet, [])
    script = [(POKE_VRAM, 0x9800 + i, 0x55, 143 * 114 + 95 + i) for i in range(24)]
    np.testing.assert_array_equal(second_frame(late, script), expected)


def test_oam_writes_in_the_picture_act_from_the_next_line_on() -> None:
    before, mixed = Bench(1), Bench(1)
    for bench in (before, mixed):
        random_memory(bench, 9)
    top = second_frame(before, [])
    script = [(POKE_OAM, 0xFE00 + 4 * i, 0, 70 * 114 + 96 + i // 8) for i in range(40)]
    picture = second_frame(mixed, script)
    np.testing.assert_array_equal(picture[:71], top[:71])
    assert (picture[71:] != top[71:]).any()


def test_a_line_drawn_exactly_counts_the_window_lines_above_it() -> None:
    """Where the window covers the line, a write to SCX in mode 3 shows nothing of itself."""
    plain, exact = Bench(1), Bench(1)
    for bench in (plain, exact):
        random_memory(bench, 13)
    window = [(WRITE, 0x4A, 50, 1), (WRITE, 0x4B, 7, 2), (WRITE, 0x40, 0xB1, 3)]
    expected = second_frame(plain, window)
    scrolls = [(WRITE, 0x43, line, line * 114 + 50) for line in (64, 80)]
    np.testing.assert_array_equal(second_frame(exact, window + scrolls), expected)
    assert (expected[64] != expected[50]).any()


def test_the_first_picture_after_lcd_on_is_blank() -> None:
    bench = Bench(1)
    random_memory(bench, 10)
    bench.play([(BEGIN, 1, 0, 0), (WRITE, 0x47, 0xE4, 1), (WRITE, 0x40, 0x93, ON)])
    bench.play([(END, FRAME, 0, FRAME)])
    assert not bench.pictures().any()


def test_the_observation_is_the_rounded_mean_of_two_by_two() -> None:
    bench = Bench(1)
    random_memory(bench, 11)
    shades = second_frame(bench, []).astype(int)
    observation = wp.zeros((1, 72, 80), dtype=wp.uint8, device="cpu")
    observe(bench.batch, observation)
    blocks = shades.reshape(72, 2, 80, 2).sum((1, 3))
    np.testing.assert_array_equal(observation.numpy()[0], (blocks + 2) >> 2)
    # Into memory that is not laid out in sixteens
    apart = wp.zeros((1, 72, 81), dtype=wp.uint8, device="cpu")[:, :, :80]
    assert isinstance(apart, wp.array)
    observe(bench.batch, apart)
    np.testing.assert_array_equal(apart.numpy(), observation.numpy())
    # As one thread does it
    again, screen = (wp.zeros_like(observation), wp.zeros((1, 144, 160), dtype=wp.uint8, device="cpu"))
    render_serial.observe(bench.batch, again, wp.launch)
    render_serial.unpack(bench.batch, screen)
    np.testing.assert_array_equal(again.numpy(), observation.numpy())
    np.testing.assert_array_equal(screen.numpy()[0], shades)
