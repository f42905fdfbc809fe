"""Choice of how many consoles a launch leaves to threaded code, by the times of the launches themselves.

Which number is fastest depends on what the games do at the moment, by a factor of three at 1,024 consoles. States do
not depend on it, so a trial needs no work of its own: some launches that are made anyway run with another number.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import warp as wp

PER_SM = (4, 8)
"""Numbers of consoles that may be left to threaded code, for each SM of the GPU."""
REST = 8
"""Least launches between two trials."""
WARM_UP = 3
"""Launches before the first trial of new code, during which the driver loads it: their times say nothing."""
MANY = 8192
"""Most consoles for which launches begin with the least number."""
SHARE, SHARE_ON_DRIFT = 0.01, 0.04
"""Shares of all time that trials may cost, above what the fastest number would have taken: as a rule, and while
launches take another time than in the last trial.
"""
DRIFT = 1.6
"""Ratio of a launch's time to that in the last trial from which the games do something else."""
LEAST_GAIN = 0.98
"""Share of the chosen number's time below which another number replaces it."""


class Clock(Protocol):
    """Source of points in time that may become known later."""

    def now(self) -> Any: ...
    def between(self, begun: Any, ended: Any) -> float | None:
        """Return the milliseconds between two points in time; None while they are not known."""
        ...


class GpuClock:
    """Clock of the GPU's current stream, by CUDA events: the host never waits for them."""

    def __init__(self, device: str) -> None:
        self._device = wp.get_device(device)

    def now(self) -> wp.Event:
        """Record the point in time at which the GPU has done all that it was given."""
        event = wp.Event(self._device, enable_timing=True)
        wp.get_stream(self._device).record_event(event)
        return event

    def between(self, begun: wp.Event, ended: wp.Event) -> float | None:
        """Return the milliseconds between two events; None while the GPU has not come to the second one."""
        return wp.get_event_elapsed_time(begun, ended, synchronize=False) if ended.is_complete else None


class _Launch(NamedTuple):
    tail: int
    frames: int
    is_trial: bool
    begun: Any
    ended: Any


class TailChoice:
    """Choice among some numbers, the `tails` of a batch, for its launches."""

    def __init__(self, tails: Sequence[int], clock: Clock, num_envs: int = 0) -> None:
        self.tails = tails
        self.best = tails[0 if num_envs <= MANY else -1]
        """Number that launches outside of trials use."""
        self._clock = clock
        self._spent = self._all = 0.0
        """Milliseconds a frame, summed over the launches: of trials, above the fastest number; of all launches."""
        self.restart()

    def restart(self) -> None:
        """Begin a trial as soon as possible: the code has changed."""
        self._plan: list[int] = []
        """Numbers of the launches of the present trial that are to be made, the next one last."""
        self._taken: dict[int, list[float]] = {tail: [] for tail in self.tails}
        """Milliseconds a frame of the launches of the present trial."""
        self._waiting: deque[_Launch] = deque()
        self._known = 0.0
        """Milliseconds a frame with the chosen number in the last trial, 0 before the first one."""
        self._drifts = self._in_trial = False
        self._rest = WARM_UP

    @contextlib.contextmanager
    def launch(self, frames: int) -> Iterator[int]:
        """Give the number for a launch of `frames` frames, which is made inside of the `with` statement."""
        if len(self.tails) == 1:
            yield self.best
            return
        self._listen()
        is_trial = bool(self._plan)
        tail = self._plan.pop() if is_trial else self.best
        self._rest -= not is_trial
        begun = self._clock.now()
        yield tail
        self._waiting.append(_Launch(tail, frames, is_trial, begun, self._clock.now()))

    def _listen(self) -> None:
        """Take in the times that have become known; decide once all of a trial are, begin one when it is due."""
        while self._waiting:
            tail, frames, is_trial, begun, ended = self._waiting[0]
            taken = self._clock.between(begun, ended)
            if taken is None:
                break
            self._waiting.popleft()
            self._all += taken / frames
            if is_trial:
                self._taken[tail].append(taken / frames)
            else:
                self._drifts = not 1 / DRIFT < taken / frames / (self._known or 1) < DRIFT
        if all(len(times) == 2 for times in self._taken.values()):
            self._decide({tail: sum(times) / 2 for tail, times in self._taken.items()})
        is_due = not self._known or self._spent < self._all * (SHARE_ON_DRIFT if self._drifts else SHARE)
        if not self._in_trial and self._rest <= 0 and is_due:
            # Each number twice, in mirrored order: a game that grows busier during the trial decides nothing.
            self._plan, self._in_trial = [*self.tails, *reversed(self.tails)], True

    def _decide(self, times: dict[int, float]) -> None:
        fastest = min(times, key=times.__getitem__)
        if times[fastest] < LEAST_GAIN * times[self.best]:
            self.best = fastest
        self._spent += 2 * sum(taken - times[fastest] for taken in times.values())
        self._known, self._rest, self._in_trial = times[self.best], REST, False
        self._taken = {tail: [] for tail in self.tails}


def tails(num_envs: int, device: str) -> tuple[int, ...]:
    """Return the numbers of consoles that a batch may leave to threaded code, ascending; at most all of them."""
    sms = wp.get_device(device).sm_count
    return tuple(sorted({min(num_envs, most * sms) for most in PER_SM}))
