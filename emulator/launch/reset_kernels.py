"""Kernels beside the launch: power-on, masked resets, consoles that stand still, memory read and written.

They are plain functions here. Each executor compiles them with its own module (`of_module`), so that a
process never compiles another executor's.
"""

from typing import Any

import warp as wp

from emulator.constants import ROW_CART_RAM
from emulator.kernels.intrinsics import Q, U, ld8, ld32, st8, st32
from emulator.kernels.io.bus import bus_write, peek_bus
from emulator.kernels.memory.mapper import update_map
from emulator.kernels.ppu.lcd_registers import ppu_power_on
from emulator.state.batch import Batch, Console

# Places of bytes, in bits 28 and 29: 0, an offset in the memory row; the others:
ROM = 1 << 28  # an offset in the console's ROM
BUS = 2 << 28  # an address, read as the CPU would
CART = 3 << 28  # an offset in the bank of cartridge RAM that is switched in
PLACE = ROM - 1
HELD = 2  # bit of `Console.stopped`


def power_on(console: wp.array[Console], rows: wp.uint64, row_stride: wp.uint32):
    """Initialise the address map and the PPU of console i in thread i; the host has set the other fields."""
    i = wp.tid()
    mem = rows + Q(i) * Q(row_stride)
    update_map(console[i])
    ppu_power_on(console[i], mem)


@wp.struct
class ResetLocals:
    place: wp.uint32


def reset_envs(
    batch: Batch,
    console: wp.array[Console],
    mask: wp.array[wp.uint8],
    source: wp.array[wp.int32],
    cached: wp.array[Console],
    cached_rows: wp.uint64,
    cached_stride: wp.uint32,
    row_bytes: wp.uint32,
    threads: wp.uint32,
    cached_rom: wp.array[wp.int32],
    rom_of_env: wp.array[wp.int32],
    refused: wp.array[wp.int32],
):
    """Copy the cached state `source[env]` into each env whose `mask` is set; `threads` threads copy a row together.

    A source that is no cached state, or one of another ROM, is counted in `refused` instead. Thread 0 also copies the
    console record, except for the fields that belong to the batch: the trap, the serial log, the ROM's place in the
    blob.
    """
    env, thread = wp.tid()
    state = wp.clamp(source[env], 0, cached.shape[0] - 1)
    fits = state == source[env] and cached_rom[state] == rom_of_env[env]
    if mask[env] != wp.uint8(0) and not fits and thread == 0:
        wp.atomic_add(refused, 0, 1)
    if mask[env] != wp.uint8(0) and fits:
        from_row = cached_rows + Q(state) * Q(cached_stride)
        to_row = batch.ram_base + Q(env) * Q(batch.row_stride)
        o = ResetLocals()
        o.place = U(thread) * U(4)
        while o.place < row_bytes:
            st32(to_row + Q(o.place), ld32(from_row + Q(o.place)))
            o.place = o.place + threads * U(4)
        if thread == 0:
            trap = console[env].trap
            capacity = console[env].serial_capacity
            log = console[env].serial_log
            base = console[env].rom_base
            console[env] = cached[state]
            console[env].trap = trap
            console[env].serial_capacity = capacity
            console[env].serial_log = log
            console[env].rom_base = base
            console[env].env = U(env)
            update_map(console[env])


def peek(
    batch: Batch, console: wp.array[Console], env: wp.int32, address: wp.uint32, n: wp.int32, out: wp.array[wp.uint8]
):
    """Write n bytes from `address` on to `out`, as the CPU would read them without access blocking; in one thread."""
    mem = batch.ram_base + Q(env) * Q(batch.row_stride)
    for i in range(n):
        a = (address + U(i)) & U(0xFFFF)
        out[i] = wp.uint8(peek_bus(console[env], mem, batch.rom_base, a, console[env].now + U(1)))


def store(batch: Batch, console: wp.array[Console], env: wp.int32, address: wp.uint32, value: wp.uint32):
    """Write a byte as the CPU would at `console[env].now`, without taking time; in one thread."""
    mem = batch.ram_base + Q(env) * Q(batch.row_stride)
    bus_write(console[env], mem, batch.rom_base, address, value, console[env].now + U(1))


@wp.struct
class PlaceLocals:
    index: wp.int32
    value: wp.uint32
    place: wp.uint32


@wp.func_native("""
#if defined(__CUDA_ARCH__)
*(unsigned char*)to = *(const unsigned char*)at;
#else
memcpy((void*)to, (const void*)at, count);
#endif
""")
def copy_run(to: Q, at: Q, count: U):
    """Copy `count` bytes on a CPU, where one thread reads a console's bytes; one byte on a GPU."""
    ...


def read_places(
    batch: Batch,
    console: wp.array[Console],
    places: wp.array[wp.uint32],
    runs: wp.array[wp.int32],
    threads: wp.int32,
    out: wp.uint64,
    stride: wp.uint32,
):
    """Write the bytes at `places` of console env to `out` + env * stride; `threads` threads read them together.

    `runs`: how many places from each on follow each other in the memory row, where one thread reads all; else 1.
    """
    env, thread = wp.tid()
    mem = batch.ram_base + Q(env) * Q(batch.row_stride)
    to = out + Q(env) * Q(stride)
    o = PlaceLocals()
    o.index = thread
    while o.index < places.shape[0]:
        o.place = places[o.index]
        if o.place < U(ROM):
            copy_run(to + Q(o.index), mem + Q(o.place), U(runs[o.index]))
        else:
            if o.place < U(BUS):
                o.value = ld8(batch.rom_base + Q(console[env].rom_base + (o.place & U(PLACE))))
            else:
                o.value = peek_bus(console[env], mem, batch.rom_base, o.place & U(0xFFFF), console[env].now + U(1))
            st8(to + Q(o.index), o.value)
        o.index = o.index + wp.max(runs[o.index], threads)


def write_places(
    batch: Batch,
    console: wp.array[Console],
    mask: wp.array[wp.uint8],
    places: wp.array[wp.uint32],
    values: wp.array2d[wp.uint8],
):
    """Write the bytes at `places` of each console env whose `mask` is set: of row env of `values`, or of its only one.

    Where a clock is switched in at A000-BFFF, or memory that the cartridge lacks, nothing is written.
    """
    env = wp.tid()
    if mask[env] != wp.uint8(0):
        mem = batch.ram_base + Q(env) * Q(batch.row_stride)
        row = wp.where(values.shape[0] == 1, 0, env)
        o = PlaceLocals()
        for index in range(places.shape[0]):
            o.place = places[index]
            if o.place >= U(CART):
                clock = console[env].has_rtc != U(0) and console[env].ram_bank > U(3)
                o.place = o.place & U(PLACE)
                missing = clock or o.place >= console[env].ram_size
                o.place = wp.where(missing, U(CART), o.place + U(ROW_CART_RAM) + console[env].ram_offset)
            if o.place < U(CART):
                st8(mem + Q(o.place), U(values[row, index]))


def hold(console: wp.array[Console], mask: wp.array[wp.uint8], begins: wp.int32):
    """Exclude console env from launches if its `mask` is 0; without `begins`, include it again."""
    env = wp.tid()
    if begins == 0:
        console[env].stopped = console[env].stopped & U(1)
    elif mask[env] == wp.uint8(0):
        console[env].stopped = console[env].stopped | U(HELD)


def of_module(module: str, **options: Any) -> tuple[wp.Kernel, ...]:
    """Return the kernels of this file, in the order of `functions`, compiled with the Python module `module`."""
    functions = (power_on, reset_envs, peek, store, read_places, write_places, hold)
    return tuple(wp.kernel(function, enable_backward=False, module=module, **options) for function in functions)
