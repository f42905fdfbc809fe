"""Service for instructions that the hot loop cannot execute: bus accesses, control operations, events, interrupts.

The hot loop (sm83/data_path.py) never calls anything while it holds an instruction's values in machine registers: it
writes a request to the memory row (sm83/service_requests.py), and `attend` serves it before the next instruction.
Otherwise every value that lives across a call would live in memory, on the hot path too.
"""

import warp as wp

from emulator.constants import DMA, HRAM, IO, LY, OAM, ROW_ORIGIN, STAT, VRAM
from emulator.kernels.intrinsics import FAR, WORD, I, Q, U, earlier, ld8, ld32, st8, st32, st128
from emulator.kernels.io.bus import OAM_BUG_READ_INCREASE, OAM_BUG_WRITE, bus_read, bus_write, io_write_here
from emulator.kernels.io.hardware_events import catch_up, set_deadline
from emulator.kernels.memory.address_map import address_in, fast_bits, is_flat
from emulator.kernels.memory.mapper import mapper_write, update_map
from emulator.kernels.ppu.oam_corruption import ppu_oam_bug
from emulator.kernels.ppu.vram_oam_access import ppu_vram_window, vram_access_here
from emulator.kernels.sm83.hooks import TABLE_AT, run_hooks
from emulator.kernels.sm83.idle_loops_ram import skip_countdown, write_dma_and_wait
from emulator.kernels.sm83.idle_loops_stat import read_status, slow_read, wait_for_register
from emulator.kernels.sm83.interrupts import HALT, act_at_deadline, control_op, halt_plainly
from emulator.kernels.sm83.service_requests import (
    ADDRESS_AT,
    ASK_CONTROL,
    ASK_FETCH,
    ASK_OAM_BUG,
    ASK_READ,
    ASK_WRITE,
    CONTROL_AT,
    DONE,
    HAS_MEMORY,
    HAS_WORD,
    MEMORY_AT,
    SEEN,
    START_AT,
    VALUE_AT,
    WINDOW_AT,
    WORD_AT,
    fetched,
    slow_kind,
)
from emulator.rom import control_rows
from emulator.state.batch import Console

HL_FROM_ADDRESS = control_rows.HL_FROM_ADDRESS
READ16 = control_rows.READ16
WRITE16 = control_rows.WRITE16
ASCENDING = control_rows.ASCENDING
COUNTDOWN = 0x400  # bit of a fetched word: 'dec a; jr nz' at work in RAM
DEC_A_JR = wp.constant(wp.uint32(0xFD20003D))

# Time at which to look how long VRAM is open: at the boundary, or for the accesses after an operand's read.
LOOK_NOW = 1
LOOK_LATER = 2


@wp.struct
class ServiceLocals:
    word: wp.uint32
    row: wp.uint32
    length: wp.uint32
    immediate: wp.uint32
    value: wp.uint32
    turns: wp.uint32
    answer: wp.uint32
    look: wp.uint32
    hooked: wp.uint32


@wp.func(inline=False)
def fetch_from_bus(c: wp.ref[Console], mem: Q, rom: Q, control: Q, pc: U, now: U) -> U:
    """Return the predecoded word at `pc`, fetched from `now` on through the bus, one byte an M-cycle.

    `c.stable` becomes the time until which all bytes stay the same.
    """
    o = ServiceLocals()
    second_pc = (pc + U(1)) & WORD
    first = bus_read(c, mem, rom, pc, now + U(1), U(OAM_BUG_READ_INCREASE))
    stable = c.stable
    o.row = first
    o.immediate = U(0)
    o.length = (ld32(control + Q(first * U(4 * control_rows.ROW_WORDS) + U(28))) >> U(8)) & U(255)
    if c.halt_bug != U(0):
        # The PC did not advance over the opcode: operands begin with the same byte.
        c.halt_bug = U(0)
        update_map(c)
        second_pc = pc
    if first == U(0xCB):
        o.row = U(256) + bus_read(c, mem, rom, second_pc, now + U(2), U(OAM_BUG_READ_INCREASE))
        stable = earlier(stable, c.stable)
    elif (first & U(0xC7)) == U(0xC7):
        o.immediate = first & U(0x38)
    elif o.length >= U(2):
        o.immediate = bus_read(c, mem, rom, second_pc, now + U(2), U(OAM_BUG_READ_INCREASE))
        stable = earlier(stable, c.stable)
        if o.length >= U(3):
            third_pc = (second_pc + U(1)) & WORD
            third = bus_read(c, mem, rom, third_pc, now + U(3), U(OAM_BUG_READ_INCREASE))
            o.immediate = o.immediate | (third << U(8))
            stable = earlier(stable, c.stable)
    c.stable = stable
    return o.row | (o.immediate << U(16))


@wp.func(inline=False)
def fetch_slow(c: wp.ref[Console], mem: Q, rom: Q, control: Q, pc: U, now: U) -> U:
    """Return the word at `pc` where predecoded ROM does not hold it: in RAM, or under the HALT bug or an OAM DMA."""
    o = ServiceLocals()
    last = pc + U(2)
    same_page = (pc >> U(13)) == (last >> U(13)) and (pc >= U(HRAM)) == (last >= U(HRAM))
    quick = same_page and (fast_bits(c.fast, pc) & fast_bits(c.fast, last) & U(1)) != U(0)
    if quick and c.halt_bug == U(0):
        p = address_in(c, mem, rom, pc)
        o.word = fetched(ld8(p), ld8(p + Q(1)), ld8(p + Q(2)))
        c.stable = now + FAR
        if o.word == DEC_A_JR:
            o.word = o.word | U(COUNTDOWN)
    else:
        o.word = fetch_from_bus(c, mem, rom, control, pc, now)
    return o.word


@wp.func
def left_on_bus(pc: U, word: U, cycle: U) -> U:
    """Return the byte on the undriven data bus in M-cycle `cycle` of the instruction `word` at `pc`.

    It is the code byte fetched one M-cycle before: a byte lasts no longer, and only code outside VRAM and HRAM comes
    over this bus (https://gbdev.io/pandocs/MBCs.html: open bus).
    """
    fetched_now = wp.where((word & U(256)) != U(0), U(3), U(2))
    byte = wp.where(cycle == fetched_now, word & U(255), U(0xFF))
    byte = wp.where(cycle == U(4), word >> U(24), byte)
    return wp.where((pc & U(0xE000)) == U(VRAM) or pc >= U(IO), U(0xFF), byte)


@wp.func
def answer_write(c: wp.ref[Console], mem: Q, rom: Q, a: U, value: U, ctl: U, now: U, idle_skip: U):
    """Execute the store of `value` to address `a` by the instruction that began at `now`.

    A single byte for a register, the mapper or VRAM bypasses the bus if no event is due before.
    """
    t = now + ((ctl >> U(control_rows.WRITE_CYCLE_SHIFT)) & U(7))
    calm = (ctl & U(WRITE16)) == U(0) and I(t - U(1) - c.deadline) < I(0) and not is_flat(c)
    if calm and a == U(DMA) and c.dma_state == U(0) and idle_skip != U(0):
        write_dma_and_wait(c, mem, rom, value & U(255), t)
    elif calm and a >= U(IO):
        if io_write_here(c, mem, rom, a & U(255), value & U(255), t) != U(0):
            set_deadline(c, mem, t)
    elif calm and a < U(VRAM) and c.dma_state == U(0):
        mapper_write(c, a, value & U(255), t - U(1))
    elif calm and (a & U(0xE000)) == U(VRAM) and c.dma_state == U(0):
        if vram_access_here(c, mem, a, t, U(1)) != U(0):
            st8(mem + Q(a - U(ROW_ORIGIN)), value & U(255))
    else:
        slow_write(c, mem, rom, a, value, ctl, t)


@wp.func(inline=False)
def slow_write(c: wp.ref[Console], mem: Q, rom: Q, a: U, value: U, ctl: U, t: U):
    """Store one or two bytes through the bus. Pushes write the high byte first, LD (n16), SP the low one."""
    low = value & U(255)
    high = (value >> U(8)) & U(255)
    next_a = (a + U(1)) & WORD
    if (ctl & U(WRITE16)) == U(0):
        bus_write(c, mem, rom, a, low, t)
    elif (ctl & U(ASCENDING)) != U(0):
        bus_write(c, mem, rom, a, low, t)
        bus_write(c, mem, rom, next_a, high, t + U(1))
    else:
        # SP itself is decremented first, and may point into OAM before.
        if ((a + U(2)) & U(0xFF00)) == U(OAM):
            ppu_oam_bug(c, mem, t - U(1), U(OAM_BUG_WRITE))
        bus_write(c, mem, rom, next_a, high, t)
        bus_write(c, mem, rom, a, low, t + U(1))


@wp.func(inline=False)
def inc_dec_oam_bug(c: wp.ref[Console], mem: Q, rom: Q, before: U, t: U):
    """Corrupt OAM for an INC or DEC of a register pair that pointed into it during mode 2."""
    if (before & U(0xFF00)) == U(OAM) and not is_flat(c):
        if I(t - U(1) - c.deadline) >= I(0):
            catch_up(c, mem, rom, t - U(1))
        ppu_oam_bug(c, mem, t, U(OAM_BUG_WRITE))


@wp.func
def answer_fetch(c: wp.ref[Console], mem: Q, rom: Q, control: Q, scratch: Q, idle_skip: U):
    """Store the word at PC in the mailbox, and run its hooks; handle the byte that the HALT bug reads twice."""
    o = ServiceLocals()
    o.hooked = U(0)
    skipped = c.halt_bug
    word = fetch_slow(c, mem, rom, control, c.pc, c.now)
    if c.pc < U(VRAM) and ld32(control + Q(U(TABLE_AT))) != U(0):
        o.hooked = run_hooks(c, mem, rom, control, c.pc)
        if o.hooked != U(0):
            c.stable = c.now  # no turn of a waiting loop with a hook is skipped
    c.pc = (c.pc - skipped) & WORD
    if (word & U(COUNTDOWN)) != U(0) and idle_skip != U(0) and o.hooked == U(0):
        skip_countdown(c)
    st32(scratch + Q(U(WORD_AT)), word)


@wp.func
def answer_read(c: wp.ref[Console], mem: Q, rom: Q, scratch: Q, stable: U, idle_skip: U) -> U:
    """Store the requested memory operand in the mailbox; return LOOK_LATER if VRAM may have become accessible, or 0."""
    o = ServiceLocals()
    a = ld32(scratch + Q(U(ADDRESS_AT)))
    ctl = ld32(scratch + Q(U(CONTROL_AT)))
    word = ld32(scratch + Q(U(WORD_AT)))
    status = a == U(STAT) or a == U(LY)
    if status:
        o.value = read_status(c, mem, rom, a, ctl)
    else:
        c.open_bus = left_on_bus(c.pc, word, (ctl >> U(control_rows.READ_CYCLE_SHIFT)) & U(7))
        o.value = slow_read(c, mem, rom, a, ctl, c.now)
    if status and idle_skip != U(0):
        o.value = wait_for_register(c, mem, rom, a, ctl, word, o.value)
    c.stable = earlier(stable, c.stable)
    st32(scratch + Q(U(MEMORY_AT)), o.value)
    asks_vram = status or (a & U(0xE000)) == U(VRAM)
    return wp.where(asks_vram, U(LOOK_LATER), U(0))


@wp.func
def answer_executed(c: wp.ref[Console], mem: Q, rom: Q, scratch: Q, asked: U, idle_skip: U) -> U:
    """Complete the instruction just executed: its store, OAM corruption or control operation.

    Returns LOOK_NOW if VRAM may have become accessible or blocked, else 0.
    """
    o = ServiceLocals()
    o.look = U(0)
    a = ld32(scratch + Q(U(ADDRESS_AT)))
    value = ld32(scratch + Q(U(VALUE_AT)))
    ctl = ld32(scratch + Q(U(CONTROL_AT)))
    t = ld32(scratch + Q(U(START_AT)))
    if (asked & U(ASK_WRITE)) != U(0):
        answer_write(c, mem, rom, a, value, ctl, t, idle_skip)
        if (a & U(0xE000)) == U(VRAM) or a - U(0xFF3F) < U(7):
            o.look = U(LOOK_NOW)  # VRAM, LCDC, STAT or LYC was written
    if (asked & U(ASK_OAM_BUG)) != U(0):
        inc_dec_oam_bug(c, mem, rom, a, c.now)
    if (asked & U(ASK_CONTROL)) != U(0):
        if slow_kind(ctl) != U(HALT) or not halt_plainly(c, mem, c.now):
            c.pc = control_op(c, mem, rom, slow_kind(ctl), c.now, c.pc, value)
    return o.look


@wp.func(inline=True)
def attend(c: wp.ref[Console], mem: Q, rom: Q, control: Q, scratch: Q, asked: U, stable: U, idle_skip: U) -> U:
    """Serve a console: the request `asked` of the instruction at PC, and the events and interrupts due at `c.now`.

    The registers are in `c`. An instruction that cannot be fetched from predecoded ROM is fetched last. Returns
    HAS_WORD, HAS_MEMORY, DONE bits.
    """
    o = ServiceLocals()
    o.answer = U(0)
    o.look = U(0)
    if (asked & U(ASK_READ)) != U(0):
        o.look = answer_read(c, mem, rom, scratch, stable, idle_skip)
        o.answer = U(HAS_WORD | HAS_MEMORY)
    else:
        if asked > U(ASK_READ):
            o.look = answer_executed(c, mem, rom, scratch, asked, idle_skip)
        c.stable = stable
        if asked != U(ASK_FETCH) and I(c.now - c.deadline) >= I(0):
            if act_at_deadline(c, mem, rom) != U(0):
                o.answer = DONE
            # The last branch is forgotten: a skip needs two equal visits with stable reads between.
            st128(scratch + Q(U(SEEN)), U(0), U(0), U(0), c.now)
            c.stable = c.now
            o.look = U(LOOK_NOW)
        if o.answer == U(0) and (asked == U(ASK_FETCH) or (c.fast >> U(31)) != U(0)):
            kept = c.stable
            answer_fetch(c, mem, rom, control, scratch, idle_skip)
            c.stable = earlier(kept, c.stable)
            o.answer = U(HAS_WORD)
    # How long VRAM is plain memory; an earlier result holds until something changes it.
    if (c.ppu_drafting | c.ppu_finished | c.dma_state) != U(0):
        st32(scratch + Q(U(WINDOW_AT)), c.now)
    elif o.look != U(0):
        o.value = U(0)
        if o.look == U(LOOK_LATER) and ld32(scratch + Q(U(ADDRESS_AT))) == U(STAT):
            o.value = ld32(scratch + Q(U(MEMORY_AT)))
        # The first access to come may be the store of INC (HL), in the third M-cycle. A read comes
        # later, and so misses the dot at which mode 3 ends (ppu_vram_access: 2).
        later = c.now + wp.where(o.look == U(LOOK_LATER), U(3), U(0))
        st32(scratch + Q(U(WINDOW_AT)), ppu_vram_window(c, mem, later, o.value))
    return o.answer
