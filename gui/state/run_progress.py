"""Progress of one run: its success, how far the target or the limit is, and texts for both."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from msgspec import UnsetType

from gui.kit.labels import ago
from gui.kit.words import tr
from gui.state.run_history import RunTelemetry
from trainer_core.wire.metric_names import PHASE
from trainer_core.wire.records import EvalRecord
from trainer_core.wire.spec import NATIVE_ID

LEAST_VALIDATIONS = 3
"""Validations that a trend needs."""
MOST_VALIDATIONS = 6
"""Newest validations that count for a trend."""
RATE_RECORDS = 20
"""Newest records over which the steps per second are averaged, as a validation between two slows one of them."""
SOON_S, MINUTE = 3.0, 60.0
HELD_OUT = (
    "Held-out starts: start states that training never uses, played by the policy's most probable buttons. "
    "This success counts: it ranks checkpoints and ends a run at its target."
)
"""The rule of a success rate on held-out starts; a text for `tr`."""


@dataclass(frozen=True, slots=True)
class Success:
    """Newest success rate of a run, and what it was measured on."""

    rate: float
    words: str
    at: float = 0.0
    """Unix time of the measurement; 0 if it is not said."""
    is_held_out: bool = False


@dataclass(frozen=True, slots=True)
class TimeLeft:
    seconds: float
    words: str
    """The end that comes first: the target by the trend, or a limit."""
    is_estimate: bool = False


def validations(run: RunTelemetry) -> list[EvalRecord]:
    """Return the run's validations of greedy play over all its tasks, in their order."""
    return [one for one in run.evals if one.mode == "greedy" and not one.is_part]


def validation_words(found: EvalRecord) -> str:
    """Return how many episodes of a validation reached the goal, and on how many starts if that is another number."""
    won = round(found.success_rate * found.episodes)
    if found.distinct_starts == found.episodes:
        return tr("{won} of {count}", won=won, count=found.episodes)
    return tr(
        "{won} of {count} episodes on {starts} starts", won=won, count=found.episodes, starts=found.distinct_starts
    )


def success_of(run: RunTelemetry) -> Success | None:
    """Return the success rate of the newest validation; of training where a trainer never validates; else None."""
    if found := validations(run):
        newest = found[-1]
        return Success(newest.success_rate, validation_words(newest), newest.time, is_held_out=True)
    last = run.last_update
    is_guest = run.meta is not None and run.meta.runner != NATIVE_ID
    if last is None or not is_guest or isinstance(last.success_rate, UnsetType):
        return None
    return Success(last.success_rate, tr("episodes of training"), last.time)


def target_of(run: RunTelemetry) -> float:
    """Return the success rate at which the run ends; 0 for a run without one."""
    return _number(run, "target_success")


def time_limit_of(run: RunTelemetry) -> float:
    """Return the seconds after which the run ends; 0 for a run without that limit."""
    return _number(run, "seconds")


def time_left(run: RunTelemetry, elapsed_s: float) -> TimeLeft | None:
    """Return when the run will end, `elapsed_s` seconds into its training; None while nothing tells.

    The success of the newest validations, as a straight line over the steps, gives the time to the target; a limit of
    time or steps gives another end. The nearer one counts.
    """
    found = [_to_target(run), _to_steps(run), _to_seconds(run, elapsed_s)]
    return min((one for one in found if one is not None), key=lambda one: one.seconds, default=None)


def _to_target(run: RunTelemetry) -> TimeLeft | None:
    target, rate = target_of(run), _steps_per_s(run)
    newest = validations(run)[-MOST_VALIDATIONS:]
    if not target or not rate or len(newest) < LEAST_VALIDATIONS or run.last_update is None:
        return None
    steps = np.array([one.env_steps for one in newest], np.float64)
    if np.ptp(steps) == 0:
        return None
    slope, base = np.polyfit(steps, [one.success_rate for one in newest], 1)
    if slope <= 0:
        return None
    seconds = max(0.0, ((target - base) / slope - run.last_update.env_steps) / rate)
    return TimeLeft(seconds, tr("to {target:.0%} success", target=target), is_estimate=True)


def _to_steps(run: RunTelemetry) -> TimeLeft | None:
    limit, rate = _number(run, "total_env_steps"), _steps_per_s(run)
    if run.table.has(PHASE):
        limit += _number(run, "online_steps")
    if not limit or not rate or run.last_update is None:
        return None
    return TimeLeft(max(0.0, (limit - run.last_update.env_steps) / rate), tr("to {limit:,.0f} steps", limit=limit))


def _to_seconds(run: RunTelemetry, elapsed_s: float) -> TimeLeft | None:
    limit = time_limit_of(run)
    return TimeLeft(max(0.0, limit - elapsed_s), tr("to the time limit")) if limit else None


def _steps_per_s(run: RunTelemetry) -> float:
    """Return the steps per second of the newest records, with the validations between them; 0 before two records."""
    steps, seconds = (run.table.column(name)[-RATE_RECORDS:] for name in ("env_steps", "wall_time_s"))
    if len(steps) < 2 or seconds[-1] <= seconds[0]:
        return 0.0
    return float((steps[-1] - steps[0]) / (seconds[-1] - seconds[0]))


def _number(run: RunTelemetry, name: str) -> float:
    found = run.meta.config.get(name, 0) if run.meta is not None else 0
    is_number = isinstance(found, int | float) and math.isfinite(found)
    return max(0.0, float(found)) if is_number else 0.0


def clock_text(seconds: float) -> str:
    """Return a duration as minutes and seconds, with hours from one hour on: 0:40, 1:02:03."""
    whole = int(max(0.0, seconds))
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"


def about(left: TimeLeft | None) -> str:
    """Return a time left as text, an estimate rounded to a sensible step; a dash if nothing tells it."""
    if left is None:
        return "\u2013"
    if not left.is_estimate:
        return clock_text(left.seconds)
    if left.seconds < SOON_S:
        return tr("in a moment")
    step = next(step for step, most in ((5, 120), (10, 600), (60, math.inf)) if left.seconds < most)
    return tr("about {clock}", clock=clock_text(max(step, round(left.seconds / step) * step)))


def since(when: float) -> str:
    """Return the time since `when`, in seconds since 1970, as a short text that counts the first minute in seconds."""
    seconds = max(0.0, time.time() - when)
    return tr("{seconds:.0f} s ago", seconds=seconds) if seconds < MINUTE else ago(when)
