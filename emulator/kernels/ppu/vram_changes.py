"""Reads of VRAM as it was when a line was drawn, for a picture during which VRAM changed.

The undo log holds, in the order of the writes, the bytes that they replaced. Of the entries written after a line, the
first one for an address holds the byte that the line saw; if there is none, it is the byte now in VRAM. So all lines
can be drawn side by side. A map with a bit for each 32 bytes of VRAM that changed at all keeps nearly every read from
searching the log.
"""

import warp as wp

from emulator.kernels.intrinsics import I, Q, U, ld32, st32
from emulator.kernels.ppu.frame_log import OAM_OFFSET, UNDO_TOP, get32, undo_line, undo_offset

MAP_BYTES = wp.constant(32)  # 256 bits, of 32 bytes of VRAM each
NOTHING = wp.constant(0)  # `later` of a line below which nothing changes


@wp.func
def entries_below(first: int, last: int) -> int:
    """Return the undo entries first..last-1 (below 2048), made after a line was drawn, packed as its `later` value."""
    return wp.where(first < last, first | (last << 11), NOTHING)


@wp.func
def entries_above(mem: Q, done: int, line: int) -> int:
    """Return how many of a picture's undo entries 0..done-1 were written before its `line` was drawn."""
    low = I(0)
    high = done
    while low < high:
        middle = (low + high) >> 1
        if undo_line(mem, middle) <= line:
            low = middle + 1
        else:
            high = middle
    return low


@wp.func(inline=False)
def map_changes(mem: Q, done: int, count: int, changes: Q) -> wp.bool:
    """Fill the map at `changes`: a bit for each 32 bytes of VRAM that undo entries 0..count-1 change.

    Returns False if one of the first `done` entries, made during the picture, changes OAM.
    """
    vram_only = wp.bool(True)
    for word in range(MAP_BYTES // 4):
        st32(changes + Q(4 * word), U(0))
    for i in range(count):
        offset = undo_offset(get32(mem, UNDO_TOP - 4 - 4 * i))
        if offset < OAM_OFFSET:
            place = changes + Q(U((offset >> 10) * 4))
            st32(place, ld32(place) | (U(1) << U((offset >> 5) & 31)))
        elif i < done:
            vram_only = wp.bool(False)
    return vram_only


@wp.func
def changed(changes: Q, offset: int) -> wp.bool:
    """Return whether the map at `changes` has a change in the 32 bytes that contain VRAM `offset`."""
    word = ld32(changes + Q(U((offset >> 10) * 4)))
    return ((word >> U((offset >> 5) & 31)) & U(1)) != U(0)


@wp.func(inline=False)
def pair_before(mem: Q, offset: int, now: U, later: int) -> U:
    """Return the two bytes at even VRAM `offset`, now `now`, as they were before the undo entries `later`."""
    pair = now
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
def pair_seen(mem: Q, offset: int, now: U, later: int, changes: Q) -> U:
    """Return `pair_before`, searching the log only where the map at `changes` has a change."""
    pair = now
    if later != NOTHING:
        if changed(changes, offset):
            pair = pair_before(mem, offset, now, later)
    return pair


@wp.func
def byte_seen(mem: Q, offset: int, now: U, later: int, changes: Q) -> U:
    """Return the byte at VRAM `offset`, now `now`, as it was before the undo entries `later`.

    The log is searched only where the map at `changes` has a change.
    """
    byte = now
    if later != NOTHING:
        if changed(changes, offset):
            shift = U(8 * (offset & 1))
            pair = pair_before(mem, offset & 0x1FFE, now << shift, later)
            byte = (pair >> shift) & U(0xFF)
    return byte
