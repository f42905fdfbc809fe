"""Beginning and end of a launch, whichever executor runs the instructions in between.

A launch of F frames ends at the first instruction boundary at or after F * M_CYCLES_PER_FRAME; the overshoot
stays in `now`. All lazily updated state is advanced to that boundary and all times are re-based, so that the
state does not depend on how a run is cut into launches.
"""

import warp as wp

from emulator.constants import BOUNCING, M_CYCLES_PER_FRAME
from emulator.kernels.intrinsics import FAR, Q, U
from emulator.kernels.io.joypad import BOUNCES, joypad_hold, joypad_rest, joypad_settle
from emulator.kernels.io.oam_dma import dma_sync
from emulator.kernels.io.sound_registers import apu_sync
from emulator.kernels.io.timer import timer_sync
from emulator.kernels.memory.mapper import FLAT, HUC3, MBC3
from emulator.kernels.memory.mbc3_clock import RTC_HALT, rtc_sync
from emulator.kernels.ppu.lcd_registers import ppu_launch_begin, ppu_launch_end
from emulator.state.batch import RUNNING, STOPPED, TRAP_STEP, TRAP_STEPPED, Console

DIVIDER_MASK = 0x3FFF  # the 16-bit divider in M-cycles


@wp.struct
class FrameLocals:
    end: wp.uint32
    release: wp.uint32


@wp.func(inline=False)
def launch_begin(c: wp.ref[Console], mem: Q, buttons: U, frames: U, release_after: U):
    """Begin a launch of `frames` frames with the joypad mask `buttons` held for `release_after` frames.

    0, or at least `frames`, holds them to the end. With the bit BOUNCING in it, switches bounce.
    """
    o = FrameLocals()
    after = release_after & U(BOUNCING - 1)
    if (release_after & U(BOUNCING)) != U(0):
        c.buttons = c.buttons | U(BOUNCES)
    if c.trap == U(TRAP_STEPPED):
        c.trap = U(TRAP_STEP)
    o.end = frames * U(M_CYCLES_PER_FRAME)
    o.release = FAR
    if after > U(0) and after < frames:
        o.release = after * U(M_CYCLES_PER_FRAME)
    if c.mapper != U(FLAT):
        joypad_hold(c, mem, buttons, c.now)
    if c.trap == U(TRAP_STEP):
        o.end = c.now + FAR
    c.launch_end = o.end
    c.release_at = o.release
    c.work = U(0)
    c.deadline = c.now
    ppu_launch_begin(c, mem, frames)


@wp.func(inline=False)
def launch_end(c: wp.ref[Console], mem: Q, rom: Q, frames: U):
    """Advance the console's timers, PPU and sound to `c.now`, and subtract the launch's length from every time."""
    now = c.now
    timer_sync(c, mem, now)
    apu_sync(c, mem, now)
    if c.mapper == U(MBC3) or c.mapper == U(HUC3):
        rtc_sync(c, now)
    if c.dma_state != U(0):
        dma_sync(c, mem, rom, now)
    length = wp.where(c.trap == U(TRAP_STEPPED), U(0), frames * U(M_CYCLES_PER_FRAME))
    c.now = now - length
    still = c.run_state != U(RUNNING) and (c.dma_state != U(0) or c.run_state == U(STOPPED))
    c.stop_time = wp.where(still, c.now, U(0))
    c.ei_time = wp.where(c.ime == U(2), c.ei_time - length, U(0))
    c.div_zero = c.now - ((now - c.div_zero) & U(DIVIDER_MASK))
    c.tima_mark = c.tima_mark - length
    c.timer_next = c.timer_next - length
    serial = c.serial_active != U(0)
    c.serial_start = wp.where(serial, c.serial_start - length, U(0))
    c.serial_edges = wp.where(serial, c.serial_edges, U(0))
    c.serial_end = wp.where(serial, c.serial_end - length, FAR)
    if c.dma_state != U(0):
        c.dma_start = c.dma_start - length
    if (c.mapper == U(MBC3) or c.mapper == U(HUC3)) and (c.rtc_days & U(RTC_HALT)) == U(0):
        c.rtc_zero = c.rtc_zero - length
    joypad_settle(c, mem, now)
    c.buttons = c.buttons & U(BOUNCES - 1)
    if c.joypad_target != U(0):
        c.joypad_settles = c.joypad_settles - length
    c.apu_mark = c.apu_mark - length
    if (c.apu_status & U(4)) != U(0):
        c.apu_wave_next = c.apu_wave_next - length * U(2)
    if c.mapper != U(FLAT):
        joypad_rest(mem)
    c.release_at = FAR
    c.launch_end = U(0)
    c.deadline = U(0)
    c.stable = U(0)
    ppu_launch_end(c, mem, length)
