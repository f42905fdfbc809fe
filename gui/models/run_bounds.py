"""Words of a run filter that compare: `best>0.9`, `steps>=1e6`, `learning_rate<0.001`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from trainer_core.protocol.runs import RunRecord

_BOUND = re.compile(r"([A-Za-z_][\w.]*)(<=|>=|<|>)(.+)")
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
OWN: dict[str, Callable[[RunRecord], float]] = {
    "best": lambda run: run.best_success_rate,
    "steps": lambda run: float(run.env_steps),
}
"""What a run says of itself; every other name is a field of its configuration."""


@dataclass(frozen=True, slots=True)
class Bound:
    name: str
    sign: str
    value: float

    @property
    def asks_config(self) -> bool:
        return self.name not in OWN

    def holds(self, run: RunRecord, field: Callable[[str, str], str]) -> bool:
        """Whether a run is within; `field` gives a field's text by run and name, "" for none."""
        try:
            found = OWN[self.name](run) if self.name in OWN else float(field(run.run_id, self.name))
        except ValueError:  # it has no such field, or that is no number
            return False
        return _SIGNS[self.sign](found, self.value)


def parse(words: list[str]) -> tuple[list[str], list[Bound]]:
    """The plain words, and those that compare with a number; one half typed is a plain word."""
    plain: list[str] = []
    bounds: list[Bound] = []
    for word in words:
        found = _BOUND.fullmatch(word)
        try:
            if found is None:
                raise ValueError
            bounds.append(Bound(found[1], found[2], float(found[3])))
        except ValueError:
            plain.append(word)
    return plain, bounds
