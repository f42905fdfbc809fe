"""C++ text of the CPU that runs on a CPU core, generated from the datasheet (emulator/rom/isa.py).

One function per instruction, each ending in a jump to the next one's (a guaranteed tail call): the registers
stay in machine registers, and every instruction has a branch history of its own. Instructions beyond plain
memory and arithmetic leave through `leave` with a request for `attend` (sm83/service.py); launch/native.py
has the loop around it, docs/adr/0007 the reasons.
The other functions, and the machine's registers, are in sm83/cpp_runtime.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from emulator.kernels.sm83.cpp_runtime import ENTRY, PARTS, PRELUDE, RARE
from emulator.rom import control_rows, isa
from emulator.rom.isa import Instruction

H_BIT, C_BIT, N_BIT = 0x10, 0x100, 0x10000
FLAG_PLACES = {"N": N_BIT, "H": H_BIT, "C": C_BIT}
WITH_MEMORY = 1024
"""First table entry of the functions that continue an instruction with the memory operand read by the service."""
PARTS_AT = 1536
"""First table entry of functions that are not instructions."""
TABLE_SIZE = PARTS_AT + len(RARE)

_READ8 = {
    "b": "(BC >> 8)",
    "c": "(BC & 255)",
    "d": "(DE >> 8)",
    "e": "(DE & 255)",
    "h": "(HL >> 8)",
    "l": "(HL & 255)",
    "a": "A",
}
_WRITE8 = {
    "b": "BC = (BC & 0xFF) | {} << 8;",
    "c": "BC = (BC & 0xFF00) | {};",
    "d": "DE = (DE & 0xFF) | {} << 8;",
    "e": "DE = (DE & 0xFF00) | {};",
    "h": "HL = (HL & 0xFF) | {} << 8;",
    "l": "HL = (HL & 0xFF00) | {};",
    "a": "A = {};",
}
VALUES = {
    **_READ8,
    "bc": "BC",
    "de": "DE",
    "hl": "HL",
    "sp": "h->sp",
    "af": "(A << 8 | F_BITS)",
    "n8": "(word >> 16 & 255)",
    "n16": "(word >> 16)",
    "e8": "(u32)(signed char)(word >> 16)",
    "mem": "m",
    "pc": "next",
    "": "0",
}
ADDRESSES = {
    "bc": "BC",
    "de": "DE",
    "hl": "HL",
    "hl+": "HL",
    "hl-": "HL",
    "n16": "(word >> 16)",
    "sp+2": "h->sp",
    "sp-2": "((h->sp - 2) & 0xFFFF)",
    "ff00+n8": "(0xFF00 | (word >> 16 & 255))",
    "ff00+c": "(0xFF00 | (BC & 255))",
}
CONDITIONS = {"nz": "zr != 0", "z": "zr == 0", "nc": "!(fl & 0x100)", "c": "(fl & 0x100)"}

# Result v of x and y, and the carries k into each bit (bits lost by rotates are in bit 8).
OPERATIONS = {
    "add": "v = x + y; k = x ^ y ^ v;",
    "adc": "v = x + y + (fl >> 8 & 1); k = x ^ y ^ v;",
    "sub": "v = x - y; k = x ^ y ^ v;",
    "sbc": "v = x - y - (fl >> 8 & 1); k = x ^ y ^ v;",
    "and": "v = x & y;",
    "or": "v = x | y;",
    "xor": "v = x ^ y;",
    "inc": "v = y + 1; k = y ^ v;",
    "dec": "v = y - 1; k = y ^ v;",
    "add16": "v = x + y; k = (x ^ y ^ v) >> 8;",
    "cpl": "v = y ^ 255;",
    "rlc": "v = (y << 1 | y >> 7) & 255; k = y << 1;",
    "rrc": "v = (y >> 1 | y << 7) & 255; k = y << 8;",
    "rl": "v = (y << 1 | (fl >> 8 & 1)) & 255; k = y << 1;",
    "rr": "v = y >> 1 | (fl >> 1 & 0x80); k = y << 8;",
    "sla": "v = y << 1 & 255; k = y << 1;",
    "sra": "v = y >> 1 | (y & 0x80); k = y << 8;",
    "srl": "v = y >> 1; k = y << 8;",
    "swap": "v = (y << 4 | y >> 4) & 255; k = 0;",
    "bit": "v = y & 1 << (word >> 3 & 7);",
    "res": "v = y & ~(1u << (word >> 3 & 7));",
    "set": "v = y | 1 << (word >> 3 & 7);",
    "daa": (
        "const bool after_sub = fl & 0x10000;"
        " const bool high = (fl & 0x100) || (!after_sub && y > 0x99);"
        " const bool low = (fl & 0x10) || (!after_sub && (y & 15) > 9);"
        " const u32 adjust = (low ? 6 : 0) | (high ? 0x60 : 0);"
        " v = after_sub ? y - adjust : y + adjust; k = high ? 0x100 : 0;"
    ),
}


def flags(flags: str) -> str:
    """Return C++ that sets `zr` and `fl` from result v and carries k, as a flags column of the datasheet says."""
    text = {"-": "", "0": "zr = 1; ", "Z": "zr = v & 255; "}[flags[0]]
    keep = computed = constant = toggle = 0
    for name, letter in zip("NHC", flags[1:], strict=True):
        bit = FLAG_PLACES[name]
        keep |= bit * (letter in "-~")
        toggle |= bit * (letter == "~")
        computed |= bit * letter.isalpha()
        constant |= bit * (letter == "1")
    if keep == N_BIT | H_BIT | C_BIT and not toggle:
        return text
    terms = [f"(fl & {keep:#x})"] * bool(keep) + [f"(k & {computed:#x})"] * bool(computed)
    value = " | ".join([*terms, hex(constant)] if constant or not terms else terms)
    return text + f"fl = ({value}){f' ^ {toggle:#x}' if toggle else ''};"


def _finish(row: Instruction) -> str:
    """Return the C++ after the result: the store, the branch, or the request to the service."""
    access = row.access
    parts = []
    if row.destination == "pc":
        target = "v & 0xFFFF"
    else:
        target = f"{row.number}u" if row.mnemonic.startswith("rst") else "word >> 16"
    if access and access.kind in ("write", "modify"):
        parts.append(f"const u32 a = {ADDRESSES[access.address]}; h->stable_t = t;")
        if access.address == "sp-2":
            parts.append("h->sp = a;")
        if access.address in ("hl+", "hl-"):
            parts.append(f"HL = (HL {access.address[2]} 1) & 0xFFFF;")
        off = f"OFF_WORDS({target}); " if row.destination == "vector" else ""
        find = _finder(access)
        parts.append(f"{{ {find}(writes, {{ h->value = v; {off}GO_TO(cold_write); }})")
        parts.append("PAIR = v; }" if access.size == 2 else "BYTE = v; }")
    if row.operation in ("ei", "di", "reti"):
        parts.append(f"h->stable_t = t; if (switch_interrupts(h, {row.operation.upper()}, NOW))")
        parts.append("GO(v & 0xFFFF)" if row.operation == "reti" else "NEXT")
        parts.append("OFF_WORDS(v);" if row.operation == "reti" else "")
        parts.append("GO_TO(cold_control);")
    elif row.destination == "pc" and row.y == "e8":
        parts.append("HOP(y, next);")
    elif row.destination == "pc" and row.y == "n16":
        parts.append(f"JUMP({target}, next);")
    elif row.destination in ("pc", "vector"):
        parts.append(f"const u32 to = {target}; GO(to);")
    elif row.operation in control_rows.SLOW_KINDS and row.operation not in (*control_rows.ROTATES, "daa"):
        parts.append("GO_TO(cold_control);")
    else:
        if row.y in isa.R16 and row.operation in ("inc", "dec"):
            parts.append("if (__builtin_expect(y >> 8 == 0xFE, 0)) { h->address = y; GO_TO(cold_pair); }")
        if row.opcode == 0x40:
            parts.append("if (ROW[6] & CONTROL) GO_TO(cold_control);")  # a trap (control_rows.control_words)
        parts.append("NEXT;")
    return " ".join(parts)


def set_result(row: Instruction) -> str:
    to = row.destination
    if to in _WRITE8:
        wide = row.operation in ("add", "adc", "sub", "sbc", "inc", "dec", "daa")
        value = "(v & 255)" if wide or row.y == "e8" else "v"
        return _WRITE8[to].format(value)
    if to == "af":
        return "A = v >> 8; SET_F(v);"
    if to in ("bc", "de", "hl", "sp"):
        name = "h->sp" if to == "sp" else to.upper()
        return f"{name} = v & 0xFFFF;"
    return ""


def _body(row: Instruction) -> str:
    """Return the C++ that executes the instruction with its memory operand in m."""
    branches = row.destination in ("pc", "vector")
    parts = []
    if branches:
        parts.append(f"const u32 next = (PC + {row.length}) & 0xFFFF;")
    parts.append(f"TIME({row.m_cycles + row.taken_extra}) ip += {row.length}; u32 v, k = 0;")
    parts.append(f"const u32 x = {VALUES[row.x]}, y = {VALUES[row.y]};")
    parts.append(OPERATIONS.get(row.operation, "v = x + y;"))
    parts.append(flags(row.flags) + " " + set_result(row))
    access = row.access
    if access and access.kind == "read":
        if access.address == "sp+2":
            parts.append("h->sp = (h->sp + 2) & 0xFFFF;")
        if access.address in ("hl+", "hl-"):
            parts.append(f"HL = (HL {access.address[2]} 1) & 0xFFFF;")
    parts.append(_finish(row))
    return " ".join(part for part in parts if part.strip())


def _finder(access: isa.Access) -> str:
    """Return the name of the C++ macro that finds the memory page of an access."""
    if access.size == 2:
        return "FIND2"
    return "FIND_HIGH" if access.address.startswith("ff00") else "FIND"


def _read(row: Instruction) -> str:
    """Return the C++ that reads a plain memory operand before the body; for LDH (n8), HRAM only."""
    access = row.access
    assert access is not None
    find = _finder(access)
    load = "PAIR" if access.size == 2 else "BYTE"
    return f"const u32 a = {ADDRESSES[access.address]}; u32 m; {{ {find}(reads, GO_TO(cold_read)) m = {load}; }}"


def _name(row: Instruction) -> str:
    """Return the name of an instruction's C++ function; all bit numbers of BIT, RES and SET share one."""
    shared = row.operation in ("bit", "res", "set")
    return f"op{row.opcode & ~0x38 if shared else row.opcode:03x}"


def handler(row: Instruction) -> str:
    """Return the C++ function of an instruction.

    An instruction that reads memory gets a second function, which takes the operand that the service has read from
    `h->memory`.
    """
    skip = ""
    if row.condition:
        skip = f"if (!({CONDITIONS[row.condition]})) {{ TIME({row.m_cycles}) ip += {row.length}; NEXT; }}\n"
    name, body = _name(row), _body(row)
    title = f"// {row.mnemonic}\n"
    if row.access is None or row.access.kind == "write":
        return f"{title}PART({name}) {skip}{body} END\n"
    given = f"PART({name}_given) const u32 m = h->memory; {{ {body} }} END\n"
    return f"{title}PART({name}) {skip}{_read(row)} {{ {body} }} END\n{given}"


def _table() -> str:
    """Return the C++ table of functions by control row: plain, with SLOW_FETCH, and with a given operand."""
    names = [_name(row) for row in isa.INSTRUCTIONS]
    given = [f"{_name(row)}_given" if row.access and row.access.kind != "write" else "none" for row in isa.INSTRUCTIONS]
    entries = ", ".join(f"(const void*)Cpu::{name}" for name in [*names, *["slow_fetch"] * 512, *given, *RARE])
    return f"static const void* const TABLE[] = {{ {entries} }};\n"


def _names(constants: Mapping[str, int]) -> dict[str, int]:
    """Return the constants that the C++ text uses by name; `constants` come from launch/native.py."""
    names = dict(constants) | {
        "WITH_MEMORY": WITH_MEMORY,
        "CONTROL": control_rows.CONTROL,
        "WIDE": control_rows.READ16 | control_rows.WRITE16,
        "WIDE_READ": control_rows.READ16,
        "TAKEN_ONLY": control_rows.TAKEN_ONLY & 0xFFFFFF,  # the bits that `attend` reads
        "ROW_WORDS": control_rows.ROW_WORDS,
        "WAITS": control_rows.WAITS,
        "LEAVES_BANK": control_rows.LEAVES_BANK,
        "COUNTS_16": control_rows.COUNTS_16,
        "COUNTS": control_rows.COUNTS_8 | control_rows.COUNTS_16,
    }
    names |= {name.upper(): control_rows.SLOW_KINDS[name] for name in ("ei", "di", "reti")}
    return names | {f"AT_{name}": PARTS_AT + i for i, name in enumerate(RARE)}


def native_body(constants: Mapping[str, int], text: str) -> str:
    """Return `text` as the body of a native function for CPUs, with its named constants defined."""
    defines = "".join(f"#define {name} {value}\n" for name, value in _names(constants).items())
    text = defines + PRELUDE + text
    text += "".join(f"#undef {name}\n" for name in re.findall(r"^#define (\w+)", text, re.M))
    return f"#if defined(__CUDA_ARCH__)\nreturn 0;\n#else\n{text}#endif\n"


def source(constants: Mapping[str, int]) -> str:
    """Return the C++ body of the native function `run` (launch/native.py)."""
    handlers = "".join({_name(row): handler(row) for row in isa.INSTRUCTIONS}.values())
    closing, entry = ENTRY.split("\n", 2)[1:]
    return native_body(constants, f"{PARTS}{handlers}{closing}\n{_table()}{entry}")
