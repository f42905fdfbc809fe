"""Words of a run filter that compare: `best>0.9`, `learning_rate<0.001`, `state=failed,lost`."""

from __future__ import annotations

import fnmatch
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from trainer_core.wire.run_record import RunRecord

_BOUND = re.compile(r"([A-Za-z_][\w.]*)(<=|>=|!=|=|<|>)(.+)")
_SAME = {"=": True, "!=": False}
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
OWN: dict[str, Callable[[RunRecord], float]] = {
    "best": lambda run: run.best_success_rate,
    "steps": lambda run: float(run.env_steps),
}
OWN_TEXTS: dict[str, Callable[[RunRecord], str]] = {
    "state": lambda run: run.state,
    "task": lambda run: run.task,
    "algo": lambda run: run.algo,
    "device": lambda run: run.device,
    "trainer": lambda run: run.runner,
    "run": lambda run: run.name or run.run_id,
}
"""What a run says of itself; every other name is a field of its configuration."""


@dataclass(frozen=True, slots=True)
class Bound:
    name: str
    sign: str
    value: float | str
    """A number for an order; for `=` and `!=` texts with commas between them, wildcards in them."""

    @property
    def asks_config(self) -> bool:
        return self.name not in OWN and (self.sign not in _SAME or self.name not in OWN_TEXTS)

    def holds(self, run: RunRecord, field: Callable[[str, str], str]) -> bool:
        """Whether a run is within; `field` gives a field's text by run and name, "" for none."""
        if isinstance(self.value, str):
            own = OWN_TEXTS.get(self.name) or OWN.get(self.name)
            text = str(own(run)) if own else field(run.run_id, self.name)
            return _is_one_of(text.lower(), self.value) == _SAME[self.sign]
        try:
            found = OWN[self.name](run) if self.name in OWN else float(field(run.run_id, self.name))
        except ValueError:  # it has no such field, or that is no number
            return False
        return _SIGNS[self.sign](found, self.value)


def _is_one_of(text: str, wanted: str) -> bool:
    """Whether a text is one of those between commas; of a task its last name is enough."""
    ways = {text, text.rpartition("/")[2]}
    return any(fnmatch.fnmatchcase(way, one) or _same_number(way, one) for one in wanted.split(",") for way in ways)


def _same_number(a: str, b: str) -> bool:
    try:
        return float(a) == float(b)
    except ValueError:
        return False


def parse(words: list[str]) -> tuple[list[str], list[Bound]]:
    """The plain words, and those that compare; one half typed is a plain word."""
    plain: list[str] = []
    bounds: list[Bound] = []
    for word in words:
        found = _BOUND.fullmatch(word)
        try:
            if found is None:
                raise ValueError
            name, sign, value = found[1].lower(), found[2], found[3].lower()
            bounds.append(Bound(name, sign, value if sign in _SAME else float(value)))
        except ValueError:
            plain.append(word)
    return plain, bounds
