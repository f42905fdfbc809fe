"""Log of a picture, from which it is drawn later, by another thread or kernel.

A launch draws nothing. Writes to the picture registers append an entry to a register log, and while a picture that
may be looked at is in the making (or finished but not yet drawn) every VRAM/OAM write appends the byte it replaces to
an undo log. Drawing walks the undo log back.

Layout of the scratch part of the memory row (offsets from SCRATCH):

    0x000  9 bytes   registers and window seen before the first entry of the current line
    0x010  16 bytes  base of the finished picture: 8 registers, window seen, carry, window line
                     counter + 1, first line not drawn yet, start of an OAM DMA (dot, int32)
    0x020  16 bytes  base of the picture in the making
    0x040  160 bytes OAM of the finished picture, as it was when VBlank began
    0x0E0  15 bytes  objects found on a line before an OAM DMA that began in it (`SCANNED`)
    0x0F0  4 bytes   M-cycles that the PPU still runs in STOP
    0x100  register log, entries of 4 bytes, growing up
    0x1E00 undo log, entries of 4 bytes, growing down

Register entry: dot of the frame (17 bits) | register (4 bits) << 17 | value << 21.
Undo entry: old byte | offset (14 bits: VRAM 0x0000, OAM 0x2000) << 8 | first line that sees the new byte << 22.
"""

import warp as wp

from emulator.constants import (
    NO_DMA_DOT,
    ROW_DRAFT_BASE,
    ROW_FINISHED_BASE,
    ROW_FINISHED_OAM,
    ROW_IO,
    ROW_LINE_BASE,
    ROW_REGISTER_LOG,
    ROW_UNDO_TOP,
)
from emulator.kernels.intrinsics import I, Q, U, ld8, ld32, st8, st32

LINE_BASE = wp.constant(ROW_LINE_BASE)
FINISHED_BASE = wp.constant(ROW_FINISHED_BASE)
DRAFT_BASE = wp.constant(ROW_DRAFT_BASE)
FINISHED_OAM = wp.constant(ROW_FINISHED_OAM)
LOG = wp.constant(ROW_REGISTER_LOG)
UNDO_TOP = wp.constant(ROW_UNDO_TOP)
LOG_CAPACITY = wp.constant((ROW_UNDO_TOP - ROW_REGISTER_LOG) // 4)
SCANNED = wp.constant(ROW_FINISHED_OAM + 0xA0)  # line + 1, entries scanned, objects, Y, X on the bus, X of each object
STOP_LEFT = wp.constant(ROW_FINISHED_OAM + 0xB0)
OAM_BYTES = wp.constant(160)
OAM_OFFSET = wp.constant(0x2000)  # of OAM in undo entries; VRAM lies below

# Numbers of the picture registers in log entries and in register bases.
R_LCDC = wp.constant(0)
R_SCY = wp.constant(1)
R_SCX = wp.constant(2)
R_BGP = wp.constant(3)
R_OBP0 = wp.constant(4)
R_OBP1 = wp.constant(5)
R_WY = wp.constant(6)
R_WX = wp.constant(7)
R_DMA = wp.constant(8)  # an OAM DMA: value 1 starts, 0 restarts, 2 stands still, 3 + n goes on after n M-cycles
R_SCAN = wp.constant(9)  # the slot of mode 2 at this dot reads OAM at the offset `value`, which the CPU addresses
BASE_WINDOW = wp.constant(8)
BASE_CARRY = wp.constant(9)
BASE_WINDOW_Y = wp.constant(10)
BASE_LINE = wp.constant(11)
BASE_DMA = wp.constant(12)
NO_DMA = wp.constant(NO_DMA_DOT)
DMA_DOTS = wp.constant(648)  # from the write to FF46 to the PPU having OAM back
DMA_LEAD = wp.constant(8)  # from the write to FF46 to the PPU losing OAM


FROZEN_DMA = wp.constant(0x3FFFFFF)  # a DMA that stands still while the CPU halts


@wp.func
def dma_holds(dma: int, dot: int) -> wp.bool:
    """Return whether an OAM DMA that started at dot `dma` blocks the PPU's access to OAM at the even `dot`.

    A start is a multiple of 4. Bit 0 is set in it if an older DMA was running, which blocks until the new one does.
    """
    restart = dma & 1
    since = dot - dma + restart
    return dma == FROZEN_DMA or (since >= (1 - restart) * DMA_LEAD and since < DMA_DOTS)


@wp.func
def dma_start_of(value: int, dot: int) -> int:
    """Return the start dot of the OAM DMA that a log entry of R_DMA with `value` at `dot` describes."""
    start = wp.where(value == 2, FROZEN_DMA, dot | wp.where(value == 0, 1, 0))
    return wp.where(value > 2, dot - 4 * (value - 3), start)


@wp.func
def get8(mem: Q, offset: int) -> int:
    """Return the byte at this offset of the memory row."""
    return I(ld8(mem + Q(U(offset))))


@wp.func
def set8(mem: Q, offset: int, value: int):
    """Store a byte at this offset of the memory row."""
    st8(mem + Q(U(offset)), U(value))


@wp.func
def get32(mem: Q, offset: int) -> U:
    """Return the 32-bit word at this offset of the memory row, a multiple of 4."""
    return ld32(mem + Q(U(offset)))


@wp.func
def set32(mem: Q, offset: int, value: U):
    """Store a 32-bit word at this offset of the memory row, a multiple of 4."""
    st32(mem + Q(U(offset)), value)


@wp.func
def register_number(register: int) -> int:
    """Return the log's number of I/O register FF00 + `register`, or -1 if pictures do not depend on it."""
    low = register - 0x40
    number = wp.where(low == 0, 0, wp.where(low >= 7, low - 4, low - 1))
    pictures = low == 0 or low == 2 or low == 3 or (low >= 7 and low <= 11)
    return wp.where(pictures, number, -1)


@wp.func
def register_address(number: int) -> int:
    """Return the offset in the memory row of the picture register with this number in the log."""
    low = wp.where(number == 0, 0, wp.where(number >= 3, number + 4, number + 1))
    return ROW_IO + 0x40 + low


@wp.func
def store_base(mem: Q, base: int):
    """Copy the present values of the eight picture registers to the base record at row offset `base`."""
    for number in range(8):
        set8(mem, base + number, get8(mem, register_address(number)))


@wp.func
def log_entry(dot: int, number: int, value: int) -> U:
    """Return a register entry: `value` written to the register with log number `number` at `dot`."""
    return U(dot) | (U(number) << U(17)) | (U(value) << U(21))


@wp.func
def undo_entry(offset: int, line: int, old: int) -> U:
    """Return an undo entry: byte `old` at VRAM/OAM offset `offset`, replaced for lines from `line` on."""
    return U(old) | (U(offset) << U(8)) | (U(line) << U(22))


@wp.func
def undo_offset(entry: U) -> int:
    """Return the VRAM/OAM offset of an undo entry's byte."""
    return I((entry >> U(8)) & U(0x3FFF))


@wp.func
def undo_line(mem: Q, index: int) -> int:
    """Return the first line of the picture that sees the byte written after undo entry `index`."""
    return I(get32(mem, UNDO_TOP - 4 - 4 * index) >> U(22))


@wp.func
def undo_address(mem: Q, entry: U, oam: int) -> Q:
    """Return the machine address of an undo entry's byte; `oam`: row offset of OAM, or of a copy to use instead."""
    offset = I((entry >> U(8)) & U(0x3FFF))
    row = wp.where(offset >= 0x2000, offset - 0x2000 + oam, offset)
    return mem + Q(U(row))


@wp.func(inline=False)
def undo_swap(mem: Q, index: int, oam: int):
    """Exchange the byte stored in undo entry `index` with the one in memory, which undoes the write or redoes it."""
    slot = UNDO_TOP - 4 - 4 * index
    entry = get32(mem, slot)
    place = undo_address(mem, entry, oam)
    now = ld8(place)
    st8(place, entry & U(0xFF))
    set32(mem, slot, (entry & ~U(0xFF)) | now)
