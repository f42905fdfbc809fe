"""Kernels that read and write the same bytes of all consoles, and exclude consoles from launches.

They are modules of their own, compiled where they are used: a second, and for what only the bus can read some more.
"""

import warp as wp

from emulator.kernels.intrinsics import ALL_ONES, Q, U, ld8, st8
from emulator.kernels.io.bus import peek_bus
from emulator.kernels.sm83.hooks import BUS, CART, PLACE, ROM, cart_place
from emulator.state.batch import Batch, Console

HELD = 2  # bit of `Console.stopped`


@wp.func_native("""
#if !defined(__CUDA_ARCH__)
if (count > 1) { memcpy((void*)to, (const void*)at, count); return; }
#endif
*(unsigned char*)to = *(const unsigned char*)at;
""")
def copy_run(to: Q, at: Q, count: U):
    """Copy `count` bytes on a CPU, where one thread reads a console's bytes; one byte on a GPU."""
    ...


@wp.struct
class PlaceLocals:
    index: wp.int32
    place: wp.uint32


@wp.kernel(enable_backward=False)
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

    `runs`: how many places from each on follow each other in the memory row, where one thread reads all; else 1. Those
    of BUS are left to `peek_places`.
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
        elif o.place < U(BUS):
            st8(to + Q(o.index), ld8(batch.rom_base + Q(console[env].rom_base + (o.place & U(PLACE)))))
        o.index = o.index + wp.max(runs[o.index], threads)


@wp.kernel(enable_backward=False, module=f"{__name__}_bus")
def peek_places(
    batch: Batch,
    console: wp.array[Console],
    places: wp.array[wp.uint32],
    columns: wp.array[wp.int32],
    out: wp.uint64,
    stride: wp.uint32,
):
    """Write the bytes at the addresses `places` of console env, as its CPU would read them, to `columns` of its row."""
    env = wp.tid()
    mem = batch.ram_base + Q(env) * Q(batch.row_stride)
    to = out + Q(env) * Q(stride)
    for index in range(places.shape[0]):
        address = places[index] & U(0xFFFF)
        value = peek_bus(console[env], mem, batch.rom_base, address, console[env].now + U(1))
        st8(to + Q(columns[index]), value)


@wp.kernel(enable_backward=False)
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
                o.place = cart_place(console[env], o.place & U(PLACE))
            if o.place != ALL_ONES:
                st8(mem + Q(o.place), U(values[row, index]))


@wp.kernel(enable_backward=False)
def hold(console: wp.array[Console], mask: wp.array[wp.uint8], begins: wp.int32):
    """Exclude console env from launches if its `mask` is 0; without `begins`, include it again."""
    env = wp.tid()
    if begins == 0:
        console[env].stopped = console[env].stopped & U(1)
    elif mask[env] == wp.uint8(0):
        console[env].stopped = console[env].stopped | U(HELD)
