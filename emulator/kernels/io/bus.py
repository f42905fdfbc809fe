"""Slow half of the bus: I/O, VRAM, OAM, disabled cartridge RAM, DMA conflicts.

Accesses to ROM, WRAM, HRAM and enabled cartridge RAM never come here (sm83/data_path.py). `t` is the end of
the access's M-cycle. The access sees the console as it was when that M-cycle began: every access first runs
the events due by then.
https://gbdev.io/pandocs/Memory_Map.html
"""

import warp as wp

from emulator.constants import CART_RAM, ECHO, INTERRUPT_MASK, IO, OAM, P1, ROW_ORIGIN, UNUSABLE, VRAM, WRAM
from emulator.kernels.intrinsics import FAR, I, Q, U, ld8, st8
from emulator.kernels.io.hardware_events import catch_up, set_deadline
from emulator.kernels.io.joypad import joypad_read, joypad_rest, joypad_select, joypad_settle
from emulator.kernels.io.oam_dma import dma_byte, dma_conflict, dma_holds_oam, dma_sync, dma_write
from emulator.kernels.io.serial import (
    serial_data,
    serial_div_write,
    serial_edges,
    serial_write_control,
    serial_write_data,
)
from emulator.kernels.io.sound_registers import apu_read, apu_store, apu_write
from emulator.kernels.io.timer import div_read, timer_div_write, timer_stable, timer_sync, timer_write
from emulator.kernels.memory import io_registers as io
from emulator.kernels.memory.address_map import address_in, is_flat, peek_memory
from emulator.kernels.memory.io_registers import io_get, io_set
from emulator.kernels.memory.mapper import cart_ram_read, cart_ram_write, mapper_write
from emulator.kernels.ppu.lcd_registers import ppu_before_if_write, ppu_read, ppu_write
from emulator.kernels.ppu.oam_corruption import ppu_oam_refused_read, ppu_oam_write
from emulator.kernels.ppu.vram_oam_access import ppu_oam_access, ppu_vram_access
from emulator.state.batch import Console

# Kinds of OAM corruption (https://gbdev.io/pandocs/OAM_Corruption_Bug.html)
OAM_BUG_WRITE = 0
OAM_BUG_READ = 1
OAM_BUG_READ_INCREASE = 2


@wp.struct
class BusLocals:
    value: wp.uint32
    stable: wp.uint32
    edges: wp.uint32
    access: wp.uint32
    moved: wp.uint32


@wp.func
def io_read(c: wp.ref[Console], mem: Q, rom: Q, register: U, t: U) -> U:
    """Return register FF00 + `register` as the CPU reads it in the M-cycle that ends at `t`.

    `c.stable` becomes the time until which the value certainly stays the same.
    """
    o = BusLocals()
    o.value = U(0xFF)
    began = t - U(1)
    if register >= U(io.HRAM):
        o.value = io_get(mem, register)
    elif register >= U(io.END):
        o.value = U(0xFF)
    elif register == U(io.DMA):
        o.value = io_get(mem, register)
    elif register >= U(io.LCDC):
        o.value = ppu_read(c, mem, register, t)
    elif register >= U(io.NR10):
        o.value = apu_read(c, mem, register, began)
        c.stable = t
    elif register == U(io.IF):
        o.value = io_get(mem, register) | U(0xE0)
    elif register == U(io.P1):
        o.value = joypad_read(c, mem, began)
    elif register == U(io.DIV):
        o.value = div_read(c, began)
        c.stable = timer_stable(c, mem, register, began) + U(1)
    elif register == U(io.TIMA):
        timer_sync(c, mem, began)
        o.value = io_get(mem, register)
        c.stable = timer_stable(c, mem, register, began) + U(1)
    elif register == U(io.TMA):
        o.value = io_get(mem, register)
    elif register == U(io.TAC):
        o.value = io_get(mem, register) | U(0xF8)
    elif register == U(io.SB):
        o.value = serial_data(c, mem, began)
        if c.serial_active != U(0):
            c.stable = t
    elif register == U(io.SC):
        o.value = io_get(mem, register) | U(0x7E)
    return o.value


@wp.func
def div_write(c: wp.ref[Console], mem: Q, t: U):
    """Apply a write to DIV, which clears the divider: timer, serial clock and APU frame sequencer may see an edge."""
    o = BusLocals()
    o.edges = U(0)
    if c.serial_active != U(0):
        o.edges = serial_edges(c, t) + (((t - c.div_zero) >> U(5)) & U(1))
    apu_write(c, mem, U(io.DIV), U(0), t)
    timer_div_write(c, mem, t)
    serial_div_write(c, mem, o.edges, t)


@wp.func(inline=True)
def io_write_here(c: wp.ref[Console], mem: Q, rom: Q, register: U, value: U, t: U) -> U:
    """Write register FF00 + `register`, after all events due before; return 1 if the deadline may have moved.

    The caller must then compute it anew.
    """
    o = BusLocals()
    began = t - U(1)
    o.moved = U(0)
    if register >= U(io.HRAM):
        io_set(mem, register, value)
        o.moved = wp.where(register == U(io.IE), U(1), U(0))
    elif register >= U(io.LCDC):
        if register == U(io.DMA):
            dma_write(c, mem, rom, value, t)
            o.moved = U(1)
        elif register < U(io.END):
            o.moved = ppu_write(c, mem, register, value, t)
    elif register >= U(io.NR10):
        if not apu_store(c, mem, register, value):
            apu_write(c, mem, register, value, began)
    elif register == U(io.P1):
        o.moved = wp.where(joypad_select(c, mem, value, began) != U(0), U(1), U(0))
    else:
        write_low_register(c, mem, register, value, t)
        o.moved = U(1)
    return o.moved


@wp.func(inline=False)
def io_write(c: wp.ref[Console], mem: Q, rom: Q, register: U, value: U, t: U) -> U:
    """Call `io_write_here` without inlining it, which keeps hot code short."""
    return io_write_here(c, mem, rom, register, value, t)


@wp.func(inline=False)
def write_low_register(c: wp.ref[Console], mem: Q, register: U, value: U, t: U):
    """Write register FF01-FF0F (serial port, timer, IF) in the M-cycle that ends at `t`."""
    began = t - U(1)
    if register == U(io.IF):
        ppu_before_if_write(c, mem, t)
        io_set(mem, register, value & U(INTERRUPT_MASK))
    elif register == U(io.SB):
        serial_write_data(c, mem, value, began)
    elif register == U(io.SC):
        serial_write_control(c, mem, value, began)
    elif register == U(io.DIV):
        div_write(c, mem, began)
    elif register >= U(io.TIMA) and register <= U(io.TAC):
        timer_write(c, mem, register, value, began)


@wp.func
def oam_read(c: wp.ref[Console], mem: Q, a: U, t: U, bug: U) -> U:
    """Return the byte at FE00-FEFF as the CPU reads it: FF while OAM is blocked, 00 beyond its 160 bytes.

    `bug`: kind of OAM corruption that the access causes in mode 2.
    """
    o = BusLocals()
    o.value = U(0xFF)
    c.stable = t
    if not dma_holds_oam(c, t):
        if ppu_oam_access(c, mem, a, t, U(0)) != U(0):
            o.value = U(0)
            if a < U(UNUSABLE):
                o.value = ld8(mem + Q(a - U(ROW_ORIGIN)))
        else:
            ppu_oam_refused_read(c, mem, a, t, bug)
    return o.value


@wp.func
def oam_write(c: wp.ref[Console], mem: Q, a: U, value: U, t: U):
    if not dma_holds_oam(c, t):
        ppu_oam_write(c, mem, a, value, t)


@wp.func(inline=False)
def bus_read(c: wp.ref[Console], mem: Q, rom: Q, a: U, t: U, bug: U) -> U:
    """Return the byte at address `a` as the CPU reads it in the M-cycle that ends at `t`.

    `bug`: kind of OAM corruption that the access causes in mode 2.
    """
    o = BusLocals()
    o.value = U(0xFF)
    if is_flat(c):
        o.value = ld8(address_in(c, mem, rom, a))
    else:
        began = t - U(1)
        if I(began - c.deadline) >= I(0):
            catch_up(c, mem, rom, began)
        c.stable = t + FAR
        if dma_conflict(c, a, t):
            o.value = dma_byte(c, mem, rom, t)
            c.stable = t
        elif a >= U(IO):
            o.value = io_read(c, mem, rom, a & U(255), t)
        elif a >= U(OAM):
            o.value = oam_read(c, mem, a, t, bug)
        elif a >= U(ECHO):
            o.value = ld8(mem + Q(a - U(0xA000)))
        elif a >= U(WRAM) or a < U(VRAM):
            o.value = ld8(address_in(c, mem, rom, a))
        elif a >= U(CART_RAM):
            o.value = cart_ram_read(c, mem, a, began)
        else:
            o.access = ppu_vram_access(c, mem, a, t, U(0))
            if o.access != U(0):
                o.value = ld8(mem + Q(a - wp.where(o.access == U(2), U(0x9000), U(0x8000))))
            c.stable = t
    return o.value


@wp.func(inline=False)
def bus_write(c: wp.ref[Console], mem: Q, rom: Q, a: U, value: U, t: U):
    """Write `value` to address `a` as the CPU does in the M-cycle that ends at `t`."""
    if is_flat(c):
        st8(address_in(c, mem, rom, a), value)
    else:
        began = t - U(1)
        if I(began - c.deadline) >= I(0):
            catch_up(c, mem, rom, began)
        if c.dma_state != U(0) and a < U(OAM):
            dma_sync(c, mem, rom, t - U(1))  # the transfer reads the old byte
        if a >= U(IO):
            if io_write(c, mem, rom, a & U(255), value, t) != U(0):
                set_deadline(c, mem, t)
        elif a >= U(OAM):
            oam_write(c, mem, a, value, t)
        elif dma_conflict(c, a, t):
            c.stable = t  # the byte is lost on the occupied bus
        elif a >= U(WRAM):
            st8(mem + Q(a - wp.where(a >= U(ECHO), U(0xA000), U(0x8000))), value)
        elif a < U(VRAM):
            mapper_write(c, a, value, began)
        elif a >= U(CART_RAM):
            cart_ram_write(c, mem, a, value, began)
        elif ppu_vram_access(c, mem, a, t, U(1)) != U(0):
            st8(mem + Q(a - U(ROW_ORIGIN)), value)


@wp.func
def peek_bus(c: wp.ref[Console], mem: Q, rom: Q, a: U, t: U) -> U:
    """Return the byte at address `a` without access blocking, bus conflicts or side effects."""
    o = BusLocals()
    o.value = U(0)
    if a == U(P1):
        o.value = joypad_read(c, mem, t - U(1))
        joypad_settle(c, mem, t - U(1))
        joypad_rest(mem)
    elif a > U(IO):
        o.value = io_read(c, mem, rom, a & U(255), t)
    elif a >= U(UNUSABLE):
        o.value = U(0)
    elif a >= U(OAM):
        o.value = ld8(mem + Q(a - U(ROW_ORIGIN)))
    else:
        o.value = peek_memory(c, mem, rom, a, t)
    c.stable = U(0)
    return o.value
