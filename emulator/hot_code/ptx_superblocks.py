"""PTX superblocks: for a GPU, each piece of a ROM's most executed code as one block of threaded code.

A piece is a row of consecutive instructions without a jump between them. Its superblock is text like the blocks of
sm83/ptx_threaded_code.py and made of the same lines, but their variables are constants in it: the instruction's word,
PC, the next block. So the assembler removes computations with constants and flags that are overwritten unread. Time,
count and PC are updated only at its exits. It is entered only if its last instruction begins before the deadline;
otherwise the block of its first instruction runs. An instruction that is not plain leaves it as it leaves its own
block, and so does the branch that closes a waiting loop, if it is taken. Instructions that write a ROM bank are not
plain, so the bank stays the same from beginning to end.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emulator.constants import STAT
from emulator.hot_code.piece_finder import always_jumps, only_waits
from emulator.kernels.sm83.ptx_instructions import (
    LDH_A_N8,
    condition,
    effects,
    find_anywhere,
    read_register,
    read_status,
)
from emulator.kernels.sm83.ptx_operand_pages import found
from emulator.kernels.sm83.ptx_threaded_code import BLOCKS, More, own_numbers
from emulator.rom import control_rows, isa

FIRST = len(BLOCKS) + 1
"""Number of the first superblock in the jump table."""
MOST = 1023 - len(BLOCKS)
"""Most superblocks: block numbers have ten bits."""
CODE_END = 0x8000  # end of ROM in the address space

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


class Superblocks:
    """Superblocks of one ROM, or of several in a batch, as PTX text."""

    def __init__(self) -> None:
        self.labels: list[str] = []
        self._lines: list[str] = []
        self._rare: list[str] = []

    def more(self) -> More:
        """Return the text of all superblocks that were added."""
        return More(tuple(self.labels), (*self._lines, *SHARED, *self._rare))

    def add_rom(self, words: np.ndarray, pieces: Sequence[tuple[int, ...]]) -> dict[int, int]:
        """Add a superblock for each piece of a ROM until the numbers are used up.

        Returns the number of each superblock in the jump table by the ROM offset of its first instruction. `words`: as
        `marked_words(rom, ends=True)` returns them.
        """
        room = MOST - len(self.labels)
        numbers = {places[0]: FIRST + len(self.labels) + i for i, places in enumerate(pieces[:room])}
        for places in pieces[:room]:
            label = f"SB{len(self.labels)}"
            self.labels.append(label)
            often, rare = _Writer(label, words, numbers).write(places)
            self._lines += often
            self._rare += rare
        return numbers


class _Writer:
    """Writer of the PTX lines of one superblock."""

    def __init__(self, label: str, words: np.ndarray, numbers: dict[int, int]) -> None:
        self.label = label
        self.words = words
        self.numbers = numbers
        self.lines: list[str] = []
        self.taken: list[str] = []
        self.rare: list[str] = []
        self.stored: int | None = None
        """M-cycles from the beginning of the superblock to the end of its last store; None: no store yet."""
        self.plain: set[str] = set()
        """Register pairs that have pointed to plain memory, so below E000, and changed by at most one for each
        instruction since.

        INC and DEC of any other pair must check whether it points into OAM.
        """

    def write(self, places: Sequence[int]) -> tuple[list[str], list[str]]:
        """Return the lines of a superblock of the instructions at `places`, and the lines that are rarely executed.

        The latter are to lie behind all superblocks, so that they take no room in the instruction caches.
        """
        rows = [isa.INSTRUCTIONS[self.words[at] & 511] for at in places]
        own = own_numbers(self.words[list(places)]).tolist()
        limit = sum(row.m_cycles for row in rows[:-1])
        label = self.label
        self.lines = [f"{label}:", f"setp.le.s32 q, left, {limit}; @q bra.uni {label}LATE;"]
        self.rare = [f"{label}LATE:", *self._exit(places[0], own[0], 0, 0)]
        spent = 0
        for k, (at, row) in enumerate(zip(places, rows, strict=True)):
            if row.condition:
                self._branch_by_condition(at, row, own[k], k, spent)
            elif only_waits(int(self.words[at])):
                pass
            elif row.destination in ("pc", "vector"):
                self.lines += self._branch(at, row, own[k], k, spent)
            else:
                self.lines += self._effects(at, row, own[k], k, spent)
            spent += row.m_cycles
        if not always_jumps(int(self.words[places[-1]])):
            behind = places[-1] + rows[-1].length
            self.lines += [*self._passed(spent, len(places)), *self._go(behind, address(behind))]
        return self.lines + self.taken, self.rare

    def _passed(self, cycles: int, instructions: int) -> list[str]:
        """Return the lines that update cycle count, instruction count and `still` at an exit."""
        if not instructions:
            return []
        still = [f"sub.u32 still, left, {self.stored};"] if self.stored is not None else []
        return [*still, f"sub.u32 left, left, {cycles}; add.u32 work, work, {instructions};"]

    def _exit(self, place: int, own: int, k: int, spent: int) -> list[str]:
        """Return the lines that leave the superblock at its k-th instruction for ROM offset `place`, block `own`.

        Exits are most of the text, so each is one number: a PC of 15 bits, k in 5, then the M-cycles `spent` in 7 and
        those since the end of the last store, plus 1, in 5 (0: there was none). Before the first instruction nothing
        has to be updated; the number then holds that instruction's own block, since the table has the superblock there.
        """
        number = address(place) | k << 15
        if k == 0:
            return [f"mov.b32 x, {number | own << 20};", _TO_EXIT]
        number |= spent << 20  # 114 at most: LONGEST_PIECE - 1 instructions of 6 M-cycles
        if self.stored is None:
            return [f"mov.b32 x, {number};", _TO_EXIT]
        since = spent - self.stored + 1
        if since > 31:
            return [f"sub.u32 still, left, {self.stored}; mov.b32 x, {number};", _TO_EXIT]
        return [f"mov.b32 x, {number | since << 27};", _TO_EXIT]

    def _branch_by_condition(self, at: int, row: isa.Instruction, own: int, k: int, spent: int) -> None:
        before, is_taken, _ = condition(row)
        self.lines += [*before, f"{is_taken} @q bra.uni {self.label}TAKEN{k};"]
        self.taken.append(f"{self.label}TAKEN{k}:")
        if int(self.words[at]) & control_rows.WAITS:  # turns may be passed over
            self.taken += self._exit(at, own, k, spent)
            return
        stored = self.stored
        self.taken += self._branch(at, row, own, k, spent)
        self.stored = stored  # where the branch is not taken it stores nothing

    def _effects(self, at: int, row: isa.Instruction, own: int, k: int, spent: int) -> list[str]:
        """Return the lines of an instruction, for a branch up to the computation of its target."""
        word = int(self.words[at])
        setting = f"mov.b32 w0, {word};"
        steps = row.operation in ("inc", "dec") and row.y in isa.R16
        if row.access is None and (not steps or row.y in self.plain):
            self._set(row, steps)
            return [setting, *effects(row, "", [])]
        leave = f"{self.label}LEAVE{k}"
        if row.opcode == LDH_A_N8 and word >> 16 & 0x80 == 0:
            passed = self._passed(spent, k)
            self.rare += [f"{leave}:", f"mov.b32 pc, {address(at)};", *passed, "bra.uni LEAVE;"]
            still = [] if self.stored is None else [f"sub.u32 still, left, {self.stored};"]
            self.stored = None
            status = word >> 16 & 0xFF == STAT & 0xFF
            reading = read_status(leave, "x") if status else read_register(row, leave, "x")
            return [setting, *still, f"sub.u32 x, left, {spent};", *reading, "and.b32 a, m, 255;"]
        self.rare += [f"{leave}:", *self._exit(at, own, k, spent)]
        if row.access is None:
            find: list[str] = []
        elif row.access.address == "ff00+c":
            find = find_anywhere(row, leave)
        else:
            find = found(row, word, leave)
            self.plain |= {row.access.address[:2]} & {"bc", "de", "hl"}
        self._set(row, steps)
        if row.access is not None and row.access.kind in ("write", "modify"):
            self.stored = spent + row.m_cycles + row.taken_extra
        return [setting, *effects(row, leave, find)]

    def _set(self, row: isa.Instruction, steps: bool) -> None:
        """Update `plain` after an instruction that changes register pairs."""
        if not steps:
            self.plain -= {pair for pair in ("bc", "de", "hl") if row.destination in {*pair, pair}}

    def _branch(self, at: int, row: isa.Instruction, own: int, k: int, spent: int) -> list[str]:
        """Return the lines of a branch, which is taken."""
        lines = [f"mov.b32 pc, {address(at)};", *self._effects(at, row, own, k, spent)]
        lines += self._passed(spent + row.m_cycles + row.taken_extra, k + 1)
        to = self._target(at, row)
        return [*lines, *(["mov.b32 pc, to;", "bra.uni AT_PC;"] if to is None else self._go(*to))]

    def _target(self, at: int, row: isa.Instruction) -> tuple[int, int] | None:
        """Return a branch's target as ROM offset and CPU address; None if it is only known at run time.

        The ROM offset is -1 if it depends on the bank at 4000.
        """
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
    """Return the CPU address of a ROM offset while its bank is mapped."""
    return place if place < 0x4000 else 0x4000 | place & 0x3FFF
