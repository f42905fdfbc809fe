"""Objects in the pixel pipeline: the search of mode 2, and their rows in the object FIFO."""

import warp as wp

from emulator.constants import LCDC_OBJ_SIZE
from emulator.kernels.intrinsics import I, Q, U, ld8, ld16
from emulator.kernels.ppu.frame_log import FROZEN_DMA, SCANNED, UNDO_TOP, dma_holds, get8, get32, set8
from emulator.kernels.ppu.pixel_fifo_state import Fifo, apply_writes, vec10


@wp.func(inline=False)
def find_objects(f: wp.ref[Fifo], last: int) -> vec10:
    """Return the first ten objects on the line in mode 2, sorted by x, then by OAM order: x << 16 | y << 8 | index.

    Only OAM entries 0 to `last` - 1 are scanned.
    While an OAM DMA runs the PPU cannot read OAM and takes the last bytes on its bus.
    """
    found = vec10()
    f.objects = 0
    first = I(0)
    if f.scanned != 0:
        first = get8(f.vram, SCANNED + 1)
        f.objects = get8(f.vram, SCANNED + 2)
        f.bus_y = get8(f.vram, SCANNED + 3)
        f.bus_x = get8(f.vram, SCANNED + 4)
        for j in range(10):
            found[j] = get8(f.vram, SCANNED + 5 + j) << 16
    for i in range(40):
        f.x = apply_writes(f, 6 + 2 * i)
        scanned = i >= first and i < last
        if scanned and not dma_holds(f.dma, f.x):
            pair = I(ld16(f.oam + Q(U(wp.where(f.scan_at < 0, 4 * i, f.scan_at)))))
            f.bus_y = pair & 0xFF
            f.bus_x = pair >> 8
        f.scan_at = -1
        top = f.line + 16 - f.bus_y
        height = wp.where((f.lcdc & LCDC_OBJ_SIZE) != 0, 16, 8)
        if scanned and top >= 0 and top < height and f.objects < 10 and f.dma != FROZEN_DMA:
            key = (f.bus_x << 16) | (f.bus_y << 8) | i
            j = f.objects
            while j > 0 and (found[wp.max(j - 1, 0)] >> 16) > f.bus_x:
                found[j] = found[j - 1]
                j = j - 1
            found[j] = key
            f.objects = f.objects + 1
    return found


@wp.func(inline=False)
def keep_scanned(f: wp.ref[Fifo], last: int):
    """Store at `SCANNED` what the search for objects finds in OAM entries 0 to `last` - 1, before a DMA changes them.

    The end of mode 3 depends on that, and is worked out later. It depends on X only.
    """
    f.scanned = 0
    found = find_objects(f, last)
    set8(f.vram, SCANNED, f.line + 1)
    set8(f.vram, SCANNED + 1, last)
    set8(f.vram, SCANNED + 2, f.objects)
    set8(f.vram, SCANNED + 3, f.bus_y)
    set8(f.vram, SCANNED + 4, f.bus_x)
    for j in range(10):
        set8(f.vram, SCANNED + 5 + j, found[j] >> 16)


@wp.func
def object_row(f: wp.ref[Fifo], y: int, tile: int) -> int:
    """Return the VRAM offset of the object's pixel row on this line."""
    last = wp.where((f.lcdc & LCDC_OBJ_SIZE) != 0, 15, 7)
    row = (f.line - y) & last
    if (f.object_flags & 0x40) != 0:
        row = row ^ last
    return (tile & wp.where(last == 15, 0xFE, 0xFF)) * 16 + row * 2


@wp.func
def reverse8(bits: int) -> int:
    """Return a byte with its bits in reverse order."""
    v = ((bits & 0xF0) >> 4) | ((bits & 0x0F) << 4)
    v = ((v & 0xCC) >> 2) | ((v & 0x33) << 2)
    return ((v & 0xAA) >> 1) | ((v & 0x55) << 1)


@wp.func(inline=False)
def overlay_object(f: wp.ref[Fifo], high: int):
    """Put an object's eight pixels into the object FIFO where it is still transparent; `high`: the high bits."""
    low = f.object_low
    if (f.object_flags & 0x20) != 0:
        low = reverse8(low)
        high = reverse8(high)
    free = (low | high) & ~(f.obj_low | f.obj_high) & 0xFF
    f.obj_low = (f.obj_low & ~free) | (low & free)
    f.obj_high = (f.obj_high & ~free) | (high & free)
    palette = wp.where((f.object_flags & 0x10) != 0, free, 0)
    behind = wp.where((f.object_flags & 0x80) != 0, free, 0)
    f.obj_palette = (f.obj_palette & ~free) | palette
    f.obj_behind = (f.obj_behind & ~free) | behind


@wp.func(inline=False)
def oam_during_dma(f: wp.ref[Fifo], index: int) -> int:
    """Return OAM byte `index` as it is after a DMA's write, which the undo log assigns to the lines below."""
    value = I(ld8(f.oam + Q(U(index))))
    i = f.undo
    while i < f.undo_last:
        entry = get32(f.vram, UNDO_TOP - 4 - 4 * i)
        i = i + 1
        if I((entry >> U(8)) & U(0x3FFF)) == 0x2000 + index:
            value = I(entry & U(0xFF))
            i = f.undo_last
    return value
