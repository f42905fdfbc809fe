"""The SM83 instruction set as one datasheet, and its encoding into control rows.

`DATASHEET` has one line per bit pattern; `INSTRUCTIONS` expands it to 512 rows (0-255 plain,
256-511 behind the CB prefix), which feed the disassembler, the tests and `control_words`: twelve
uint32 per instruction that steer one uniform data path (kernels/cpu.py), so that lanes at
different opcodes run together. Sources: https://gbdev.io/gb-opcodes/optables/ and
https://gekkio.fi/files/gb-docs/gbctr.pdf (which M-cycle does what).

Columns
  bits    opcode; d/s = 8-bit register (b c d e h l (hl) a), p = register pair, c = condition,
          b = bit number, t = restart vector
  M       M-cycles, and what a taken branch adds
  op      add, and, or, xor combine x and y; sub, adc, sbc, inc, dec and add16 are forms of add;
          an empty op moves x + y; words such as daa or halt leave the uniform path
  x, y    operands: registers, n8, n16, e8 (signed), mem = the byte(s) read, pc = next instruction
  to      destination; pc = branch to the result, vector = branch to the immediate
  flags   ZNHC: - kept, 0, 1, letter = computed, lower case = borrow, ~ = inverted
  memory  access, address and the M-cycle (1 = the opcode fetch) in which it happens
"""

from __future__ import annotations

import dataclasses
import re

import numpy as np

DATASHEET = """
bits        | assembly       | M   | op    | x  | y   | to     | flags | memory
00000000    | nop            | 1   |       |    |     |        | ----  |
00001000    | ld (n16), sp   | 5   |       | sp |     |        | ----  | write16 n16 @4 ascending
00010000    | stop n8        | 1   | stop  |    |     |        | ----  |
00011000    | jr e8          | 3   | add   | pc | e8  | pc     | ----  |
001cc000    | jr {c}, e8     | 2+1 | add   | pc | e8  | pc     | ----  |
00pp0001    | ld {p}, n16    | 3   |       |    | n16 | {p}    | ----  |
00pp1001    | add hl, {p}    | 2   | add16 | hl | {p} | hl     | -0HC  |
00000010    | ld (bc), a     | 2   |       |    | a   |        | ----  | write bc @2
00010010    | ld (de), a     | 2   |       |    | a   |        | ----  | write de @2
00100010    | ld (hl+), a    | 2   |       |    | a   |        | ----  | write hl+ @2
00110010    | ld (hl-), a    | 2   |       |    | a   |        | ----  | write hl- @2
00001010    | ld a, (bc)     | 2   |       |    | mem | a      | ----  | read bc @2
00011010    | ld a, (de)     | 2   |       |    | mem | a      | ----  | read de @2
00101010    | ld a, (hl+)    | 2   |       |    | mem | a      | ----  | read hl+ @2
00111010    | ld a, (hl-)    | 2   |       |    | mem | a      | ----  | read hl- @2
00pp0011    | inc {p}        | 2   | inc   |    | {p} | {p}    | ----  |
00pp1011    | dec {p}        | 2   | dec   |    | {p} | {p}    | ----  |
00ddd100    | inc {d}        | 1   | inc   |    | {d} | {d}    | Z0H-  |
00ddd101    | dec {d}        | 1   | dec   |    | {d} | {d}    | Z1h-  |
00ddd110    | ld {d}, n8     | 2   |       |    | n8  | {d}    | ----  |
00000111    | rlca           | 1   | rlc   |    | a   | a      | 000C  |
00001111    | rrca           | 1   | rrc   |    | a   | a      | 000C  |
00010111    | rla            | 1   | rl    |    | a   | a      | 000C  |
00011111    | rra            | 1   | rr    |    | a   | a      | 000C  |
00100111    | daa            | 1   | daa   |    | a   | a      | Z-0C  |
00101111    | cpl            | 1   | cpl   |    | a   | a      | -11-  |
00110111    | scf            | 1   |       |    |     |        | -001  |
00111111    | ccf            | 1   |       |    |     |        | -00~  |
01dddsss    | ld {d}, {s}    | 1   |       |    | {s} | {d}    | ----  |
01110110    | halt           | 1   | halt  |    |     |        | ----  |
10000sss    | add a, {s}     | 1   | add   | a  | {s} | a      | Z0HC  |
10001sss    | adc a, {s}     | 1   | adc   | a  | {s} | a      | Z0HC  |
10010sss    | sub a, {s}     | 1   | sub   | a  | {s} | a      | Z1hc  |
10011sss    | sbc a, {s}     | 1   | sbc   | a  | {s} | a      | Z1hc  |
10100sss    | and a, {s}     | 1   | and   | a  | {s} | a      | Z010  |
10101sss    | xor a, {s}     | 1   | xor   | a  | {s} | a      | Z000  |
10110sss    | or a, {s}      | 1   | or    | a  | {s} | a      | Z000  |
10111sss    | cp a, {s}      | 1   | sub   | a  | {s} |        | Z1hc  |
11000110    | add a, n8      | 2   | add   | a  | n8  | a      | Z0HC  |
11001110    | adc a, n8      | 2   | adc   | a  | n8  | a      | Z0HC  |
11010110    | sub a, n8      | 2   | sub   | a  | n8  | a      | Z1hc  |
11011110    | sbc a, n8      | 2   | sbc   | a  | n8  | a      | Z1hc  |
11100110    | and a, n8      | 2   | and   | a  | n8  | a      | Z010  |
11101110    | xor a, n8      | 2   | xor   | a  | n8  | a      | Z000  |
11110110    | or a, n8       | 2   | or    | a  | n8  | a      | Z000  |
11111110    | cp a, n8       | 2   | sub   | a  | n8  |        | Z1hc  |
110cc000    | ret {c}        | 2+3 |       |    | mem | pc     | ----  | pop @3
11001001    | ret            | 4   |       |    | mem | pc     | ----  | pop @2
11011001    | reti           | 4   | reti  |    | mem | pc     | ----  | pop @2
11pp0001    | pop {p}        | 3   |       |    | mem | {p}    | ----  | pop @2
11pp0101    | push {p}       | 4   |       |    | {p} |        | ----  | push @3
110cc010    | jp {c}, n16    | 3+1 |       |    | n16 | pc     | ----  |
11000011    | jp n16         | 4   |       |    | n16 | pc     | ----  |
11101001    | jp hl          | 1   |       |    | hl  | pc     | ----  |
110cc100    | call {c}, n16  | 3+3 |       | pc |     | vector | ----  | push @5
11001101    | call n16       | 6   |       | pc |     | vector | ----  | push @5
11ttt111    | rst {t}        | 4   |       | pc |     | vector | ----  | push @3
11100000    | ldh (n8), a    | 3   |       |    | a   |        | ----  | write ff00+n8 @3
11110000    | ldh a, (n8)    | 3   |       |    | mem | a      | ----  | read ff00+n8 @3
11100010    | ldh (c), a     | 2   |       |    | a   |        | ----  | write ff00+c @2
11110010    | ldh a, (c)     | 2   |       |    | mem | a      | ----  | read ff00+c @2
11101010    | ld (n16), a    | 4   |       |    | a   |        | ----  | write n16 @4
11111010    | ld a, (n16)    | 4   |       |    | mem | a      | ----  | read n16 @4
11101000    | add sp, e8     | 4   | add   | sp | e8  | sp     | 00HC  |
11111000    | ld hl, sp+e8   | 3   | add   | sp | e8  | hl     | 00HC  |
11111001    | ld sp, hl      | 2   |       |    | hl  | sp     | ----  |
11110011    | di             | 1   | di    |    |     |        | ----  |
11111011    | ei             | 1   | ei    |    |     |        | ----  |
CB 00000sss | rlc {s}        | 2   | rlc   |    | {s} | {s}    | Z00C  |
CB 00001sss | rrc {s}        | 2   | rrc   |    | {s} | {s}    | Z00C  |
CB 00010sss | rl {s}         | 2   | rl    |    | {s} | {s}    | Z00C  |
CB 00011sss | rr {s}         | 2   | rr    |    | {s} | {s}    | Z00C  |
CB 00100sss | sla {s}        | 2   | sla   |    | {s} | {s}    | Z00C  |
CB 00101sss | sra {s}        | 2   | sra   |    | {s} | {s}    | Z00C  |
CB 00110sss | swap {s}       | 2   | swap  |    | {s} | {s}    | Z00C  |
CB 00111sss | srl {s}        | 2   | srl   |    | {s} | {s}    | Z00C  |
CB 01bbbsss | bit {b}, {s}   | 2   | bit   |    | {s} |        | Z01-  |
CB 10bbbsss | res {b}, {s}   | 2   | res   |    | {s} | {s}    | ----  |
CB 11bbbsss | set {b}, {s}   | 2   | set   |    | {s} | {s}    | ----  |
"""

R8 = ("b", "c", "d", "e", "h", "l", "(hl)", "a")
R16 = ("bc", "de", "hl", "sp")
R16_STACK = ("bc", "de", "hl", "af")
CONDITIONS = ("nz", "z", "nc", "c")
UNDEFINED = (0xD3, 0xDB, 0xDD, 0xE3, 0xE4, 0xEB, 0xEC, 0xED, 0xF4, 0xFC, 0xFD)


@dataclasses.dataclass(frozen=True, slots=True)
class Access:
    """One memory access: `kind` read/write/modify, bytes, address, M-cycle of the first byte."""

    kind: str
    size: int
    address: str
    read_cycle: int = 0
    write_cycle: int = 0
    ascending: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Instruction:
    """One row of the expanded datasheet (columns as in the module docstring)."""

    opcode: int
    mnemonic: str
    length: int
    m_cycles: int
    taken_extra: int
    condition: str
    operation: str
    x: str
    y: str
    destination: str
    flags: str
    access: Access | None
    number: int = 0
    """Bit number of bit/res/set, vector of rst."""


def _parse_access(text: str) -> Access | None:
    if not text:
        return None
    word, *rest = text.split()
    cycle = next(int(part[1:]) for part in rest if part[0] == "@")
    if word == "pop":
        return Access("read", 2, "sp+2", read_cycle=cycle)
    if word == "push":
        return Access("write", 2, "sp-2", write_cycle=cycle, ascending=False)
    size = 2 if word.endswith("16") else 1
    if word.startswith("read"):
        return Access("read", size, rest[0], read_cycle=cycle)
    return Access("write", size, rest[0], write_cycle=cycle)


def _with_hl_operand(row: Instruction) -> Instruction:
    """Turn operand (hl) into memory accesses: one M-cycle each, right after the fetch."""
    fetch = 2 if row.opcode >= 256 or "n8" in row.mnemonic else 1
    reads, writes = row.y == "(hl)", row.destination == "(hl)"
    kind = "modify" if reads and writes else "read" if reads else "write"
    return dataclasses.replace(
        row,
        y="mem" if reads else row.y,
        destination="" if writes else row.destination,
        m_cycles=row.m_cycles + reads + writes,
        access=Access(
            kind,
            1,
            "hl",
            read_cycle=fetch + 1 if reads else 0,
            write_cycle=fetch + 1 + reads if writes else 0,
        ),
    )


def _expand(line: str) -> list[Instruction]:
    columns = [column.strip() for column in line.split("|")]
    bits, text, m_cycles, operation, x, y, to, flags, memory = columns
    prefix = 256 if bits.startswith("CB") else 0
    bits = bits.removeprefix("CB ")
    base, extra = (int(part) for part in (m_cycles + "+0").split("+")[:2])
    letters = {letter: bits.count(letter) for letter in "dspcbt" if letter in bits}
    rows = []
    for opcode in range(256):
        if not re.fullmatch(re.sub("[dspcbt]", ".", bits), f"{opcode:08b}"):
            continue
        fields = {letter: int(f"{opcode:08b}"[bits.index(letter) :][:width], 2)
                  for letter, width in letters.items()}  # fmt: skip
        pairs = R16_STACK if memory.startswith(("pop", "push")) else R16
        names = {
            "d": R8[fields.get("d", 0)],
            "s": R8[fields.get("s", 0)],
            "p": pairs[fields.get("p", 0)],
            "c": CONDITIONS[fields.get("c", 0)],
            "b": fields.get("b", 0),
            "t": f"${8 * fields.get('t', 0):02x}",
        }
        row = Instruction(
            opcode=prefix + opcode,
            mnemonic=text.format(**names),
            length=1 + ("n16" in text) * 2 + ("n8" in text or "e8" in text) + (prefix > 0),
            m_cycles=base,
            taken_extra=extra,
            condition=names["c"] if "c" in fields else "",
            operation=operation,
            x=x,
            y=y.format(**names),
            destination=to.format(**names),
            flags=flags,
            access=_parse_access(memory),
            number=8 * fields["t"] if "t" in fields else fields.get("b", 0),
        )
        rows.append(_with_hl_operand(row) if "(hl)" in (row.y, row.destination) else row)
    return rows


def _undefined(opcode: int) -> Instruction:
    """Return the row of an opcode that locks the CPU."""
    return Instruction(opcode, f"db ${opcode:02x}", 1, 1, 0, "", "lock", "", "", "", "----", None)


def _expand_all() -> tuple[Instruction, ...]:
    rows = {opcode: _undefined(opcode) for opcode in (*UNDEFINED, 0xCB)}  # CB is never a row
    for line in DATASHEET.strip().splitlines()[1:]:
        # A later line wins: 76 is halt, not ld (hl), (hl).
        rows.update({row.opcode: row for row in _expand(line)})
    return tuple(rows[opcode] for opcode in range(512))


INSTRUCTIONS = _expand_all()
LONGEST = max(row.m_cycles + row.taken_extra for row in INSTRUCTIONS)
"""M-cycles of the longest instruction."""


# --- Encoding -------------------------------------------------------------------------------
# Register file as the data path sees it: lo = C, B, E, D and hi = L, H, F, A (byte 0 first).
_BYTE = {"c": 0, "b": 1, "e": 2, "d": 3, "l": 4, "h": 5, "f": 6, "a": 7}
_PAIR = {"bc": 0x10, "de": 0x32, "hl": 0x54, "af": 0x76}

# Control bits, word 6 (low half).
# READ and WRITE lie where `fast_bits` has the permission for them.
READ, READ16, WRITE, WRITE16 = 1, 2, 0x10000, 0x20000
SP_FROM_ADDRESS, SP_FROM_RESULT, HL_FROM_ADDRESS = 16, 32, 64
ADJUST_FIRST, BRANCH, SLOW = 128, 4, 2048
NEVER = 1 << 8
READ_CYCLE_SHIFT, WRITE_CYCLE_SHIFT = 12, 21
ASCENDING = 1 << 18
INC_DEC_PAIR = 1 << 19
CONTROL = 1 << 20  # kinds behind daa: what `attend` has to do
WATCH = 8  # a backward branch that may close a loop that waits
FETCH = 1 << 10  # no instruction yet
CYCLES_SHIFT = 28
# What a branch that is not taken must not do.
TAKEN_ONLY = READ | READ16 | WRITE | WRITE16 | SP_FROM_ADDRESS | BRANCH | WATCH | 7 << CYCLES_SHIFT

# Slow kinds, word 6 bits 24-27. The first eight are the rotates and shifts.
ROTATES = ("rlc", "rrc", "rl", "rr", "sla", "sra", "swap", "srl")
SLOW_KINDS = {name: kind for kind, name in enumerate(
    (*ROTATES, "daa", "ei", "di", "halt", "reti", "stop", "lock", "trap"))}  # fmt: skip

_FLAG_BITS = (8, 4, 2, 1)  # Z N H C, as a nibble
_MASKS = {"add": (1, 1, 1), "and": (1, 0, 0), "or": (1, 1, 0), "xor": (0, 1, 0)}


def _flag_masks(flags: str) -> tuple[int, int, int]:
    """Keep, computed and toggle nibbles of a flags column."""
    keep = computed = toggle = 0
    for letter, bit in zip(flags, _FLAG_BITS, strict=True):
        keep |= bit * (letter in "-~")
        computed |= bit * letter.isalpha()
        toggle |= bit * (letter in "1~" or letter.islower())
    return keep, computed, toggle


def _select_y(y: str) -> tuple[int, int]:
    """Register selector and operand selector of y."""
    if y in _BYTE:
        return _BYTE[y] * 0x11, 0x10
    if y in _PAIR:
        return _PAIR[y], 0x10
    return 0x10, {"": 0x10, "mem": 0x54, "n8": 0x76, "n16": 0x76, "e8": 0xE6, "sp": 0x10}[y]


def _select_address(address: str) -> tuple[int, int, int, int]:
    """Register pair, address selector, constant and adjustment of a memory operand."""
    base = address.removeprefix("ff00+").rstrip("+-").split("+")[0].split("-")[0]
    constant = 0xFF00 if address.startswith("ff00+") else 0
    adjust = {"hl+": 1, "hl-": -1, "sp+2": 2, "sp-2": -2}.get(address, 0)
    if base == "c":
        return 0x00, 0x32, constant, adjust
    if base in _PAIR:
        return _PAIR[base], 0x32, constant, adjust
    return 0x54, {"sp": 0x54, "n16": 0x76, "n8": 0x76}[base], constant, adjust


def _destination_selectors(destination: str) -> tuple[int, int]:
    """Byte selectors that write the result (bytes 4, 5) into lo and hi."""
    file = list(range(8))
    if destination in _BYTE:
        file[_BYTE[destination]] = 8
    elif destination in _PAIR:
        low = _PAIR[destination] & 15
        file[low], file[low + 1] = 8, 9
    nibbles = [4 + source - 8 if source >= 8 else source & 3 for source in file]
    return tuple(  # type: ignore[return-value]
        sum(nibble << (4 * place) for place, nibble in enumerate(half))
        for half in (nibbles[:4], nibbles[4:])
    )


# Rotates on the uniform path: the operand times the first, shifted right by the second, has the
# result in byte 0 and, before it is shifted, the carry in bit 16. Byte 1 of the operand: the
# register once more, 0 (of the immediate that such an instruction has not), or the sign.
TURNS = {
    "rlc": (2, 8, "twice"), "rrc": (0x10000, 17, "twice"), "rl": (0x200, 8, "zero"),
    "sla": (0x200, 8, "zero"), "sra": (0x10000, 17, "sign"), "swap": (1, 4, "twice"),
    "srl": (0x10000, 17, "zero"),
}  # fmt: skip


def _turn(row: Instruction) -> tuple[int, int, int] | None:
    """Multiplier, shift and operand selector of a rotate on the uniform path."""
    if row.operation not in TURNS or (row.operation == "rl" and row.opcode < 256):
        return None  # rla is adc a, a
    times, shift, upper = TURNS[row.operation]
    low = 4 if row.y == "mem" else 0
    return times, shift, low | {"twice": low, "zero": 6, "sign": low | 8}[upper] << 4


def slow_bits(operation: str) -> int:
    """Control bits of an operation off the uniform path."""
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


def encode(row: Instruction) -> tuple[int, ...]:
    """Twelve control words of one instruction (layout read by kernels/cpu.py).

    Word 0  operand register bytes 0-15; address constant 16-31
    Word 1  lo selector 0-15; computed flags 20-23; address adjustment 24-31
    Word 2  hi selector 0-15; toggled flags 20-23
    Word 3  x selector 0-7; y selector 8-15; kept flags 20-23; address selector 24-31
    Word 4  selector of the branch's target 0-15; carry-in toggle 20; and-term times 30-31; of a
            rotate nothing but the shift, less than 32
    Word 5  sign bit of byte 0: xor-term on; selector of the carries 8-15; flag of the condition
            20-23; 16-bit access 31; the bits of TAKEN_ONLY that change in word 6 if it is set
    Word 6  control bits (if the flag is clear); kind of a slow instruction 24-27; M-cycles 28-30
    Word 7  length 8-15; increment 16; carry-in from C 20; M-cycles of a branch 24-30; 1 31
    Word 8  y times this (1, 0, -1 or by TURNS); 9: plus this; 10: x times this (1 or 0); 11: plus
            this
    """
    operation, operand = row.operation, row.y
    x_on, x_select, x_constant = 0, 0x10, 0
    y_register, y_select = _select_y(operand)
    y_on, y_inverted, carry_toggle, carry_in = int(operand != ""), 0, 0, 0
    masks = _MASKS.get(operation, _MASKS["add"])
    if row.x:
        x_on, x_select = 1, {"a": 0x13, "sp": 0x54, "pc": 0x76, "hl": 0x10}[row.x]
    if operand == "sp":  # inc sp, dec sp, add hl, sp: SP enters as x, HL as y
        x_on, x_select = 1, 0x54
        y_on = int(operation == "add16")
        y_register = _PAIR["hl"]
    if operation in ("sub", "sbc"):
        y_inverted, carry_toggle = 1, 1
    carry_in = int(operation in ("adc", "sbc", "rl"))
    if operation == "rl" and row.opcode < 256:
        x_on, x_select = 1, 0x13
    if operation == "inc":
        carry_toggle = 1
    elif operation == "dec" and operand == "sp":
        y_on, y_inverted = 0, 1  # SP + FFFF
    elif operation in ("dec", "cpl"):
        x_constant = -1
    elif operation in ("bit", "set"):
        x_constant = 1 << row.number
    elif operation == "res":
        x_constant = ~(1 << row.number)
    if operation in ("bit", "res"):
        masks = _MASKS["and"]
    elif operation == "set":
        masks = _MASKS["or"]
    elif operation == "cpl":
        masks = _MASKS["xor"]
    pair, address_select, address_constant, adjust = _select_address(
        row.access.address if row.access else "hl"
    )
    lo_select, hi_select = _destination_selectors(row.destination)
    keep, computed, toggle = _flag_masks(row.flags)
    taken = _control_bits(row) | (row.m_cycles + row.taken_extra) << CYCLES_SHIFT
    not_taken = taken & ~TAKEN_ONLY | row.m_cycles << CYCLES_SHIFT
    changes = taken ^ not_taken if row.condition else 0
    control = not_taken if row.condition in ("z", "c") else taken
    flag = {"": 0, "nz": 0x800000, "z": 0x800000, "nc": 0x100000, "c": 0x100000}[row.condition]
    carries = 0x21 if operation == "add16" else 0x10
    wide = int(row.access is not None and row.access.size == 2)
    y_times = y_on - 2 * y_on * y_inverted
    w4 = (0x32 if row.destination == "vector" else 0x54) | carry_toggle << 20
    w4 |= (masks[0] + masks[2]) << 30
    turn = _turn(row)
    if turn:
        y_times, w4, y_select = turn
        masks, carries = (0, 0, 0), 0x20
        computed &= ~1 if operation == "swap" else ~0
    return (
        y_register | pair << 8 | address_constant << 16,
        lo_select | computed << 20 | (adjust & 255) << 24,
        hi_select | toggle << 20,
        x_select | y_select << 8 | keep << 20 | address_select << 24,
        w4,
        masks[1] << 7 | carries << 8 | flag | wide << 31 | changes,
        control,
        row.length << 8 | carry_toggle << 16 | carry_in << 20
        | (row.m_cycles + row.taken_extra) << 24 | 1 << 31,
        y_times & 0xFFFFFFFF, -y_inverted & 0xFFFFFFFF,
        x_on, x_constant & 0xFFFFFFFF,
    )  # fmt: skip


IDLE = 0xCB
"""Row of no instruction: it takes no time and changes nothing."""
IDLE_LO, IDLE_HI, IDLE_FLAGS = 0x3210, 0x3210, 0xF00000
IDLE_ROW = (0, IDLE_LO, IDLE_HI, IDLE_FLAGS, *[0] * 8)
ROW_WORDS = 16  # twelve used
ROWS = 2048
"""Rows of the control table: of the instructions, of those not to be found in the predecoded ROM
(`SLOW_FETCH`: the idle row, which then looks for them), and of branches that may close a loop that
waits (`WAITS`)."""


def control_words(trap_ld_b_b: bool = False) -> np.ndarray:
    """Control table, uint32[ROWS * ROW_WORDS]; with `trap_ld_b_b` opcode 40 is a breakpoint."""
    table = np.array([encode(row) for row in INSTRUCTIONS], dtype=np.uint32)
    table[IDLE] = IDLE_ROW
    if trap_ld_b_b:
        table[0x40, 6] |= np.uint32(slow_bits("trap"))
    fetch = np.array(IDLE_ROW, np.uint32)
    fetch[6] = FETCH
    waits = table.copy()
    for word in (5, 6):  # a branch by condition has its bits in both
        waits[table[:, word] & BRANCH != 0, word] |= WATCH
    rows = np.tile(fetch, (ROWS, 1))
    rows[:512], rows[WAITS : WAITS + 512] = table, waits
    return np.pad(rows, ((0, 0), (0, ROW_WORDS - rows.shape[1]))).reshape(-1)


SLOW_FETCH = 0x200
"""Bit of a predecoded word: the instruction crosses the end of its bank."""
WAITS = 0x400
"""Bit of a predecoded word: a backward branch that may close a loop that waits."""
COUNTS_8, COUNTS_16 = 0x800, 0x1000
"""Bits of such a word: the loop only counts a register, or a pair, down to zero."""


def predecode(rom: np.ndarray, ends: bool = False) -> np.ndarray:
    """Control row | immediate << 16 for each byte of `rom` taken as an opcode, uint32.

    The immediate of rst is its vector. An instruction that crosses a 16 KiB boundary carries
    `SLOW_FETCH`: what follows depends on the bank mapped behind it. With `ends` so does one that
    touches the boundary: whoever walks along the words then never leaves the bank.
    """
    opcode = rom.astype(np.uint32)
    first = np.append(opcode[1:], 0).astype(np.uint32)
    second = np.append(opcode[2:], [0, 0]).astype(np.uint32)
    prefix = opcode == 0xCB
    row = np.where(prefix, 256 + first, opcode)
    immediate = first | second << 8
    immediate = np.where((opcode & 0xC7) == 0xC7, opcode & 0x38, immediate)
    length = np.array([instruction.length for instruction in INSTRUCTIONS], np.uint32)[row]
    place = np.arange(len(rom), dtype=np.uint32) & 0x3FFF
    crosses = place + length > 0x4000 - int(ends)
    words = row | np.where(prefix, 0, immediate) << 16
    return np.where(crosses, row | SLOW_FETCH, words).astype(np.uint32)
