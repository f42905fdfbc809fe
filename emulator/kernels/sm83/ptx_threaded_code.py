"""PTX text of the CPU for few consoles on a GPU, made from the datasheet (emulator/rom/isa.py).

Threaded code: each instruction is a block of its own that ends in a jump through a table to the next one's,
for a lane that is alone in its warp, so that nothing diverges. It is PTX and not C++ because Warp's compiler
makes a tree of comparisons of every `switch`; `brx.idx` is a jump table.

A block executes its instruction if all of it is plain memory and arithmetic; else it changes nothing and
leaves: the data path (sm83/data_path.py) then executes that one instruction. So everything rare is written
once, there. The same text becomes C++ for a CPU (`as_cpp`), where the tests run it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from emulator.constants import ECHO, HRAM, P1, STAT, VRAM
from emulator.kernels.sm83.ptx_as_cpp import as_cpp as statement_as_cpp
from emulator.kernels.sm83.ptx_as_cpp import statements
from emulator.kernels.sm83.ptx_instructions import (
    LDH_A_N8,
    PLAIN_IO,
    STATUS_MARGIN,
    U32,
    U64,
    WAITING,
    block,
    read_register_block,
    waiting_branch,
)
from emulator.kernels.sm83.ptx_operand_pages import PAGES_SOURCE
from emulator.rom import control_rows, isa
from emulator.rom.isa import Instruction

_LEFT_TO_OTHERS = ("ei", "di", "halt", "reti", "stop", "lock", "daa")
_TRAP = 0x40  # LD B,B may be a breakpoint
LDH_N8_A, LD_N16_A, LD_A_N16 = 0xE0, 0xEA, 0xFA


def _label(row: Instruction) -> str:
    """Return the label of an instruction's block; all bit numbers of BIT, RES and SET share one."""
    shared = row.operation in ("bit", "res", "set")
    return f"op{row.opcode & ~0x38 if shared else row.opcode:03x}"


def _is_here(row: Instruction) -> bool:
    return row.operation not in _LEFT_TO_OTHERS and row.opcode != _TRAP


BLOCKS = {_label(row): row for row in isa.INSTRUCTIONS if _is_here(row)}
BLOCKS |= {f"wait{opcode:03x}": isa.INSTRUCTIONS[opcode] for opcode in WAITING}
NUMBER = np.array([[*BLOCKS].index(_label(row)) + 1 if _is_here(row) else 0 for row in isa.INSTRUCTIONS], np.uint32)
"""Number in the jump table of the block of each of the 512 instructions; 0: it has none and leaves."""


class More(NamedTuple):
    """Blocks that are added to those of single instructions (hot_code/ptx_superblocks.py)."""

    labels: Sequence[str] = ()
    """Labels of the blocks in order of their numbers, which follow those of BLOCKS."""
    lines: Sequence[str] = ()


NOTHING_MORE = More()


def text(more: More) -> list[str]:
    """Return the PTX of all blocks, entered at the label START with `pc` in ROM, and left at LEAVE."""
    lines = [
        "START:",
        "setp.ge.u32 p, pc, 16384; selp.b64 wb, whi, wlo, p; mad.wide.u32 pt, pc, 8, wb;",
        "ld.global.nc.v2.u32 {w0, w1}, [pt];",
        "ENTER:",
        "shr.u32 ix, w1, 20; setp.le.s32 q, left, 0; selp.b32 ix, 0, ix, q;",
        "JUMP:",
        "brx.idx.uni ix, TABLE;",
    ]
    for label, row in BLOCKS.items():
        waits = label.startswith("wait")
        lines += [f"{label}:", f"// {row.mnemonic}", *(waiting_branch(row) if waits else block(row))]
    return [*lines, "REGISTER:", *read_register_block(), *more.lines, "LEAVE:"]


def as_cpp(more: More) -> str:
    """Return the blocks as C++ for a CPU."""
    labels = [*BLOCKS, *more.labels]
    cases = " ".join(f"case {i + 1}: goto {label};" for i, label in enumerate(labels))
    body = "\n".join(map(statement_as_cpp, statements(text(more))))
    jump = f"goto LEAVE; dispatch: switch (ix) {{ {cases} default: goto LEAVE; }}"
    return f"{body.removesuffix('LEAVE:')}\n{jump}\nLEAVE: ;"


def as_ptx(more: More) -> str:
    """Return the blocks as the string of an `asm` statement with its own registers; operands in order of PASSED."""
    targets = ", ".join(["LEAVE", *BLOCKS, *more.labels])
    own = [name for name in U32 if name not in CHANGED]
    lines = [
        "{",
        f".reg .b32 {', '.join([*own, *CHANGED])};",
        f".reg .b64 {', '.join(U64)}; .reg .pred p, q;",
        f"TABLE: .branchtargets {targets};",
        *(["TO_EXIT: .branchtargets LEAVE, EXIT;"] if more.lines else []),
    ]
    for i, name in enumerate([*CHANGED, *GIVEN_32, *GIVEN_64]):
        lines.append(f"mov.b{64 if name in U64 else 32} {name}, %{i};")
    lines += statements(text(more))
    lines += [f"mov.b32 %{i}, {name};" for i, name in enumerate(CHANGED)]
    return "\n".join(f'"{line}\\n"' for line in [*lines, "}"])


CHANGED = ("bc", "de", "hl", "sp", "a", "zr", "fl", "pc", "left", "still", "work", "seenlo", "seenhi", "seenp", "seent")
GIVEN_32 = ("fast", "roml", "romh", "ramo", "duo", "hbo", "skip", "tab", "stack", "stackp", "stacks", "one")
GIVEN_64 = ("wlo", "whi", "rom", "rowb")


def source(more: More = NOTHING_MORE) -> str:
    """Return the body of the native function `run_threads` (launch/threaded.py)."""
    changed = ", ".join(f'"+r"({name})' for name in CHANGED)
    given = ", ".join([*(f'"r"({name})' for name in GIVEN_32), *(f'"l"({n})' for n in GIVEN_64)])
    other32 = ", ".join(name for name in U32 if name not in CHANGED + GIVEN_32)
    return f"""
typedef unsigned char u8; typedef unsigned int u32; typedef unsigned long long u64;
u32 bc = r.lo & 0xFFFF, de = r.lo >> 16, hl = r.hi & 0xFFFF, a = r.hi >> 24, sp = r.sp, pc = r.pc;
u32 zr = (r.hi >> 16 & 0x80) ^ 0x80, work = r.work, left = r.deadline - r.now;
u32 fl = (r.hi >> 12 & 0x100) | (r.hi >> 17 & 0x10) | (r.hi >> 6 & 0x10000);
u32 still = r.deadline - r.stable;
u32 seenlo = r.seen_lo, seenhi = r.seen_hi, seenp = r.seen_place, seent = r.deadline - r.seen_time;
const u32 duo = r.due - r.deadline, hbo = r.vram_until - {STATUS_MARGIN} - r.deadline;
const u32 skip = b.idle_skip;
const u32 fast = r.fast, roml = r.rom_low, romh = r.rom_high, ramo = r.ram_offset;
const u64 wlo = code + 8ull * roml, whi = code + 8ll * (int)romh;
const u64 rom = b.rom, rowb = r.mem - 0x8000;
{PAGES_SOURCE}
#if defined(__CUDA_ARCH__)
asm volatile({as_ptx(more)} : {changed} : {given} : "memory");
#else
u32 {other32}; u64 wb, pt, pr; bool p, q;
{as_cpp(more)}
#endif
r.lo = bc | de << 16;
fl = (fl & 0x10000) << 6 | (fl & 0x10) << 17 | (fl & 0x100) << 12;
r.hi = hl | (zr == 0) << 23 | fl | a << 24;
r.sp = sp; r.pc = pc; r.work = work;
r.now = r.deadline - left; r.stable = r.deadline - still;
r.seen_lo = seenlo; r.seen_hi = seenhi; r.seen_place = seenp; r.seen_time = r.deadline - seent;
"""


def always_leave(words: np.ndarray) -> np.ndarray:
    """Return for each predecoded word whether its instruction can never run in threaded code, bool.

    Such an instruction writes to the mapper, or accesses an I/O register whose byte in memory is never its read value.
    """
    row, immediate = words & 511, words >> 16
    low = (row == LDH_A_N8) | (row == LDH_N8_A)
    at = np.where(low, 0xFF00 | immediate & 0xFF, immediate)
    register = (at >= ECHO) & (at < HRAM) | (at == 0xFFFF)
    picture = (at >> 4 == 0xFF4) & (PLAIN_IO >> (at & 15) & 1 != 0)
    reads = (row == LDH_A_N8) & (picture | (at == P1) | (at == STAT))
    mapper = (row == LD_N16_A) & (at < VRAM)
    accesses = low | (row == LD_N16_A) | (row == LD_A_N16)
    return accesses & (register & ~reads | mapper)


def own_numbers(words: np.ndarray) -> np.ndarray:
    """Return the block number of each predecoded word's instruction."""
    row = words & 511
    waits = words & control_rows.WAITS != 0
    leaves = (words & control_rows.SLOW_FETCH != 0) | always_leave(words)
    numbers = np.where(leaves, 0, NUMBER[row])
    waiting = np.zeros(len(isa.INSTRUCTIONS), np.uint32)
    waiting[list(WAITING)] = [*BLOCKS].index("wait020") + 1 + np.arange(len(WAITING))
    return np.where(waits & (numbers != 0), waiting[row], numbers)


def code_table(rom: np.ndarray, words: np.ndarray, superblocks: Mapping[int, int] | None = None) -> np.ndarray:
    """Return the table that threaded code follows, uint32[bytes of `rom`, 2].

    For each ROM byte: its word (`marked_words(rom, ends=True)`), and three block numbers of ten bits. `superblocks`:
    number by the ROM offset where the superblock begins.

    Bits 0-9: the block of the next instruction. 10-19: that of a branch's target, 0 if only known at run time. 20-29:
    its own. They hold while bank 0 lies at 0000 and another one at 4000.
    """
    row = words & 511
    own = own_numbers(words)
    for place, number in (superblocks or {}).items():
        own[place] = number
    at = np.arange(len(rom), dtype=np.int64)
    length = np.array([one.length for one in isa.INSTRUCTIONS])[row]
    behind = np.append(own, np.zeros(4, own.dtype))[at + length]
    immediate = (words >> 16).astype(np.int64)
    relative = np.array([one.y == "e8" and one.destination == "pc" for one in isa.INSTRUCTIONS])
    absolute = np.array(
        [one.destination == "vector" or (one.destination == "pc" and one.y == "n16") for one in isa.INSTRUCTIONS]
    )
    bank = at >> 14
    place = (at & 0x3FFF) + length + ((immediate & 255) ^ 128) - 128
    near = np.where((place >= 0) & (place < 0x4000), (bank << 14) + place, -1)
    high = np.where(bank > 0, bank, 1 if len(rom) == 0x8000 else -1)
    far = np.where(immediate < 0x4000, immediate, -1)
    upper = (immediate >= 0x4000) & (immediate < 0x8000) & (high > 0)
    far = np.where(upper, (high << 14) + (immediate & 0x3FFF), far)
    target = np.where(relative[row], near, np.where(absolute[row], far, -1))
    taken = np.where((target >= 0) & (target < len(rom)), own[np.maximum(target, 0) % len(rom)], 0)
    return np.stack([words, behind | taken << 10 | own << 20], axis=1).astype(np.uint32)
