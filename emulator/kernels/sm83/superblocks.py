"""Threaded code of a ROM's own hot pieces: a row of instructions without a jump between them.

A superblock is text like the blocks of sm83/threaded_code.py and made of the same lines, but what
they look up is constant in it: the instruction's word, PC, the block that comes next. So the
assembler folds it away, and flags that are overwritten unread. Time, count and PC are brought up to
date only where it is left. It is entered only if its last instruction begins before the deadline;
else its first one's own block runs. An instruction that is not plain leaves it as it leaves its own
block, and so does the branch that closes a loop that waits, if it is taken. Whatever writes a ROM
bank is not plain, so the bank stays the same from beginning to end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emulator.kernels.sm83.block_text import LDH_A_N8, condition, effects, read_register
from emulator.kernels.sm83.threaded_code import BLOCKS, More, own_numbers
from emulator.rom import control_rows, isa
from emulator.rom.hot_code import always_jumps, only_waits

FIRST = len(BLOCKS) + 1
"""Number of the first superblock in the jump table."""
MOST = 1023 - len(BLOCKS)
"""Superblocks: block numbers have ten bits."""
CODE_END = 0x8000  # of ROM in the address space

SHARED = [
    # Go on at `pc`, in ROM, by the table.
    "AT_PC:",
    "setp.ge.u32 p, pc, 32768; @p bra.uni LEAVE;",
    "bra.uni START;",
    # The instruction at `pc` by its own block, `ix`.
    "SINGLE:",
    "setp.ge.u32 p, pc, 16384; selp.b64 wb, whi, wlo, p; mad.wide.u32 pt, pc, 8, wb;",
    "ld.global.nc.v2.u32 {w0, w1}, [pt];",
    "setp.le.s32 q, left, 0; selp.b32 ix, 0, ix, q; bra.uni JUMP;",
]


class Superblocks:
    """Those of one ROM, or of several in a batch."""

    def __init__(self) -> None:
        self.labels: list[str] = []
        self._lines: list[str] = []
        self._rare: list[str] = []

    def more(self) -> More:
        """The text of all that were added."""
        return More(tuple(self.labels), (*self._lines, *SHARED, *self._rare))

    def add_rom(self, words: np.ndarray, pieces: Sequence[tuple[int, ...]]) -> dict[int, int]:
        """Make a superblock of each piece, as long as there are numbers; return their numbers in
        the jump table by the place where they begin. `words`: the predecoded ROM, marked."""
        room = MOST - len(self.labels)
        numbers = {
            places[0]: FIRST + len(self.labels) + i for i, places in enumerate(pieces[:room])
        }
        for places in pieces[:room]:
            label = f"SB{len(self.labels)}"
            self.labels.append(label)
            often, rare = _Writer(label, words, numbers).lines(places)
            self._lines += often
            self._rare += rare
        return numbers


class _Writer:
    """Lines of one superblock."""

    def __init__(self, label: str, words: np.ndarray, numbers: dict[int, int]) -> None:
        self.label = label
        self.words = words
        self.numbers = numbers

    def lines(self, places: Sequence[int]) -> tuple[list[str], list[str]]:
        """Text of the superblock, and what is rare in it: that lies behind all superblocks, so that
        it takes no room in the instruction caches."""
        rows = [isa.INSTRUCTIONS[self.words[at] & 511] for at in places]
        own = own_numbers(self.words[list(places)])
        limit = sum(row.m_cycles for row in rows[:-1])
        label = self.label
        lines = [f"{label}:", f"setp.le.s32 q, left, {limit}; @q bra.uni {label}LATE;"]
        taken = []
        rare = [
            f"{label}LATE:",
            f"mov.b32 pc, {address(places[0])}; mov.b32 ix, {own[0]}; bra.uni SINGLE;",
        ]
        spent = 0
        for k, (at, row) in enumerate(zip(places, rows, strict=True)):
            setting = f"mov.b32 pc, {address(at)}; mov.b32 w0, {self.words[at]};"
            if row.condition:
                before, is_taken, _ = condition(row)
                lines += [*before, f"{is_taken} @q bra.uni {label}TAKEN{k};"]
                taken.append(f"{label}TAKEN{k}:")
                if int(self.words[at]) & control_rows.WAITS:  # turns may be passed over
                    by_itself = f"mov.b32 ix, {own[k]}; bra.uni SINGLE;"
                    taken += [f"mov.b32 pc, {address(at)};", *_passed(spent, k), by_itself]
                else:
                    branch, leaving = self._branch(at, row, k, spent)
                    taken += [setting, *branch]
                    rare += leaving
            elif only_waits(int(self.words[at])):
                pass
            elif row.destination in ("pc", "vector"):
                branch, leaving = self._branch(at, row, k, spent)
                lines += [setting, *branch]
                rare += leaving
            else:
                leave, leaving = self._leave(at, row, k, spent)
                lines += [setting, *self._effects(at, row, leave, spent)]
                rare += leaving
            spent += row.m_cycles
        if not always_jumps(int(self.words[places[-1]])):
            behind = places[-1] + rows[-1].length
            lines += [*_passed(spent, len(places)), *self._go(behind, address(behind))]
        return lines + taken, rare

    def _effects(self, at: int, row: isa.Instruction, leave: str, spent: int) -> list[str]:
        if row.opcode == LDH_A_N8 and int(self.words[at]) >> 16 & 0x80 == 0:
            reading = read_register(row, leave, "x")
            return [f"sub.u32 x, left, {spent};", *reading, "and.b32 a, m, 255;"]
        return effects(row, leave, spent)

    def _leave(self, at: int, row: isa.Instruction, k: int, spent: int) -> tuple[str, list[str]]:
        """Label of where the instruction goes if it is not plain, and what stands there."""
        if row.access is None and row.y not in isa.R16:
            return "LEAVE", []  # it always is
        label = f"{self.label}LEAVE{k}"
        moved = [f"mov.b32 pc, {address(at)};", *_passed(spent, k)]
        return label, [f"{label}:", *moved, "bra.uni LEAVE;"]

    def _branch(
        self, at: int, row: isa.Instruction, k: int, spent: int
    ) -> tuple[list[str], list[str]]:
        """The taken branch and all it does, and what stands where it leaves."""
        leave, leaving = self._leave(at, row, k, spent)
        after = _passed(spent + row.m_cycles + row.taken_extra, k + 1)
        lines = [*effects(row, leave, spent), *after]
        to = self._target(at, row)
        lines += ["mov.b32 pc, to;", "bra.uni AT_PC;"] if to is None else self._go(*to)
        return lines, leaving

    def _target(self, at: int, row: isa.Instruction) -> tuple[int, int] | None:
        """Place in the ROM, -1 if that depends on the bank, and address of a branch's target; None
        if only the run can tell."""
        immediate = int(self.words[at]) >> 16
        if row.destination == "vector" or row.y == "n16":
            to = immediate
        elif row.y == "e8":
            to = address(at) + row.length + ((immediate & 255) ^ 128) - 128 & 0xFFFF
        else:
            return None
        bank = at >> 14
        if bank == 0 and len(self.words) == CODE_END:
            bank = 1
        upper = (bank << 14) + (to & 0x3FFF) if bank and to < CODE_END else -1
        return (to if to < 0x4000 else upper), to

    def _go(self, place: int, to: int) -> list[str]:
        number = self.numbers.get(place)
        if number is not None:
            return [f"bra.uni SB{number - FIRST};"]
        return [f"mov.b32 pc, {to};", "bra.uni AT_PC;"]


def address(place: int) -> int:
    """Of a place in the ROM, when its bank is mapped."""
    return place if place < 0x4000 else 0x4000 | place & 0x3FFF


def _passed(cycles: int, instructions: int) -> list[str]:
    if not instructions:
        return []
    return [f"sub.u32 left, left, {cycles}; add.u32 work, work, {instructions};"]
