"""A plain line as a GPU draws it in a kernel that does nothing else: `scanline.draw_plain` with
no call, so with few machine registers, and from VRAM as it was before later writes.

The launch kernels have the other one, where registers belong to the consoles and what is rare is
called.
"""

import warp as wp

from emulator.constants import (
    LCDC_BG_ENABLE,
    LCDC_BG_MAP,
    LCDC_OBJ_ENABLE,
    LCDC_OBJ_SIZE,
    LCDC_TILE_DATA,
    LCDC_WINDOW_MAP,
)
from emulator.kernels.intrinsics import I, Q, U, ld8, ld16, prmt, st64, st128
from emulator.kernels.ppu.mode_timing import has_window
from emulator.kernels.ppu.pixel_fifo_objects import reverse8
from emulator.kernels.ppu.pixel_fifo_state import vec10
from emulator.kernels.ppu.scanline import ALL, Planes, byte_of, line_objects_here, shade_plane
from emulator.kernels.ppu.vram_changes import byte_seen, pair_seen


@wp.struct
class PackedLine:
    """160 pixels, 32 to a word, leftmost in the lowest byte."""

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
    """32 pixels from tile `column` (modulo 32) of a map row, `fine` pixels into that tile.

    `map_row` is the VRAM offset of the map row; `signed` selects tiles from 9000 on.
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
    """32 pixels of the object layer from screen column `left` on; the first object wins."""
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
            row = (line + 16 - I(ld8(entry))) & last
            if (flags & 0x40) != 0:
                row = row ^ last
            tile = I(ld8(entry + Q(2))) & wp.where(last == 15, 0xFE, 0xFF)
            address = tile * 16 + row * 2
            pair = pair_seen(vram, address, ld16(vram + Q(U(address))), later, changes)
            low = I(pair & U(0xFF))
            high = I(pair >> U(8))
            if (flags & 0x20) != 0:
                low = reverse8(low)
                high = reverse8(high)
            shift = Q(U(32 - at))
            free = ~(p.low | p.high)
            word_low = U((Q(U(low)) << shift) >> Q(8)) & free
            word_high = U((Q(U(high)) << shift) >> Q(8)) & free
            p.low = p.low | word_low
            p.high = p.high | word_high
            if (flags & 0x80) != 0:
                p.behind = p.behind | word_low | word_high
            if (flags & 0x10) != 0:
                p.palette = p.palette | word_low | word_high
    return p


@wp.func
def background_planes(
    vram: Q, line: int, lower: U, window_left: int, window_y: int, left: int, later: int, changes: Q
) -> Planes:
    """Background and window colours of 32 pixels from screen column `left` on."""
    lcdc = byte_of(lower, 0)
    signed = wp.where((lcdc & LCDC_TILE_DATA) != 0, 0, 1)
    p = Planes()
    if window_left > left:
        y = (line + byte_of(lower, 1)) & 0xFF
        x = left + byte_of(lower, 2)
        row = wp.where((lcdc & LCDC_BG_MAP) != 0, 0x1C00, 0x1800) + (y >> 3) * 32
        b = fetch_tiles(vram, row, x >> 3, x & 7, signed, y, later, changes)
        p.low = b.low
        p.high = b.high
    if window_left < left + 32:
        x = left - window_left
        row = wp.where((lcdc & LCDC_WINDOW_MAP) != 0, 0x1C00, 0x1800) + ((window_y & 0xFF) >> 3) * 32
        w = fetch_tiles(vram, row, x >> 3, x & 7, signed, window_y, later, changes)
        mask = wp.where(x >= 0, ALL, ALL >> U(wp.max(-x, 0)))
        p.low = (p.low & ~mask) | (w.low & mask)
        p.high = (p.high & ~mask) | (w.high & mask)
    return p


@wp.func
def append(o: wp.ref[PackedLine], low: U, high: U):
    """Add 32 pixels on the right; what was there moves to the left by as many."""
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
    """Store the 40 bytes at `dest`, a multiple of 8, in three wide pieces: a GPU writes by sectors
    of 32 bytes, however little of one a thread changes."""
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
    """Screen column at which the window begins, 256 if there is none."""
    there = has_window(byte_of(lower, 0), byte_of(upper, 3), window)
    return wp.where(there, byte_of(upper, 3) - 7, 256)


@wp.func(inline=True)
def draw_in_words(
    vram: Q, oam: Q, line: int, lower: U, upper: U, window_left: int, window_y: int, dest: Q, later: int, changes: Q
):
    """Draw a line to the 40 bytes `dest`, from the window's column and from VRAM as it was before
    the undo entries `later`, of which `changes` is the map (vram_changes.py)."""
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
            first = shown & ~p.palette
            second = shown & p.palette
            obp0 = byte_of(upper, 0)
            obp1 = byte_of(upper, 1)
            low = (low & ~shown) | (shade_plane(p.low, p.high, obp0, 0) & first)
            low = low | (shade_plane(p.low, p.high, obp1, 0) & second)
            high = (high & ~shown) | (shade_plane(p.low, p.high, obp0, 1) & first)
            high = high | (shade_plane(p.low, p.high, obp1, 1) & second)
        append(o, prmt(low, low, U(0x0123)), prmt(high, high, U(0x0123)))
        left = left + 32
    store_line(o, dest)
