"""Steps of each instruction of the datasheet (emulator/rom/isa.py): its effects on registers, stated once for all code.

A step is an assignment such as `v = x + y`. `cpp_instructions` prints them as C++, `ptx_instructions` as PTX; a
superblock (hot_code/superblocks.py) consists of the same steps. Operators bind as in C and in Python; where these
differ, parentheses stand; a comparison is 1 or 0. Names:

    bc de hl sp a  16 and 8 bits, nothing above
    zr       Z is set when this is zero
    fl       H is bit 4, C bit 8, N bit 16; other bits mean nothing
    x y      operands
    v        result; it may have more bits than its destination
    k        carry into each bit of the result; bits lost by rotates are in bit 8
    m        memory operand
    word     predecoded word of the instruction (rom/control_rows.py)
    next     PC of the instruction behind

`low(p, v)` and `high(p, v)` are the pair `p` with a byte replaced by `v`, `extended(word)` the word's immediate byte as
a signed number.
"""

from __future__ import annotations

from emulator.rom.isa import Instruction

H_BIT, C_BIT, N_BIT = 0x10, 0x100, 0x10000
FLAG_PLACES = {"N": N_BIT, "H": H_BIT, "C": C_BIT}

VALUES = {
    "b": "bc >> 8",
    "c": "bc & 255",
    "d": "de >> 8",
    "e": "de & 255",
    "h": "hl >> 8",
    "l": "hl & 255",
    "a": "a",
    "bc": "bc",
    "de": "de",
    "hl": "hl",
    "sp": "sp",
    "af": "a << 8 | (zr == 0) << 7 | fl >> 10 & 64 | fl << 1 & 32 | fl >> 4 & 16",
    "n8": "word >> 16 & 255",
    "n16": "word >> 16",
    "e8": "extended(word)",
    "mem": "m",
    "pc": "next",
    "": "0",
}
"""Operands of the datasheet."""
ADDRESSES = {
    "bc": "bc",
    "de": "de",
    "hl": "hl",
    "hl+": "hl",
    "hl-": "hl",
    "n16": "word >> 16",
    "sp+2": "sp",
    "sp-2": "sp - 2 & 65535",
    "ff00+n8": "word >> 16 & 255 | 65280",
    "ff00+c": "bc & 255 | 65280",
}
"""Addresses of memory operands."""
CONDITIONS = {"nz": ("zr", "!="), "z": ("zr", "=="), "nc": ("fl & 256", "=="), "c": ("fl & 256", "!=")}
"""What is compared with 0, and how, if the condition holds."""

_SUM = ("v = x + y", "k = x ^ y ^ v")
_DIFFERENCE = ("v = x - y", "k = x ^ y ^ v")
_NUMBER = "(word >> 3 & 7)"  # of a bit
_SUBTRACTED = "fl >> 16"  # bit 0: N
OPERATIONS = {
    "add": _SUM,
    "adc": ("v = x + y + (fl >> 8 & 1)", "k = x ^ y ^ v"),
    "sub": _DIFFERENCE,
    "sbc": ("v = x - y - (fl >> 8 & 1)", "k = x ^ y ^ v"),
    "and": ("v = x & y",),
    "or": ("v = x | y",),
    "xor": ("v = x ^ y",),
    "inc": ("v = y + 1", "k = y ^ v"),
    "dec": ("v = y - 1", "k = y ^ v"),
    "add16": ("v = x + y", "k = (x ^ y ^ v) >> 8"),
    "cpl": ("v = y ^ 255",),
    "rlc": ("v = (y << 1 | y >> 7) & 255", "k = y << 1"),
    "rrc": ("v = (y >> 1 | y << 7) & 255", "k = y << 8"),
    "rl": ("v = (y << 1 | fl >> 8 & 1) & 255", "k = y << 1"),
    "rr": ("v = y >> 1 | fl >> 1 & 128", "k = y << 8"),
    "sla": ("v = y << 1 & 255", "k = y << 1"),
    "sra": ("v = y >> 1 | y & 128", "k = y << 8"),
    "srl": ("v = y >> 1", "k = y << 8"),
    "swap": ("v = (y << 4 | y >> 4) & 255", "k = 0"),
    "bit": (f"v = y & 1 << {_NUMBER}",),
    "res": (f"v = y & (1 << {_NUMBER} ^ 255)",),
    "set": (f"v = y | 1 << {_NUMBER}",),
    "daa": (
        f"k = (fl >> 8 | (y > 0x99) & ~({_SUBTRACTED})) & 1",
        f"v = k * 0x60 + ((fl >> 4 | ((y & 15) > 9) & ~({_SUBTRACTED})) & 1) * 6",
        f"v = y + (v ^ 0 - ({_SUBTRACTED} & 1)) + ({_SUBTRACTED} & 1)",
        "k = k << 8",
    ),
}
"""Steps of each operation of the datasheet that computes; all others move x + y."""


def operands(row: Instruction) -> list[str]:
    """Return the steps that load x and y."""
    return [f"{name} = {VALUES[value]}" for name, value in (("x", row.x), ("y", row.y)) if value or name == "y"]


def result(row: Instruction) -> tuple[str, ...]:
    """Return the steps that compute v and k from x and y."""
    if row.destination == "vector":
        return ("v = next & 65535",)  # stored
    return OPERATIONS.get(row.operation, ("v = x + y" if row.x else "v = y",))


def move(row: Instruction, plain: bool = False) -> list[str]:
    """Return the step that changes the pointer of the memory access; `plain`: it points below E000, or to the stack."""
    changes = {"hl+": "hl + 1", "hl-": "hl - 1", "sp+2": "sp + 2", "sp-2": "sp - 2"}
    address = row.access.address if row.access else ""
    if address not in changes:
        return []
    return [f"{address[:2]} = {changes[address]}{'' if plain and address != 'hl-' else ' & 65535'}"]


def reads_flags(row: Instruction) -> bool:
    """Return whether H, C or N are among an instruction's operands."""
    return row.operation in ("adc", "sbc", "rl", "rr", "daa") or row.y == "af"


def flags(row: Instruction) -> list[str]:
    """Return the steps that set zr and fl from v and k, as the flags column of the datasheet says."""
    steps = {"-": [], "0": ["zr = 1"], "Z": ["zr = v & 255"]}[row.flags[0]]
    keep = computed = constant = toggle = 0
    for name, letter in zip("NHC", row.flags[1:], strict=True):
        bit = FLAG_PLACES[name]
        keep |= bit * (letter in "-~")
        toggle |= bit * (letter == "~")
        computed |= bit * letter.isalpha()
        constant |= bit * (letter == "1")
    if keep == N_BIT | H_BIT | C_BIT and not toggle:
        return steps
    if computed == H_BIT and keep == C_BIT:  # INC and DEC; one operation of a GPU
        carries, constant = f"(k | {constant})" if constant else "k", 0
        value = f"(fl ^ {carries}) & {C_BIT} ^ {carries}"
    elif computed == H_BIT | C_BIT and row.x in ("a", "hl"):  # no carry into bit 16 but in a difference, where N is 1
        value = "k"
    else:
        terms = [f"fl & {keep}"] * bool(keep) + [f"k & {computed}"] * bool(computed)
        value = " | ".join(terms)
    if constant:
        value = f"{value} | {constant}" if value else str(constant)
    return [*steps, f"fl = ({value}) ^ {toggle}" if toggle else f"fl = {value or 0}"]


def destination(row: Instruction) -> list[str]:
    """Return the steps that move v into the destination, if that is a register."""
    to = row.destination
    wide = row.operation in ("add", "adc", "sub", "sbc", "inc", "dec", "daa", "add16")  # v may have more than its bits
    if to in ("b", "c", "d", "e", "h", "l"):
        pair = next(pair for pair in ("bc", "de", "hl") if to in pair)
        value = "v & 255" if wide else "v"
        return [f"{pair} = {'high' if pair[0] == to else 'low'}({pair}, {value})"]
    if to == "af":
        return ["a = v >> 8", "zr = v & 128 ^ 128", "fl = (v & 16) << 4 | (v & 32) >> 1 | (v & 64) << 10"]
    if to == "a":
        return ["a = v & 255" if wide else "a = v"]
    if to in ("bc", "de", "hl", "sp"):
        return [f"{to} = v & 65535" if wide else f"{to} = v"]
    return []


def steps(row: Instruction) -> list[str]:
    """Return all steps of an instruction but those on memory and the branch."""
    if row.destination == "vector":
        return [*result(row)]
    return [*operands(row), *result(row), *flags(row), *destination(row)]
