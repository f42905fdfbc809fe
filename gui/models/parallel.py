"""Many runs over what they were told differently: places on parallel axes, without widgets."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

LOG_FROM = 50.0
"""Positive numbers whose greatest is so many times the least stand on a logarithmic axis."""
SUCCESS = "success"


@dataclass(frozen=True, slots=True)
class Axis:
    """One parameter. `places` are 0 (foot) to 1 (head), one a run; None where it has no value."""

    name: str
    places: tuple[float | None, ...]
    ticks: tuple[tuple[float, str], ...]
    """(place, words): every value of a few, else the ends."""


def axis_of(name: str, values: Sequence[str | None]) -> Axis:
    """An axis from texts, as a configuration shows them: numbers in order, other words apart."""
    numbers = [_number(value) for value in values]
    told = [value for value in values if value is not None]
    known = [number for number in numbers if number is not None]
    if known and len(known) == len(told):
        return _number_axis(name, numbers, known)
    words = sorted(set(told))
    step = {word: _share(place, len(words)) for place, word in enumerate(words)}
    places = tuple(None if value is None else step[value] for value in values)
    return Axis(name, places, tuple((place, word) for word, place in step.items()))


def _number_axis(name: str, numbers: Sequence[float | None], known: Sequence[float]) -> Axis:
    low, high = min(known), max(known)
    is_log = low > 0 and high / low >= LOG_FROM

    def place(number: float) -> float:
        if high == low:
            return 0.5
        if is_log:
            return math.log(number / low) / math.log(high / low)
        return (number - low) / (high - low)

    few = sorted(set(known))
    shown = few if len(few) <= 6 else [low, high]
    places = tuple(None if number is None else place(number) for number in numbers)
    return Axis(name, places, tuple((place(number), f"{number:.6g}") for number in shown))


def success_axis(rates: Sequence[float]) -> Axis:
    """The last axis, always from 0 to 1."""
    return Axis(SUCCESS, tuple(rates), ((0.0, "0"), (0.5, "0.5"), (1.0, "1")))


def _number(text: str | None) -> float | None:
    try:
        number = float(text) if text is not None else None
    except ValueError:
        return None
    return number if number is None or math.isfinite(number) else None


def _share(place: int, count: int) -> float:
    return 0.5 if count == 1 else place / (count - 1)
