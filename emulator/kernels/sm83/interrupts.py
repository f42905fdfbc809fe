"""Interrupt dispatch, HALT, STOP: the work between two instructions.
https://gbdev.io/pandocs/Interrupts.html, https://gbdev.io/pandocs/halt.html"""

import warp as wp

from emulator.constants import HRAM, INTERRUPT_MASK, INTERRUPT_TIMER, ROW_ORIGIN, WRAM
from emulator.kernels.intrinsics import ALL_ONES, I, Q, U, st8
from emulator.kernels.io.bus import bus_write, div_write
from emulator.kernels.io.hardware_events import (
    happen_here,
    is_due,
    let_happen,
    next_due,
    pending_interrupts,
    set_deadline,
    set_deadline_here,
    shows_end,
)
from emulator.kernels.io.joypad import joypad_lines, joypad_settle
from emulator.kernels.memory import io_registers as io
from emulator.kernels.memory.io_registers import io_get, io_set
from emulator.kernels.memory.mapper import FLAT, update_map
from emulator.kernels.ppu.frame_log import STOP_LEFT, get32
from emulator.kernels.ppu.lcd_registers import ppu_oam_dma_halt, ppu_oam_dma_resume, ppu_stand_still, ppu_stop
from emulator.rom import control_rows
from emulator.state.batch import (
    HALTED,
    LOCKED,
    RUNNING,
    STOPPED,
    TRAP_LD_B_B,
    TRAP_STEP,
    TRAP_STEPPED,
    TRAP_TICK,
    Console,
)

EI = control_rows.SLOW_KINDS["ei"]
DI = control_rows.SLOW_KINDS["di"]
HALT = control_rows.SLOW_KINDS["halt"]
RETI = control_rows.SLOW_KINDS["reti"]
STOP = control_rows.SLOW_KINDS["stop"]
LOCK = control_rows.SLOW_KINDS["lock"]


@wp.struct
class ServiceLocals:
    bit: wp.uint32
    enabled: wp.uint32
    more: wp.uint32
    done: wp.uint32
    pc: wp.uint32


@wp.func(inline=False)
def push_slowly(c: wp.ref[Console], mem: Q, rom: Q, sp: U) -> U:
    """Push PC through the bus, byte by byte; return IE as it is between the two bytes."""
    now = c.now
    pc = c.pc
    bus_write(c, mem, rom, (sp + U(1)) & U(0xFFFF), pc >> U(8), now + U(4))
    enabled = io_get(mem, U(io.IE))
    bus_write(c, mem, rom, sp, pc & U(0xFF), now + U(5))
    return enabled


@wp.func
def dispatch(c: wp.ref[Console], mem: Q, rom: Q):
    """Dispatch an interrupt in five M-cycles: three idle, PC high, PC low.

    The vector is chosen between the two pushes, so that a push to IE can change or cancel it (mooneye
    acceptance/interrupts/ie_push).
    """
    o = ServiceLocals()
    now = c.now
    pc = c.pc
    sp = (c.sp - U(2)) & U(0xFFFF)
    o.enabled = io_get(mem, U(io.IE))
    # Both bytes in WRAM or HRAM, no DMA, nothing due meanwhile: the time of the stores has no effect.
    plain = sp - U(WRAM) < U(0x1FFF) or sp - U(HRAM) < U(0x7E)
    if plain and c.dma_state == U(0) and I(now + U(4) - next_due(c)) < I(0):
        p = mem + Q(sp - U(ROW_ORIGIN))
        st8(p, pc & U(0xFF))
        st8(p + Q(1), pc >> U(8))
    else:
        o.enabled = push_slowly(c, mem, rom, sp)
    requested = io_get(mem, U(io.IF))
    pending = requested & o.enabled & U(INTERRUPT_MASK)
    first = pending & (U(0) - pending)
    io_set(mem, U(io.IF), requested & (U(0xFF) ^ first))
    # The number of the lowest bit; 0 if the push has cancelled everything.
    number = wp.where((first & U(0x0A)) != U(0), U(1), U(0))
    number = number | wp.where((first & U(0x0C)) != U(0), U(2), U(0))
    number = number | wp.where((first & U(0x10)) != U(0), U(4), U(0))
    c.pc = wp.where(first != U(0), U(0x40) + (number << U(3)), U(0))
    c.sp = sp
    c.ime = U(0)
    c.now = now + U(5)


@wp.func
def delay_divider(c: wp.ref[Console], span: U):
    """Move the divider, and all that it clocks, `span` M-cycles later."""
    c.div_zero = c.div_zero + span
    c.tima_mark = c.tima_mark + span
    c.timer_next = c.timer_next + span
    c.apu_mark = c.apu_mark + span
    if (c.apu_status & U(4)) != U(0):
        c.apu_wave_next = c.apu_wave_next + span * U(2)
    if c.serial_active != U(0):
        c.serial_start = c.serial_start + span
        c.serial_end = c.serial_end + span


@wp.func
def dma_stand_still(c: wp.ref[Console], t: U):
    """Delay an OAM DMA, which the CPU clocks, by the time from the CPU's stop to `t`."""
    if c.dma_state != U(0):
        c.dma_start = c.dma_start + t - c.stop_time
        c.stop_time = t


@wp.func(inline=False)
def stand_still(c: wp.ref[Console], mem: Q, t: U):
    """Delay up to instruction boundary `t` all hardware that stood still with a halted or stopped CPU.

    In HALT that is an OAM DMA; in STOP all but the joypad and the cartridge's clock, the PPU after some time.
    https://gbdev.io/pandocs/Reducing_Power_Consumption.html
    """
    if c.run_state == U(STOPPED):
        span = t - c.stop_time
        if span != U(0):
            delay_divider(c, span)
            dma_stand_still(c, t)
            ppu_stand_still(c, mem, c.stop_time, t)
            c.stop_time = t
    elif c.run_state != U(RUNNING):
        dma_stand_still(c, t)


@wp.func(inline=False)
def wake_from_stop(c: wp.ref[Console], mem: Q) -> U:
    """End STOP if a selected P1 line is low and the PPU stands still; return 1 if so, else 0."""
    o = ServiceLocals()
    o.more = U(0)
    if get32(mem, STOP_LEFT) == U(0) and joypad_lines(io_get(mem, U(io.P1)), c.buttons) != U(15):
        # Seen one M-cycle later; PPU and OAM DMA go on one after that, the first opcode is fetched one later still.
        stand_still(c, mem, c.now + U(2))
        c.run_state = U(RUNNING)
        if c.ime != U(0):
            delay_divider(c, ALL_ONES)  # goes on one earlier
        if c.dma_state != U(0):
            ppu_oam_dma_resume(c, mem, c.now + U(2), c.dma_start)
        c.now = c.now + U(3)
        c.stop_time = U(0)
        o.more = U(1)
    return o.more


@wp.func(inline=False)
def dma_goes_on(c: wp.ref[Console], mem: Q, late: U):
    """Resume an OAM DMA when HALT ends at `c.now`; `late` is 1 if leaving HALT took an extra M-cycle."""
    if late == U(0):
        c.dma_start = c.dma_start - U(1)  # the last M-cycle of HALT moves a byte
    ppu_oam_dma_resume(c, mem, c.now, c.dma_start)


@wp.func
def wake(c: wp.ref[Console], mem: Q, pending: U) -> U:
    """End HALT because an enabled interrupt is requested; return 1 if that took an extra M-cycle, else 0."""
    o = ServiceLocals()
    c.run_state = U(RUNNING)
    # A halted CPU samples requests in the middle of the M-cycle, 2 T-cycles after a running
    # A halted CPU samples requests in the middle of the M-cycle, 2 T-cycles after a running one: only a request that
    # the PPU made in the first half wakes it without delay. (mooneye ppu/hblank_ly_scx_timing; gbmicrotest
    # int_timer_halt)
    o.more = wp.where(c.ppu_late == c.now or pending >= U(INTERRUPT_TIMER), U(1), U(0))
    c.now = c.now + o.more
    if c.dma_state != U(0):
        dma_goes_on(c, mem, o.more)
    c.stop_time = U(0)
    return o.more


@wp.func
def settle_ei(c: wp.ref[Console], over: wp.bool):
    """Set IME from 2 (EI executed) to 1 (on) if the instruction after the EI is `over`."""
    if c.ime == U(2) and over:
        c.ime = U(1)


@wp.func
def go_on(c: wp.ref[Console], mem: Q, rom: Q) -> U:
    """Wake the CPU or dispatch an interrupt at `c.now`, with no event due; return 1 if this must be repeated."""
    o = ServiceLocals()
    o.more = U(0)
    pending = pending_interrupts(mem)
    if c.run_state == U(HALTED) and pending != U(0):
        o.more = wake(c, mem, pending)
    elif c.run_state == U(STOPPED):
        o.more = wake_from_stop(c, mem)
    if o.more == U(0):
        o.done = U(0)
        if c.run_state == U(RUNNING) and c.ime == U(1) and pending != U(0):
            dispatch(c, mem, rom)
            o.done = U(1)
        set_deadline_here(c, mem, c.now)
        if c.run_state != U(RUNNING):
            c.now = c.deadline
            o.more = U(1)
        elif o.done != U(0) and I(c.now - c.deadline) >= I(0):
            o.more = U(1)
    return o.more


@wp.func
def between_instructions(c: wp.ref[Console], mem: Q, rom: Q) -> U:
    """Run due events and interrupts at the instruction boundary `c.now`.

    Returns 0 to continue with an instruction, 1 to call again, 2 if the launch is over.
    """
    o = ServiceLocals()
    o.more = U(2)
    if c.run_state > U(HALTED) or c.dma_state != U(0):
        stand_still(c, mem, c.now)
    if is_due(c, c.now):
        happen_here(c, mem, rom, c.now)
    over = I(c.now - c.launch_end) >= I(0)
    settle_ei(c, wp.where(over, not shows_end(c), I(c.now - c.ei_time) > I(0)))
    if not over:
        o.more = go_on(c, mem, rom)
    return o.more


@wp.func(inline=True)
def act_at_deadline(c: wp.ref[Console], mem: Q, rom: Q) -> U:
    """Run events and interrupts until the CPU can execute again; return 1 if the launch is over, else 0."""
    o = ServiceLocals()
    o.done = c.stopped
    if c.trap == U(TRAP_STEPPED):
        o.done = U(1)
    elif c.mapper == U(FLAT):
        c.trap = U(TRAP_STEPPED)
        c.deadline = c.now + U(1)
    elif o.done == U(0):
        o.more = U(1)
        while o.more == U(1):
            o.more = between_instructions(c, mem, rom)
        if o.more == U(2):
            o.done = U(1)
        elif c.trap == U(TRAP_STEP):
            c.trap = U(TRAP_STEPPED)
            c.deadline = c.now + U(1)
    return o.done


@wp.func
def hold_cpu(c: wp.ref[Console], mem: Q, state: U, t: U):
    """Set the CPU to the run state `state` (halted, stopped) from time `t` on and freeze an OAM DMA."""
    c.run_state = state
    c.stop_time = t
    if c.dma_state != U(0):
        ppu_oam_dma_halt(c, mem, t)


@wp.func
def halt(c: wp.ref[Console], mem: Q, rom: Q, now: U, pc: U) -> U:
    """Execute HALT; return the new PC.

    With an interrupt pending the CPU does not halt: with IME off the next opcode byte is read twice, with IME on the
    interrupt returns to the HALT itself.
    """
    o = ServiceLocals()
    o.pc = pc
    let_happen(c, mem, rom, now)
    if pending_interrupts(mem) == U(0):
        hold_cpu(c, mem, U(HALTED), now)
        # The first M-cycle samples requests at its start only: one made in its first half wakes
        # the CPU as late as one made in its second half.
        c.ppu_late = now + U(1)
    elif c.ime == U(0):
        c.halt_bug = U(1)
        update_map(c)
    else:
        o.pc = (pc - U(1)) & U(0xFFFF)
    return o.pc


@wp.func(inline=True)
def halt_plainly(c: wp.ref[Console], mem: Q, now: U) -> wp.bool:
    """Execute HALT if no event, interrupt or OAM DMA is pending, and advance `c.now` to the next event.

    Otherwise returns False, with nothing done.
    """
    plain = not is_due(c, now) and c.dma_state == U(0) and pending_interrupts(mem) == U(0)
    plain = plain and I(now - c.launch_end) < I(0) and c.mapper != U(FLAT)
    plain = plain and c.trap != U(TRAP_STEPPED)  # a single step ends with the HALT itself
    if plain:
        settle_ei(c, I(now - c.ei_time) > I(0))
        c.run_state = U(HALTED)
        c.stop_time = now
        c.ppu_late = now + U(1)  # as in `halt`
        c.now = next_due(c)
        c.deadline = c.now
    return plain


@wp.func(inline=False)
def stop(c: wp.ref[Console], mem: Q, now: U, pc: U) -> U:
    """Execute STOP; return the new PC.

    With a P1 line low it only halts, and only if no interrupt is pending; with one pending the byte after the opcode is
    executed. https://gbdev.io/pandocs/Reducing_Power_Consumption.html#using-the-stop-instruction
    """
    o = ServiceLocals()
    pending = pending_interrupts(mem)
    joypad_settle(c, mem, now)
    o.pc = wp.where(pending != U(0), (pc - U(1)) & U(0xFFFF), pc)
    if joypad_lines(io_get(mem, U(io.P1)), c.buttons) == U(15):
        div_write(c, mem, now)
        hold_cpu(c, mem, U(STOPPED), now)
        ppu_stop(mem)
    elif pending == U(0):
        hold_cpu(c, mem, U(HALTED), now)
        c.ppu_late = now + U(1)
    return o.pc


@wp.func(inline=True)
def switches_interrupts(kind: U) -> wp.bool:
    """Return whether the operation `kind` (SLOW_KINDS) is EI, DI or RETI."""
    return kind == U(EI) or kind == U(DI) or kind == U(RETI)


@wp.func(inline=True)
def switch_interrupts(c: wp.ref[Console], mem: Q, kind: U, now: U) -> U:
    """Set IME for EI, DI or RETI that ends at `now`; return 1 if the deadline became `now`, else 0.

    At a deadline the service checks for interrupts; one that comes too early is harmless.
    """
    o = ServiceLocals()
    o.more = U(0)
    if kind != U(EI):
        c.ime = wp.where(kind == U(RETI), U(1), U(0))
    elif c.ime == U(0):
        c.ime = U(2)
        c.ei_time = now
    if kind != U(DI) and (pending_interrupts(mem) != U(0) or (kind == U(EI) and shows_end(c))):
        c.deadline = now
        o.more = U(1)
    return o.more


@wp.func(inline=False)
def control_op(c: wp.ref[Console], mem: Q, rom: Q, kind: U, now: U, pc: U, length: U) -> U:
    """Execute HALT, STOP, an undefined opcode or a breakpoint; return the new PC.

    `now` and `pc` are those after the instruction; the deadline is computed anew. EI, DI, RETI (`switch_interrupts`)
    and the common HALT (`halt_plainly`) do not come here.
    """
    o = ServiceLocals()
    o.pc = pc
    o.more = U(0)
    if kind == U(HALT):
        o.pc = halt(c, mem, rom, now, pc)
        o.more = U(1)
    elif kind == U(STOP):
        let_happen(c, mem, rom, now)
        o.pc = stop(c, mem, now, pc)
        o.more = U(1)
    elif kind == U(LOCK) and c.trap == U(TRAP_TICK):
        c.now = now - U(1)  # the launch ends in front of it
        c.launch_end = c.now
        settle_ei(c, I(c.now - c.ei_time) > I(0))
        o.pc = (pc - U(1)) & U(0xFFFF)
        o.more = U(1)
    elif kind == U(LOCK):
        let_happen(c, mem, rom, now)
        hold_cpu(c, mem, U(LOCKED), now)
        o.more = U(1)
    elif c.trap == U(TRAP_LD_B_B):
        c.stopped = U(1)
        settle_ei(c, I(now - U(1) - c.ei_time) > I(0))  # unless this LD B,B came right after it
        o.pc = (pc - length) & U(0xFFFF)
        o.more = U(1)
    if o.more != U(0):
        c.deadline = c.now  # attend at once
    else:
        set_deadline(c, mem, now)
    return o.pc
