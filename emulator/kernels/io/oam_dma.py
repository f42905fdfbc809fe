"""OAM DMA: 160 bytes, one an M-cycle, starting one M-cycle after the write to FF46.

Bytes are copied late, but before the difference could be seen. While a transfer runs `mapper.update_map`
sends every CPU access except HRAM through the bus, which asks here.
https://gbdev.io/pandocs/OAM_DMA_Transfer.html
"""

import warp as wp

from emulator.constants import ECHO, OAM, OAM_SIZE, ROW_OAM, VRAM
from emulator.kernels.intrinsics import ALL_ONES, I, Q, U, copy160, st8
from emulator.kernels.memory import io_registers as io
from emulator.kernels.memory.address_map import address_in, peek_memory
from emulator.kernels.memory.io_registers import io_set
from emulator.kernels.memory.mapper import update_map
from emulator.kernels.ppu.lcd_registers import ppu_oam_dma_begin
from emulator.kernels.ppu.vram_oam_access import ANY_PLAIN, ppu_oam_dma
from emulator.state.batch import Console


@wp.struct
class DmaLocals:
    done: wp.uint32
    target: wp.uint32


@wp.func
def dma_end(c: wp.ref[Console]) -> U:
    """Return the time at which the transfer's last M-cycle is over."""
    return c.dma_start + U(OAM_SIZE)


@wp.func
def dma_running(c: wp.ref[Console], t: U) -> wp.bool:
    """Return whether the M-cycle that ends at `t` copies a byte."""
    since = I(t - c.dma_start)
    return c.dma_state != U(0) and since > I(0) and since <= I(OAM_SIZE)


@wp.func(inline=False)
def dma_sync(c: wp.ref[Console], mem: Q, rom: Q, t: U):
    """Copy all bytes whose M-cycles have ended by time `t`; end the transfer after the last one."""
    o = DmaLocals()
    o.target = U(0)
    if I(t - c.dma_start) > I(0):
        o.target = wp.min(t - c.dma_start, U(OAM_SIZE))
    o.done = c.dma_done
    source = c.dma_source
    oam = mem + Q(U(ROW_OAM))
    plain = (source & U(0xE000)) != U(0xA000) or (c.fast & U(0x20)) != U(0)
    if o.target > o.done:
        ppu_oam_dma(c, mem, t)
        if plain and o.done == U(0) and o.target == U(OAM_SIZE):
            copy160(oam, address_in(c, mem, rom, source))
        else:
            while o.done < o.target:
                st8(oam + Q(o.done), peek_memory(c, mem, rom, source + o.done, t))
                o.done = o.done + U(1)
    c.dma_done = o.target
    if I(t - dma_end(c)) >= I(0):
        c.dma_state = U(0)
        c.dma_start = U(0)
        c.dma_source = U(0)
        c.dma_done = U(0)
        c.dma_blocked = U(0)
        update_map(c)


@wp.func
def dma_begin(c: wp.ref[Console], mem: Q, value: U, t: U, restart: U) -> U:
    """Apply the immediate effects of a write of `value` to FF46 at `t`; return the transfer's source address.

    `restart`: 1 if an older transfer runs until this one starts.
    """
    io_set(mem, U(io.DMA), value)
    source = value << U(8)
    ppu_oam_dma_begin(c, mem, t, restart)
    return wp.where(source >= U(ECHO), source - U(0x2000), source)


@wp.func
def dma_request(c: wp.ref[Console], source: U, t: U):
    """Schedule a transfer from address `source`, as after a write to FF46 at time `t`."""
    c.dma_state = U(1)
    c.dma_source = source
    c.dma_start = t + U(1)
    c.dma_done = U(0)
    update_map(c)


@wp.func(inline=False)
def dma_write(c: wp.ref[Console], mem: Q, rom: Q, value: U, t: U):
    """Write FF46 at time `t`; a running transfer goes on until the new one starts."""
    running = dma_running(c, t)
    if c.dma_state != U(0):
        dma_sync(c, mem, rom, t + U(1))
    c.dma_blocked = wp.where(running, U(1), U(0))
    dma_request(c, dma_begin(c, mem, value, t, c.dma_blocked), t)


@wp.func
def dma_copies_whole(source: U) -> wp.bool:
    """Return whether all 160 bytes can be copied at once: not from cartridge RAM, which may be disabled or a clock."""
    return (source & U(0xE000)) != U(0xA000)


@wp.func
def dma_whole(c: wp.ref[Console], mem: Q, rom: Q, source: U, t: U):
    """Copy a whole transfer that ends at `t` and of which the program has noticed nothing."""
    ppu_oam_dma(c, mem, t)
    copy160(mem + Q(U(ROW_OAM)), address_in(c, mem, rom, source))
    c.fast = c.fast & (ALL_ONES ^ ANY_PLAIN)  # the result of `update_map`


@wp.func
def dma_holds_oam(c: wp.ref[Console], t: U) -> wp.bool:
    """Return whether the transfer blocks the CPU's access to OAM in the M-cycle that ends at `t`."""
    older = c.dma_blocked != U(0) and I(t - c.dma_start) <= I(0)
    return dma_running(c, t) or (c.dma_state != U(0) and older)


@wp.func
def dma_conflict(c: wp.ref[Console], a: U, t: U) -> wp.bool:
    """Return whether a CPU access to `a` uses the bus that the transfer reads from (VRAM has its own)."""
    running = dma_running(c, t)
    source_in_vram = (c.dma_source & U(0xE000)) == U(VRAM)
    access_in_vram = (a & U(0xE000)) == U(VRAM)
    return running and a < U(OAM) and source_in_vram == access_in_vram


@wp.func
def dma_byte(c: wp.ref[Console], mem: Q, rom: Q, t: U) -> U:
    """Return the byte that the transfer copies in the M-cycle that ends at `t`."""
    return peek_memory(c, mem, rom, c.dma_source + (t - U(1) - c.dma_start), t)
