"""Line without writes during mode 3, drawn 32 pixels at a time on bit planes; on a CPU by C++ (scanline_cpu.py).

VRAM is read as it was before later writes (vram_changes.py).

A packed line is 40 bytes: 20 bytes of low shade bits, then 20 bytes of high ones, leftmost pixel in the top
bit of the first byte. Eight picture registers travel in two words: `lower` holds LCDC, SCY, SCX, BGP and
`upper` OBP0, OBP1, WY, WX, lowest byte first.
https://gbdev.io/pandocs/Tile_Data.html, https://gbdev.io/pandocs/OAM.html
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
from emulator.kernels.intrinsics import I, Q, U, ld8, ld16, on_gpu, prmt, st64, st128
from emulator.kernels.ppu.mode_timing import has_window
from emulator.kernels.ppu.pixel_fifo_objects import reverse8
from emulator.kernels.ppu.pixel_fifo_state import vec10
from emulator.kernels.ppu.scanline_cpu import draw_natively
from emulator.kernels.ppu.vram_changes import NOTHING, byte_seen, pair_seen

ALL = wp.constant(wp.uint32(0xFFFFFFFF))


@wp.struct
class Planes:
    """Bit planes of 32 pixels of one layer (background or objects), leftmost pixel in the top bit."""

    low: wp.uint32
    high: wp.uint32
    behind: wp.uint32  # object pixels that colours 1 to 3 of the background cover
    palette: wp.uint32  # object pixels that use OBP1


@wp.func
def byte_of(word: U, index: int) -> int:
    """Return byte `index` of a word of packed registers, 0 the lowest."""
    return I((word >> U(8 * index)) & U(0xFF))


@wp.func(inline=True)
def object_row(entry: Q, line: int, last: int, flags: int) -> int:
    """Return the VRAM offset of the pixel row of object `entry` on a line; `last`: the lowest row, 7 or 15."""
    row = (line + 16 - I(ld8(entry))) & last
    if (flags & 0x40) != 0:
        row = row ^ last
    tile = I(ld8(entry + Q(2))) & wp.where(last == 15, 0xFE, 0xFF)
    return tile * 16 + row * 2


@wp.func(inline=True)
def add_object(p: wp.ref[Planes], low: int, high: int, flags: int, at: int):
    """Add an object's row (bytes `low`, `high`), `at` pixels from the left, where no earlier object is opaque."""
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
def shade_plane(low: U, high: U, palette: int, bit: int) -> U:
    """Return plane `bit` of the shades that a palette register gives to the colours with planes `low` and `high`."""
    p = U(palette >> bit)
    c0 = wp.where((p & U(1)) != U(0), ~low & ~high, U(0))
    c1 = wp.where((p & U(4)) != U(0), low & ~high, U(0))
    c2 = wp.where((p & U(16)) != U(0), ~low & high, U(0))
    c3 = wp.where((p & U(64)) != U(0), low & high, U(0))
    return c0 | c1 | c2 | c3


@wp.func(inline=True)
def with_objects(plane: U, o: Planes, shown: U, upper: U, bit: int) -> U:
    """Return plane `bit` of the shades, the background's `plane` with the objects `o` in the pixels `shown`."""
    first = shown & ~o.palette
    second = shown & o.palette
    under = (plane & ~shown) | (shade_plane(o.low, o.high, byte_of(upper, 0), bit) & first)
    return under | (shade_plane(o.low, o.high, byte_of(upper, 1), bit) & second)


@wp.func(inline=False)
def line_objects(oam: Q, line: int, lcdc: int) -> vec10:
    """Return the objects on the line, x << 8 | index, highest priority first, -1 past the last one."""
    return line_objects_here(oam, line, lcdc)


@wp.func
def line_objects_here(oam: Q, line: int, lcdc: int) -> vec10:
    """Return the line's objects like `line_objects`, inlined."""
    found = vec10()
    for i in range(10):
        found[i] = -1
    count = I(0)
    height = wp.where((lcdc & LCDC_OBJ_SIZE) != 0, 16, 8)
    for i in range(40):
        pair = I(ld16(oam + Q(U(4 * i))))
        top = line + 16 - (pair & 0xFF)
        if top >= 0 and top < height and count < 10:
            key = (pair & 0xFF00) | i
            j = count
            while j > 0 and found[wp.max(j - 1, 0)] > key:
                found[j] = found[j - 1]
                j = j - 1
            found[j] = key
            count = count + 1
    return found


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


@wp.func
def background_planes(
    vram: Q, line: int, lower: U, window_left: int, window_y: int, left: int, later: int, changes: Q
) -> Planes:
    """Return the colours of 32 pixels of background and window from screen column `left` on."""
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
    Without calls, it needs few machine registers in a kernel that only draws.
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


@wp.func(inline=False)
def draw_plain(vram: Q, oam: Q, line: int, lower: U, upper: U, window: int, window_y: int, dest: Q):
    """Draw one line to the 40 bytes at `dest`; the registers must not change during its mode 3.

    `lower`, `upper`: packed registers; `window`: 1 if LY has equalled WY; `window_y`: window line counter.
    """
    left = left_of_window(lower, upper, window)
    if on_gpu():
        draw_in_words(vram, oam, line, lower, upper, left, window_y, dest, NOTHING, Q(0))
    else:
        draw_natively(vram, oam, line, lower, upper, left, window_y, dest)
