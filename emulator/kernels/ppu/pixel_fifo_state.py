"""State of one line in the pixel pipeline, and the effect of logged register writes on it."""

import warp as wp

from emulator.constants import LCDC_BG_ENABLE, LCDC_OBJ_ENABLE, LCDC_WINDOW_ENABLE
from emulator.kernels.intrinsics import I, Q, U, ld32
from emulator.kernels.ppu.frame_log import R_DMA, R_LCDC, R_OBP1, R_SCAN, R_SCX, R_SCY, R_WX, R_WY, dma_start_of

NOT_IN_SIGHT = wp.constant(0x7FFFFF)
vec10 = wp.types.vector(length=10, dtype=wp.int32)


@wp.struct
class Fifo:
    """State of the pixel pipeline on one line. Inputs first; `dest` is 0 when only timing is wanted."""

    vram: wp.uint64
    oam: wp.uint64
    dest: wp.uint64  # 40 bytes: low shade bits, high shade bits
    log: wp.uint64  # register entries from this line's first on
    log_count: int
    line: int
    short_line: int  # 1: first line after LCD-on, no objects, two dots later
    lcdc: int
    scy: int
    scx: int
    bgp: int
    obp0: int
    obp1: int
    wy: int
    wx: int
    window: int  # 1: LY has met WY
    window_y: int
    wx_triggered: int
    dma: int  # dot at which the last OAM DMA started (`dma_holds`)
    scanned: int  # 1: OAM has changed since it was scanned; `SCANNED` says what had been found by then
    undo: int  # undo entries undo..undo_last-1 hold the bytes that are written after this line
    undo_last: int
    scan_at: int  # OAM offset that the next slot of mode 2 reads, -1 for its own
    bus_y: int  # last bytes that the PPU read from OAM, which it sees again during OAM DMA
    bus_x: int
    x: int  # dot of the line; mode 3 ends at its last value
    # ---- pipeline
    position: int  # x of the next pixel, -16 (discarding) to 160
    lcd_x: int
    step: int
    tile: int
    low: int
    high: int
    address: int
    data_address: int  # VRAM offset of the last tile row read
    window_tile: int
    bg_low: int
    bg_high: int
    bg_size: int
    obj_low: int
    obj_high: int
    obj_palette: int
    obj_behind: int
    window_fetch: int  # window just activated, no pixel of it shown yet
    insert_pixel: int
    no_insert_glitch: int
    window_kept: int  # 1: bit 5 of LCDC was cleared in this dot, and the window can still begin
    wx_changed: int  # dot at which WX was written
    window_check: int  # dot at which a write makes the WY comparison happen again
    fetching_object: int
    aborted: int
    objects: int
    object_flags: int
    object_low: int
    next_entry: int
    stage: int


@wp.func
def meet_window(f: wp.ref[Fifo], ly: int):
    """Set `f.window` if the window is enabled and WY equals `ly`."""
    if (f.lcdc & LCDC_WINDOW_ENABLE) != 0 and f.wy == ly:
        f.window = 1


@wp.func(inline=False)
def write_lcdc(f: wp.ref[Fifo], value: int):
    """Apply one stage of a write to LCDC: OBJ enable and the setting of window enable one dot after all else.

    A bit 0 that is cleared also holds for one dot more. OBJ off can abort an OBJ fetch.
    """
    off = f.lcdc & ~value
    if (off & LCDC_OBJ_ENABLE) != 0 and f.fetching_object != 0:
        f.aborted = 1
    if f.stage == 0:
        kept = f.lcdc & (LCDC_BG_ENABLE | LCDC_OBJ_ENABLE)
        if (value & LCDC_OBJ_ENABLE) == 0 and (f.position == 0 or f.fetching_object != 0):
            kept = kept & LCDC_BG_ENABLE
        if (off & LCDC_WINDOW_ENABLE) != 0:
            f.window_kept = 1
            if f.window_fetch != 0:
                f.no_insert_glitch = 1
        late = LCDC_OBJ_ENABLE | (LCDC_WINDOW_ENABLE & ~f.lcdc)
        f.lcdc = kept | (value & ~late)
    else:
        f.window_kept = 0
        f.lcdc = value


@wp.func(inline=False)
def write_register(f: wp.ref[Fifo], number: int, value: int, dot: int):
    """Apply one stage (`f.stage`) of a logged register write; palettes are old|new for one dot."""
    shown = value
    if number == R_LCDC:
        write_lcdc(f, value)
    elif number == R_SCY:
        f.scy = value
    elif number == R_SCX:
        f.scx = value
    elif number == R_WY:
        f.wy = value
    elif number == R_WX:
        f.wx = value
        f.wx_changed = dot
    elif number == R_DMA:
        f.dma = dma_start_of(value, dot)
    elif number == R_SCAN:
        f.scan_at = value
    elif number == R_OBP1:
        if f.stage == 0:
            shown = value | f.obp1
        f.obp1 = shown
    elif number == 4:
        if f.stage == 0:
            shown = value | f.obp0
        f.obp0 = shown
    else:
        if f.stage == 0:
            shown = value | f.bgp
        f.bgp = shown


@wp.func(inline=False)
def apply_writes(f: wp.ref[Fifo], x: int) -> int:
    """Apply logged writes up to dot `x`; return the dot reached, which is less if an object fetch was aborted."""
    reached = x
    run = I(1)
    while run != 0 and f.next_entry < f.log_count:
        entry = ld32(f.log + Q(U(4 * f.next_entry)))
        dot = I(entry & U(0x1FFFF)) - 456 * f.line
        number = I((entry >> U(17)) & U(15))
        two_stages = number == R_LCDC or (number >= 3 and number <= 5)
        due = dot
        if two_stages:
            due = dot - 2 + f.stage
        elif number == R_SCX or number == R_SCY:
            due = dot - 2
        if due > x:
            run = 0
        else:
            write_register(f, number, I((entry >> U(21)) & U(0xFF)), dot)
            if two_stages and f.stage == 0:
                f.stage = 1
            else:
                f.stage = 0
                f.next_entry = f.next_entry + 1
                if number == R_LCDC or number == R_WY:
                    f.window_check = dot + 2
            if f.aborted != 0 and f.fetching_object != 0:
                reached = wp.max(due, f.x)
                f.fetching_object = 0
                run = 0
    if f.window_check <= reached:
        met = wp.where(f.window_check >= 4 or f.line == 0, f.line, f.line - 1)
        meet_window(f, met)
        f.window_check = NOT_IN_SIGHT
    return reached


@wp.func
def sleep(f: wp.ref[Fifo], dots: int):
    """Advance the line by `dots`, with the register writes that occur meanwhile."""
    f.x = apply_writes(f, f.x + dots)
