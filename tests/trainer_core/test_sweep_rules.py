"""What a sweep varies, and which trials its rules end: pure functions."""

from __future__ import annotations

import random

import pytest

from trainer_core.sweeps import rules, space
from trainer_core.sweeps.following import judge
from trainer_core.sweeps.sweep import EarlyStop
from trainer_core.wire.errors import ConfigError


def test_a_grid_is_every_combination_with_the_last_name_fastest() -> None:
    axes = space.parse_axes(["learning-rate=1e-3,5e-4", "num_steps=16,32"])
    assert space.grid(axes) == [
        {"learning_rate": 1e-3, "num_steps": 16},
        {"learning_rate": 1e-3, "num_steps": 32},
        {"learning_rate": 5e-4, "num_steps": 16},
        {"learning_rate": 5e-4, "num_steps": 32},
    ]
    assert space.grid(()) == [{}], "seeds alone are a sweep too"


def test_draws_stay_in_range_and_are_the_same_for_the_same_seed() -> None:
    axes = space.parse_axes(["learning_rate=log:1e-5..1e-2", "num_steps=8..64", "policy=small,nature"])
    found = space.draws(axes, 400, seed=3)
    assert found == space.draws(axes, 400, seed=3) != space.draws(axes, 400, seed=4)
    rates = sorted(row["learning_rate"] for row in found)
    assert 1e-5 <= rates[0] < rates[-1] <= 1e-2
    assert 1e-4 < rates[200] < 1e-3, "half of a log scale lies below its geometric middle"
    assert {type(row["num_steps"]) for row in found} == {int}
    assert {row["policy"] for row in found} == {"small", "nature"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("learning_rate", "NAME=A,B,C"),
        ("learning_rate=", "NAME=A,B,C"),
        ("learning_rate=fast", "not a number"),
        ("num_steps=1.5", "not a whole number"),
        ("learning_rate=1e-3..nan", "no range"),
        ("learning_rate=1..1", "no range"),
        ("learning_rate=log:0..1", "above 0"),
        ("policy=small..nature", "list its values"),
        ("policy=small,huge", "small, nature"),
        ("num_envs=8,8", "twice"),
        ("seed=1,2", "--seeds"),
        ("speed=1", "no option 'speed'"),
    ],
)
def test_what_cannot_be_varied_is_named(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        space.parse_axis(text)


def test_a_range_is_no_grid_and_a_grid_has_its_limit() -> None:
    with pytest.raises(ConfigError, match="--search random"):
        space.grid(space.parse_axes(["gamma=0.9..0.99"]))
    many = ",".join(str(number) for number in range(1, 203))
    with pytest.raises(ConfigError, match="vary less"):
        space.grid(space.parse_axes([f"num_envs={many}", f"num_steps={many}"]))


def line(value: float, until: int) -> list[tuple[int, float]]:
    """`value` at every thousand steps."""
    return [(at, value) for at in range(1000, until + 1, 1000)]


def test_rungs_grow_by_the_factor() -> None:
    at = {999: 0, 1000: 1000, 2999: 1000, 3000: 3000, 26_000: 9000, 27_000: 27_000}
    found = {steps: rules.rung_of([(steps, 0.0)], 1000, 3) for steps in at}
    assert found == at
    assert rules.rung_of([], 1000, 3) == 0


@pytest.mark.parametrize(("first_rung", "factor"), [(0, 3), (8192, 1), (1, 0), (-5, 3)])
def test_rungs_that_would_never_end_are_refused(first_rung: int, factor: int) -> None:
    with pytest.raises(ConfigError, match="rungs of"):
        rules.rung_of([(9000, 1.0)], first_rung, factor)


def test_halving_keeps_the_best_third_of_those_that_came_so_far() -> None:
    curves = {number: line(0.1 * number, 1000) for number in range(6)}
    ended = [n for n in curves if rules.halving(curves, n, first_rung=1000, factor=3)]
    assert ended == [0, 1, 2, 3]
    assert rules.halving(curves, 0, first_rung=2000, factor=3) is None, "before the first rung"
    few = {number: curves[number] for number in (0, 5)}
    assert rules.halving(few, 0, first_rung=1000, factor=2) is None, "two say little"
    assert not any(
        rules.halving(dict.fromkeys(range(5), line(0.0, 1000)), n, first_rung=1000, factor=3) for n in range(5)
    ), "equals go on"


def test_halving_compares_values_of_the_same_rung() -> None:
    """A trial that was bad early is not judged by what others reached much later."""
    late = [(1000, 0.0), (3000, 0.2), (9000, 0.9)]
    curves = {0: late, 1: late, 2: late, 3: [(1000, 0.1)]}
    assert rules.halving(curves, 3, first_rung=1000, factor=3) is None
    curves[3] = [(1000, 0.1), (3000, 0.1)]
    found = rules.halving(curves, 3, first_rung=1000, factor=3)
    assert found == rules.Verdict(0.1, 0.2, "at 3,000 steps is not among the best 2 of 4")


def test_the_median_rule_compares_with_running_means() -> None:
    curves = {0: line(0.2, 4000), 1: line(0.5, 4000), 2: [(1000, 0.0), (4000, 0.8)], 3: []}
    curves[3] = [(1000, 0.0), (4000, 0.39)]
    found = rules.median(curves, 3, first_rung=1000)
    assert found is not None
    assert (found.own, found.bar) == (0.39, 0.4)
    curves[3] = [(1000, 0.0), (4000, 0.4)]
    assert rules.median(curves, 3, first_rung=1000) is None, "as good as the median goes on"
    assert rules.median(curves, 0, first_rung=8000) is None, "before the first rung"


def test_less_may_be_better_and_is_told_as_it_is() -> None:
    curves = {number: line(-0.1 * number, 1000) for number in range(1, 5)}
    stop = EarlyStop(rule="halving", metric="dist_p50", mode="min", first_rung=1000, factor=4)
    assert judge(curves, 1, stop) == ""
    assert judge(curves, 4, stop).startswith("dist_p50 0.4 at 1,000 steps is not among the best 1")
    assert judge(curves, 4, stop).endswith("(0.1)")


def test_random_is_not_disturbed_by_a_sweep() -> None:
    random.seed(5)
    expected = random.random()
    random.seed(5)
    space.draws(space.parse_axes(["gamma=0.9..0.99"]), 10, seed=1)
    assert random.random() == expected


def test_halving_by_five_judges_nobody_among_four() -> None:
    curves = {number: [(100, float(number))] for number in range(4)}
    assert rules.halving(curves, 0, first_rung=100, factor=5) is None
    curves[4] = [(100, 4.0)]
    assert rules.halving(curves, 0, first_rung=100, factor=5) is not None


def test_what_others_do_later_does_not_change_the_median() -> None:
    curves = {number: [(100, 1.0), (200, -9.0)] for number in range(1, 4)} | {0: [(100, 0.5)]}
    verdict = rules.median(curves, 0, first_rung=100)
    assert verdict is not None
    assert (verdict.own, verdict.bar) == (0.5, 1.0)
