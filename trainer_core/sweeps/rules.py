"""Rules that end trials with bad results early: pure functions of the measurements so far.

A curve is [(environment steps, value), ...], ascending; more is better. Both rules only end a trial that is strictly
worse than its reference value: ties go on.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trainer_core.wire.errors import ConfigError

Curve = Sequence[tuple[int, float]]
MIN_PEERS = 3
"""Least number of trials with which a trial is compared: fewer say little about what is possible."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Decision to end a trial: its value `own` is worse than `bar`."""

    own: float
    bar: float
    where: str


def best_until(curve: Curve, steps: int) -> float:
    """Return the best value up to the first measurement at `steps` or later, which `curve` has."""
    best = curve[0][1]
    for at, value in curve:
        best = max(best, value)
        if at >= steps:
            break
    return best


def reached(curve: Curve) -> int:
    """Return the environment steps of the curve's last point."""
    return curve[-1][0] if curve else 0


def rung_of(curve: Curve, first_rung: int, factor: int) -> int:
    """Return the highest rung, first_rung * factor^k environment steps, that the trial has reached, 0 before the first.

    Raises ConfigError for values with which the rungs do not grow.
    """
    if first_rung < 1 or factor < 2:
        raise ConfigError(f"rungs of {first_rung} times {factor}: give 1 or more, times 2 or more")
    rung, steps = 0, first_rung
    while steps <= reached(curve):
        rung, steps = steps, steps * factor
    return rung


def halving(curves: Mapping[int, Curve], trial: int, *, first_rung: int, factor: int) -> Verdict | None:
    """Judge by asynchronous successive halving (Li et al. 2020, arXiv:1810.05934), its stopping form.

    At its rung a trial goes on if it is among the best 1/factor, rounded up, of all that reached that rung so far.
    """
    rung = rung_of(curves[trial], first_rung, factor)
    if not rung:
        return None
    there = [curve for curve in curves.values() if reached(curve) >= rung]
    values = sorted((best_until(curve, rung) for curve in there), reverse=True)
    if len(values) < max(MIN_PEERS, factor):
        return None
    kept = -(-len(values) // factor)
    own, bar = best_until(curves[trial], rung), values[kept - 1]
    where = f"at {rung:,} steps is not among the best {kept} of {len(values)}"
    return Verdict(own, bar, where) if own < bar else None


def median(curves: Mapping[int, Curve], trial: int, *, first_rung: int) -> Verdict | None:
    """Judge by the median stopping rule (Golovin et al. 2017, Vizier, section 3.2.1).

    A trial ends when its best value so far is worse than the median of the others' running means up to as many steps.
    """
    steps = reached(curves[trial])
    if steps < max(first_rung, 1):
        return None
    means = [
        statistics.fmean(value for at, value in curve if at <= max(steps, curve[0][0]))
        for other, curve in curves.items()
        if other != trial and reached(curve) >= steps
    ]
    if len(means) < MIN_PEERS:
        return None
    own, bar = best_until(curves[trial], steps), statistics.median(means)
    return Verdict(own, bar, f"at {steps:,} steps is below the others' median") if own < bar else None
