"""PTX superblocks: those of a GPU, text like the blocks of sm83/ptx_threaded_code.py and made of the same lines.

The assembler removes computations with constants and flags that are overwritten unread. Instructions that write a ROM
bank are not plain, so the bank stays the same from beginning to end. What is rarely executed lies behind all
superblocks, so that it takes no room in the instruction caches.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emulator.constants import CART_RAM, STAT
from emulator.hot_code.superblocks import Superblock, SuperblockSet, address
from emulator.kernels.sm83.ptx_instructions import (
    LDH_A_N8,
    condition,
    effects,
    find_anywhere,
    outside_oam,
    read_register,
    read_status,
)
from emulator.kernels.sm83.ptx_threaded_code import BLOCKS, More, own_numbers
from emulator.rom.isa import Instruction

_TO_EXIT = "brx.idx.uni one, TO_EXIT;"
"""Jump to the common exit by a table, which ptxas does not analyse.

It would turn a branch to so short a block into predicated instructions, which slow the path that does not leave.
"""
SHARED = [
    # Go on at `pc`, in ROM, by the table.
    "AT_PC:",
    "setp.ge.u32 p, pc, 32768; @p bra.uni LEAVE;",
    "bra.uni START;",
    # Update the state from x, as `_exit` packs it, and go on with the block of the instruction that left. There is no
    # jump to START here: for one ptxas puts a BREAK in front of every exit.
    "EXIT:",
    "and.b32 pc, x, 32767; shr.u32 t0, x, 15; and.b32 t0, t0, 31; add.u32 work, work, t0;",
    "setp.eq.u32 p, t0, 0; shr.u32 ix, x, 20; and.b32 t1, ix, 127; selp.b32 t1, 0, t1, p;",
    "shr.u32 t2, x, 27; selp.b32 t2, 0, t2, p; setp.ne.u32 q, t2, 0;",
    "sub.u32 left, left, t1; add.u32 t0, left, t2; sub.u32 t0, t0, 1;",
    "selp.b32 still, t0, still, q;",
    "setp.ge.u32 q, pc, 16384; selp.b64 wb, whi, wlo, q; mad.wide.u32 pt, pc, 8, wb;",
    "ld.global.nc.v2.u32 {w0, w1}, [pt]; shr.u32 t0, w1, 20; selp.b32 ix, ix, t0, p;",
    "setp.le.s32 q, left, 0; selp.b32 ix, 0, ix, q; bra.uni JUMP;",
]


def reads_status(words: np.ndarray) -> np.ndarray:
    """Return for each word whether it is LDH A,(41), a read of STAT, after which most superblocks would be left."""
    return (words & 511 == LDH_A_N8) & (words >> 16 & 0xFF == STAT & 0xFF)


class PtxSuperblock(Superblock):
    """Printer of a superblock as PTX; `lines` are followed by those of taken branches."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self.branches: list[str] = []
        self.rare: list[str] = []

    def begin(self, rows: Sequence[Instruction]) -> None:
        limit = sum(row.m_cycles for row in rows[:-1])
        self.lines = [f"{self.label}:", f"setp.le.s32 q, left, {limit}; @q bra.uni {self.label}LATE;"]
        self.rare = [f"{self.label}LATE:", *self._exit()]

    def end(self) -> None:
        self.lines += self.branches

    def own(self, row: Instruction, word: int) -> list[str] | None:
        """Read an I/O register where it stands: its byte in memory is mostly its read value."""
        if row.opcode != LDH_A_N8 or word >> 16 & 0x80:
            return None
        leave = f"{self.label}LEAVE{self.k}"
        passed = self._passed(self.spent, self.k)
        self.rare += [f"{leave}:", f"mov.b32 pc, {address(self.at)};", *passed, "bra.uni LEAVE;"]
        still = [] if self.books.stored is None else [f"sub.u32 still, left, {self.books.stored};"]
        self.books.stored = None
        reading = read_status(leave, "x") if reads_status(np.array(word)) else read_register(row, leave, "x")
        before = [f"mov.b32 w0, {word};", *still, f"sub.u32 x, left, {self.spent};"]
        return [*before, *reading, "and.b32 a, m, 255;"]

    def test(self, row: Instruction) -> None:
        self.lines += condition(row)[0]

    def taken(self, row: Instruction, lines: list[str]) -> None:
        label = f"{self.label}TAKEN{self.k}"
        self.lines.append(f"{condition(row)[1]} @q bra.uni {label};")
        self.branches += [f"{label}:", *lines]

    def leave(self) -> list[str]:
        return self._exit()

    def go(self, cycles: int, instructions: int, place: int, to: int) -> list[str]:
        passed = self._passed(cycles, instructions)
        number = self.numbers.get(place)
        if number is not None:
            return [*passed, f"bra.uni SB{number - Superblocks.first};"]
        return [*passed, f"mov.b32 pc, {to};", "bra.uni AT_PC;"]

    def go_to_result(self, cycles: int, instructions: int, row: Instruction) -> list[str]:
        return [*self._passed(cycles, instructions), "mov.b32 pc, to;", "bra.uni AT_PC;"]

    def effects(self, row: Instruction, word: int, find: list[str]) -> list[str]:
        branches = row.destination in ("pc", "vector")
        pc = [f"mov.b32 pc, {address(self.at)};"] if branches else []
        return [*pc, f"mov.b32 w0, {word};", *effects(row, "", find)]

    def outside_oam(self, pair: str) -> list[str]:
        return outside_oam(pair, self._leaving())

    def find(self, kind: str, row: Instruction, at: int = 0) -> list[str]:
        """Put the operand's machine address into `pr`; on the stack, the address at SP before the instruction."""
        access = row.access
        assert access is not None
        leave = self._leaving()
        table = 0 if access.kind == "read" else 64  # of `pages` (sm83/ptx_operand_pages.py)
        unless = f"setp.lt.s32 p, t2, 0; @p bra.uni {leave};"
        if kind == "high":
            return find_anywhere(row, leave)
        if kind == "stack":
            first = "stackp" if access.address == "sp-2" else "stack"
            test = f"sub.u32 t0, sp, {first}; setp.ge.u32 p, t0, stacks; @p bra.uni {leave};"
            return [test, "mad.wide.u32 pr, sp, 1, rowb;"]
        if kind == "pointer":
            pair = access.address[:2]
            page = f"shr.u32 t0, {pair}, 13; mad.lo.u32 t0, t0, 8, tab;"
            load = f"ld.shared.v2.u32 {{t1, t2}}, [t0+{table}];"
            return [page, load, unless, f"mov.b64 pr, {{t1, t2}}; mad.wide.u32 pr, {pair}, 1, pr;"]
        if kind == "nowhere":
            return [f"bra.uni {leave};"]
        here = f"add.u64 pr, rowb, {at};"
        if kind == "page" and at < CART_RAM:
            bit = 1 << (at >> 13) + (0 if access.kind == "read" else 16)
            return [f"and.b32 t0, fast, {bit}; setp.eq.u32 p, t0, 0; @p bra.uni {leave};", here]
        if kind == "row":
            return [here]
        load = f"ld.shared.v2.u32 {{t1, t2}}, [tab+{table + 8 * (at >> 13)}];"
        tests = [unless] if kind == "page" else []
        return [load, *tests, f"mov.b64 pr, {{t1, t2}}; add.u64 pr, pr, {at};"]

    def _leaving(self) -> str:
        """Return the label at which this instruction leaves the superblock, with nothing of it done."""
        label = f"{self.label}LEAVE{self.k}"
        self.rare += [f"{label}:", *self._exit()]
        return label

    def _passed(self, cycles: int, instructions: int) -> list[str]:
        """Return the lines that update cycle count, instruction count and `still` at an exit."""
        if not instructions:
            return []
        still = [] if self.books.stored is None else [f"sub.u32 still, left, {self.books.stored};"]
        return [*still, f"sub.u32 left, left, {cycles}; add.u32 work, work, {instructions};"]

    def _exit(self) -> list[str]:
        """Return the lines that leave the superblock for the block of the present instruction.

        Exits are most of the text, so each is one number: a PC of 15 bits, k in 5, then the M-cycles `spent` in 7 and
        those since the end of the last store, plus 1, in 5 (0: there was none). Before the first instruction nothing
        has to be updated; the number then holds that instruction's own block, since the table has the superblock there.
        """
        number = address(self.at) | self.k << 15
        if self.k == 0:
            return [f"mov.b32 x, {number | int(own_numbers(self.words[[self.at]])[0]) << 20};", _TO_EXIT]
        number |= self.spent << 20  # 114 at most: LONGEST_PIECE - 1 instructions of 6 M-cycles
        stored = self.books.stored
        since = 0 if stored is None else self.spent - stored + 1
        if since > 31:
            return [f"sub.u32 still, left, {stored}; mov.b32 x, {number};", _TO_EXIT]
        return [f"mov.b32 x, {number | since << 27};", _TO_EXIT]


class Superblocks(SuperblockSet):
    """Superblocks of a batch's ROMs as PTX text."""

    writer = PtxSuperblock
    first = len(BLOCKS) + 1
    most = 1023 - len(BLOCKS)  # block numbers have ten bits

    def more(self) -> More:
        """Return the text of all superblocks that were added."""
        often = [line for block in self.written for line in block.lines]
        rare = [line for block in self.written for line in block.rare]  # type: ignore[attr-defined]
        return More(tuple(block.label for block in self.written), (*often, *SHARED, *rare))
