"""Superblocks: each piece of a ROM's most executed code as one block of generated code.

A piece is a row of consecutive instructions without a jump between them (hot_code/piece_finder.py). Its superblock
consists of the lines of its instructions one after another, but with constants for variables: the instruction's word,
PC, a branch's target. Time, count and PC are updated only where it is left. It runs only if its last instruction begins
before the deadline; otherwise the code of its first instruction alone runs. An instruction whose operand is not plain
memory leaves it, with nothing of that instruction done, for the instruction's own code, and so does a branch that may
close a waiting loop, if it is taken.

`Superblock` decides what a superblock consists of, and knows at every place of it what is to be updated there. The
text comes from its two printers: hot_code/ptx_superblocks.py for a GPU, hot_code/cpp_superblocks.py for a CPU.
"""

from __future__ import annotations

import copy
import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import numpy as np

from emulator.constants import HRAM, VRAM, WRAM
from emulator.hot_code.piece_finder import always_jumps, only_waits
from emulator.kernels.sm83.ptx_operand_pages import HRAM_BYTES, WRAM_BYTES
from emulator.rom import control_rows, isa
from emulator.rom.isa import Access, Instruction

CODE_END = VRAM  # end of ROM in the address space
BANK = 0x4000
PAIRS = ("bc", "de", "hl")


@dataclasses.dataclass
class Books:
    """Values known, and updates not yet made, behind the last printed instruction of a superblock."""

    stored: int | None = None
    """M-cycles from the beginning of the superblock to the end of its last store; None: no store yet."""
    plain: frozenset[str] = frozenset()
    """Register pairs that have pointed to plain memory, so below E000, and changed by at most one for each instruction
    since: INC and DEC of any other pair must check whether it points into OAM.
    """
    pages: Mapping[str, tuple[str, str]] = dataclasses.field(default_factory=dict)
    """For a pair known to point into a page: the variable with its address, and `reads` or `writes`. In C++ only."""
    moved_sp: bool = False
    """Whether SP may have changed."""
    flags: str = ""
    """Statements that compute `fl`, not printed since nothing has read it. In C++ only: PTX has them at once."""


class Superblock(ABC):
    """Writer of one superblock; the attributes describe the instruction that is written next."""

    def __init__(self, label: str, words: np.ndarray, numbers: Mapping[int, int]) -> None:
        """`words`, `numbers`: as `SuperblockSet.add_rom` has them."""
        self.label = label
        self.words = words
        self.numbers = numbers
        self.start = 0
        """ROM offset of the first instruction."""
        self.at = 0
        """ROM offset of the instruction."""
        self.k = 0
        """Instructions before it in the superblock."""
        self.spent = 0
        """Their M-cycles."""
        self.books = Books()
        self.lines: list[str] = []

    def write(self, places: Sequence[int]) -> Self:
        """Print the instructions at the ROM offsets `places`."""
        rows = [isa.INSTRUCTIONS[self.words[at] & 511] for at in places]
        self.start = self.at = places[0]
        self.begin(rows)
        for self.k, (self.at, row) in enumerate(zip(places, rows, strict=True)):
            word = int(self.words[self.at])
            if row.condition:
                self._by_condition(row, word)
            elif not only_waits(word):
                self.lines += self._instruction(row, word)
            self.spent += row.m_cycles
        self.k = len(rows)
        if not always_jumps(int(self.words[places[-1]])):
            self.at = places[-1] + rows[-1].length
            self.lines += self.go(self.spent, self.k, self.at, address(self.at))
        self.end()
        return self

    def _by_condition(self, row: Instruction, word: int) -> None:
        self.test(row)
        kept = copy.copy(self.books)
        waits = word & control_rows.WAITS  # turns may be skipped
        self.taken(row, self.leave() if waits else self._instruction(row, word))
        self.books = kept  # where the branch is not taken it does nothing

    def _instruction(self, row: Instruction, word: int) -> list[str]:
        """Return the lines of all effects of an instruction; a conditional branch is taken."""
        own = self.own(row, word)
        if own is not None:
            return own
        steps = row.operation in ("inc", "dec") and row.y in isa.R16
        find: list[str] = []
        if row.access:
            find = self._find(row.access, row, word)
        elif steps and row.y not in self.books.plain:
            find = self.outside_oam(row.y)
        changed = {pair for pair in PAIRS if row.destination in {*pair, pair}}
        if not steps:
            self.books.plain -= changed
        if row.access and row.access.address in ("hl+", "hl-"):
            changed.add("hl")
        self.books.pages = {pair: page for pair, page in self.books.pages.items() if pair not in changed}
        self.books.moved_sp |= row.destination == "sp" or on_stack(row)
        lines = self.effects(row, word, find)
        if row.access and row.access.kind in ("write", "modify"):
            self.books.stored = self.spent + row.m_cycles + row.taken_extra
        if row.destination in ("pc", "vector"):
            passed = self.spent + row.m_cycles + row.taken_extra, self.k + 1
            to = self._target(row, word)
            lines += self.go(*passed, *to) if to else self.go_to_result(*passed, row)
        return lines

    def _find(self, access: Access, row: Instruction, word: int) -> list[str]:
        """Return the lines that find the memory operand, or leave if it is not plain memory."""
        if on_stack(row):
            return self.find("stack", row)
        if access.address == "ff00+c":
            return self.find("high", row)
        if access.address not in ("n16", "ff00+n8"):
            self.books.plain |= {access.address[:2]}
            return self.find("pointer", row)
        at = word >> 16 if access.address == "n16" else 0xFF00 | word >> 16 & 0xFF
        last = at + access.size - 1
        if at >> 13 == last >> 13:
            if at < CODE_END and access.kind == "read":
                return self.find("rom", row, at)
            if VRAM <= at < WRAM:
                return self.find("page", row, at)
            if WRAM <= at < WRAM + WRAM_BYTES or HRAM <= at <= last < HRAM + HRAM_BYTES:
                return self.find("row", row, at)
        return self.find("nowhere", row)

    def _target(self, row: Instruction, word: int) -> tuple[int, int] | None:
        """Return a branch's target as ROM offset and CPU address; None if it is only known at run time.

        The ROM offset is -1 if it depends on the bank at 4000.
        """
        immediate = word >> 16
        if row.destination == "vector" or row.y == "n16":
            to = immediate
        elif row.y == "e8":
            to = address(self.at) + row.length + ((immediate & 255) ^ 128) - 128 & 0xFFFF
        else:
            return None
        bank = self.at // BANK
        if bank == 0 and len(self.words) == CODE_END:
            bank = 1
        upper = bank * BANK + to % BANK if bank and to < CODE_END else -1
        return (to if to < BANK else upper), to

    # What the printers say. Lines are returned, except by the methods that return None.

    @abstractmethod
    def begin(self, rows: Sequence[Instruction]) -> None:
        """Print the beginning, which goes on with single instructions if the last one would begin too late."""

    @abstractmethod
    def end(self) -> None:
        """Print the end."""

    @abstractmethod
    def own(self, row: Instruction, word: int) -> list[str] | None:
        """Return the lines of an instruction that only this printer has in superblocks; None for all others."""

    @abstractmethod
    def test(self, row: Instruction) -> None:
        """Print what the test of a conditional branch reads."""

    @abstractmethod
    def taken(self, row: Instruction, lines: list[str]) -> None:
        """Print the test of a conditional branch, with `lines` for the case that it is taken."""

    @abstractmethod
    def leave(self) -> list[str]:
        """Leave for the present instruction's own code."""

    @abstractmethod
    def go(self, cycles: int, instructions: int, place: int, to: int) -> list[str]:
        """Leave, after M-cycles and instructions, for ROM offset `place` (-1: unknown), which is at address `to`."""

    @abstractmethod
    def go_to_result(self, cycles: int, instructions: int, row: Instruction) -> list[str]:
        """Leave, after M-cycles and instructions, for an address that is known at run time only."""

    @abstractmethod
    def effects(self, row: Instruction, word: int, find: list[str]) -> list[str]:
        """Do all that an instruction does except to branch; `find`: the lines of its operand."""

    @abstractmethod
    def outside_oam(self, pair: str) -> list[str]:
        """Leave if a register pair points into OAM, which INC and DEC of it may corrupt."""

    @abstractmethod
    def find(self, kind: str, row: Instruction, at: int = 0) -> list[str]:
        """Put the machine address of the memory operand where `effects` expects it; leave if it is not plain memory.

        `kind`: `stack`, `pointer`, `high` (FF00+C); at address `at` in the memory `row`, in a `page` or in the `rom`;
        `nowhere`: never plain memory.
        """


class SuperblockSet:
    """Superblocks of one ROM, or of several in a batch."""

    writer: ClassVar[type[Superblock]]
    first: ClassVar[int]
    """Number of the first superblock in the table of generated code."""
    most: ClassVar[int]

    def __init__(self) -> None:
        self.written: list[Superblock] = []

    def add_rom(self, words: np.ndarray, pieces: Sequence[tuple[int, ...]]) -> dict[int, int]:
        """Add a superblock for each piece of a ROM until the numbers are used up.

        Returns the number of each superblock by the ROM offset of its first instruction. `words`: as `marked_words(rom,
        ends=True)` returns them.
        """
        before = len(self.written)
        chosen = pieces[: self.most - before]
        numbers = {places[0]: self.first + before + i for i, places in enumerate(chosen)}
        for i, places in enumerate(chosen):
            self.written.append(self.writer(f"SB{before + i}", words, numbers).write(places))
        return numbers


def on_stack(row: Instruction) -> bool:
    """Return whether an instruction pushes or pops."""
    return row.access is not None and row.access.address in ("sp-2", "sp+2")


def address(place: int) -> int:
    """Return the CPU address of a ROM offset while its bank is mapped."""
    return place if place < BANK else BANK | place % BANK
