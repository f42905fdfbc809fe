"""What is rare, but simple enough to be done where it stands in the hot loop, without `attend`.

All of it holds only while nothing comes due within the instruction (`Registers.deadline`).
"""

import warp as wp

from emulator import isa
from emulator.kernels.cpu_slow import ASK_READ
from emulator.kernels.interrupts import switch_interrupts, switches_interrupts
from emulator.kernels.intrinsics import I, Q, U, earlier, ld8, ld8_if, st128
from emulator.kernels.joypad import SETTLED, joypad_select
from emulator.kernels.mapper import switch_bank, switches_bank
from emulator.kernels.ppu_access import PICTURE_PLAIN, STATUS_MARGIN, STATUS_PLAIN
from emulator.kernels.registers import Bases, Registers
from emulator.machine import Console

READ = isa.READ
READ16 = isa.READ16
# M-cycles of the longest instruction
LONGEST = max(row.m_cycles + row.taken_extra for row in isa.INSTRUCTIONS)
PLAIN_IO = 0x0FED  # FF40-FF4B without STAT and LY: bytes that reads return as they lie there
PLAIN_PICTURE = 0x0B8C  # SCY SCX BGP OBP0 OBP1 WX


@wp.func(inline=True)
def set_ime(r: wp.ref[Registers], c: wp.ref[Console], kind: U):
    """EI, DI and RETI."""
    if switches_interrupts(kind):
        if switch_interrupts(c, r.mem, kind, r.now) != U(0):
            r.deadline = r.now
        r.asked = U(0)


@wp.func(inline=True)
def select_buttons(r: wp.ref[Registers], c: wp.ref[Console], value: U, ctl: U, start: U):
    """A write to P1."""
    cycle = (ctl >> U(isa.WRITE_CYCLE_SHIFT)) & U(7)
    if joypad_select(c, r.mem, value, start + cycle - U(1)) != U(0):
        r.deadline = r.now  # an interrupt is requested
        c.deadline = r.now


@wp.func(inline=True)
def set_bank(r: wp.ref[Registers], c: wp.ref[Console], a: U, value: U):
    """A write to 2000-3FFF, if it only changes the ROM bank at 4000."""
    if c.dma_state == U(0) and switches_bank(c):
        switch_bank(c, a, value)
        r.rom_high = c.rom_high
        r.asked = U(0)


@wp.func(inline=True)
def stores_plainly(r: wp.ref[Registers], a: U, p: Q, value: U, wide: wp.bool, start: U) -> wp.bool:
    """True for VRAM while it is open, and for picture registers if they are plain memory, too."""
    until = earlier(r.vram_until, r.deadline)
    plain = (a & U(0xFFF0)) == U(0xFF40) and ((U(PLAIN_PICTURE) >> (a & U(15))) & U(1)) != U(0)
    if a == U(0xFF40):
        plain = ((ld8(p) ^ value) & U(0xA0)) == U(0)  # neither the LCD's switch nor the window's
    plain = plain and not wide and (r.fast & PICTURE_PLAIN) != U(0)
    return (plain or (a & U(0xE000)) == U(0x8000)) and I(until - start) >= I(LONGEST)


@wp.func(inline=True)
def read_or_ask(
    r: wp.ref[Registers], b: wp.ref[Bases], a: U, p: Q, ctl: U, splits: wp.bool, wide: wp.bool
):
    """Read the operand of the instruction at `r.now` where it is not always plain memory.

    While nothing is due within the instruction VRAM may be open, and some I/O registers read as
    they lie there. `attend` has to be asked for all else.
    """
    until = earlier(r.vram_until, r.deadline)
    is_open = I(until - r.now) >= I(LONGEST)
    vram = (a & U(0xE000)) == U(0x8000) and is_open and not splits
    hblank = r.vram_until - U(STATUS_MARGIN)  # its end
    status = a == U(0xFF41) and (r.fast & STATUS_PLAIN) != U(0) and I(hblank - r.now) >= I(LONGEST)
    picture = (a & U(0xFFF0)) == U(0xFF40) and ((U(PLAIN_IO) >> (a & U(15))) & U(1)) != U(0)
    calm = I(r.deadline - r.now) >= I(LONGEST) and not wide
    if vram or (calm and (picture or status or a == U(0xFF00))):
        r.memory = ld8_if(p, r.memory, ctl & U(READ), ctl & U(READ16))
    joypad = a == U(0xFF00) and (r.memory & U(SETTLED)) != U(0)
    if vram:
        r.stable = r.now  # who may read VRAM changes
    elif calm and status:
        r.stable = earlier(r.stable, hblank)
    elif not (calm and (picture or joypad)):
        st128(r.mem + Q(b.scratch), a, U(0), ctl, r.now)
        r.asked = U(ASK_READ)
