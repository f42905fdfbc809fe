"""What happens by itself: every event up to a time, and the time of the next one."""

import warp as wp

from emulator.kernels.dma import dma_end, dma_sync
from emulator.kernels.intrinsics import FAR, I, Q, U, earlier, io_get
from emulator.kernels.joypad import joypad_hold
from emulator.kernels.ppu import ppu_event
from emulator.kernels.serial import serial_finish
from emulator.kernels.timer import timer_sync
from emulator.machine import Console

RUNNING = 0
HALTED = 1
STOPPED = 2
LOCKED = 3

# Values of Console.trap
TRAP_LD_B_B = 1
TRAP_STEP = 2
TRAP_STEPPED = 3


@wp.func
def pending_interrupts(mem: Q) -> U:
    return io_get(mem, U(0x0F)) & io_get(mem, U(0xFF)) & U(0x1F)


@wp.struct
class EventLocals:
    deadline: wp.uint32


@wp.func
def set_deadline(c: wp.ref[Console], mem: Q, t: U):
    """Store the earliest time at which the CPU must look up from its instructions."""
    o = EventLocals()
    o.deadline = earlier(c.launch_end, c.ppu_next)
    o.deadline = earlier(o.deadline, c.timer_next)
    o.deadline = earlier(o.deadline, c.serial_end)
    o.deadline = earlier(o.deadline, c.release_at)
    if c.dma_state != U(0) and c.run_state == U(RUNNING):
        o.deadline = earlier(o.deadline, dma_end(c))
    if c.run_state == U(STOPPED):
        o.deadline = earlier(c.launch_end, c.release_at)
    if c.ime == U(2):
        o.deadline = earlier(o.deadline, c.ei_time + U(1))
    # An interrupt can be taken with IME on, and ends HALT either way; a locked CPU ignores it.
    if pending_interrupts(mem) != U(0) and c.run_state <= U(HALTED):
        if c.ime == U(1) or c.run_state == U(HALTED):
            o.deadline = t
    if c.trap == U(TRAP_STEPPED):
        o.deadline = t
    c.deadline = o.deadline


@wp.func(inline=False)
def catch_up(c: wp.ref[Console], mem: Q, rom: Q, t: U):
    """Let everything happen that is due at or before `t`, then set the deadline."""
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
    set_deadline(c, mem, t)
