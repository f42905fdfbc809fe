"""PTX lines of single instructions, made from the datasheet (emulator/rom/isa.py).

The blocks of threaded code (sm83/ptx_threaded_code.py) and the superblocks of a ROM's hot pieces
(hot_code/ptx_superblocks.py) consist of them. An instruction beyond plain memory and arithmetic changes
nothing and jumps to an exit.

Registers of every block:

    bc de hl sp a  16 and 8 bits, nothing above
    zr       Z is set when this is zero
    fl       H is bit 4, C bit 8, N bit 16; other bits mean nothing
    pc       of this instruction
    left     M-cycles to the deadline; `still`: those when `stable` was
    seen*    of the last watched branch: registers, place, and its value of `left`
    duo, hbo M-cycles from the deadline to the next event, and to the end of HBlank
    skip     not 0 if waiting loops are skipped
    tab, stack*  page table and stack bounds, for operands of superblocks (sm83/ptx_operand_pages.py)
    one      1, which the assembler does not know
    w0, w1   the entry of this instruction in the table of `threads`
    wb       address of the entry of PC 0 in the present 16 KiB
"""

from __future__ import annotations

from emulator.constants import STAT
from emulator.rom import control_rows, isa
from emulator.rom.isa import Instruction

H_BIT, C_BIT, N_BIT = 0x10, 0x100, 0x10000
_PLACES = {"N": N_BIT, "H": H_BIT, "C": C_BIT}
_R8 = {"b": ("bc", 1), "c": ("bc", 0), "d": ("de", 1), "e": ("de", 0), "h": ("hl", 1), "l": ("hl", 0)}

LDH_A_N8 = 0xF0
WAITING = (0x20, 0x28, 0x30, 0x38, 0xC2, 0xCA, 0xD2, 0xDA)
"""Opcodes of conditional JR and JP; those marked as the end of a waiting loop have blocks of their own."""
ALWAYS_SLOW = 0x80000080  # of `fast`: no code is plain, or FF00-FF7F is memory (flat)
PLAIN_IO = 0x0FED  # FF40-FF4B without STAT and LY: reads return their bytes in memory unchanged
STATUS_PLAIN = 0x20000000  # of `fast`
STATUS_MARGIN = 21  # of `vram_until`
SETTLED = 0xC0  # of P1
FAR_AWAY = 0x3FFFFFFF  # a time span longer than any launch

U32 = (
    "bc de hl sp a zr fl pc left still work seenlo seenhi seenp seent w0 w1 ix to t0 t1 t2 t3 x"
    " y v k m fast roml romh ramo duo hbo skip tab stack stackp stacks"
    " one"
).split()
U64 = "wb wlo whi rom rowb pt pr".split()


def _value(name: str, into: str) -> tuple[list[str], str]:
    """Return PTX that loads an operand of the datasheet, and the register that then holds it."""
    if name in _R8:
        pair, upper = _R8[name]
        line = f"shr.u32 {into}, {pair}, 8;" if upper else f"and.b32 {into}, {pair}, 255;"
        return [line], into
    if name == "af":
        return [
            f"setp.eq.u32 p, zr, 0; selp.b32 {into}, 128, 0, p;",
            f"shr.u32 t0, fl, 10; and.b32 t0, t0, 64; or.b32 {into}, {into}, t0;",
            f"shl.b32 t0, fl, 1; and.b32 t0, t0, 32; or.b32 {into}, {into}, t0;",
            f"shr.u32 t0, fl, 4; and.b32 t0, t0, 16; or.b32 {into}, {into}, t0;",
            f"shl.b32 t0, a, 8; or.b32 {into}, {into}, t0;",
        ], into
    lines = {
        "n8": [f"shr.u32 {into}, w0, 16; and.b32 {into}, {into}, 255;"],
        "n16": [f"shr.u32 {into}, w0, 16;"],
        "e8": [f"shl.b32 {into}, w0, 8; shr.s32 {into}, {into}, 24;"],
        "": [f"mov.b32 {into}, 0;"],
    }
    if name in lines:
        return lines[name], into
    return [], {"mem": "m", "pc": "to"}.get(name, name)


def _address(address: str) -> tuple[list[str], str]:
    if address in ("ff00+n8", "ff00+c"):
        lines, _ = _value("n8" if address.endswith("n8") else "c", "t3")
        return [*lines, "or.b32 t3, t3, 65280;"], "t3"
    if address == "sp-2":
        return ["sub.u32 t3, sp, 2; and.b32 t3, t3, 65535;"], "t3"
    if address == "n16":
        return ["shr.u32 t3, w0, 16;"], "t3"
    return [], {"hl+": "hl", "hl-": "hl", "sp+2": "sp"}.get(address, address)


def find_anywhere(row: Instruction, leave: str) -> list[str]:
    """Return PTX that puts the operand's machine address into `pr`, or jumps to `leave` if it is not plain memory."""
    access = row.access
    assert access is not None
    lines, ad = _address(access.address)
    bit = 1 if access.kind == "read" else 0x10000
    wide = access.size == 2
    lines += [
        f"sub.u32 t0, {ad}, 65408; setp.lt.u32 p, t0, {126 if wide else 127};",
        f"shr.u32 t1, {ad}, 13; selp.b32 t1, 8, t1, p;",
        f"shr.u32 t1, fast, t1; and.b32 t1, t1, {bit};",
    ]
    if wide:
        lines.append(f"and.b32 t0, {ad}, 8191; setp.eq.u32 p, t0, 8191; selp.b32 t1, 0, t1, p;")
    lines += [f"and.b32 t0, {ad}, 57344; setp.eq.u32 p, t0, 40960; selp.b32 t0, ramo, 0, p;"]
    if access.kind == "read" and not access.address.startswith(("sp", "ff00")):
        lines += [
            f"setp.ge.u32 p, {ad}, 16384; selp.b32 t2, romh, roml, p;",
            f"setp.lt.u32 p, {ad}, 32768; selp.b32 t0, t2, t0, p; selp.b64 pr, rom, rowb, p;",
            f"add.u32 t0, t0, {ad}; mad.wide.u32 pr, t0, 1, pr;",
        ]
    elif access.kind == "read":  # a stack in ROM is not handled here
        lines += [
            f"setp.lt.u32 p, {ad}, 32768; selp.b32 t1, 0, t1, p;",
            f"add.u32 t0, t0, {ad}; mad.wide.u32 pr, t0, 1, rowb;",
        ]
    else:
        lines.append(f"add.u32 t0, t0, {ad}; mad.wide.u32 pr, t0, 1, rowb;")
    lines.append(f"setp.eq.u32 p, t1, 0; @p bra.uni {leave};")
    return lines


def outside_oam(pair: str, leave: str) -> list[str]:
    """Return PTX that jumps to `leave` if a register pair points into OAM, which INC and DEC of it may corrupt."""
    return [f"shr.u32 t0, {pair}, 8; setp.eq.u32 p, t0, 254; @p bra.uni {leave};"]


def _rotate(operation: str) -> list[str]:
    """Return PTX that computes result v and carry k of a rotate or shift of y."""
    carry = "shr.u32 t0, fl, 8; and.b32 t0, t0, 1;"
    return {
        "rlc": ["shl.b32 k, y, 1; shr.u32 t0, y, 7; or.b32 v, k, t0; and.b32 v, v, 255;"],
        "rrc": ["shl.b32 k, y, 8; shl.b32 v, y, 7; shr.u32 t0, y, 1; or.b32 v, v, t0;", "and.b32 v, v, 255;"],
        "rl": [carry, "shl.b32 k, y, 1; or.b32 v, k, t0; and.b32 v, v, 255;"],
        "rr": [carry, "shl.b32 k, y, 8; shl.b32 t0, t0, 7; shr.u32 v, y, 1; or.b32 v, v, t0;"],
        "sla": ["shl.b32 k, y, 1; and.b32 v, k, 255;"],
        "sra": ["shl.b32 k, y, 8; shr.u32 v, y, 1; and.b32 t0, y, 128; or.b32 v, v, t0;"],
        "srl": ["shl.b32 k, y, 8; shr.u32 v, y, 1;"],
        "swap": ["shl.b32 v, y, 4; shr.u32 t0, y, 4; or.b32 v, v, t0; and.b32 v, v, 255;", "mov.b32 k, 0;"],
    }[operation]


def _operate(row: Instruction, x: str, y: str) -> list[str]:
    """Return PTX that computes from the operands the result v and, as k, the carry into each bit."""
    operation = row.operation
    if operation in control_rows.ROTATES:
        return [f"mov.b32 y, {y};", *_rotate(operation)]
    carry = "shr.u32 t0, fl, 8; and.b32 t0, t0, 1;"
    carries = f"xor.b32 k, {x}, {y}; xor.b32 k, k, v;"
    number = "shr.u32 t0, w0, 3; and.b32 t0, t0, 7; shl.b32 t0, t1, t0;"
    return {
        "add": [f"add.u32 v, {x}, {y};", carries],
        "adc": [carry, f"add.u32 v, {x}, {y}; add.u32 v, v, t0;", carries],
        "sub": [f"sub.u32 v, {x}, {y};", carries],
        "sbc": [carry, f"sub.u32 v, {x}, {y}; sub.u32 v, v, t0;", carries],
        "and": [f"and.b32 v, {x}, {y};"],
        "or": [f"or.b32 v, {x}, {y};"],
        "xor": [f"xor.b32 v, {x}, {y};"],
        "inc": [f"add.u32 v, {y}, 1; xor.b32 k, {y}, v;"],
        "dec": [f"sub.u32 v, {y}, 1; xor.b32 k, {y}, v;"],
        "add16": [f"add.u32 v, {x}, {y};", carries, "shr.u32 k, k, 8;"],
        "cpl": [f"xor.b32 v, {y}, 255;"],
        "bit": ["mov.b32 t1, 1;", number, f"and.b32 v, {y}, t0;"],
        "res": ["mov.b32 t1, 1;", number, f"xor.b32 t0, t0, 255; and.b32 v, {y}, t0;"],
        "set": ["mov.b32 t1, 1;", number, f"or.b32 v, {y}, t0;"],
        "": [f"add.u32 v, {x}, {y};" if row.x else f"mov.b32 v, {y};"],
    }[operation]


def _flags(row: Instruction) -> list[str]:
    flags = row.flags
    lines = {"-": [], "0": ["mov.b32 zr, 1;"], "Z": ["and.b32 zr, v, 255;"]}[flags[0]]
    keep = computed = constant = toggle = 0
    for name, letter in zip("NHC", flags[1:], strict=True):
        bit = _PLACES[name]
        keep |= bit * (letter in "-~")
        toggle |= bit * (letter == "~")
        computed |= bit * letter.isalpha()
        constant |= bit * (letter == "1")
    if keep == N_BIT | H_BIT | C_BIT and not toggle:
        return lines
    short = _short_flags(row, keep, constant)
    if short:
        return [*lines, short]
    terms = []
    if keep:
        lines = [*lines, f"and.b32 fl, fl, {keep};"]
        terms.append("fl")
    if computed:
        lines = [*lines, f"and.b32 k, k, {computed};"]
        terms.append("k")
    if not terms:
        return [*lines, f"mov.b32 fl, {constant};"]
    both = f"or.b32 fl, {terms[0]}, {terms[1]};" if len(terms) == 2 else f"mov.b32 fl, {terms[0]};"
    lines = [*lines, both]
    if constant:
        lines.append(f"or.b32 fl, fl, {constant};")
    if toggle:
        lines.append(f"xor.b32 fl, fl, {toggle};")
    return lines


def _short_flags(row: Instruction, keep: int, constant: int) -> str:
    """Return one PTX line that sets `fl` from k without masking, or "" if the flags need more.

    The other bits of `fl` mean nothing, and N is 0 in a sum of bytes; INC and DEC keep C.
    """
    if row.operation in ("inc", "dec") and keep == C_BIT:
        line = f"or.b32 k, k, {N_BIT}; " if constant else ""
        return line + f"xor.b32 t0, fl, k; and.b32 t0, t0, {C_BIT}; xor.b32 fl, t0, k;"
    if row.operation in ("add", "adc") and row.x == "a":
        return "mov.b32 fl, k;"
    if row.operation in ("sub", "sbc") and row.x == "a":
        return f"or.b32 fl, k, {N_BIT};"
    return "mov.b32 fl, k;" if row.operation == "add16" else ""


def _set_result(row: Instruction) -> list[str]:
    to = row.destination
    if to in _R8:
        pair, upper = _R8[to]
        return [f"prmt.b32 {pair}, {pair}, v, {0x3240 if upper else 0x3214};"]
    if to == "a":
        return ["and.b32 a, v, 255;"]
    if to in ("bc", "de", "hl", "sp"):
        popped = row.y == "mem" and not row.operation
        return [f"mov.b32 {to}, v;" if popped else f"and.b32 {to}, v, 65535;"]
    if to == "af":
        return [
            "shr.u32 a, v, 8; and.b32 zr, v, 128; xor.b32 zr, zr, 128;",
            "and.b32 fl, v, 16; shl.b32 fl, fl, 4;",
            "and.b32 t0, v, 32; shr.u32 t0, t0, 1; or.b32 fl, fl, t0;",
            "and.b32 t0, v, 64; shl.b32 t0, t0, 10; or.b32 fl, fl, t0;",
        ]
    return []


def _next(length: int, cycles: int) -> list[str]:
    """Return PTX that goes on to the next instruction, whose block the present table entry names."""
    return [
        f"mad.wide.u32 pt, pc, 8, wb; sub.u32 left, left, {cycles};",
        f"add.u32 work, work, 1; add.u32 pc, pc, {length};",
        "and.b32 ix, w1, 1023; setp.le.s32 q, left, 0; selp.b32 ix, 0, ix, q;",
        f"ld.global.nc.v2.u32 {{w0, w1}}, [pt+{8 * length}];",
        "bra.uni JUMP;",
    ]


def _branch(row: Instruction) -> list[str]:
    """Return PTX that goes on at the address `to`."""
    known = row.y in ("n16", "e8") or row.destination == "vector"
    lines = [
        f"sub.u32 left, left, {row.m_cycles + row.taken_extra}; add.u32 work, work, 1;",
        "mov.b32 pc, to; setp.ge.u32 p, to, 32768; @p bra.uni LEAVE;",
        "setp.ge.u32 p, to, 16384; selp.b64 wb, whi, wlo, p; mad.wide.u32 pt, to, 8, wb;",
    ]
    if not known:
        return [*lines, "ld.global.nc.v2.u32 {w0, w1}, [pt];", "bra.uni ENTER;"]
    return [
        *lines,
        "shr.u32 ix, w1, 10; and.b32 ix, ix, 1023; ld.global.nc.v2.u32 {w0, w1}, [pt];",
        "setp.eq.u32 p, ix, 0; @p bra.uni ENTER;",
        "setp.le.s32 q, left, 0; selp.b32 ix, 0, ix, q;",
        "bra.uni JUMP;",
    ]


def _store(row: Instruction, below: bool) -> list[str]:
    """Return PTX of a store to `pr`; `below`: a push, for which `pr` is the address at SP before it."""
    access = row.access
    assert access is not None
    if access.address == "sp-2" and below:
        return ["st.global.u8 [pr+-2], v; shr.u32 t0, v, 8; st.global.u8 [pr+-1], t0;", "sub.u32 sp, sp, 2;"]
    lines = ["st.global.u8 [pr], v;"]
    if access.size == 2:
        lines += ["shr.u32 t0, v, 8; st.global.u8 [pr+1], t0;"]
    if access.address == "sp-2":
        lines.append("mov.b32 sp, t3;")
    return lines


def condition(row: Instruction) -> tuple[list[str], str, str]:
    """Return PTX before the test of a conditional branch, and the comparisons for taken and not taken."""
    carry = row.condition.endswith("c")
    taken, other = ("ne", "eq") if row.condition in ("nz", "c") else ("eq", "ne")
    lines = ["and.b32 t0, fl, 256;"] if carry else []
    value = "t0" if carry else "zr"
    return lines, f"setp.{taken}.u32 q, {value}, 0;", f"setp.{other}.u32 q, {value}, 0;"


def effects(row: Instruction, leave: str, found: list[str] | None = None) -> list[str]:
    """Return PTX of an instruction's effects at `pc` with table entry `w0`, without time and the branch.

    The branch's target is put into `to`. Nothing is changed before a jump to `leave`; "": there is none. `found`: PTX
    of a superblock that finds its operand (sm83/ptx_operand_pages.py); the superblock then updates `still` as well.
    """
    access = row.access
    lines = list(found or ())
    if found is None and access:
        lines += find_anywhere(row, leave)
    if found is None and row.y in isa.R16 and row.operation in ("inc", "dec"):
        lines += outside_oam(row.y, leave)
    if access and access.kind in ("read", "modify"):
        lines.append("ld.global.u8 m, [pr];")
        if access.size == 2:
            lines.append("ld.global.u8 t0, [pr+1]; shl.b32 t0, t0, 8; or.b32 m, m, t0;")
    if row.x == "pc":
        lines.append(f"add.u32 to, pc, {row.length};")
    found_x, x = _value(row.x, "x") if row.x else ([], "")
    found_y, y = _value(row.y, "y")
    lines += found_x + found_y
    if row.destination == "vector":  # the stored return address
        lines += [f"add.u32 v, pc, {row.length}; and.b32 v, v, 65535;"]
    else:
        lines += _operate(row, x, y) + _flags(row) + _set_result(row)
    if access and access.kind in ("write", "modify"):
        lines += _store(row, found is not None)
        if found is None:
            lines.append(f"sub.u32 still, left, {row.m_cycles + row.taken_extra};")
    if access and access.address == "sp+2":
        lines.append("add.u32 sp, sp, 2;")
        if found is None:
            lines.append("and.b32 sp, sp, 65535;")
    if access and access.address in ("hl+", "hl-"):
        change = "add" if access.address == "hl+" else "sub"
        lines.append(f"{change}.u32 hl, hl, 1;")
        if found is None or change == "sub":  # a superblock's pointer was below E000
            lines.append("and.b32 hl, hl, 65535;")
    if row.destination in ("pc", "vector"):
        vector = row.destination == "vector"
        if vector:
            lines.append("shr.u32 to, w0, 16;")
        else:
            lines.append("mov.b32 to, v;" if row.y == "mem" else "and.b32 to, v, 65535;")
    return lines


def block(row: Instruction) -> list[str]:
    """Return the PTX block of one instruction, without its label."""
    lines = []
    skip = f"SKIP{row.opcode:03x}"
    if row.condition:
        before, _, not_taken = condition(row)
        lines += [*before, f"{not_taken} @q bra.uni {skip};"]
    lines += effects(row, "REGISTER" if row.opcode == LDH_A_N8 else "LEAVE")
    if row.destination in ("pc", "vector"):
        lines += _branch(row)
        if row.condition:
            lines += [f"{skip}:", *_next(row.length, row.m_cycles)]
        return lines
    return lines + _next(row.length, row.m_cycles + row.taken_extra)


def read_register(row: Instruction, leave: str, left: str = "left") -> list[str]:
    """Return PTX of LDH A,(n8) that reads an I/O register into `m` while the memory row holds its read value.

    That needs that no event is due within the instruction (`service_inline.reads_plainly`); else it jumps to `leave`.
    """
    return [
        *_address(row.access.address)[0],  # type: ignore[union-attr]
        f"setp.ge.u32 p, t3, 65408; @p bra.uni {leave};",
        f"add.u32 t0, {left}, duo; setp.lt.s32 p, t0, {isa.LONGEST}; @p bra.uni {leave};",
        "mad.wide.u32 pr, t3, 1, rowb; ld.global.u8 m, [pr];",
        # 1 in t1 if it is a picture register, 1 in t2 if it is P1 and settled
        f"and.b32 t0, t3, 15; mov.b32 t1, {PLAIN_IO}; shr.u32 t1, t1, t0; and.b32 t1, t1, 1;",
        "and.b32 t0, t3, 65520; setp.eq.u32 p, t0, 65344; selp.b32 t1, t1, 0, p;",
        f"and.b32 t2, m, {SETTLED}; setp.ne.u32 p, t2, 0; selp.b32 t2, 1, 0, p;",
        "setp.eq.u32 p, t3, 65280; selp.b32 t2, t2, 0, p; or.b32 t1, t1, t2;",
        # and in t2 if it is STAT in HBlank, whose end is `hbo` M-cycles behind the deadline
        f"and.b32 t2, fast, {STATUS_PLAIN}; setp.ne.u32 p, t2, 0; selp.b32 t2, 1, 0, p;",
        "setp.eq.u32 p, t3, 65345; selp.b32 t2, t2, 0, p;",
        f"add.u32 t0, {left}, hbo; setp.lt.s32 p, t0, {isa.LONGEST}; selp.b32 t2, 0, t2, p;",
        f"or.b32 t1, t1, t2; setp.eq.u32 p, t1, 0; @p bra.uni {leave};",
        # The earlier of `stable` and the end of HBlank
        "mov.b32 t0, 0; sub.u32 t0, t0, hbo; sub.u32 t1, still, t0; setp.ge.s32 p, t1, 0;",
        "selp.b32 t0, still, t0, p; setp.ne.u32 p, t2, 0; selp.b32 still, t0, still, p;",
    ]


def read_status(leave: str, left: str) -> list[str]:
    """Return PTX of `read_register` for STAT; `left` is the register with the M-cycles to the deadline."""
    return [
        f"add.u32 t0, {left}, duo; setp.lt.s32 p, t0, {isa.LONGEST}; @p bra.uni {leave};",
        f"add.u32 t0, {left}, hbo; setp.lt.s32 p, t0, {isa.LONGEST}; @p bra.uni {leave};",
        f"and.b32 t0, fast, {STATUS_PLAIN}; setp.eq.u32 p, t0, 0; @p bra.uni {leave};",
        f"add.u64 pr, rowb, {STAT}; ld.global.u8 m, [pr];",
        "mov.b32 t0, 0; sub.u32 t0, t0, hbo; sub.u32 t1, still, t0; setp.ge.s32 p, t1, 0;",
        "selp.b32 still, still, t0, p;",
    ]


def read_register_block() -> list[str]:
    """Return a second PTX block of LDH A,(n8), for operands that are not plain memory."""
    row = isa.INSTRUCTIONS[LDH_A_N8]
    return [*read_register(row, "LEAVE"), "and.b32 a, m, 255;", *_next(row.length, row.m_cycles)]


def waiting_branch(row: Instruction) -> list[str]:
    """Return the PTX block of a conditional JR or JP that may close a waiting loop, without its label.

    It leaves for the data path only where turns may be skipped (`data_path.watch_for_loop`).
    """
    before, _, not_taken = condition(row)
    skip, go = f"SKIP{row.opcode:03x}W", f"GO{row.opcode:03x}W"
    cycles = row.m_cycles + row.taken_extra
    counts = control_rows.COUNTS_8 | control_rows.COUNTS_16
    target = ["shr.u32 to, w0, 16;"]
    if row.y == "e8":
        target = [
            f"add.u32 to, pc, {row.length}; shl.b32 y, w0, 8; shr.s32 y, y, 24;",
            "add.u32 to, to, y; and.b32 to, to, 65535;",
        ]
    return [
        *before,
        f"{not_taken} @q bra.uni {skip};",
        *target,
        "setp.eq.u32 p, skip, 0; @p bra.uni " + go + ";",
        # x, y: the registers; v: the place; k: M-cycles left after the branch
        "shl.b32 x, de, 16; or.b32 x, x, bc;",
        "shl.b32 y, a, 24; or.b32 y, y, hl; setp.eq.u32 p, zr, 0; selp.b32 t0, 8388608, 0, p;",
        "or.b32 y, y, t0; and.b32 t0, fl, 65536; shl.b32 t0, t0, 6; or.b32 y, y, t0;",
        "and.b32 t0, fl, 16; shl.b32 t0, t0, 17; or.b32 y, y, t0;",
        "and.b32 t0, fl, 256; shl.b32 t0, t0, 12; or.b32 y, y, t0;",
        f"shl.b32 v, sp, 16; or.b32 v, v, to; sub.u32 k, left, {cycles};",
        "setp.ne.u32 p, v, seenp; @p bra.uni SEEN" + go + ";",
        f"and.b32 t0, w0, {counts}; setp.ne.u32 p, t0, 0; selp.b32 t1, 1, 0, p;",
        "setp.eq.u32 p, x, seenlo; selp.b32 t2, 1, 0, p;",
        "setp.eq.u32 p, y, seenhi; selp.b32 t2, t2, 0, p; or.b32 t1, t1, t2;",
        "setp.eq.u32 p, t1, 0; @p bra.uni SEEN" + go + ";",
        "sub.u32 t0, k, still; setp.lt.s32 p, still, 0; selp.b32 t0, k, t0, p;",
        "sub.u32 t1, seent, k; sub.u32 t0, t1, t0; setp.lt.s32 p, t0, 0; @p bra.uni LEAVE;",
        f"SEEN{go}:",
        "mov.b32 seenp, v; mov.b32 seenlo, x; mov.b32 seenhi, y; mov.b32 seent, k;",
        f"sub.u32 still, k, {FAR_AWAY};",
        f"{go}:",
        *_branch(row),
        f"{skip}:",
        *_next(row.length, row.m_cycles),
    ]
