"""The SM83 instruction set as one datasheet.

`DATASHEET` has one line per bit pattern; `INSTRUCTIONS` expands it to 512 rows (0-255 plain,
256-511 behind the CB prefix). From them come the control rows of the uniform data path
(rom/control_rows.py), the C++ of the native path (sm83/cpp_instructions.py), the disassembler, the
finder of waiting loops and the tests. Sources: https://gbdev.io/gb-opcodes/optables/ and
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
OPCODES = tuple(f"{opcode:08b}" for opcode in range(256))
UNDEFINED = (0xD3, 0xDB, 0xDD, 0xE3, 0xE4, 0xEB, 0xEC, 0xED, 0xF4, 0xFC, 0xFD)


@dataclasses.dataclass(frozen=True, slots=True)
class Access:
    """Memory access of an instruction: `kind` read/write/modify, bytes, address, M-cycle of the first byte."""

    kind: str
    size: int
    address: str
    read_cycle: int = 0
    write_cycle: int = 0
    ascending: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Instruction:
    """Row of the expanded datasheet (columns as in the module docstring)."""

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
    """Return the row with operand (hl) replaced by memory accesses of one M-cycle each, right after the fetch."""
    fetch = 2 if row.opcode >= 256 or "n8" in row.mnemonic else 1
    reads, writes = row.y == "(hl)", row.destination == "(hl)"
    kind = "modify" if reads and writes else "read" if reads else "write"
    return dataclasses.replace(
        row,
        y="mem" if reads else row.y,
        destination="" if writes else row.destination,
        m_cycles=row.m_cycles + reads + writes,
        access=Access(
            kind, 1, "hl", read_cycle=fetch + 1 if reads else 0, write_cycle=fetch + 1 + reads if writes else 0
        ),
    )


def _expand(line: str) -> list[Instruction]:
    columns = [column.strip() for column in line.split("|")]
    bits, text, m_cycles, operation, x, y, to, flags, memory = columns
    prefix = 256 if bits.startswith("CB") else 0
    bits = bits.removeprefix("CB ")
    base, extra = (int(part) for part in (m_cycles + "+0").split("+")[:2])
    letters = {letter: bits.count(letter) for letter in "dspcbt" if letter in bits}
    stands_for = re.compile(re.sub("[dspcbt]", ".", bits)).fullmatch
    rows = []
    for opcode, digits in enumerate(OPCODES):
        if not stands_for(digits):
            continue
        fields = {letter: int(digits[bits.index(letter) :][:width], 2) for letter, width in letters.items()}
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
    """Return the row of an undefined opcode, which locks the CPU."""
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
