"""A task's RAM terms for one console, in plain Python: for the player, and to check envs/ram_kernel.py."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from trainer_core.lab.ram_expressions import Op, Program
from trainer_core.lab.ram_reward import BYTES_A_ROW
from trainer_core.wire.shades import MAX_SHADE


@dataclass(slots=True)
class Episode:
    """Memory of the terms within an episode."""

    before: bytes = b""
    """Watched bytes of the last step."""
    records: dict[int, float] = field(default_factory=dict)
    """Greatest value so far of each `gain`."""
    met: set[tuple[int, int]] = field(default_factory=set)
    """Number of each `new`, and a key that it has met."""

    def copy(self) -> Episode:
        return Episode(self.before, dict(self.records), set(self.met))


@dataclass(frozen=True, slots=True)
class Scored:
    """Result of one step."""

    parts: dict[str, np.float32]
    """Each term's part of the reward, in order, without `novelty`."""
    reward: np.float32
    done: bool
    score: float
    keys: tuple[int, ...] = ()
    """Key of each `novelty`."""


class RamJudge:
    """Scorer of the watched bytes of one console; `read` returns them."""

    def __init__(self, program: Program, read: Callable[[], bytes]) -> None:
        self.program, self.read = program, read
        self.episode = Episode()

    def begin(self) -> None:
        """Begin an episode at the console's present state."""
        self.episode = Episode(self.read())

    def step(self) -> Scored:
        """Score the step that led to the console's present state."""
        after = self.read()
        scored = run(self.program, self.episode, after)
        self.episode.before = after
        return scored


def ram_rows(watched: np.ndarray, rows: int) -> np.ndarray:
    """Return `watched` u8[..., B] as pixels u8[..., rows, 80]: a bit each, shade 0 or 3, the lowest of a byte first."""
    bits = np.unpackbits(watched, axis=-1, bitorder="little") * MAX_SHADE
    room = [(0, 0)] * (bits.ndim - 1) + [(0, rows * 8 * BYTES_A_ROW - bits.shape[-1])]
    return np.pad(bits, room).reshape(*watched.shape[:-1], rows, -1)


def _decimal(part: bytes, base: int) -> float:
    """Return the number of the digits of `part`, two in a byte (base 100) or one (base 10)."""
    value = 0
    for byte in part:
        value = value * base + (10 * (byte >> 4) + (byte & 15) if base == 100 else byte)
    return float(value)


def _key(value: float) -> int:
    """Return the lowest 24 bits of a number, 0 for one that is not exact, -1 for one below 0."""
    return -1 if value < 0 else int(value) & 0xFFFFFF if value < 2.0**53 else 0


_READERS: dict[Op, Callable[[bytes], float]] = {
    Op.LITTLE: lambda part: float(int.from_bytes(part, "little")),
    Op.BIG: lambda part: float(int.from_bytes(part, "big")),
    Op.BCD: lambda part: _decimal(part, 100),
    Op.DIGITS: lambda part: _decimal(part, 10),
    Op.SUM: lambda part: float(sum(part)),
    Op.POPCOUNT: lambda part: float(int.from_bytes(part, "big").bit_count()),
}
_PAIRS: dict[Op, Callable[[float, float], float]] = {
    Op.ADD: lambda a, b: a + b,
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda a, b: a * b,
    Op.DIV: lambda a, b: a / b if b else 0.0,
    Op.MIN: lambda a, b: min(a, b),
    Op.MAX: lambda a, b: max(a, b),
    Op.LESS: lambda a, b: float(a < b),
    Op.LESS_EQUAL: lambda a, b: float(a <= b),
    Op.EQUAL: lambda a, b: float(a == b),
    Op.AND: lambda a, b: float(a != 0 and b != 0),
    Op.OR: lambda a, b: float(a != 0 or b != 0),
}
_SINGLE: dict[Op, Callable[[float], float]] = {
    Op.NOT: lambda a: float(a == 0),
    Op.NEG: lambda a: -a,
    Op.ABS: abs,
    Op.FLOOR: lambda a: float(np.floor(a)),
}


def run(program: Program, episode: Episode, after: bytes) -> Scored:
    """Run a program on the bytes before a step, which `episode` holds, and `after` it."""
    stack: list[float] = []
    parts = dict.fromkeys(program.terms, np.float32(0))
    total, done, score = 0.0, False, 0.0
    keys = [0] * len(program.counted)
    for number, a, b, c in program.words:
        op = Op(number)
        if op is Op.CONST:
            stack.append(program.constants[a])
        elif op is Op.BIT:
            stack.append(float((after if a else episode.before)[b + (c >> 3)] >> (c & 7) & 1))
        elif op in _READERS:
            stack.append(_READERS[op]((after if a else episode.before)[b : b + c]))
        elif op in _PAIRS:
            second = stack.pop()
            stack[-1] = _PAIRS[op](stack[-1], second)
        elif op in _SINGLE:
            stack[-1] = _SINGLE[op](stack[-1])
        elif op is Op.GAIN:
            new, old = stack.pop(), stack.pop()
            record = episode.records.get(a, old)
            episode.records[a] = max(record, new)
            stack.append(max(0.0, new - record))
        elif op is Op.NEW:
            key, begun = _key(stack.pop()), _key(stack.pop())
            if begun >= 0:
                episode.met.add((a, begun))
            stack.append(float(key >= 0 and (a, key) not in episode.met))
            if key >= 0:
                episode.met.add((a, key))
        elif op is Op.NOVELTY:
            keys[a] = max(0, _key(stack[-1]))
            stack[-1] = 0.0
        elif op is Op.TERM:
            value = program.weights[a] * stack.pop()
            parts[program.terms[a]] = np.float32(value)
            total += value
        elif op is Op.DONE:
            done = stack.pop() != 0
        else:
            score = stack.pop()
    return Scored(parts, np.float32(total), done, score, tuple(keys))
