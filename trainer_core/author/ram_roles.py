"""Search for bytes of memory that behave like a coordinate, a map number, a counter, health, a flag or a timer.

Every score is a product of shares between 0 and 1, so that one property that is missing puts a byte far down. The names
of a game's symbols are not used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trainer_core.author.ram_branches import PRESSED, Branches

KINDS = ("x", "y", "map", "counter", "health", "flag", "timer")
RIGHT, LEFT, UP, DOWN = (PRESSED.index(name) for name in ("right", "left", "up", "down"))
DIRECTIONS = slice(1, 5)
OTHERS = slice(5, None)
LEAST_SCORE = 0.01
AT_ONCE = 256
"""Bytes of memory whose scores are computed together: the arrays of 64 rounds take 16 MiB each."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A byte that behaves like a kind of value."""

    kind: str
    place: int
    """bank * 0x10000 + address."""
    score: float
    """0 to 1."""
    why: str
    also: tuple[int, ...]
    """Places of bytes that differ from this one by a constant, or by their order of values, in all observations."""


def rank(found: Branches, most: int) -> dict[str, list[Candidate]]:
    """Return for each of KINDS up to `most` candidates, the best first."""
    bytes_ = range(0, len(found.place), AT_ONCE)
    parts = [_Bytes(found, slice(at, at + AT_ONCE)) for at in bytes_]
    weight = np.where(found.scratch, 0.5, 1.0)
    scores, words = {}, {}
    for kind, buttons in (("x", (RIGHT, LEFT, UP, DOWN)), ("y", (DOWN, UP, LEFT, RIGHT))):
        scores[kind], words[kind] = _join([part.axis(*buttons) for part in parts])
    jumped = np.zeros(found.moved.shape[1:], bool)
    for kind, forward, back in (("x", RIGHT, LEFT), ("y", DOWN, UP)):
        jumped |= _jumps(found, scores[kind], forward, back)
    # How large the change of the picture is among all, 0 to 1; a jump of the coordinates counts as the largest.
    ranks = [np.searchsorted(np.sort(part.ravel()), part) / part.size for part in found.moved]
    large = np.where(jumped, 1, np.maximum(*ranks))
    scores["map"], words["map"] = _join([part.map(large, jumped) for part in parts])
    for kind in ("counter", "health", "flag", "timer"):
        scores[kind], words[kind] = _join([getattr(part, kind)() for part in parts])
    return {kind: _best(found, kind, scores[kind] * weight, words[kind], most) for kind in KINDS}


def _join(parts: Sequence[tuple[np.ndarray, list[str]]]) -> tuple[np.ndarray, list[str]]:
    scores = np.concatenate([score for score, _ in parts]) if parts else np.zeros(0)
    return scores, [word for _, words in parts for word in words]


def _best(found: Branches, kind: str, scores: np.ndarray, words: list[str], most: int) -> list[Candidate]:
    """Return the best candidates; bytes that tell the same as a better one are listed with it."""
    groups: dict[bytes, list[int]] = {}
    for column in np.argsort(-scores, kind="stable"):
        if scores[column] < LEAST_SCORE or len(groups) > 4 * most:
            break
        values = found.after[:, :, column].ravel()
        # Values renumbered in the order in which they come: equal for two bytes that name the same things differently.
        _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
        same = np.argsort(np.argsort(first))[inverse].astype(np.uint8).tobytes()
        groups.setdefault(same, []).append(int(column))
    best = []
    for columns in list(groups.values())[:most]:
        head, *also = columns
        best.append(
            Candidate(
                kind,
                int(found.place[head]),
                round(float(scores[head]), 3),
                words[head],
                tuple(int(found.place[one]) for one in also),
            )
        )
    return best


def _jumps(found: Branches, scores: np.ndarray, forward: int, back: int) -> np.ndarray:
    """Return bool[S, 8]: whether a good coordinate moved by more than two of its usual steps."""
    jumped = np.zeros(found.moved.shape[1:], bool)
    for column in np.argsort(-scores)[:3]:
        if scores[column] < max(0.3 * scores.max(), 0.1):
            break
        change = (found.after[:, :, column] - found.before[:, None, column]).astype(np.int8)
        usual = np.abs(change[:, [forward, back]].astype(int))
        jumped |= np.abs(change.astype(int)) > 2.5 * np.median(usual[usual > 0])
    return jumped


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return part / np.maximum(whole, 1)


class _Bytes:
    """Observations of some bytes, and what all kinds of scores need of them."""

    def __init__(self, found: Branches, part: slice) -> None:
        self.before, self.after, self.later = found.before[:, part], found.after[..., part], found.later[..., part]
        self.count = self.before.shape[1]
        self.change = (self.after - self.before[:, None]).astype(np.int8)
        """i8[S, 8, C], in the first step."""
        self.effect = (self.after - self.after[:, :1]).astype(np.int8)
        """i8[S, 8, C], what the button changed of the first step."""
        changed = self.change != 0
        self.changes = changed.sum((0, 1))
        self.rate = self.changes / changed[:, :, 0].size
        self.caused = _share((changed & (self.effect != 0)).sum((0, 1)), self.changes)
        """Share of the changes that would not have come without the button."""
        self.stays = _share((changed & (self.later == self.after)).sum((0, 1)), self.changes)
        """Share of the changes that last for another step."""
        self.values = np.array([len(np.unique(self.after[..., one])) for one in range(self.count)])
        self.ups, self.downs = (self.change > 0).sum((0, 1)), (self.change < 0).sum((0, 1))

    def axis(self, forward: int, back: int, *across: int) -> tuple[np.ndarray, list[str]]:
        """Score a coordinate that `forward` and `back` move in opposite senses, and buttons `across` do not move."""
        ahead, behind = self.effect[:, forward], self.effect[:, back]
        counts = [(side != 0).sum(0) for side in (ahead, behind)]
        own = counts[0] + counts[1]
        senses = np.sign(ahead).sum(0, dtype=int) - np.sign(behind).sum(0, dtype=int)
        opposite = _share(np.abs(senses), own)
        both = np.minimum(1, 2 * _share(np.minimum(*counts), np.maximum(*counts)))
        leaked = sum((self.effect[:, one] != 0).sum(0) for one in across)
        others = (self.effect[:, OTHERS] != 0).sum((0, 1)) / 3
        often = np.minimum(1, own / (0.1 * len(self.effect)))
        still = (self.after[:, 0] == self.before).mean(0)
        back_again, moves = np.zeros(self.count), np.zeros(self.count)
        for one in np.flatnonzero(own):
            parts = [(side[:, one] != 0, button) for side, button in ((ahead, forward), (behind, back))]
            undone = sum(
                (self.later[at, button, one] == self.later[at, 0, one]).sum() for at, button in parts if at.any()
            )
            back_again[one] = undone / own[one]
            # A byte that always has the same value after a button is its number, or a facing.
            top = sum(np.bincount(self.after[at, button, one]).max() for at, button in parts if at.any())
            moves[one] = min(1, 2 * (1 - top / own[one]))
        score = opposite * both * _share(own, own + leaked) * _share(own, own + others)
        score = score * often * still * back_again * moves
        sign = np.where(senses >= 0, "+", "-")
        step = [
            np.median(np.abs(ahead[:, one][ahead[:, one] != 0])) if counts[0][one] else 0 for one in range(self.count)
        ]
        names = PRESSED[forward], PRESSED[back]
        words = [
            f"{names[0]} {sign[one]}{step[one]:.0f}, {names[1]} opposite {opposite[one]:.0%}, "
            f"undone {back_again[one]:.0%}"
            for one in range(self.count)
        ]
        return score, words

    def map(self, large: np.ndarray, jumped: np.ndarray) -> tuple[np.ndarray, list[str]]:
        """Score a map number: it changes rarely, together with the largest changes of the picture, `large` f[S, 8], or
        with jumps of the coordinates `jumped` bool[S, 8], and by walking."""
        changed = self.change != 0
        picture = _share(np.einsum("sb,sbc->c", large, changed), self.changes)
        walked = _share(changed[:, DIRECTIONS].sum((0, 1)), self.changes)
        walked = np.maximum(walked, _share((changed & jumped[:, :, None]).sum((0, 1)), self.changes))
        rare = 1 / (1 + self.rate / 0.02)
        few = np.minimum(1, 8 / np.maximum(8, self.values))
        small = np.where(self.after.max((0, 1), initial=0) < 64, 1, 0.7)
        ways = np.where((self.ups > 0) & (self.downs > 0), 1, 0.8)
        kinds = np.minimum(1, (self.values - 1) / 2) * 0.5 + 0.5
        enough = np.minimum(1, self.changes / 5) * (self.values > 1)
        # Behind a door many games fade and load for longer than a step: the change then comes whatever is pressed.
        reason = walked * self.caused + 0.8 * (1 - self.caused)
        score = picture**4 * reason * self.stays * rare * few * small * ways * kinds * enough
        words = [
            f"{values} values, {changes:,} changes, with the picture {share:.0%}"
            for values, changes, share in zip(self.values, self.changes, picture, strict=True)
        ]
        return score, words

    def _one_way(
        self, with_it: np.ndarray, against: np.ndarray, what: str, strict: int
    ) -> tuple[np.ndarray, list[str]]:
        """Score a value that goes one way in small steps, now and then, and stays."""
        size = np.abs(self.change.astype(np.int16))
        small = _share(((size > 0) & (size <= 16)).sum((0, 1)), self.changes)
        seldom = np.minimum(1, self.changes / 5) * (1 - np.minimum(1, self.rate / 0.8))
        many = np.minimum(1, (self.values - 1) / 3)
        score = _share(with_it, with_it + strict * against) * small * seldom * many * self.stays
        score = score * (0.5 + 0.5 * self.caused)
        words = [
            f"{what} {up:,} times, back {down:,}, {values} values"
            for up, down, values in zip(with_it, against, self.values, strict=True)
        ]
        return score, words

    def counter(self) -> tuple[np.ndarray, list[str]]:
        """Score a counter, which only goes up."""
        # From 9 to 0 or 255 to 0 it wraps.
        wraps = ((self.after == 0) & (self.before[:, None] >= 9) & (self.change != 0)).sum((0, 1))
        return self._one_way(self.ups, np.maximum(0, self.downs - wraps), "up", 10)

    def health(self) -> tuple[np.ndarray, list[str]]:
        """Score health, which goes down, and seldom up."""
        return self._one_way(self.downs, self.ups, "down", 2)

    def flag(self) -> tuple[np.ndarray, list[str]]:
        """Score a flag: two values that differ in one bit, changed rarely and to stay."""
        bits = np.bitwise_or.reduce(np.bitwise_or.reduce(self.after ^ self.before[:, None], 0), 0)
        one_bit = (bits & (bits - 1)) == 0
        rare = 1 / (1 + self.rate / 0.02)
        score = (self.values == 2) * np.where(one_bit, 1, 0.3) * self.stays * self.caused * rare
        score = score * np.minimum(1, self.changes / 5)
        words = [f"bits {bit:02X}, {changes:,} changes" for bit, changes in zip(bits, self.changes, strict=True)]
        return score, words

    def timer(self) -> tuple[np.ndarray, list[str]]:
        """Score a timer, which changes by the same amount in every step, whatever is pressed."""
        score, words = np.zeros(self.count), []
        for one in range(self.count):
            steps, counts = np.unique(self.change[..., one], return_counts=True)
            most = int(np.argmax(np.where(steps == 0, 0, counts)))
            share = counts[most] / counts.sum() if steps[most] else 0.0
            score[one] = share * (1 - self.caused[one]) * min(1, self.values[one] / 16)
            words.append(f"{steps[most]:+d} in {share:.0%} of the steps")
        return score, words
