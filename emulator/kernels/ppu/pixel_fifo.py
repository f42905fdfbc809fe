"""Mode 3 of one line dot by dot: fetcher, FIFOs, window, objects, and writes in between.

The exact path, for lines whose registers are written while they are drawn and for the odd window positions.
It replays the register log of the line, so it can run long after the fact: for the picture in the drawing
kernel, for the length of mode 3 whenever the CPU asks.
Facts: Pan Docs "Pixel FIFO", the research cited there, and SameBoy's description of the DMG.
"""

import warp as wp

from emulator.constants import (
    LCDC_BG_ENABLE,
    LCDC_BG_MAP,
    LCDC_OBJ_ENABLE,
    LCDC_TILE_DATA,
    LCDC_WINDOW_ENABLE,
    LCDC_WINDOW_MAP,
)
from emulator.kernels.intrinsics import I, Q, U, ld8, st8
from emulator.kernels.ppu.pixel_fifo_objects import find_objects, oam_during_dma, object_row, overlay_object
from emulator.kernels.ppu.pixel_fifo_state import NOT_IN_SIGHT, Fifo, apply_writes, meet_window, sleep, vec10

LAST_DOT = wp.constant(455)
FETCH_PUSH = wp.constant(6)  # fetcher steps 0-5: tile, low, high, two dots each; then push


@wp.func
def fetch_y(f: wp.ref[Fifo]) -> int:
    """Return the row of the background or window map, in pixels, that the fetcher reads."""
    return wp.where(f.wx_triggered != 0, f.window_y, f.line + f.scy) & 0xFF


@wp.func
def leave_window(f: wp.ref[Fifo]):
    """Go on with the background if the window is off: in the middle of a tile its number stays, its row changes."""
    if (f.lcdc & LCDC_WINDOW_ENABLE) == 0:
        f.wx_triggered = 0


@wp.func
def tile_row_address(f: wp.ref[Fifo]) -> int:
    """Return the VRAM offset of the pixel row of the current tile; a window tile may become one of the background."""
    leave_window(f)
    tile = wp.where((f.lcdc & LCDC_TILE_DATA) != 0 or f.tile >= 128, f.tile, f.tile + 256)
    return tile * 16 + (fetch_y(f) & 7) * 2


@wp.func(inline=False)
def push_tile(f: wp.ref[Fifo]):
    """Refill the empty background FIFO with the fetched tile, or insert the extra pixel of a DMG glitch."""
    f.step = FETCH_PUSH
    if f.bg_size == 0:
        here = (f.position + 7) & 0xFF
        if here > 167:
            here = 0
        stray = f.window != 0 and (f.lcdc & LCDC_WINDOW_ENABLE) == 0 and f.no_insert_glitch == 0
        if stray and f.wx == here:
            f.bg_low = 0
            f.bg_high = 0
            f.bg_size = 1
        else:
            f.bg_low = f.low
            f.bg_high = f.high
            f.bg_size = 8
            f.step = 0


@wp.func(inline=False)
def advance_fetcher(f: wp.ref[Fifo]):
    """Advance the tile fetcher by a dot: the address in the first of two dots, the read in the second."""
    step = f.step
    if step == 0:
        leave_window(f)
        map_bit = wp.where(f.wx_triggered != 0, f.lcdc & LCDC_WINDOW_MAP, f.lcdc & LCDC_BG_MAP)
        column = f.window_tile
        if f.wx_triggered == 0:
            column = f.scx >> 3
            if f.position > -9:
                column = ((f.scx + f.position + 8) >> 3) & 31
        f.address = wp.where(map_bit != 0, 0x1C00, 0x1800) + column + (fetch_y(f) >> 3) * 32
        f.step = 1
    elif step == 1:
        f.tile = I(ld8(f.vram + Q(U(f.address))))
        f.step = 2
    elif step == 2:
        f.data_address = tile_row_address(f)
        f.address = f.data_address
        f.step = 3
    elif step == 3:
        f.low = I(ld8(f.vram + Q(U(f.address))))
        f.step = 4
    elif step == 4:
        f.data_address = tile_row_address(f) + 1
        f.address = f.data_address
        f.step = 5
    elif step == 5:
        f.high = I(ld8(f.vram + Q(U(f.address))))
        if f.wx_triggered != 0:
            f.window_tile = (f.window_tile + 1) & 31
        push_tile(f)
    else:
        push_tile(f)


@wp.func
def put_shade(f: wp.ref[Fifo], lcd_x: int, shade: int):
    """Store shade 0 to 3 of column `lcd_x` in the packed line at `f.dest`."""
    place = f.dest + Q(U(lcd_x >> 3))
    bit = U(0x80) >> U(lcd_x & 7)
    low = ld8(place) & (U(0xFF) ^ bit)
    high = ld8(place + Q(20)) & (U(0xFF) ^ bit)
    st8(place, wp.where((shade & 1) != 0, low | bit, low))
    st8(place + Q(20), wp.where((shade & 2) != 0, high | bit, high))


@wp.func(inline=False)
def shift_pixel(f: wp.ref[Fifo]):
    """Take a pixel from both FIFOs: discard it during fine scrolling, else mix the two and output the result."""
    if f.bg_size == 0:
        return
    bg = I(0)
    if f.insert_pixel != 0:
        f.insert_pixel = 0
    else:
        bg = ((f.bg_low >> 7) & 1) | ((f.bg_high >> 6) & 2)
        f.bg_low = f.bg_low << 1
        f.bg_high = f.bg_high << 1
        f.bg_size = f.bg_size - 1
    obj = ((f.obj_low >> 7) & 1) | ((f.obj_high >> 6) & 2)
    palette = wp.where((f.obj_palette & 0x80) != 0, f.obp1, f.obp0)
    behind = f.obj_behind & 0x80
    f.obj_low = f.obj_low << 1
    f.obj_high = f.obj_high << 1
    f.obj_palette = f.obj_palette << 1
    f.obj_behind = f.obj_behind << 1
    if f.position < -8:
        if (f.position & 7) == (f.scx & 7):
            f.position = -8
        elif f.window_fetch != 0 and (f.position & 7) == 6 and (f.scx & 7) == 7:
            f.position = -8
        elif f.position == -9:
            f.position = -16
            return
    f.window_fetch = 0
    if f.position < 0 or f.position >= 160:
        f.position = f.position + 1
        return
    if f.dest != Q(0):
        if (f.lcdc & LCDC_BG_ENABLE) == 0:
            bg = I(0)
        shade = (f.bgp >> (2 * bg)) & 3
        if obj != 0 and (f.lcdc & LCDC_OBJ_ENABLE) != 0 and (behind == 0 or bg == 0):
            shade = (palette >> (2 * obj)) & 3
        put_shade(f, f.lcd_x, shade)
    f.position = f.position + 1
    f.lcd_x = f.lcd_x + 1


@wp.func(inline=False)
def check_window(f: wp.ref[Fifo]):
    """Start the window if the pixel position matches WX, with the DMG's special cases at 0 and 166."""
    at = f.position
    enabled = (f.lcdc & LCDC_WINDOW_ENABLE) != 0
    if f.wx_triggered == 0 and f.window != 0 and (enabled or f.window_kept != 0):
        start = I(0)
        if f.wx == 0:
            if at == -7 or (at >= -15 and at <= -8) or (at == -16 and (f.scx & 7) != 0):
                start = 1
        elif f.wx < 166:
            if f.wx == ((at + 7) & 0xFF):
                start = 1
            elif f.wx == ((at + 6) & 0xFF) and f.wx_changed != f.x:
                # LCD and PPU desynchronise: the LCD shows one pixel twice.
                start = 1
                if f.lcd_x > 0:
                    f.lcd_x = f.lcd_x - 1
        if start != 0:
            f.window_y = f.window_y + 1
            f.window_tile = 0
            f.bg_size = 0
            if f.wx == 0 and (f.scx & 7) != 0:
                sleep(f, 1)
            f.wx_triggered = 1
            if not enabled:
                f.no_insert_glitch = 1
            f.step = 0
            f.window_fetch = 1
        elif f.wx == 166 and at == 159:
            f.window_y = f.window_y + 1
    if (
        f.wx == ((f.position + 7) & 0xFF)
        and f.wx_triggered != 0
        and f.window_fetch == 0
        and f.step == 0
        and f.bg_size == 8
    ):
        f.insert_pixel = 1


@wp.func(inline=False)
def fetch_object(f: wp.ref[Fifo], key: int):
    """Stall the pipeline until the tile fetch is complete, then fetch the object `key`: 6 to 11 dots."""
    while f.aborted == 0 and (f.step < 5 or f.bg_size == 0):
        advance_fetcher(f)
        sleep(f, 1)
    if f.aborted == 0:
        advance_fetcher(f)
        sleep(f, 1)
    if f.aborted == 0:
        advance_fetcher(f)
        y = ((key >> 8) & 0xFF) - 16
        place = 4 * (key & 0xFF) + 2
        moved = ((f.x - (f.dma & -2) + 2) >> 2) - 1
        tile = I(0)
        if moved > 0 and moved < 160:
            # OAM shows the bytes that the DMA is writing; of an odd one the other is already written.
            place = moved & 0xFE
            tile = I(ld8(f.oam + Q(U(place))))
            if (moved & 1) != 0:
                tile = oam_during_dma(f, place)
        else:
            tile = I(ld8(f.oam + Q(U(place))))
        f.object_flags = I(ld8(f.oam + Q(U(place + 1))))
        f.bus_y = tile
        f.bus_x = f.object_flags
        sleep(f, 2)
        if f.aborted == 0:
            f.object_low = I(ld8(f.vram + Q(U(object_row(f, y, tile)))))
            sleep(f, 2)
        if f.aborted == 0:
            f.fetching_object = 0
            high = I(ld8(f.vram + Q(U(object_row(f, y, tile) + 1))))
            sleep(f, 1)
            overlay_object(f, high)


@wp.func
def match_x(f: wp.ref[Fifo]) -> int:
    """Return the object x coordinate that is compared at the present position; 0 during fine scrolling."""
    return wp.where(f.position < -8, 0, f.position + 8)


@wp.func(inline=False)
def begin_line(f: wp.ref[Fifo]):
    """Set the pipeline to its state when mode 3 starts, with eight meaningless pixels in the background FIFO."""
    f.position = -16
    f.lcd_x = 0
    f.step = 0
    f.tile = 0
    f.low = 0
    f.high = 0
    f.address = 0
    f.bg_low = 0
    f.bg_high = 0
    f.bg_size = 8
    f.obj_low = 0
    f.obj_high = 0
    f.obj_palette = 0
    f.obj_behind = 0
    f.window_fetch = 0
    f.insert_pixel = 0
    f.no_insert_glitch = 0
    f.window_kept = 0
    f.wx_changed = NOT_IN_SIGHT
    f.fetching_object = 0
    f.aborted = 0
    f.scan_at = -1
    f.window_tile = wp.where(f.wx_triggered != 0, 1, 0)


@wp.func(inline=False)
def finish_line(f: wp.ref[Fifo]):
    """Apply DMG glitches at the end of a line: a repeated last pixel, and with WX=166 a window on the next line."""
    if f.dest != Q(0):
        while f.lcd_x < 160:
            shade = f.bgp & 3
            if f.lcd_x > 0:
                at = f.lcd_x - 1
                place = f.dest + Q(U(at >> 3))
                down = U(7 - (at & 7))
                high = (ld8(place + Q(20)) >> down) & U(1)
                shade = I(((ld8(place) >> down) & U(1)) | (high << U(1)))
            put_shade(f, f.lcd_x, shade)
            f.lcd_x = f.lcd_x + 1
    if f.line == 143:
        f.window_y = -1
    f.wx_triggered = 0
    if f.window != 0 and (f.lcdc & LCDC_WINDOW_ENABLE) != 0 and f.wx == 166:
        f.wx_triggered = 1
        f.window_y = f.window_y + 1


@wp.func(inline=False)
def begin_scan(f: wp.ref[Fifo]):
    """Run a line up to the dot before the search for objects."""
    begin_line(f)
    f.next_entry = 0
    f.stage = 0
    f.window_check = NOT_IN_SIGHT
    f.x = apply_writes(f, 4)
    meet_window(f, f.line)


@wp.func(inline=False)
def run_line(f: wp.ref[Fifo]):
    """Run modes 2 and 3 of a line; afterwards `f.x` is the dot at which mode 3 ended."""
    begin_scan(f)
    objects = vec10()
    f.objects = 0
    if f.short_line == 0:
        objects = find_objects(f, 40)
    head = I(0)
    f.x = apply_writes(f, wp.where(f.short_line != 0, 91, 89))
    while f.position < 160 and f.x < LAST_DOT:
        check_window(f)
        while head < f.objects and (objects[head] >> 16) < match_x(f):
            head = head + 1
        f.fetching_object = 1
        while (
            head < f.objects
            and f.aborted == 0
            and (f.lcdc & LCDC_OBJ_ENABLE) != 0
            and (objects[head] >> 16) == match_x(f)
        ):
            fetch_object(f, objects[head])
            if f.aborted == 0:
                head = head + 1
        f.aborted = 0
        f.fetching_object = 0
        waits = head < f.objects and (f.lcdc & LCDC_OBJ_ENABLE) != 0 and (objects[wp.min(head, 9)] >> 16) == 0
        if not waits:
            shift_pixel(f)
        advance_fetcher(f)
        if f.position < 160:
            f.x = apply_writes(f, f.x + 1)
    finish_line(f)
