"""What counts as success: named functions, so that a task can swap the one it uses.

The verdict drives the bonus, `done` and `success_rate` together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from trainer_core.protocol.errors import TaskError


class Progress(NamedTuple):
    """What a success function may look at; pixels and what follows from them, never RAM.

    Tensors of N consoles or the numpy numbers of one: use operators that both have.
    """

    dist: Any
    """f32[N] goal distance of the present picture."""
    held: Any
    """i32[N] consecutive steps, this one included, with dist below tau."""
    tau: Any
    hold_steps: int


SuccessFunction = Callable[[Progress], Any]
_FUNCTIONS: dict[str, SuccessFunction] = {}


def success_function(name: str) -> Callable[[SuccessFunction], SuccessFunction]:
    """Register a function `Progress -> bool[N]` under the name that manifests use."""

    def register(function: SuccessFunction) -> SuccessFunction:
        _FUNCTIONS[name] = function
        return function

    return register


def find_success_function(name: str) -> SuccessFunction:
    """Raises TaskError naming the known ones."""
    try:
        return _FUNCTIONS[name]
    except KeyError:
        known = ", ".join(sorted(_FUNCTIONS))
        raise TaskError(f"no success function {name!r}; known functions: {known}") from None


@success_function("goal_template")
def goal_template(progress: Progress) -> Any:
    """The picture matched a goal template for `hold_steps` steps in a row."""
    return progress.held >= progress.hold_steps


@success_function("goal_touched")
def goal_touched(progress: Progress) -> Any:
    """The picture matched a goal template once."""
    return progress.dist < progress.tau
