"""What the header says of a run: success, its trend, the time left; how many tiles the wall has."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from PySide6.QtCore import QSize

from gui.features.train.wall_view import grids
from gui.state.run_history import RunTelemetry
from gui.state.run_progress import TimeLeft, about, clock_text, success_of, time_left
from tests.support.made_records import update_record
from trainer_core.wire import records

DEMO = ((10_240, 6.8, 0.1875), (20_480, 23.4, 0.375), (30_720, 32.5, 1.0))
"""(steps, seconds of training, success on 16 held-out starts) at the validations of a real demo on two cores."""


def run_of(count: int, **config: Any) -> RunTelemetry:
    """The demo up to its validation number `count`."""
    run = RunTelemetry("r")
    run.take(records.MetaRecord(run_id="r", seq=0, time=0.0, runner="native", config=config))
    for steps, seconds, rate in DEMO[:count]:
        update = update_record("r", run.next_seq, 1, 100.0)
        run.take(msgspec.structs.replace(update, env_steps=steps, wall_time_s=seconds))
        fields = {"task": "t", "mode": "greedy", "n": 1, "mean_return": 0.0, "median_steps_to_goal": 20.0}
        rates = dict.fromkeys(("success_rate", "pass_at_1", "pass_at_n"), rate)
        starts = {"episodes": 16, "distinct_starts": 16, "wall_time_s": 1.0}
        seen = records.EvalRecord(
            run_id="r", seq=run.next_seq, time=seconds, env_steps=steps, **fields, **rates, **starts
        )
        run.take(seen)
    return run


def test_success_is_that_of_the_newest_validation() -> None:
    assert success_of(run_of(0)) is None
    found = success_of(run_of(2))
    assert found is not None
    assert (found.rate, found.words, found.is_held_out) == (0.375, "6 of 16", True)


def test_the_time_left_is_a_dash_until_three_validations_show_a_trend() -> None:
    assert time_left(run_of(2, target_success=0.95), 24.0) is None
    assert about(None) == "\u2013"
    found = time_left(run_of(3, target_success=1.0), 33.0)
    assert found is not None
    assert found.words == "to 100 % success"
    assert 1 < found.seconds < 4, "1843 steps at 797 a second"
    assert about(found) == "in a moment"
    assert about(TimeLeft(31.4, "", is_estimate=True)) == "about 0:30"
    assert about(TimeLeft(31.4, "")) == "0:31"


def test_the_nearer_end_counts() -> None:
    found = time_left(run_of(3, target_success=1.0, seconds=34.0), 33.0)
    assert found == TimeLeft(1.0, "to the time limit")
    found = time_left(run_of(2, total_env_steps=30_720), 24.0)
    assert found is not None
    assert found.words == "to 30,720 steps"
    assert round(found.seconds) == 17
    assert clock_text(3723) == "1:02:03"


@pytest.mark.parametrize(
    ("room", "envs", "ratio", "found"),
    [
        ((1040, 524), 64, 1.0, {0.5: 55, 1.0: 18, 2.0: 3, 3.0: 2}),
        ((1040, 524), 32, 1.0, {0.5: 22, 1.0: 18, 2.0: 3, 3.0: 2}),
        ((1040, 524), 4, 1.0, {2.0: 3, 3.0: 2}),
        ((1040, 524), 1, 1.0, {3.0: 1}),
        ((1040, 524), 64, 1.5, {0.5: 55, 4 / 3: 8, 2.0: 3, 8 / 3: 2}),
    ],
)
def test_the_wall_has_whole_rows_and_no_blanks(
    room: tuple[int, int], envs: int, ratio: float, found: dict[float, int]
) -> None:
    made = grids(QSize(*room), envs, ratio)
    assert {grid.scale: grid.count for grid in made if grid.scale < 4} == found
    for grid in made:
        assert grid.columns * (160 * grid.scale + 8) - 8 <= room[0]
        assert grid.count <= envs
