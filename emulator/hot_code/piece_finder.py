"""Search for the pieces of a ROM that are executed most, from a count of the executed instructions.

A piece is a row of instructions that follow each other in memory. It begins where a jump, call, return or interrupt was
seen to lead. It ends with a jump that is always taken, or before another beginning, an instruction that is not plain,
or one that was never executed. So conditional branches leave it on the way, and it is entered at its beginning only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from emulator.rom import isa

MOST_PIECES = 640
MOST_INSTRUCTIONS = 4000
LONGEST_PIECE = 20
"""Most instructions of a piece: it is executed only if all of them begin before the next deadline."""
RARELY = 1e-5
"""Share of all executions below which an instruction gets into no piece."""
SELDOM = 32
"""Most executions of an instruction for each jump to it with which a piece may begin there.

After a jump to any other instruction the CPU executes single instructions up to the next beginning of a piece.
"""
JR = 0x18
_LENGTH = np.array([row.length for row in isa.INSTRUCTIONS])


Pieces = Sequence[tuple[int, ...]]
"""Pieces of one ROM, each a tuple of the ROM offsets of its instructions."""


class Counts(NamedTuple):
    """Counts of executions of each byte of a ROM, uint32[bytes of the ROM] each.

    `executed`: how often the byte was executed as an opcode; `arrived`: how often by a jump, call, return or interrupt
    instead of from the instruction before.
    """

    executed: np.ndarray
    arrived: np.ndarray


def always_jumps(word: int) -> bool:
    """Return whether the instruction with this predecoded word never continues at the next one."""
    row = isa.INSTRUCTIONS[word & 511]
    return row.destination in ("pc", "vector") and not row.condition and not only_waits(word)


def only_waits(word: int) -> bool:
    """Return whether the word is a JR to the next instruction, which only spends three M-cycles."""
    return word & 511 == JR and word >> 16 & 255 == 0


def pieces(
    counts: Counts, words: np.ndarray, plain: np.ndarray, last: np.ndarray | None = None
) -> list[tuple[int, ...]]:
    """Return the pieces of a ROM, each as the ROM offsets of its instructions, most often executed piece first.

    For each ROM byte, `words`: uint32, its predecoded word; `plain`: bool, whether its instruction may be in a piece;
    `last`: bool, whether it ends its piece.
    """
    if last is None:
        last = np.zeros(len(words), bool)
    executed, arrived = (np.asarray(column, np.int64) for column in counts)
    least = max(2.0, RARELY * float(executed.sum()))
    often = arrived * SELDOM >= executed  # interrupts return to any place
    starts = set(np.flatnonzero(often & (executed >= least) & plain).tolist())
    # Control also arrives behind an instruction that is not plain, though from the instruction in front.
    for at in np.flatnonzero((executed >= least) & (~plain | last)).tolist():
        behind = at + int(_LENGTH[words[at] & 511])
        if behind < len(words) and plain[behind] and executed[behind] >= least:
            starts.add(behind)
    found: list[tuple[int, ...]] = []
    waiting = sorted(starts)
    while waiting:
        start = waiting.pop()
        places = _piece(start, starts, words, plain & (executed > 0))
        behind = places[-1] + int(_LENGTH[words[places[-1]] & 511])
        full = len(places) == LONGEST_PIECE
        if full and behind < len(words) and plain[behind] and behind not in starts:
            starts.add(behind)
            waiting.append(behind)
        found.append(places)
    found.sort(key=lambda places: (-int(executed[list(places)].sum()) / len(places), places))
    chosen, total = [], 0
    for places in found:
        total += len(places)
        if len(chosen) < MOST_PIECES and total <= MOST_INSTRUCTIONS:
            chosen.append(places)
    return chosen


def _piece(start: int, starts: set[int], words: np.ndarray, usable: np.ndarray) -> tuple[int, ...]:
    places = [start]
    while len(places) < LONGEST_PIECE:
        word = int(words[places[-1]])
        behind = places[-1] + isa.INSTRUCTIONS[word & 511].length
        if always_jumps(word) or behind >= len(words) or not usable[behind] or behind in starts:
            break
        if (behind ^ start) >> 14:  # the next bank
            break
        places.append(behind)
    return tuple(places)


def is_piece(places: tuple[int, ...], words: np.ndarray, plain: np.ndarray) -> bool:
    """Return whether the instructions at the ROM offsets `places` have the same effect as one block.

    True if all are plain, each follows the one before in the same bank, and only the last may always jump.
    """
    if not 1 <= len(places) <= LONGEST_PIECE:
        return False
    if not all(type(at) is int and 0 <= at < len(words) and plain[at] for at in places):
        return False
    rows = [isa.INSTRUCTIONS[words[at] & 511] for at in places]
    follow = all(
        at + row.length == behind and not always_jumps(int(words[at]))
        for at, row, behind in zip(places, rows, places[1:], strict=False)
    )
    return follow and places[0] >> 14 == places[-1] >> 14
