"""Sound registers as they read back: channels that are on, length counters, sweep, wave RAM.

No sound is made, but programs can read all of this. The 512 Hz frame sequencer counts falling edges of
divider bit 12; the state is advanced arithmetically when a register is accessed.
https://gbdev.io/pandocs/Audio_Registers.html, https://gbdev.io/pandocs/Audio_details.html

`apu_status`: bits 0-3 channel on, bits 4-7 length counter enabled, bit 8 the wave channel has read a sample
since its trigger.
`apu_step`: events of the frame sequencer since power-on, modulo 8.
Wave channel times are in ticks of half an M-cycle.
"""

import warp as wp

from emulator.kernels.intrinsics import I, Q, U, ld32, st32
from emulator.kernels.io.sweep import (
    CHANNEL_ON,
    clock_sweep,
    get_pace,
    keep_frequency,
    keeps_sweep,
    run_sweep,
    sweep_rests,
    sweeps,
    trigger_sweep,
    write_sweep,
)
from emulator.kernels.memory import io_registers as io
from emulator.kernels.memory.io_registers import io_get, io_set
from emulator.state.batch import Console

SEQUENCER_SHIFT = 11  # log2 of the M-cycles per step
ALL = wp.constant(wp.uint32(0x1FF))
WAVE_HAS_READ = 0x100
SOUND_LOG = wp.constant(wp.uint32(0xFFFFFFFF))  # value of serial_capacity: writes here are logged, bytes are not
SKIP_NEXT = 1  # values of apu_skip: the next event does nothing,
SKIP_COUNT = 2  # then one happens without being counted
WAVE_PHASE = 3  # extra ticks before the first sample after a trigger

# Bits that read as ones, one byte a register from FF10 on.
ONES_10 = wp.constant(wp.uint64(0x00_3F_FF_BF_FF_00_3F_80))
ONES_18 = wp.constant(wp.uint64(0xFF_BF_FF_9F_FF_7F_BF_FF))
ONES_20 = wp.constant(wp.uint64(0xFF_70_00_00_BF_00_00_FF))


@wp.struct
class ApuLocals:
    count: wp.uint32
    left: wp.uint32
    value: wp.uint32
    place: wp.uint32
    plain: wp.bool


@wp.func
def logs_sound(c: wp.ref[Console]) -> wp.bool:
    """Return whether writes to sound registers and DIV are logged (sound/channels.py)."""
    return c.serial_capacity == SOUND_LOG


@wp.func(inline=False)
def log_write(c: wp.ref[Console], mem: Q, register: U, value: U, t: U):
    """Append a write to the log, which takes the serial log's place.

    uint32: writes of this launch, most that are kept, then a time and register | value << 8 for each.
    """
    log = mem + Q(c.serial_log)
    count = ld32(log)
    if count < ld32(log + Q(4)):
        place = log + Q(U(8) + (count << U(3)))
        st32(place, t)
        st32(place + Q(4), register | (value << U(8)))
    st32(log, count + U(1))


@wp.func
def power_is_on(mem: Q) -> wp.bool:
    return (io_get(mem, U(io.NR52)) & U(0x80)) != U(0)


@wp.func
def channel_off(c: wp.ref[Console], channel: U):
    c.apu_status = c.apu_status & (ALL ^ (U(1) << channel))


@wp.func
def get_length(c: wp.ref[Console], channel: U) -> U:
    pair = wp.where(channel < U(2), c.apu_length_12, c.apu_length_34)
    return (pair >> (U(16) * (channel & U(1)))) & U(0xFFFF)


@wp.func
def set_length(c: wp.ref[Console], channel: U, length: U):
    shift = U(16) * (channel & U(1))
    other = (U(0xFFFF) << U(16)) >> shift
    if channel < U(2):
        c.apu_length_12 = (c.apu_length_12 & other) | (length << shift)
    else:
        c.apu_length_34 = (c.apu_length_34 & other) | (length << shift)


@wp.func
def clock_length(c: wp.ref[Console], channel: U, clocks: U):
    """Decrement an enabled length counter `clocks` times; at 0 its channel is turned off."""
    length = get_length(c, channel)
    if ((c.apu_status >> (U(4) + channel)) & U(1)) != U(0) and length != U(0):
        left = length - wp.min(length, clocks)
        set_length(c, channel, left)
        if left == U(0):
            channel_off(c, channel)


@wp.func(inline=False)
def sequencer_steps(c: wp.ref[Console], mem: Q, edges: U):
    """Run `edges` steps of the frame sequencer: length counters at even steps, sweep at 2 and 6."""
    o = ApuLocals()
    o.count = edges
    while o.count > U(0) and c.apu_skip != U(0):
        if c.apu_skip == U(SKIP_COUNT):
            c.apu_skip = U(0)
            for channel in range(4):
                clock_length(c, U(channel), U(1))
        else:
            c.apu_skip = U(SKIP_COUNT)
        o.count = o.count - U(1)
    step = c.apu_step
    lengths = (o.count + U(1) - (step & U(1))) >> U(1)
    if lengths > U(0):
        for channel in range(4):
            clock_length(c, U(channel), lengths)
    events = ((step + o.count + U(1)) >> U(2)) - ((step + U(1)) >> U(2))
    if get_pace(mem) == U(0):
        c.apu_sweep_timer = (c.apu_sweep_timer - events) & U(7)
    elif events != U(0):
        clock_sweep(c, mem)  # one event: `run_sequencer` takes steps one by one while the channel sweeps
    c.apu_step = (step + o.count) & U(7)


@wp.func(inline=False)
def run_sequencer(c: wp.ref[Console], mem: Q, mark: U, t: U, edges: U):
    """Run the sequencer's `edges` steps between the times `mark` and `t`, and what the sweep does in between."""
    if sweep_rests(c) and not sweeps(c, mem):
        sequencer_steps(c, mem, edges)
    else:
        o = ApuLocals()
        o.left = edges
        o.place = mark * U(2) + U(1)
        o.value = mark - ((mark - c.div_zero) & U((1 << SEQUENCER_SHIFT) - 1))
        while o.left > U(0):
            o.value = o.value + U(1 << SEQUENCER_SHIFT)
            run_sweep(c, mem, o.place, o.value * U(2))
            o.place = o.value * U(2)
            sequencer_steps(c, mem, U(1))
            o.left = o.left - U(1)
        run_sweep(c, mem, o.place, t * U(2) + U(1))


@wp.func
def wave_period(mem: Q) -> U:
    """Return the ticks per sample of the wave channel."""
    return U(2048) - (io_get(mem, U(io.NR33)) | ((io_get(mem, U(io.NR34)) & U(7)) << U(8)))


@wp.func(inline=False)
def apu_sync(c: wp.ref[Console], mem: Q, t: U):
    """Advance the frame sequencer and the wave position to time `t`."""
    mark = c.apu_mark
    zero = c.div_zero
    if t != mark:
        c.apu_mark = t
        if power_is_on(mem):
            edges = ((t - zero) >> U(SEQUENCER_SHIFT)) - ((mark - zero) >> U(SEQUENCER_SHIFT))
            if (c.apu_status & U(4)) != U(0):
                period = wave_period(mem)
                late = t * U(2) - c.apu_wave_next
                if I(late) >= I(0):
                    samples = late / period + U(1)
                    c.apu_wave_index = (c.apu_wave_index + samples) & U(31)
                    c.apu_wave_next = c.apu_wave_next + samples * period
                    c.apu_status = c.apu_status | U(WAVE_HAS_READ)
            if edges > U(0) or not sweep_rests(c):
                run_sequencer(c, mem, mark, t, edges)
        if (c.apu_status & U(CHANNEL_ON)) == U(0):
            c.apu_sweep_timer = U(0)  # it is loaded by the next trigger
        if (c.apu_status & U(4)) == U(0):
            # A channel that has ended is at no sample, at any time.
            c.apu_wave_next = U(0)
            c.apu_wave_index = U(0)
            c.apu_status = c.apu_status & (ALL ^ U(WAVE_HAS_READ))


@wp.func
def wave_byte(c: wp.ref[Console], mem: Q, t: U) -> U:
    """Return the number of the wave RAM register that the CPU can access while channel 3 plays; 0: none.

    A DMG grants access only in the very tick in which the channel reads.
    """
    has_read = (c.apu_status & U(WAVE_HAS_READ)) != U(0)
    read_now = has_read and c.apu_wave_next - wave_period(mem) == t * U(2)
    return wp.where(read_now, U(0x30) + (c.apu_wave_index >> U(1)), U(0))


@wp.func(inline=False)
def apu_read(c: wp.ref[Console], mem: Q, register: U, t: U) -> U:
    """Return register FF10-FF3F as the CPU reads it at time `t`."""
    o = ApuLocals()
    apu_sync(c, mem, t)
    if register >= U(io.WAVE_RAM):
        o.place = register
        if (c.apu_status & U(4)) != U(0):
            o.place = wave_byte(c, mem, t)
        o.value = U(0xFF)
        if o.place != U(0):
            o.value = io_get(mem, o.place)
    elif register >= U(0x28):
        o.value = U(0xFF)
    else:
        ones = wp.where(register >= U(0x18), ONES_18, ONES_10)
        ones = wp.where(register >= U(io.NR41), ONES_20, ones)
        o.value = io_get(mem, register) | (U(ones >> Q((register & U(7)) << U(3))) & U(0xFF))
        if register == U(io.NR52):
            o.value = (o.value & U(0xF0)) | (c.apu_status & U(0x0F))
    return o.value


@wp.func
def corrupt_wave_ram(c: wp.ref[Console], mem: Q):
    """Corrupt the first bytes of wave RAM, as a DMG does on a trigger in the tick before a sample is read.

    (blargg dmg_sound 10-wave trigger while on)
    """
    offset = ((c.apu_wave_index + U(1)) >> U(1)) & U(15)
    if offset < U(4):
        io_set(mem, U(io.WAVE_RAM), io_get(mem, U(io.WAVE_RAM) + offset))
    else:
        for i in range(4):
            byte = io_get(mem, U(io.WAVE_RAM) + (offset & U(12)) + U(i))
            io_set(mem, U(io.WAVE_RAM) + U(i), byte)


@wp.func
def dac_is_on(mem: Q, channel: U) -> wp.bool:
    if channel == U(2):
        on = (io_get(mem, U(io.NR30)) & U(0x80)) != U(0)
    else:
        on = (io_get(mem, U(io.NR12) + U(5) * channel) & U(0xF8)) != U(0)
    return on


@wp.func(inline=False)
def write_control(c: wp.ref[Console], mem: Q, channel: U, value: U, t: U):
    """Write NRx4 of `channel`: trigger (bit 7) and length enable (bit 6)."""
    full = wp.where(channel == U(2), U(256), U(64))
    enabled = U(0x10) << channel
    trigger = (value & U(0x80)) != U(0)
    if trigger:
        if channel == U(2):
            if (c.apu_status & U(4)) != U(0) and c.apu_wave_next - t * U(2) == U(1):
                corrupt_wave_ram(c, mem)
            c.apu_wave_index = U(0)
            c.apu_status = c.apu_status & (ALL ^ U(WAVE_HAS_READ))
            c.apu_wave_next = t * U(2) + wave_period(mem) + U(WAVE_PHASE)
        if dac_is_on(mem, channel):
            c.apu_status = c.apu_status | (U(1) << channel)
        if get_length(c, channel) == U(0):
            set_length(c, channel, full)
            c.apu_status = c.apu_status & (ALL ^ enabled)
        if channel == U(0):
            trigger_sweep(c, mem)
    # Enabling the counter in the half period that does not clock it clocks it once.
    odd = (c.apu_step & U(1)) != U(0)
    length = get_length(c, channel)
    if (value & U(0x40)) != U(0) and (c.apu_status & enabled) == U(0) and odd and length != U(0):
        set_length(c, channel, length - U(1))
        if length == U(1):
            if trigger:
                set_length(c, channel, full - U(1))
            else:
                channel_off(c, channel)
    on = wp.where((value & U(0x40)) != U(0), enabled, U(0))
    c.apu_status = (c.apu_status & (ALL ^ enabled)) | on


@wp.func
def write_power(c: wp.ref[Console], mem: Q, value: U, t: U):
    """Write NR52: turning the APU off clears every register, but not the length counters (on a DMG) and wave RAM."""
    was_on = power_is_on(mem)
    if was_on and (value & U(0x80)) == U(0):
        for register in range(io.NR10, io.NR52):
            io_set(mem, U(register), U(0))
        c.apu_status = U(0)
        c.apu_skip = U(0)
        c.apu_step = U(0)
        c.apu_sweep_timer = U(0)
        c.apu_sweep_shadow = U(0)
        c.apu_sweep_flags = U(0)
        c.apu_wave_index = U(0)
        c.apu_wave_next = U(0)
    elif not was_on and (value & U(0x80)) != U(0):
        # With the divider bit high the first event is lost (samesuite apu/div_write_trigger).
        high = ((t - c.div_zero) >> U(SEQUENCER_SHIFT - 1)) & U(1)
        c.apu_skip = high * U(SKIP_NEXT)
        c.apu_step = high
    io_set(mem, U(io.NR52), value & U(0x80))


@wp.func
def write_register(c: wp.ref[Console], mem: Q, register: U, value: U, t: U):
    """Write `value` to register NR10-NR51 at time `t`, with the power on."""
    channel = (register - U(io.NR10)) / U(5)
    place = register - U(io.NR10) - channel * U(5)
    if register == U(io.NR10):
        write_sweep(c, mem, value)
    io_set(mem, register, value)
    if channel < U(4):
        if place == U(1):
            full = wp.where(channel == U(2), U(256), U(64))
            set_length(c, channel, full - (value & (full - U(1))))
        elif place == U(4):
            write_control(c, mem, channel, value, t)
        if register == U(io.NR13) or register == U(io.NR14):
            keep_frequency(c)
        if not dac_is_on(mem, channel):
            channel_off(c, channel)


@wp.func
def is_timeless(c: wp.ref[Console], mem: Q, register: U, channel: U, place: U, value: U) -> wp.bool:
    """Return whether a register write gives the same state with and without a preceding `apu_sync`.

    That is so if neither the frame sequencer nor the wave channel reads or changes what the write changes.
    """
    o = ApuLocals()
    wave_off = (c.apu_status & U(4)) == U(0)
    limited = (c.apu_status >> (U(4) + channel)) & U(1)
    o.plain = wp.bool(True)  # volume, DAC, panning and unused registers
    if register >= U(io.NR50):
        o.plain = wp.where(register >= U(io.WAVE_RAM), wave_off, register != U(0x26) or value >= U(0x80))
    elif place == U(1):
        o.plain = limited == U(0)
    elif place >= U(3):
        o.plain = (channel != U(2) or wave_off) and (place == U(3) or (value >> U(6)) == limited)
        if channel == U(0) and o.plain:
            o.plain = sweep_rests(c) and not sweeps(c, mem)
    elif register == U(io.NR10):
        o.plain = sweep_rests(c) and keeps_sweep(c, mem, value)
    return o.plain


@wp.func
def apu_store(c: wp.ref[Console], mem: Q, register: U, value: U) -> wp.bool:
    """Write FF10-FF3F without `apu_sync` if that gives the same state; else return False, with nothing done."""
    channel = (register - U(io.NR10)) / U(5)
    place = register - U(io.NR10) - channel * U(5)
    plain = power_is_on(mem) and not logs_sound(c) and is_timeless(c, mem, register, channel, place, value)
    if plain:
        if register <= U(io.NR52) or register >= U(io.WAVE_RAM):
            io_set(mem, register, wp.where(register == U(io.NR52), U(0x80), value))
        if channel < U(4):
            if place == U(1):
                full = wp.where(channel == U(2), U(256), U(64))
                set_length(c, channel, full - (value & (full - U(1))))
            if not dac_is_on(mem, channel):
                channel_off(c, channel)
    return plain


@wp.func(inline=False)
def apu_write(c: wp.ref[Console], mem: Q, register: U, value: U, t: U):
    """Write FF10-FF3F at time `t`; `register` 04 stands for a write to DIV that is about to clear the divider."""
    o = ApuLocals()
    apu_sync(c, mem, t)
    if logs_sound(c):
        log_write(c, mem, register, value, t)
    if register == U(io.DIV):
        if power_is_on(mem) and ((t - c.div_zero) >> U(SEQUENCER_SHIFT - 1) & U(1)) != U(0):
            sequencer_steps(c, mem, U(1))
    elif register >= U(io.WAVE_RAM):
        o.place = register
        if (c.apu_status & U(4)) != U(0):
            o.place = wave_byte(c, mem, t)
        if o.place != U(0):
            io_set(mem, o.place, value)
    elif register == U(io.NR52):
        write_power(c, mem, value, t)
    elif register < U(io.NR52):
        if power_is_on(mem):
            write_register(c, mem, register, value, t)
        elif register == U(io.NR11) or register == U(io.NR21):
            set_length(c, (register - U(io.NR10)) / U(5), U(64) - (value & U(63)))
        elif register == U(io.NR31):
            set_length(c, U(2), U(256) - value)
        elif register == U(io.NR41):
            set_length(c, U(3), U(64) - (value & U(63)))
