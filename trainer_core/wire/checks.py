"""Results of the checks before a run, and the report of a runner's interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypedDict

import msgspec

from trainer_core.wire.errors import ConfigError, LabError

Status = Literal["ok", "warn", "fail"]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """Result of one check before a run. `fix` tells the user what to do; `remedy` is a change that an app can make
    itself."""

    name: str
    status: Status
    detail: str
    fix: str = ""
    remedy: dict[str, Any] = {}
    """Fields of the run's spec with the values that would pass."""


def judged(name: str, judge: Callable[[], str], fix: str = "", **remedy: Any) -> Check:
    """Call `judge`; return a passed Check with the text that it returns, or a failed one with the LabError that it
    raises."""
    try:
        return Check(name=name, status="ok", detail=judge())
    except LabError as error:
        return Check(name=name, status="fail", detail=str(error), fix=fix, remedy=remedy)


class Gpu(TypedDict):
    name: str
    bytes: int


class Found(TypedDict, total=False):
    """Report of `AgentRunner.readiness` on a runner's Python interpreter and its modules.

    `python` is absent when the interpreter gave no answer.
    """

    python: str
    modules: dict[str, str | None]
    """Version by module name; None for a module that is not installed."""
    gpus: list[Gpu]
    error: str
    """Reason why there is no answer."""
    absent: bool
    """True if the interpreter does not exist."""


def require(check: Check) -> None:
    """Raise ConfigError with the check's text and fix in one line if `check` failed."""
    if check.status == "fail":
        fix = check.fix[:1].lower() + check.fix[1:]
        raise ConfigError(f"{check.detail}; {fix}" if fix else check.detail)


def size(count: float) -> str:
    """Return `count` bytes as text like "3.4 MiB"."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if count >= 100 or unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError
