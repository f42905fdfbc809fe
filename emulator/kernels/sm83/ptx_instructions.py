"""PTX lines of single instructions, made from their steps (sm83/plan.py).

The blocks of threaded code (sm83/ptx_threaded_code.py) and the superblocks of a ROM's hot pieces
(hot_code/ptx_superblocks.py) consist of them. An instruction beyond plain memory and arithmetic changes
nothing and jumps to an exit.

Registers of every block, besides those of the steps:

    pc       of this instruction
    left     M-cycles to the deadline; `still`: those when `stable` was
    seen*    of the last watched branch: registers, place, and its value of `left`
    duo, hbo M-cycles from the deadline to the next event, and to the end of HBlank
    skip     not 0 if waiting loops are skipped
    tab, stack*  page table and stack bounds, for operands of superblocks (sm83/ptx_operand_pages.py)
    one      1, which the assembler does not know
    w0, w1   the entry of this instruction in the table of `threads`: `word`, and block numbers
    wb       address of the entry of PC 0 in the present 16 KiB
"""

from __future__ import annotations

import ast
from typing import Any

from emulator.constants import STAT
from emulator.kernels.sm83 import plan
from emulator.rom import control_rows, isa
from emulator.rom.isa import Instruction

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
    " y v k m e0 e1 e2 e3 fast roml romh ramo duo hbo skip tab stack stackp stacks"
    " one"
).split()
U64 = "wb wlo whi rom rowb pt pr".split()


_OPERATORS = {
    ast.Add: "add.u32",
    ast.Sub: "sub.u32",
    ast.BitAnd: "and.b32",
    ast.BitOr: "or.b32",
    ast.BitXor: "xor.b32",
    ast.LShift: "shl.b32",
    ast.RShift: "shr.u32",
}


def _value(node: Any, lines: list[str], depth: int = 0, into: str = "") -> str:
    """Append the PTX that computes an expression; return its register, or the number that it is.

    It is put into `into`, if given, else into register `e<depth>`; those above are used as well.
    """
    into = into or f"e{depth}"
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Name):
        return {"word": "w0", "next": "to"}.get(node.id, node.id)
    if isinstance(node, ast.BinOp):
        left, right = _value(node.left, lines, depth), _value(node.right, lines, depth + 1)
        lines.append(f"{_OPERATORS[type(node.op)]} {into}, {left}, {right};")
    elif isinstance(node, ast.Compare):
        left, right = _value(node.left, lines, depth), _value(node.comparators[0], lines, depth + 1)
        lines.append(f"setp.eq.u32 p, {left}, {right}; selp.b32 {into}, 1, 0, p;")
    elif len(node.args) == 1:  # extended
        lines.append(f"shl.b32 {into}, w0, 8; shr.s32 {into}, {into}, 24;")
    else:
        pair, byte = node.args  # only one byte of the second is taken, so that it needs no mask
        found = _value(byte.left if isinstance(byte, ast.BinOp) else byte, lines)
        selector = 0x3240 if node.func.id == "high" else 0x3214
        lines.append(f"prmt.b32 {into}, {_value(pair, lines)}, {found}, {selector};")
    return into


def ptx(step: str) -> list[str]:
    """Return a step of sm83/plan.py in PTX."""
    to, expression = step.split(" = ", 1)
    lines: list[str] = []
    found = _value(ast.parse(expression, mode="eval").body, lines, into=to)
    return lines if found == to else [*lines, f"mov.b32 {to}, {found};"]


def steps(*given: str) -> list[str]:
    """Return several steps in PTX."""
    return [line for step in given for line in ptx(step)]


def find_anywhere(row: Instruction, leave: str) -> list[str]:
    """Return PTX that puts the operand's machine address into `pr`, or jumps to `leave` if it is not plain memory."""
    access = row.access
    assert access is not None
    lines = ptx(f"t3 = {plan.ADDRESSES[access.address]}")
    bit = 1 if access.kind == "read" else 0x10000
    wide = access.size == 2
    lines += [
        f"sub.u32 t0, t3, 65408; setp.lt.u32 p, t0, {126 if wide else 127};",
        "shr.u32 t1, t3, 13; selp.b32 t1, 8, t1, p;",
        f"shr.u32 t1, fast, t1; and.b32 t1, t1, {bit};",
    ]
    if wide:
        lines.append("and.b32 t0, t3, 8191; setp.eq.u32 p, t0, 8191; selp.b32 t1, 0, t1, p;")
    lines += ["and.b32 t0, t3, 57344; setp.eq.u32 p, t0, 40960; selp.b32 t0, ramo, 0, p;"]
    if access.kind == "read" and not access.address.startswith(("sp", "ff00")):
        lines += [
            "setp.ge.u32 p, t3, 16384; selp.b32 t2, romh, roml, p;",
            "setp.lt.u32 p, t3, 32768; selp.b32 t0, t2, t0, p; selp.b64 pr, rom, rowb, p;",
            "add.u32 t0, t0, t3; mad.wide.u32 pr, t0, 1, pr;",
        ]
    elif access.kind == "read":  # a stack in ROM is not handled here
        lines += [
            "setp.lt.u32 p, t3, 32768; selp.b32 t1, 0, t1, p;",
            "add.u32 t0, t0, t3; mad.wide.u32 pr, t0, 1, rowb;",
        ]
    else:
        lines.append("add.u32 t0, t0, t3; mad.wide.u32 pr, t0, 1, rowb;")
    lines.append(f"setp.eq.u32 p, t1, 0; @p bra.uni {leave};")
    return lines


def outside_oam(pair: str, leave: str) -> list[str]:
    """Return PTX that jumps to `leave` if a register pair points into OAM, which INC and DEC of it may corrupt."""
    return [f"shr.u32 t0, {pair}, 8; setp.eq.u32 p, t0, 254; @p bra.uni {leave};"]


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


def condition(row: Instruction) -> tuple[list[str], str, str]:
    """Return PTX before the test of a conditional branch, and the comparisons for taken and not taken."""
    value, compared = plan.CONDITIONS[row.condition]
    taken, other = ("ne", "eq") if compared == "!=" else ("eq", "ne")
    return ptx(f"t0 = {value}"), f"setp.{taken}.u32 q, t0, 0;", f"setp.{other}.u32 q, t0, 0;"


def effects(row: Instruction, leave: str, found: list[str] | None = None) -> list[str]:
    """Return PTX of an instruction's effects at `pc` with table entry `w0`, without time and the branch.

    The branch's target is put into `to`. Nothing is changed before a jump to `leave`; "": there is none. `found`: PTX
    of a superblock that finds its operand (sm83/ptx_operand_pages.py); the superblock then updates `still` as well.
    """
    access = row.access
    pushes = access is not None and access.address == "sp-2"
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
    lines += steps(*plan.steps(row))
    if access and access.kind in ("write", "modify"):
        at = -2 if pushes and found is not None else 0  # `pr` is the address at SP before
        lines.append(f"st.global.u8 [pr+{at}], v;")
        if access.size == 2:
            lines.append(f"shr.u32 t0, v, 8; st.global.u8 [pr+{at + 1}], t0;")
        if found is None:
            lines.append(f"sub.u32 still, left, {row.m_cycles + row.taken_extra};")
    lines += steps("sp = t3") if pushes and found is None else steps(*plan.move(row, found is not None))
    if row.destination == "vector":
        lines += steps("to = word >> 16")
    elif row.destination == "pc":
        lines += steps("to = v & 65535" if row.y == "e8" else "to = v")
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
        *ptx(f"t3 = {plan.ADDRESSES['ff00+n8']}"),
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
    target = [f"to = pc + {row.length} + extended(word) & 65535" if row.y == "e8" else "to = word >> 16"]
    return [
        *before,
        f"{not_taken} @q bra.uni {skip};",
        *steps(*target),
        "setp.eq.u32 p, skip, 0; @p bra.uni " + go + ";",
        # x, y: the registers; v: the place; k: M-cycles left after the branch
        *ptx("x = de << 16 | bc"),
        *ptx("y = hl | a << 24 | (zr == 0) << 23 | (fl & 65536) << 6 | (fl & 16) << 17 | (fl & 256) << 12"),
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
