"""Hardware events outside the CPU: all of them up to a time, and the time of the next one."""

import warp as wp

from emulator.constants import INTERRUPT_MASK
from emulator.kernels.intrinsics import FAR, I, Q, U, earlier
from emulator.kernels.io.joypad import joypad_hold
from emulator.kernels.io.oam_dma import dma_end, dma_sync
from emulator.kernels.io.serial import serial_finish
from emulator.kernels.io.timer import timer_sync
from emulator.kernels.memory import io_registers as io
from emulator.kernels.memory.io_registers import io_get
from emulator.kernels.ppu.frame_log import STOP_LEFT, get32
from emulator.kernels.ppu.lcd_registers import ppu_event
from emulator.state.batch import HALTED, RUNNING, STOPPED, TRAP_STEPPED, Console


@wp.func
def pending_interrupts(mem: Q) -> U:
    return io_get(mem, U(io.IF)) & io_get(mem, U(io.IE)) & U(INTERRUPT_MASK)


@wp.struct
class EventLocals:
    due: wp.int32
    deadline: wp.uint32


@wp.func
def next_but_dma(c: wp.ref[Console]) -> int:
    """Return the time of the next event of PPU, timer, serial port or the release of the buttons.

    The ends of an OAM DMA and of the launch are not included.
    """
    due = wp.min(I(c.ppu_next), I(c.timer_next))
    return wp.min(wp.min(due, I(c.serial_end)), I(c.release_at))


@wp.func
def next_due(c: wp.ref[Console]) -> U:
    """Return the time of the next hardware event or of the launch's end, whichever comes first."""
    o = EventLocals()
    o.due = wp.min(next_but_dma(c), I(c.launch_end))
    if c.dma_state != U(0) and c.run_state == U(RUNNING):
        o.due = wp.min(o.due, I(dma_end(c)))
    return U(o.due)


@wp.func
def shows_end(c: wp.ref[Console]) -> wp.bool:
    """Return whether the instruction after an EI may end together with the launch; `settle_ei` then sets IME.

    Otherwise IME counts as on from that time without further work.
    """
    return I(c.launch_end - c.ei_time) < I(8)


@wp.func(inline=False)
def stop_deadline(c: wp.ref[Console], mem: Q) -> U:
    """Return the time at which something happens in STOP: the PPU stands still, buttons change, the launch ends."""
    o = EventLocals()
    o.deadline = earlier(c.launch_end, c.release_at)
    if get32(mem, STOP_LEFT) != U(0):
        o.deadline = earlier(o.deadline, c.stop_time + get32(mem, STOP_LEFT))
    return o.deadline


@wp.func(inline=False)
def set_deadline(c: wp.ref[Console], mem: Q, t: U):
    """Compute `c.deadline`, the time at which the CPU must stop for an event, an interrupt or the launch's end.

    `t` is the present time.
    """
    set_deadline_here(c, mem, t)


@wp.func(inline=True)
def set_deadline_here(c: wp.ref[Console], mem: Q, t: U):
    """Store the deadline like `set_deadline`, inlined."""
    o = EventLocals()
    o.deadline = next_due(c)
    if c.run_state == U(STOPPED):
        o.deadline = stop_deadline(c, mem)
    # An interrupt can be taken with IME on, and ends HALT either way; a locked CPU ignores it.
    pending = pending_interrupts(mem) != U(0) and c.run_state <= U(HALTED)
    if pending and (c.ime == U(1) or c.run_state == U(HALTED)):
        o.deadline = t
    elif c.ime == U(2) and (pending or shows_end(c)):
        o.deadline = earlier(o.deadline, c.ei_time + U(1))
    if c.trap == U(TRAP_STEPPED):
        o.deadline = t
    c.deadline = o.deadline


@wp.func
def let_happen(c: wp.ref[Console], mem: Q, rom: Q, t: U):
    """Run the events due at or before `t`, without computing the deadline anew."""
    # Mostly nothing is due. The lanes of a warp for which something is reconverge after it.
    if is_due(c, t):
        happen(c, mem, rom, t)


@wp.func(inline=True)
def is_due(c: wp.ref[Console], t: U) -> wp.bool:
    """Return whether an event is due at or before `t`."""
    dma = c.dma_state != U(0) and I(t - dma_end(c)) >= I(0)
    return I(t) >= next_but_dma(c) or dma


@wp.func(inline=False)
def happen(c: wp.ref[Console], mem: Q, rom: Q, t: U):
    """Run all hardware events due at or before `t`, of which there is at least one."""
    happen_here(c, mem, rom, t)


@wp.func(inline=True)
def happen_here(c: wp.ref[Console], mem: Q, rom: Q, t: U):
    """Run all due events like `happen`, inlined."""
    if c.dma_state != U(0) and I(t - dma_end(c)) >= I(0):
        dma_sync(c, mem, rom, t)
    if I(t - c.ppu_next) >= I(0):
        ppu_event(c, mem, t)
    if I(t - c.timer_next) >= I(0):
        timer_sync(c, mem, t)
    if I(t - c.serial_end) >= I(0):
        serial_finish(c, mem, t)
    if I(t - c.release_at) >= I(0):
        joypad_hold(c, mem, U(0), t)
        c.release_at = t + FAR


@wp.func
def catch_up(c: wp.ref[Console], mem: Q, rom: Q, t: U):
    """Run the events due at or before `t`, then compute the deadline."""
    let_happen(c, mem, rom, t)
    set_deadline(c, mem, t)
