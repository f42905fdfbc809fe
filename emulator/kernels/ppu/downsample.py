"""Downsampling: rounded means of 2x2 pixels of a packed picture, 16 at a time on bit planes."""

import warp as wp

from emulator.kernels.intrinsics import Q, U, ld32

EVEN = wp.constant(wp.uint32(0x55555555))


@wp.struct
class Counts:
    """Number of set bits in each 2x2 block of one bit plane, itself as bit planes.

    A block's number lies at the bit position of the right one of its two columns.
    """

    ones: wp.uint32
    twos: wp.uint32
    fours: wp.uint32


@wp.func
def count_bits(upper: U, lower: U) -> Counts:
    """Count the set bits of 16 blocks of 2x2: 32 pixels of a line and of the line below it, one bit plane."""
    a = upper & EVEN
    b = (upper >> U(1)) & EVEN
    c = lower & EVEN
    d = (lower >> U(1)) & EVEN
    o = Counts()
    o.ones = a ^ b ^ c ^ d
    o.twos = (a & b) ^ (c & d) ^ ((a ^ b) & (c ^ d))
    o.fours = a & b & c & d
    return o


@wp.func
def means(lows: Counts, highs: Counts) -> U:
    """Return the rounded means of 16 blocks, two bits each: (low bits + 2 * high bits + 2) >> 2."""
    carry = lows.twos | highs.ones  # carry of bit 1, where the 2 is added to both
    low = lows.fours ^ highs.twos ^ carry
    high = highs.fours | (lows.fours & highs.twos) | (carry & (lows.fours | highs.twos))
    return low | (high << U(1))


@wp.func
def spread(pairs: U) -> U:
    """Return the four bit pairs of a byte as the bytes of a word, the top pair in the lowest byte."""
    halves = (pairs >> U(4)) | ((pairs & U(0xF)) << U(16))
    return ((halves >> U(2)) & U(0x00030003)) | ((halves & U(0x00030003)) << U(8))


@wp.func
def means_of_blocks(place: Q) -> U:
    """Return the means of the 16 blocks whose upper lines begin at address `place` of a packed picture.

    Two bits each, in the byte order that `spread` takes.
    """
    lows = count_bits(ld32(place), ld32(place + Q(40)))
    highs = count_bits(ld32(place + Q(20)), ld32(place + Q(60)))
    return means(lows, highs)
