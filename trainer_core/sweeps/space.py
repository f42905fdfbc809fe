"""Search space of a sweep: `name=a,b,c` or `name=low..high`, as a grid or at random."""

from __future__ import annotations

import itertools
import math
import random
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import ConfigError

RESERVED = {
    "seed": "say --seeds 1 2 3 instead, so that settings are compared over the same seeds",
    "device": "say --devices cuda:0 cuda:1 instead",
    "task": "make a sweep of each task: their successes cannot be compared",
}
MAX_TRIALS = 10_000
_FORM = "--vary wants NAME=A,B,C or NAME=LOW..HIGH (NAME=log:LOW..HIGH draws on a log scale)"


@dataclass(frozen=True, slots=True)
class Axis:
    """One varied field of RunConfig: listed `values`, or a range to draw from."""

    name: str
    values: tuple[Any, ...] = ()
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False

    @property
    def is_range(self) -> bool:
        return not self.values

    def draw(self, rng: random.Random) -> Any:
        """Draw one value: any of the list, or uniform over the range (over its logarithm with `log`)."""
        if self.values:
            return rng.choice(self.values)
        if self.log:
            value = math.exp(rng.uniform(math.log(self.low), math.log(self.high)))
        else:
            value = rng.uniform(self.low, self.high)
        value = min(max(value, self.low), self.high)
        return round(value) if self.whole else float(f"{value:.4g}")


def parse_axis(text: str) -> Axis:
    """Parse one `--vary` argument. Raises ConfigError naming the field and the expected form."""
    name, equals, said = text.partition("=")
    name = name.strip().replace("-", "_")
    if not equals or not said.strip():
        raise ConfigError(f"{text!r}: {_FORM}")
    kinds = typing.get_type_hints(RunConfig)
    if name in RESERVED:
        raise ConfigError(f"a sweep does not vary {name}: {RESERVED[name]}")
    if name not in kinds:
        raise ConfigError(f"no option {name!r} to vary; `dmglab train --help` lists them")
    if ".." in said:
        return _range(name, said, kinds[name])
    values = tuple(_value(name, word.strip(), kinds[name]) for word in said.split(","))
    if len(set(values)) < len(values):
        raise ConfigError(f"{text!r} names a value twice")
    return Axis(name, values)


def _range(name: str, said: str, kind: Any) -> Axis:
    log = said.startswith("log:")
    first, _, last = said.removeprefix("log:").partition("..")
    if kind not in (int, float):
        raise ConfigError(f"{name} is no number: list its values, {name}=A,B")
    low, high = (_value(name, word.strip(), kind) for word in (first, last))
    if not math.isfinite(low) or not math.isfinite(high) or low >= high:
        raise ConfigError(f"{name}: {low}..{high} is no range from a lower to a higher number")
    if log and low <= 0:
        raise ConfigError(f"{name}: a log scale begins above 0, got {low}")
    return Axis(name, low=low, high=high, log=log, whole=kind is int)


def _value(name: str, word: str, kind: Any) -> Any:
    try:
        return msgspec.convert(word, kind, strict=False)
    except msgspec.ValidationError:
        meant = {int: "whole number", float: "number", bool: "yes or no (true, false)"}.get(kind)
        known = meant or f"choice; it has {', '.join(map(str, typing.get_args(kind)))}"
        raise ConfigError(f"{name}={word[:40]}: not a {known}") from None


def parse_axes(texts: Sequence[str]) -> tuple[Axis, ...]:
    """Parse all `--vary` arguments, each name once. Raises ConfigError."""
    axes = tuple(map(parse_axis, texts))
    names = [axis.name for axis in axes]
    twice = next((name for name in names if names.count(name) > 1), "")
    if twice:
        raise ConfigError(f"--vary names {twice} twice: list all its values in one")
    return axes


def grid(axes: Sequence[Axis]) -> list[dict[str, Any]]:
    """Return every combination, the last axis fastest. Raises ConfigError for a range."""
    for axis in axes:
        if axis.is_range:
            raise ConfigError(f"{axis.name} is a range: list its values, or say --search random --trials N")
    _within_limit(math.prod(len(axis.values) for axis in axes))
    names = [axis.name for axis in axes]
    rows = itertools.product(*(axis.values for axis in axes))
    return [dict(zip(names, row, strict=True)) for row in rows]


def draws(axes: Sequence[Axis], trials: int, seed: int) -> list[dict[str, Any]]:
    """Return `trials` independent draws (Bergstra and Bengio 2012); equal for equal `seed`."""
    _within_limit(trials)
    rng = random.Random(seed)
    return [{axis.name: axis.draw(rng) for axis in axes} for _ in range(trials)]


def _within_limit(settings: int) -> None:
    if settings > MAX_TRIALS:
        raise ConfigError(f"{settings:,} settings are more than {MAX_TRIALS:,}: vary less")
