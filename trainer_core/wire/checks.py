"""What a check finds, and what a runner's interpreter answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypedDict

import msgspec

from trainer_core.wire.errors import ConfigError, LabError

Status = Literal["ok", "warn", "fail"]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One finding. `fix` says what to do; `remedy` names a change that an app can make itself."""

    name: str
    status: Status
    detail: str
    fix: str = ""
    remedy: dict[str, Any] = {}
    """Fields of the spec with the values that would help."""


def judged(name: str, judge: Callable[[], str], fix: str = "", **remedy: Any) -> Check:
    """Return ok with what `judge` says, or a failure with the LabError that it raises."""
    try:
        return Check(name=name, status="ok", detail=judge())
    except LabError as error:
        return Check(name=name, status="fail", detail=str(error), fix=fix, remedy=remedy)


class Gpu(TypedDict):
    name: str
    bytes: int


class Found(TypedDict, total=False):
    """The answer of `AgentRunner.readiness`; without `python` nobody answered."""

    python: str
    modules: dict[str, str | None]
    """Version by name, None for one that is not there."""
    gpus: list[Gpu]
    error: str
    """Why there is no answer."""
    absent: bool
    """There is no such interpreter."""


def require(check: Check) -> None:
    """For shells and workers: ConfigError in one line when `check` failed."""
    if check.status == "fail":
        fix = check.fix[:1].lower() + check.fix[1:]
        raise ConfigError(f"{check.detail}; {fix}" if fix else check.detail)


def size(count: float) -> str:
    """`count` bytes for a person."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if count >= 100 or unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError
