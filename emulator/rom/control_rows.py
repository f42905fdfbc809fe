"""Encoding of the datasheet: control rows for the uniform data path, and words for a ROM.

An instruction is twelve uint32 that steer one sequence of steps (sm83/data_path.py), so that lanes of a warp
at different opcodes run together. A predecoded word names the row of the instruction at a ROM byte and
carries its immediate.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from emulator.rom.isa import INSTRUCTIONS, R16, Instruction

# Register file as the data path sees it: lo = C, B, E, D and hi = L, H, F, A (byte 0 first).
_BYTE = {"c": 0, "b": 1, "e": 2, "d": 3, "l": 4, "h": 5, "f": 6, "a": 7}
_PAIR = {"bc": 0x10, "de": 0x32, "hl": 0x54, "af": 0x76}

# Control bits, word 6 (low half).
# READ and WRITE lie where `fast_bits` has the permission for them.
READ, READ16, WRITE, WRITE16 = 1, 2, 0x10000, 0x20000
SP_FROM_ADDRESS, SP_FROM_RESULT, HL_FROM_ADDRESS = 16, 32, 64
ADJUST_FIRST, BRANCH, SLOW = 128, 4, 2048
NEVER_SET = 1 << 8
READ_CYCLE_SHIFT, WRITE_CYCLE_SHIFT = 12, 21
ASCENDING = 1 << 18
INC_DEC_PAIR = 1 << 19
CONTROL = 1 << 20  # operations after daa: `attend` executes them
WATCH = 8  # backward branch that may close a waiting loop
FETCH = 1 << 10  # no instruction yet
CYCLES_SHIFT = 28
# Control bits that do not apply to a branch that is not taken.
TAKEN_ONLY = READ | READ16 | WRITE | WRITE16 | SP_FROM_ADDRESS | BRANCH | WATCH | 7 << CYCLES_SHIFT

# Slow kinds, word 6 bits 24-27. The first eight are the rotates and shifts.
ROTATES = ("rlc", "rrc", "rl", "rr", "sla", "sra", "swap", "srl")
SLOW_KINDS = {
    name: kind for kind, name in enumerate((*ROTATES, "daa", "ei", "di", "halt", "reti", "stop", "lock", "trap"))
}

_FLAG_BITS = (8, 4, 2, 1)  # Z N H C, as a nibble
_SUM, _AND, _OR, _XOR = (1, 1, 1), (1, 0, 0), (1, 1, 0), (0, 1, 0)
_TERMS = {"and": _AND, "bit": _AND, "res": _AND, "or": _OR, "set": _OR, "xor": _XOR, "cpl": _XOR}
"""Which terms of x + y an operation uses: and-term, xor-term, carries; `_SUM` for operations not listed."""


def _flag_masks(flags: str) -> tuple[int, int, int]:
    """Return three masks of F for a flags column: bits to keep, bits to compute, bits to invert."""
    keep = computed = toggle = 0
    for letter, bit in zip(flags, _FLAG_BITS, strict=True):
        keep |= bit * (letter in "-~")
        computed |= bit * letter.isalpha()
        toggle |= bit * (letter in "1~" or letter.islower())
    return keep, computed, toggle


def _select_y(y: str) -> tuple[int, int]:
    """Return the byte selectors that pick operand y: from the register file, and among registers and immediates."""
    if y in _BYTE:
        return _BYTE[y] * 0x11, 0x10
    if y in _PAIR:
        return _PAIR[y], 0x10
    return 0x10, {"": 0x10, "mem": 0x54, "n8": 0x76, "n16": 0x76, "e8": 0xE6, "sp": 0x10}[y]


def _select_address(address: str) -> tuple[int, int, int, int]:
    """Return for a memory operand: register pair, address byte selector, added constant, and change of the pair."""
    base = address.removeprefix("ff00+").rstrip("+-").split("+")[0].split("-")[0]
    constant = 0xFF00 if address.startswith("ff00+") else 0
    adjust = {"hl+": 1, "hl-": -1, "sp+2": 2, "sp-2": -2}.get(address, 0)
    if base == "c":
        return 0x00, 0x32, constant, adjust
    if base in _PAIR:
        return _PAIR[base], 0x32, constant, adjust
    return 0x54, {"sp": 0x54, "n16": 0x76, "n8": 0x76}[base], constant, adjust


def _destination_selectors(destination: str) -> tuple[int, int]:
    """Return the byte selectors (`prmt`) that write the result (bytes 4, 5) into the register words lo and hi."""
    file = list(range(8))
    if destination in _BYTE:
        file[_BYTE[destination]] = 8
    elif destination in _PAIR:
        low = _PAIR[destination] & 15
        file[low], file[low + 1] = 8, 9
    nibbles = [4 + source - 8 if source >= 8 else source & 3 for source in file]
    return tuple(  # type: ignore[return-value]
        sum(nibble << (4 * place) for place, nibble in enumerate(half)) for half in (nibbles[:4], nibbles[4:])
    )


# Rotates on the uniform path: (multiplier, right shift, byte 1 of the operand). The product shifted right
# has the result in byte 0; before the shift it has the carry in bit 16. Byte 1 of the operand is the
# register once more, 0 (from the unused immediate), or the sign. For RR, bytes 0 and 2 are F and byte 1
# is the register: times 1001 puts C, bit 4 of F, right above the register as well.
TURNS = {
    "rlc": (2, 8, "twice"),
    "rrc": (0x10000, 17, "twice"),
    "rl": (0x200, 8, "zero"),
    "sla": (0x200, 8, "zero"),
    "sra": (0x10000, 17, "sign"),
    "swap": (1, 4, "twice"),
    "srl": (0x10000, 17, "zero"),
    "rr": (0x1001, 9, "flags"),
}


def _turn(row: Instruction) -> tuple[int, int, int] | None:
    """Return multiplier, right shift and operand selector of a rotate on the data path; None for other instructions."""
    if row.operation not in TURNS or (row.operation == "rl" and row.opcode < 256):
        return None  # rla is adc a, a
    times, shift, upper = TURNS[row.operation]
    low = 4 if row.y == "mem" else 0
    if upper == "flags":
        return times, shift, max(low, 1) << 4  # byte 0: F
    return times, shift, low | {"twice": low, "zero": 6, "sign": low | 8}[upper] << 4


def slow_bits(operation: str) -> int:
    """Return the control bits of an operation that the data path cannot execute."""
    kind = SLOW_KINDS[operation]
    return (SLOW if kind <= SLOW_KINDS["daa"] else CONTROL) | kind << 24


def _control_bits(row: Instruction) -> int:
    bits = 0
    access = row.access
    if access:
        bits |= (READ | READ16 * (access.size == 2)) * (access.kind in ("read", "modify"))
        bits |= (WRITE | WRITE16 * (access.size == 2)) * (access.kind in ("write", "modify"))
        bits |= access.read_cycle << READ_CYCLE_SHIFT | access.write_cycle << WRITE_CYCLE_SHIFT
        bits |= ASCENDING * access.ascending
        bits |= SP_FROM_ADDRESS * access.address.startswith("sp")
        bits |= HL_FROM_ADDRESS * (access.address in ("hl+", "hl-"))
        bits |= ADJUST_FIRST * (access.address == "sp-2")
    bits |= SP_FROM_RESULT * (row.destination == "sp")
    bits |= BRANCH * (row.destination in ("pc", "vector"))
    pair = row.y in R16 and row.operation in ("inc", "dec")
    bits |= INC_DEC_PAIR * pair
    if row.operation in SLOW_KINDS and row.operation not in TURNS:
        bits |= slow_bits(row.operation)
    return bits


class _Operand(NamedTuple):
    """Encoding of x or y, the two operands of the sum that the data path computes for every instruction."""

    select: int
    """Byte selector (`prmt`) that picks the operand."""
    times: int
    """Multiplier: 1, 0, -1, or one of `TURNS`."""
    plus: int
    """Number added to the product."""
    register: int = 0
    """Byte selector in the register file; used for y only."""


def _operand_x(row: Instruction) -> _Operand:
    times, select, plus = 0, 0x10, 0
    if row.x:
        times, select = 1, {"a": 0x13, "sp": 0x54, "pc": 0x76, "hl": 0x10}[row.x]
    if row.y == "sp":  # inc sp, dec sp, add hl, sp: SP enters as x, HL as y
        times, select = 1, 0x54
    elif row.operation in ("dec", "cpl"):
        plus = -1
    if row.operation == "rl" and row.opcode < 256:
        times, select = 1, 0x13
    if row.operation in ("bit", "set"):
        plus = 1 << row.number
    elif row.operation == "res":
        plus = ~(1 << row.number)
    return _Operand(select, times, plus)


def _operand_y(row: Instruction) -> _Operand:
    register, select = _select_y(row.y)
    times, plus = int(row.y != ""), 0
    if row.y == "sp":
        times, register = int(row.operation == "add16"), _PAIR["hl"]
        plus = -int(row.operation == "dec")  # SP + FFFF
    if row.operation in ("sub", "sbc"):
        times, plus = -times, -1
    turn = _turn(row)
    if turn:
        times, _, select = turn
        if row.operation == "rr":
            register = register & 0xF0 | _BYTE["f"]
    return _Operand(select, times, plus, register)


def _branch_words(row: Instruction) -> tuple[int, int]:
    """Return control word 6, and for word 5 the condition's flag with the bits that change in word 6 if it is set."""
    taken = _control_bits(row) | (row.m_cycles + row.taken_extra) << CYCLES_SHIFT
    not_taken = taken & ~TAKEN_ONLY | row.m_cycles << CYCLES_SHIFT
    changes = taken ^ not_taken if row.condition else 0
    flag = {"": 0, "nz": 0x800000, "z": 0x800000, "nc": 0x100000, "c": 0x100000}[row.condition]
    return not_taken if row.condition in ("z", "c") else taken, flag | changes


def _term_words(row: Instruction, carry_toggle: int) -> tuple[int, int]:
    """Return control word 4, and for word 5 the bits that depend on the operation's terms."""
    and_term, xor_term, carry_term = _TERMS.get(row.operation, _SUM)
    target = 0x32 if row.destination == "vector" else 0x54
    wide = int(row.access is not None and row.access.size == 2) << 31
    turn = _turn(row)
    if turn:
        return turn[1], (0x10 if row.operation == "rr" else 0x20) << 8 | wide
    carries = 0x21 if row.operation == "add16" else 0x10
    return target | carry_toggle << 20 | (and_term + carry_term) << 30, xor_term << 7 | carries << 8 | wide


def encode(row: Instruction) -> tuple[int, ...]:
    """Encode one instruction as twelve control words (layout read by sm83/data_path.py).

    Word 0  operand register bytes 0-15; address constant 16-31
    Word 1  lo selector 0-15; computed flags 20-23; address adjustment 24-31
    Word 2  hi selector 0-15; toggled flags 20-23; length 30-31
    Word 3  x selector 0-7; y selector 8-15; kept flags 20-23
    Word 4  selector of the branch's target 0-15; carry-in toggle 20; and-term times 30-31; of a rotate only
            the shift, less than 32
    Word 5  sign bit of byte 0: xor-term on; selector of the carries 8-15; flag of the condition 20-23; 16-bit
            access 31; the bits of TAKEN_ONLY that change in word 6 if it is set
    Word 6  control bits (if the flag is clear); kind of a slow instruction 24-27; M-cycles 28-30
    Word 7  address selector 0-7; length 8-15; increment 16; carry-in from C 20; M-cycles of a branch 24-30; 1 31
    Word 8  y times this (1, 0, -1 or by TURNS); 9: plus this; 10: x times this (1 or 0); 11: plus this
    """
    x, y = _operand_x(row), _operand_y(row)
    carry_toggle = int(row.operation in ("sub", "sbc", "inc"))
    carry_in = int(row.operation in ("adc", "sbc", "rl"))
    pair, address_select, address_constant, adjust = _select_address(row.access.address if row.access else "hl")
    lo_select, hi_select = _destination_selectors(row.destination)
    keep, computed, toggle = _flag_masks(row.flags)
    if row.operation == "swap":
        computed &= ~1
    control, condition = _branch_words(row)
    terms, carries = _term_words(row, carry_toggle)
    branch_cycles = row.m_cycles + row.taken_extra
    return (
        y.register | pair << 8 | address_constant << 16,
        lo_select | computed << 20 | (adjust & 255) << 24,
        hi_select | toggle << 20 | row.length << 30,
        x.select | y.select << 8 | keep << 20,
        terms,
        carries | condition,
        control,
        address_select | row.length << 8 | carry_toggle << 16 | carry_in << 20 | branch_cycles << 24 | 1 << 31,
        y.times & 0xFFFFFFFF,
        y.plus & 0xFFFFFFFF,
        x.times,
        x.plus & 0xFFFFFFFF,
    )


IDLE = 0xCB
"""Control row that waiting consoles execute: it takes no time and changes nothing."""
IDLE_LO, IDLE_HI, IDLE_FLAGS = 0x3210, 0x3210, 0xF00000
IDLE_ROW = (0, IDLE_LO, IDLE_HI, IDLE_FLAGS, *[0] * 8)
ROW_WORDS = 16  # twelve used
ROWS = 2048
"""Number of rows of the control table: 512 instructions, and variants by `SLOW_FETCH` (the idle row; the service
then fetches the instruction) and `WAITS` (a branch that may close a waiting loop).
"""
HOOK_TABLE_WORDS = 4096
"""Words behind the control table on the device, for hooks (`kernels/sm83/hooks.py`)."""


@functools.cache  # a run makes five emulators or more; one table takes 40 ms
def control_words(trap_ld_b_b: bool = False) -> np.ndarray:
    """Return the control table, uint32[ROWS * ROW_WORDS], read-only; `trap_ld_b_b` makes opcode 40 a breakpoint."""
    table = np.array([encode(row) for row in INSTRUCTIONS], dtype=np.uint32)
    table[IDLE] = IDLE_ROW
    if trap_ld_b_b:
        table[0x40, 6] |= np.uint32(slow_bits("trap"))
    fetch = np.array(IDLE_ROW, np.uint32)
    fetch[6] = FETCH
    waits = table.copy()
    for word in (5, 6):  # a conditional branch has its bits in both words
        waits[table[:, word] & BRANCH != 0, word] |= WATCH
    rows = np.tile(fetch, (ROWS, 1))
    rows[:512], rows[WAITS : WAITS + 512] = table, waits
    words = np.pad(rows, ((0, 0), (0, ROW_WORDS - rows.shape[1]))).reshape(-1)
    words.flags.writeable = False
    return words


SLOW_FETCH = 0x200
"""Bit of a predecoded word: the instruction crosses the end of its bank."""
WAITS = 0x400
"""Bit of a predecoded word: a backward branch that may close a waiting loop."""
COUNTS_8, COUNTS_16 = 0x800, 0x1000
"""Bits of the word of a `WAITS` branch: its loop only counts a register, or a pair, down to zero."""
LEAVES_BANK = 0x2000
"""Bit of a predecoded word: a JR to another 16 KiB bank; only threaded and native code read it."""
JR = (0x18, 0x20, 0x28, 0x30, 0x38)
_LENGTH = np.array([instruction.length for instruction in INSTRUCTIONS], np.uint32)


def predecode(rom: np.ndarray, ends: bool = False) -> np.ndarray:
    """Return for each byte of `rom`, taken as an opcode, control row | immediate << 16, uint32.

    The immediate of rst is its vector. An instruction that crosses a 16 KiB boundary carries `SLOW_FETCH`: its
    remaining bytes depend on the bank mapped after it. With `ends`, for threaded and native code, an instruction that
    ends at the boundary carries it too, and `LEAVES_BANK` is set: then the code never leaves the bank.
    """
    opcode = rom.astype(np.uint32)
    first = np.append(opcode[1:], 0).astype(np.uint32)
    second = np.append(opcode[2:], [0, 0]).astype(np.uint32)
    prefix = opcode == 0xCB
    row = np.where(prefix, 256 + first, opcode)
    immediate = first | second << 8
    immediate = np.where((opcode & 0xC7) == 0xC7, opcode & 0x38, immediate)
    length = _LENGTH[row]
    place = np.arange(len(rom), dtype=np.uint32) & 0x3FFF
    crosses = place + length > 0x4000 - int(ends)
    words = row | np.where(prefix, 0, immediate) << 16
    if ends:
        target = place.astype(np.int64) + 2 + (first.astype(np.int64) ^ 0x80) - 0x80
        leaves = np.isin(opcode, JR) & ((target < 0) | (target >= 0x4000))
        words |= np.where(leaves, LEAVES_BANK, 0).astype(np.uint32)
    return np.where(crosses, row | SLOW_FETCH, words).astype(np.uint32)
