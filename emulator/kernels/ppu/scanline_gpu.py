"""Plain line in a GPU kernel that only draws: `scanline.draw_plain` without calls, from VRAM before later writes.

Without calls it needs few machine registers. The launch kernels use the version of scanline.py, since their registers
belong to the consoles and rare work is called.
"""

import warp as wp

from emulator.constants import LCDC_BG_ENABLE, LCDC_OBJ_ENABLE, LCDC_OBJ_SIZE
from emulator.kernels.intrinsics import I, Q, U, ld8, ld16, prmt, st64, st128
from emulator.kernels.ppu.mode_timing import has_window
from emulator.kernels.ppu.pixel_fifo_objects import reverse8
from emulator.kernels.ppu.pixel_fifo_state import vec10
from emulator.kernels.ppu.scanline import (
    Planes,
    add_object,
    background_of,
    byte_of,
    line_objects_here,
    object_row,
    shade_plane,
    with_objects,
)
from emulator.kernels.ppu.vram_changes import byte_seen, pair_seen


@wp.struct
class PackedLine:
    """Line of 160 pixels, filled from the right: two bit planes of five words, leftmost pixel in the lowest byte."""

    low0: wp.uint32
    low1: wp.uint32
    low2: wp.uint32
    low3: wp.uint32
    low4: wp.uint32
    high0: wp.uint32
    high1: wp.uint32
    high2: wp.uint32
    high3: wp.uint32
    high4: wp.uint32


@wp.func
def fetch_tiles(vram: Q, map_row: int, column: int, fine: int, signed: int, y: int, later: int, changes: Q) -> Planes:
    """Return 32 pixels of a tile map row, from pixel `fine` of tile `column` (modulo 32) on.

    `map_row` is the VRAM offset of the map row, `y` & 7 the pixel row in the tiles; `signed` selects tile data at 9000.
    VRAM is read as it was before the undo entries `later`; `changes`: as in vram_changes.py.
    """
    low = Q(0)
    high = Q(0)
    for i in range(5):
        place = map_row + ((column + i) & 31)
        tile = I(byte_seen(vram, place, ld8(vram + Q(U(place))), later, changes))
        address = tile * 16 + wp.where(signed != 0 and tile < 128, 0x1000, 0) + (y & 7) * 2
        pair = pair_seen(vram, address, ld16(vram + Q(U(address))), later, changes)
        low = (low << Q(8)) | Q(pair & U(0xFF))
        high = (high << Q(8)) | Q(pair >> U(8))
    p = Planes()
    shift = Q(U(8 - fine))
    p.low = U(low >> shift)
    p.high = U(high >> shift)
    return p


@wp.func
def object_planes(vram: Q, oam: Q, line: int, lcdc: int, found: vec10, left: int, later: int, changes: Q) -> Planes:
    """Return 32 pixels of the object layer from screen column `left` on; the first object in `found` wins."""
    p = Planes()
    last = wp.where((lcdc & LCDC_OBJ_SIZE) != 0, 15, 7)
    i = I(0)
    while i < 10 and found[wp.min(i, 9)] >= 0:
        key = found[i]
        i = i + 1
        at = (key >> 8) - 8 - left
        if at > -8 and at < 32:
            entry = oam + Q(U(4 * (key & 0xFF)))
            flags = I(ld8(entry + Q(3)))
            address = object_row(entry, line, last, flags)
            pair = pair_seen(vram, address, ld16(vram + Q(U(address))), later, changes)
            low = I(pair & U(0xFF))
            high = I(pair >> U(8))
            if (flags & 0x20) != 0:  # a function of its own would become other machine code
                low = reverse8(low)
                high = reverse8(high)
            add_object(p, low, high, flags, at)
    return p


background_planes = background_of(fetch_tiles)


@wp.func
def append(o: wp.ref[PackedLine], low: U, high: U):
    """Append 32 pixels on the right of the line; the pixels already there move left by 32."""
    o.low0 = o.low1
    o.low1 = o.low2
    o.low2 = o.low3
    o.low3 = o.low4
    o.low4 = low
    o.high0 = o.high1
    o.high1 = o.high2
    o.high2 = o.high3
    o.high3 = o.high4
    o.high4 = high


@wp.func
def store_line(o: wp.ref[PackedLine], dest: Q):
    """Store the line in the 40 bytes at `dest`, a multiple of 8, by three wide writes.

    A GPU writes sectors of 32 bytes, however few of them a thread changes.
    """
    if (dest & Q(8)) == Q(0):
        st128(dest, o.low0, o.low1, o.low2, o.low3)
        st128(dest + Q(16), o.low4, o.high0, o.high1, o.high2)
        st64(dest + Q(32), o.high3, o.high4)
    else:
        st64(dest, o.low0, o.low1)
        st128(dest + Q(8), o.low2, o.low3, o.low4, o.high0)
        st128(dest + Q(24), o.high1, o.high2, o.high3, o.high4)


@wp.func
def left_of_window(lower: U, upper: U, window: int) -> int:
    """Return the screen column at which the window begins, 256 if the line has none."""
    there = has_window(byte_of(lower, 0), byte_of(upper, 3), window)
    return wp.where(there, byte_of(upper, 3) - 7, 256)


@wp.func(inline=True)
def draw_in_words(
    vram: Q, oam: Q, line: int, lower: U, upper: U, window_left: int, window_y: int, dest: Q, later: int, changes: Q
):
    """Draw a line to the 40 bytes at `dest`, with the window from column `window_left` on.

    VRAM is read as it was before the undo entries `later`; `changes`: address of the map of changes (vram_changes.py).
    """
    lcdc = byte_of(lower, 0)
    bgp = byte_of(lower, 3)
    found = vec10()
    found[0] = -1
    if (lcdc & LCDC_OBJ_ENABLE) != 0:
        found = line_objects_here(oam, line, lcdc)
    o = PackedLine()
    left = I(0)
    while left < 160:  # unrolled it takes many more machine registers
        b = Planes()
        if (lcdc & LCDC_BG_ENABLE) != 0:
            b = background_planes(vram, line, lower, window_left, window_y, left, later, changes)
        low = shade_plane(b.low, b.high, bgp, 0)
        high = shade_plane(b.low, b.high, bgp, 1)
        if found[0] >= 0:
            p = object_planes(vram, oam, line, lcdc, found, left, later, changes)
            shown = (p.low | p.high) & ~(p.behind & (b.low | b.high))
            low = with_objects(low, p, shown, upper, 0)
            high = with_objects(high, p, shown, upper, 1)
        append(o, prmt(low, low, U(0x0123)), prmt(high, high, U(0x0123)))
        left = left + 32
    store_line(o, dest)
