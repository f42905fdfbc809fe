"""Rare instructions that are simple enough to be executed in the hot loop itself, without the service.

That is possible only while no event is due within the instruction (`Registers.due`).
"""

import warp as wp

from emulator.constants import LCDC, NR10, P1, STAT
from emulator.kernels.intrinsics import I, Q, U, earlier, ld8
from emulator.kernels.io.joypad import SETTLED, joypad_read, joypad_select
from emulator.kernels.io.sound_registers import apu_store
from emulator.kernels.memory.mapper import switch_bank, switches_bank
from emulator.kernels.ppu.vram_oam_access import PICTURE_PLAIN, STATUS_MARGIN, STATUS_PLAIN
from emulator.kernels.sm83.cpu_registers import PLAIN_IO, Registers, fall_due, open_p1
from emulator.kernels.sm83.interrupts import switch_interrupts, switches_interrupts
from emulator.rom import control_rows, isa
from emulator.state.batch import Console

LONGEST = isa.LONGEST
PLAIN_PICTURE = 0x0B8C  # SCY SCX BGP OBP0 OBP1 WX


@wp.func(inline=True)
def set_ime(r: wp.ref[Registers], c: wp.ref[Console], kind: U) -> wp.bool:
    """Set IME for EI, DI or RETI; return False for another operation."""
    done = switches_interrupts(kind)
    if done:
        if switch_interrupts(c, r.mem, kind, r.now) != U(0):
            fall_due(r)
    return done


@wp.func(inline=True)
def select_buttons(r: wp.ref[Registers], c: wp.ref[Console], value: U, ctl: U, start: U):
    """Write `value` to P1 for the instruction that began at `start`."""
    cycle = (ctl >> U(control_rows.WRITE_CYCLE_SHIFT)) & U(7)
    if joypad_select(c, r.mem, value, start + cycle - U(1)) != U(0):
        fall_due(r)  # an interrupt is requested
        c.deadline = r.now
    open_p1(r)


@wp.func(inline=True)
def set_bank(r: wp.ref[Registers], c: wp.ref[Console], a: U, value: U) -> wp.bool:
    """Write `value` to 2000-3FFF; return False, with nothing done, if that may do more than select the bank at 4000."""
    done = c.dma_state == U(0) and switches_bank(c)
    if done:
        switch_bank(c, a, value & U(255))
        r.rom_high = c.rom_high
    return done


@wp.func(inline=True)
def stores_plainly(r: wp.ref[Registers], a: U, p: Q, value: U, wide: wp.bool, start: U) -> wp.bool:
    """Return whether a write to `a` only changes a picture register's byte, with no other effect now."""
    until = earlier(r.vram_until, r.due)
    plain = (a & U(0xFFF0)) == U(LCDC) and ((U(PLAIN_PICTURE) >> (a & U(15))) & U(1)) != U(0)
    if a == U(LCDC):
        plain = ((ld8(p) ^ value) & U(0xA0)) == U(0)  # neither the LCD's nor the window's enable bit
    plain = plain and not wide and (r.fast & PICTURE_PLAIN) != U(0)
    return plain and I(until - start) >= I(LONGEST)


@wp.func(inline=True)
def reads_plainly(r: wp.ref[Registers], a: U, start: U) -> wp.bool:
    """Return whether the byte in the memory row, `r.memory`, is what a read of I/O register `a` returns.

    It is for some registers while no event is due within the instruction.
    """
    hblank = r.vram_until - U(STATUS_MARGIN)  # end of HBlank
    status = a == U(STAT) and (r.fast & STATUS_PLAIN) != U(0) and I(hblank - start) >= I(LONGEST)
    picture = (a & U(0xFFF0)) == U(LCDC) and ((U(PLAIN_IO) >> (a & U(15))) & U(1)) != U(0)
    joypad = a == U(P1) and (r.memory & U(SETTLED)) != U(0)
    plain = (status or picture or joypad) and I(r.due - start) >= I(LONGEST)
    if plain and status:
        r.stable = earlier(r.stable, hblank)
    return plain


@wp.func(inline=True)
def read_buttons(r: wp.ref[Registers], c: wp.ref[Console], start: U, cycle: U) -> wp.bool:
    """Read P1 into `r.memory` in M-cycle `cycle` of the instruction that began at `start`.

    Programs do so right after they select a row, while its lines still rise. Returns False, with nothing done, if an
    event is near.
    """
    here = I(r.due - start) >= I(LONGEST)
    if here:
        c.stable = r.stable
        r.memory = joypad_read(c, r.mem, start + cycle - U(1))
        r.stable = c.stable
        open_p1(r)
    return here


@wp.func(inline=True)
def write_sound(r: wp.ref[Registers], c: wp.ref[Console], a: U, value: U, start: U) -> wp.bool:
    """Write `value` to FF10-FF3F; return False, with nothing done, for another address or if time matters."""
    here = a - U(NR10) < U(LCDC - NR10) and I(r.due - start) >= I(LONGEST)
    return here and apu_store(c, r.mem, a & U(255), value)
