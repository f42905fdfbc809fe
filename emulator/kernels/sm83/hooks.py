"""Hooks: what is counted, recorded and written as the instruction at an address of ROM is fetched.

The predecoded word of a hooked place is SLOW_FETCH, which all executors know: code leaves for the service there, which
looks here (`service.answer_fetch`). So nothing but a load at such fetches is done where nothing is hooked. The table
lies behind the control rows (`launch/code_hooks.py` writes it): TABLE_WORDS words, the number of hooks first, then for
each HOOK_WORDS words as the numbers below say, then lists of places, and of places with values.
"""

import warp as wp

from emulator.constants import ROW_CART_RAM
from emulator.kernels.intrinsics import ALL_ONES, WORD, Q, U, ld8, ld32, st8, st32
from emulator.rom import control_rows
from emulator.state.batch import Console

TABLE_AT = 4 * control_rows.ROWS * control_rows.ROW_WORDS
TABLE_WORDS = control_rows.HOOK_TABLE_WORDS
FIRST_HOOK = 4
HOOK_WORDS = 16
# Words of a hook
OFFSET = 0  # of the instruction, in the array of all ROMs
ADDRESS = 1
HITS = 2  # address of int32[N]
RECORDS = 4  # address of uint8[N, keep, bytes]
KEEP = 6  # hits of which bytes are kept: 1, the latest; else the first ones
BYTES = 7
BYTES_AT = 8  # word of the table at which their places begin
POKES = 9
POKES_AT = 10  # each a place and a value
TEST = 11  # one of TESTS; 0: always
TEST_BYTES = 12  # 1 or 2
TEST_AT = 13
TEST_VALUE = 14
TESTS = ("", "==", "!=", "<", ">=", "&", "<=", ">")
# Kinds of places, above the offset
RAM = 0  # an offset in the memory row
ROM = 1 << 28  # an offset in the console's ROM
BUS = 2 << 28  # an address, read as the CPU would: no hook reads it so
CART = 3 << 28  # an offset in the bank of cartridge RAM that is switched in
REGISTER = 4 << 28  # an index of REGISTERS
PLACE = ROM - 1
REGISTERS = ("c", "b", "e", "d", "l", "h", "f", "a", "sp.low", "sp.high", "pc.low", "pc.high")


@wp.struct
class HookLocals:
    index: wp.uint32
    item: wp.uint32
    place: wp.uint32
    value: wp.uint32
    hooked: wp.uint32
    hits: wp.uint32


@wp.func
def word_of(p: Q, index: U) -> U:
    """Return the word `index` of the table or hook at `p`."""
    return ld32(p + Q(index * U(4)))


@wp.func
def address_of(p: Q, index: U) -> Q:
    """Return the machine address in the two words from `index` on."""
    return Q(word_of(p, index)) | (Q(word_of(p, index + U(1))) << Q(32))


@wp.func
def cart_place(c: wp.ref[Console], offset: U) -> U:
    """Return the offset in the memory row of a byte of the bank that is switched in; 0xFFFFFFFF if there is none."""
    clock = c.has_rtc != U(0) and c.ram_bank > U(3)
    there = offset < c.ram_size and not clock
    return wp.where(there, offset + U(ROW_CART_RAM) + c.ram_offset, ALL_ONES)


@wp.func(inline=False)
def read_hooked(c: wp.ref[Console], mem: Q, rom: Q, place: U) -> U:
    """Return the byte at a place; FF for memory that is not there."""
    o = HookLocals()
    o.value = U(0xFF)
    index = place & U(PLACE)
    if place >= U(REGISTER):
        shift = (index & U(3)) << U(3)
        pairs = wp.where(index >= U(10), c.pc, c.sp) >> ((index & U(1)) << U(3))
        o.value = wp.where(index >= U(8), pairs, wp.where(index >= U(4), c.hi, c.lo) >> shift) & U(0xFF)
    elif place >= U(CART):
        o.place = cart_place(c, index)
        if o.place != ALL_ONES:
            o.value = ld8(mem + Q(o.place))
    elif place >= U(ROM):
        o.value = ld8(rom + Q(c.rom_base + index))
    else:
        o.value = ld8(mem + Q(index))
    return o.value


@wp.func(inline=False)
def write_hooked(c: wp.ref[Console], mem: Q, place: U, value: U):
    """Write a byte to RAM or to a register; F keeps its low bits 0."""
    o = HookLocals()
    index = place & U(PLACE)
    if place >= U(REGISTER):
        shift = (index & U(3)) << U(3)
        if index >= U(8):
            shift = (index & U(1)) << U(3)
            c.sp = (c.sp & (WORD ^ (U(0xFF) << shift))) | (value << shift)
        elif index >= U(4):
            kept = wp.where(index == U(6), value & U(0xF0), value)
            c.hi = (c.hi & (ALL_ONES ^ (U(0xFF) << shift))) | (kept << shift)
        else:
            c.lo = (c.lo & (ALL_ONES ^ (U(0xFF) << shift))) | (value << shift)
    else:
        o.place = wp.where(place >= U(CART), cart_place(c, index), index)
        if o.place != ALL_ONES:
            st8(mem + Q(o.place), value)


@wp.func(inline=False)
def passes(c: wp.ref[Console], mem: Q, rom: Q, table: Q, hook: Q) -> wp.bool:
    """Return whether the hook's test holds."""
    o = HookLocals()
    test = word_of(hook, U(TEST))
    wanted = word_of(hook, U(TEST_VALUE))
    at = word_of(hook, U(TEST_AT))
    o.value = U(0)
    if test != U(0):
        o.value = read_hooked(c, mem, rom, word_of(table, at))
        if word_of(hook, U(TEST_BYTES)) == U(2):
            o.value = o.value | (read_hooked(c, mem, rom, word_of(table, at + U(1))) << U(8))
    holds = test == U(0)
    holds = holds or (test == U(1) and o.value == wanted) or (test == U(2) and o.value != wanted)
    holds = holds or (test == U(3) and o.value < wanted) or (test == U(4) and o.value >= wanted)
    holds = holds or (test == U(5) and (o.value & wanted) != U(0))
    return holds or (test == U(6) and o.value <= wanted) or (test == U(7) and o.value > wanted)


@wp.func(inline=False)
def run_hook(c: wp.ref[Console], mem: Q, rom: Q, table: Q, hook: Q):
    """Count a hit, record its bytes and do what is to be written."""
    o = HookLocals()
    counter = address_of(hook, U(HITS)) + Q(c.env) * Q(4)
    o.hits = ld32(counter)
    st32(counter, o.hits + U(1))
    keep = word_of(hook, U(KEEP))
    count = word_of(hook, U(BYTES))
    o.hits = wp.where(keep == U(1), U(0), o.hits)
    if o.hits < keep:
        record = address_of(hook, U(RECORDS)) + Q(c.env * keep + o.hits) * Q(count)
        o.item = U(0)
        while o.item < count:
            place = word_of(table, word_of(hook, U(BYTES_AT)) + o.item)
            st8(record + Q(o.item), read_hooked(c, mem, rom, place))
            o.item = o.item + U(1)
    o.item = U(0)
    while o.item < word_of(hook, U(POKES)):
        at = word_of(hook, U(POKES_AT)) + o.item * U(2)
        write_hooked(c, mem, word_of(table, at), word_of(table, at + U(1)))
        o.item = o.item + U(1)


@wp.func(inline=False)
def run_hooks(c: wp.ref[Console], mem: Q, rom: Q, control: Q, pc: U) -> U:
    """Run the hooks of the instruction at `pc`, in the order in which they were made; return 1 if there are any."""
    o = HookLocals()
    o.hooked = U(0)
    table = control + Q(U(TABLE_AT))
    at = pc + wp.where(pc >= U(0x4000), c.rom_high, c.rom_low)
    o.index = U(0)
    while o.index < ld32(table):
        hook = table + Q(U(FIRST_HOOK * 4) + o.index * U(HOOK_WORDS * 4))
        if word_of(hook, U(OFFSET)) == at and word_of(hook, U(ADDRESS)) == pc:
            o.hooked = U(1)
            if passes(c, mem, rom, table, hook):
                run_hook(c, mem, rom, table, hook)
        o.index = o.index + U(1)
    return o.hooked
