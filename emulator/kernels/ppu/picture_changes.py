"""VRAM as a line saw it, of a picture on whose way down the screen VRAM changed.

The undo log holds, in the order of the writes, the bytes that they replaced. With all entries of a
picture redone, VRAM is what its last line saw. For a line above, the first entry that counts only
below that line has the byte it saw, so that all lines can be drawn side by side. A map with a bit
for each 32 bytes of VRAM that changed at all keeps nearly every read from searching the log.
"""

import warp as wp

from emulator.kernels.intrinsics import I, Q, U, ld32, st32
from emulator.kernels.ppu.picture_log import OAM_OFFSET, UNDO_TOP, get32, undo_offset

MAP_BYTES = wp.constant(32)  # 256 bits, of 32 bytes of VRAM each
NOTHING = wp.constant(0)  # `later` of a line below which nothing changes


@wp.func
def entries_below(first: int, last: int) -> int:
    """`later` of a line for which the undo entries first..last-1 (below 2048) count too early."""
    return wp.where(first < last, first | (last << 11), NOTHING)


@wp.func(inline=False)
def map_changes(mem: Q, count: int, changes: Q) -> wp.bool:
    """Mark at `changes` what the undo entries 0..count-1 change. False if OAM is among it."""
    vram_only = wp.bool(True)
    if count > 0:
        for word in range(MAP_BYTES // 4):
            st32(changes + Q(4 * word), U(0))
        for i in range(count):
            offset = undo_offset(get32(mem, UNDO_TOP - 4 - 4 * i))
            if offset >= OAM_OFFSET:
                vram_only = wp.bool(False)
            else:
                place = changes + Q(U((offset >> 10) * 4))
                st32(place, ld32(place) | (U(1) << U((offset >> 5) & 31)))
    return vram_only


@wp.func(inline=False)
def pair_seen(mem: Q, offset: int, now: U, later: int, changes: Q) -> U:
    """The two bytes at even VRAM `offset`, which now are `now`, as the line of `later` saw them."""
    pair = now
    word = ld32(changes + Q(U((offset >> 10) * 4)))
    if ((word >> U((offset >> 5) & 31)) & U(1)) != U(0):
        first = later & 0x7FF
        i = (later >> 11) - 1
        while i >= first:
            entry = get32(mem, UNDO_TOP - 4 - 4 * i)
            at = undo_offset(entry)
            if (at & 0x3FFE) == offset:
                shift = U(8 * (at & 1))
                pair = (pair & ~(U(0xFF) << shift)) | ((entry & U(0xFF)) << shift)
            i = i - 1
    return pair


@wp.func
def byte_seen(mem: Q, offset: int, now: int, later: int, changes: Q) -> int:
    """The same of one byte."""
    shift = U(8 * (offset & 1))
    return I((pair_seen(mem, offset & 0x1FFE, U(now) << shift, later, changes) >> shift) & U(0xFF))
