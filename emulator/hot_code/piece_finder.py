"""Find the hot straight pieces of a ROM, from a count of what was executed.

A piece is a row of instructions that follow each other in memory. It begins where control was seen
to arrive by anything but the instruction in front, and ends with a jump that is always taken, in
front of another beginning, of what is no plain instruction, or of what was never executed. So
branches by condition leave it on the way, and it is entered at its beginning only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from emulator.rom import isa

MOST_PIECES = 640
MOST_INSTRUCTIONS = 4000
LONGEST_PIECE = 20
"""Instructions. All of a piece must fit before the next deadline, or none of it is taken."""
RARELY = 1e-5
"""Of all that is executed: what is rarer is not worth a piece."""
SELDOM = 32
"""Of so many executions one must have come by a jump to make a beginning of a place. Who comes
there otherwise executes one instruction after another up to the next beginning."""
MANY_INSTRUCTIONS, OFTEN = 2400, 0.006
"""From so many instructions in pieces on, and so many requests to the service for an instruction
executed, eight consoles an SM wait mostly for code to be fetched (`fetches_much`): of eight games
measured deseo (3,432; 0.009), dusky (3,988; 0.012) and genesis (2,643; 0.013). The others gain
nothing by the data path or lose up to three quarters: carazu has 2,082 and 0.0035, maresia 3,880
and 0.003, speedfinger 430 and 0.016."""
JR = 0x18
_LENGTH = np.array([row.length for row in isa.INSTRUCTIONS])


Pieces = Sequence[tuple[int, ...]]
"""Of one ROM: the places of each one's instructions."""


class Counts(NamedTuple):
    """What was seen of a ROM: how often each byte was executed as an opcode, and how often control
    came there by anything but the instruction in front. uint32[bytes of the ROM] each."""

    executed: np.ndarray
    arrived: np.ndarray


class HotCode(NamedTuple):
    """What a search finds of a ROM."""

    pieces: list[tuple[int, ...]]
    """As `pieces` returns them."""
    asks: float
    """Requests to the service for an instruction executed."""

    @property
    def asks_often(self) -> bool:
        """Whether superblocks are left so often that compiling them for longer pays on a GPU (of
        twelve games and tasks measured the six that gain most do, and one that loses)."""
        return self.asks >= OFTEN

    @property
    def fetches_much(self) -> bool:
        """Whether a thousand consoles run this ROM sooner on the data path up to a launch's tail:
        its hot code fills the instruction caches, and what is rare empties them."""
        return sum(map(len, self.pieces)) >= MANY_INSTRUCTIONS and self.asks_often


def always_jumps(word: int) -> bool:
    """Whether nothing behind the instruction follows it."""
    row = isa.INSTRUCTIONS[word & 511]
    return row.destination in ("pc", "vector") and not row.condition and not only_waits(word)


def only_waits(word: int) -> bool:
    """JR to the instruction behind it, a way to let three M-cycles pass."""
    return word & 511 == JR and word >> 16 & 255 == 0


def pieces(
    counts: Counts, words: np.ndarray, plain: np.ndarray, last: np.ndarray | None = None
) -> list[tuple[int, ...]]:
    """Return the places of each piece's instructions, most often executed piece first.

    `words`: uint32, the predecoded ROM; `plain`: bool, which of its instructions may be in one;
    `last`: bool, which end theirs.
    """
    if last is None:
        last = np.zeros(len(words), bool)
    executed, arrived = (np.asarray(column, np.int64) for column in counts)
    least = max(2.0, RARELY * float(executed.sum()))
    often = arrived * SELDOM >= executed  # interrupts come back to anywhere
    starts = set(np.flatnonzero(often & (executed >= least) & plain).tolist())
    # Behind what is not plain control arrives as well, though from the instruction in front.
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
    """Whether these are plain instructions that follow each other in one bank, the last of which
    alone may always jump. Only then is one block of them what they are."""
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
