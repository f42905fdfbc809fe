"""Kernels beside the launch: power-on, masked resets, peeks at memory, stores to it.

They are plain functions here. Each executor compiles them with its own module (`of_module`), so that a
process never compiles another executor's.
"""

from typing import Any

import warp as wp

from emulator.kernels.intrinsics import Q, U, ld32, st32
from emulator.kernels.io.bus import bus_write, peek_bus
from emulator.kernels.memory.mapper import update_map
from emulator.kernels.ppu.lcd_registers import ppu_power_on
from emulator.state.batch import Batch, Console


def power_on(console: wp.array[Console], rows: wp.uint64, row_stride: wp.uint32):
    """Initialise the address map and the PPU of console i in thread i; the host has set the other fields."""
    i = wp.tid()
    mem = rows + Q(i) * Q(row_stride)
    update_map(console[i])
    ppu_power_on(console[i], mem)


@wp.struct
class CopyLocals:
    place: wp.uint32


@wp.func
def copy_row(to: Q, at: Q, size: U, thread: U, threads: U):
    """Copy the words of a memory row of `size` bytes that are thread `thread`'s among `threads`."""
    o = CopyLocals()
    o.place = thread * U(4)
    while o.place < size:
        st32(to + Q(o.place), ld32(at + Q(o.place)))
        o.place = o.place + threads * U(4)


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
        to_row = batch.ram_base + Q(env) * Q(batch.row_stride)
        copy_row(to_row, cached_rows + Q(state) * Q(cached_stride), row_bytes, U(thread), threads)
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


def of_module(module: str, **options: Any) -> tuple[wp.Kernel, ...]:
    """Return kernels of `power_on`, `reset_envs`, `peek`, `store` that are compiled with the Python module `module`."""
    functions = (power_on, reset_envs, peek, store)
    return tuple(wp.kernel(function, enable_backward=False, module=module, **options) for function in functions)
