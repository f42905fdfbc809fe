"""How many consoles a launch leaves to threaded code: chosen by the launches' times, and again when they change."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from emulator.launch import tail_choice
from emulator.launch.tail_choice import TailChoice, tails


class HostClock:
    """A clock that a test advances; a point in time is known `behind` points later."""

    def __init__(self, behind: int = 0) -> None:
        self.milliseconds, self.points, self.behind = 0.0, 0, behind

    def now(self) -> tuple[float, int]:
        self.points += 1
        return self.milliseconds, self.points

    def between(self, begun: tuple[float, int], ended: tuple[float, int]) -> float | None:
        return ended[0] - begun[0] if self.points - ended[1] >= self.behind else None


def run(choice: TailChoice, clock: HostClock, launches: int, takes: Callable[[int], float]) -> list[int]:
    """Make launches that take as many milliseconds as `takes` says of their tail; return the tails."""
    chosen = []
    for _ in range(launches):
        with choice.launch(24) as tail:
            clock.milliseconds += takes(tail)
        chosen.append(tail)
    return chosen


@pytest.mark.parametrize("behind", [0, 40])
def test_the_faster_number_is_found_and_found_again(behind: int) -> None:
    clock = HostClock(behind)
    choice = TailChoice((512, 1024), clock)
    light = run(choice, clock, 200, lambda tail: {512: 10.0, 1024: 5.0}[tail])
    assert light[-50:].count(1024) > 40
    heavy = run(choice, clock, 400, lambda tail: {512: 24.0, 1024: 40.0}[tail])
    assert heavy[-50:].count(512) > 40
    choice.restart()
    soon = run(choice, clock, tail_choice.WARM_UP + 4, lambda _: 1.0)
    assert set(soon) == {512, 1024}, "other code is tried at once"


def test_a_first_launch_that_loads_the_code_and_a_game_that_grows_busier_decide_nothing() -> None:
    clock = HostClock()
    choice = TailChoice((512, 1024), clock)
    times = iter([2000.0, *(10.0 + launch for launch in range(40))])
    run(choice, clock, 40, lambda tail: next(times) * {512: 1.2, 1024: 1.0}[tail])
    assert choice.best == 1024
    assert TailChoice((512, 1024), clock, 1 << 16).best == 1024


def test_trials_cost_a_share_of_the_time_only() -> None:
    clock = HostClock()
    choice = TailChoice((512, 1024), clock)
    run(choice, clock, 2000, lambda tail: {512: 10.0, 1024: 30.0}[tail])
    assert choice.best == 512
    assert clock.milliseconds < 1.03 * 2000 * 10.0


def test_few_consoles_have_no_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tail_choice.wp, "get_device", lambda name: SimpleNamespace(sm_count=100))
    found = [tails(n, "cuda:0") for n in (1, 400, 700, 1 << 16)]
    assert found == [(1,), (400,), (400, 700), (400, 800)]
    clock = HostClock()
    assert set(run(TailChoice((300,), clock), clock, 5, lambda _: 1.0)) == {300}
    assert clock.points == 0, "nothing is measured"
