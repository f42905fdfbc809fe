"""Curves are right before they are fast: smoothing, decimation, crosshair arithmetic."""

from __future__ import annotations

import time

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.kit.plot_shapes import x_ticks
from gui.state.metric_series import (
    CLOCK,
    DECAYING,
    GAUSSIAN,
    RUNNING,
    MetricTable,
    SmoothedColumn,
    decimate,
    gaussian,
    nearest,
    running_mean,
    smooth,
)
from gui.state.run_history import RunTelemetry
from tests.gui.conftest import foreign_record, replaced
from tests.support.made_records import update_record
from trainer_core.wire import records


def reference_ema(values: np.ndarray, weight: float) -> np.ndarray:
    """The formula of smooth(), one sample at a time."""
    out, last = [], 0.0
    for n, value in enumerate(values):
        last = weight * last + (1 - weight) * value
        out.append(last / (1 - weight ** (n + 1)))
    return np.array(out)


@pytest.mark.parametrize("weight", [0.05, 0.6, 0.9, 0.99])
def test_smoothing_is_the_debiased_average_of_the_textbook(weight: float) -> None:
    values = np.random.default_rng(1).normal(size=1000)
    np.testing.assert_allclose(smooth(values, weight), reference_ema(values, weight), atol=1e-9)


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.95])
def test_a_constant_stays_that_constant(weight: float) -> None:
    np.testing.assert_allclose(smooth(np.full(500, 0.7), weight), 0.7, rtol=1e-12)


@given(st.integers(1, 400), st.integers(0, 400))
def test_the_average_of_a_prefix_is_the_prefix_of_the_average(cut: int, more: int) -> None:
    values = np.sin(np.arange(cut + more) / 7)
    np.testing.assert_allclose(smooth(values[:cut], 0.9), smooth(values, 0.9)[:cut], atol=1e-12)


@given(st.integers(0, 99_999), st.integers(50, 1500), st.floats(0.001, 1.0))
def test_a_spike_of_one_sample_survives_at_every_zoom(place: int, columns: int, zoom: float) -> None:
    x = np.arange(100_000, dtype=np.float64)
    y = np.zeros(100_000)
    y[place] = 1.0
    half = zoom * 50_000
    shown_x, shown_y = decimate(x, y, place - half, place + half, columns)
    assert shown_y.max() == 1.0
    assert shown_x[shown_y.argmax()] == place
    assert len(shown_x) <= 4 * columns + 64
    assert (np.diff(shown_x) >= 0).all()


def test_a_column_that_grows_is_smoothed_as_if_it_had_always_been_whole() -> None:
    table = MetricTable()
    smoothed = SmoothedColumn(table, "sps")
    rng = np.random.default_rng(3)
    for update in range(1, 700):
        table.append(update_record("r", update, update, float(rng.normal())))
        if update % 37 == 0 or update in (1, 2, 256, 257):
            np.testing.assert_allclose(smoothed.values(0.9), smooth(table.column("sps"), 0.9), atol=1e-12)
    table.rewind(300 * 2048)
    table.append(update_record("r", 300, 301, 5.0))
    np.testing.assert_allclose(smoothed.values(0.9), smooth(table.column("sps"), 0.9), atol=1e-12)
    np.testing.assert_allclose(smoothed.values(0.5), smooth(table.column("sps"), 0.5), atol=1e-12)


def test_few_points_are_drawn_as_they_are() -> None:
    x, y = np.arange(50.0), np.arange(50.0) ** 2
    shown_x, shown_y = decimate(x, y, 0, 49, 100)
    np.testing.assert_array_equal(shown_x, x)
    np.testing.assert_array_equal(shown_y, y)


def test_the_nearest_record_is_found_at_both_ends() -> None:
    x = np.array([10.0, 20.0, 40.0])
    assert [nearest(x, at) for at in (-5, 14, 16, 31, 99)] == [0, 0, 1, 2, 2]
    assert nearest(np.empty(0), 3) == -1
    assert nearest(np.array([5.0]), 99) == 0


def test_a_table_grows_past_its_storage_and_keeps_every_value() -> None:
    table = MetricTable()
    for update in range(1, 1001):
        table.append(update_record("r", update, update, 100.0))
    np.testing.assert_array_equal(table.column("update"), np.arange(1, 1001))
    assert len(table.column("no_such_metric")) == 0


def test_a_resume_walks_back_and_counters_go_on() -> None:
    run = RunTelemetry("r")
    for update in range(1, 11):
        run.take(update_record("r", update - 1, update, 100.0))
    resume = records.ResumeRecord(
        run_id="r", seq=10, time=0.0, env_steps=5 * 2048, update=5, checkpoint="c", previous_seq=9
    )
    run.take(resume)
    run.take(replaced(update_record("r", 0, 6, 100.0), seq=11))
    np.testing.assert_array_equal(run.table.column("update"), np.arange(1, 7))
    assert run.resumes == [resume]


def test_history_and_live_records_meet_without_doubles_and_gaps_are_counted() -> None:
    run = RunTelemetry("r")
    first = [update_record("r", seq, seq + 1, 1.0) for seq in range(5)]
    for record in (*first, *first[2:], update_record("r", 7, 8, 1.0)):
        run.take(record)
    assert len(run.table) == 6
    assert run.gaps == 1


def test_a_share_of_no_episodes_is_no_point() -> None:
    table = MetricTable()
    for seq, (ended, share) in enumerate([(0, 0.0), (4, 1.0), (4, 0.5), (4, 0.0)]):
        metrics = {"demo_start_share": share, "success_rate_demo_starts": 0.25}
        table.append(replaced(update_record("r", seq, seq, 1.0), episodes=ended, metrics=metrics))
    np.testing.assert_array_equal(np.isnan(table.raw("success_rate")), [1, 1, 0, 0])
    np.testing.assert_array_equal(np.isnan(table.raw("success_rate_demo_starts")), [1, 0, 0, 1])
    assert len(table.column("success_rate")) == len(table.positions("success_rate", "update")) == 2


def test_a_metric_that_comes_late_and_now_and_then_has_a_point_for_each_measurement() -> None:
    run = RunTelemetry("r")
    for seq in range(300):
        names = {"loss/aux": 1.0 + seq}
        if seq >= 100 and seq % 10 == 0:
            names["novelty"] = float(seq)
        run.take(foreign_record(seq, **names))
    x, y = run.curve("novelty", "env_steps")
    np.testing.assert_array_equal(y, np.arange(100.0, 300.0, 10))
    np.testing.assert_array_equal(x, 10 * (y + 1))
    np.testing.assert_array_equal(run.table.column("loss/aux"), np.arange(1.0, 301.0))
    assert np.isnan(run.table.raw("novelty")[:100]).all()
    np.testing.assert_allclose(run.curve("novelty", "env_steps", 0.9)[1], smooth(y, 0.9))
    run.take(
        records.ResumeRecord(run_id="r", seq=300, time=0.0, env_steps=1500, update=0, checkpoint="c", previous_seq=299)
    )
    run.take(foreign_record(301, novelty=7.0))
    np.testing.assert_array_equal(run.curve("novelty", "env_steps")[1], [100, 110, 120, 130, 140, 7])
    assert len(run.table.column("loss/aux")) == 150


def test_an_axis_that_a_run_does_not_measure_leaves_its_curves_empty() -> None:
    run = RunTelemetry("r")
    run.take(foreign_record(0, novelty=1.0))
    assert [len(part) for part in run.curve("novelty", "update")] == [0, 0]
    assert [len(part) for part in run.curve("no_such_metric", "env_steps")] == [0, 0]


@pytest.mark.parametrize("weight", [0.3, 0.9, 0.99])
def test_the_other_ways_to_smooth_keep_constants_and_do_not_lag(weight: float) -> None:
    for way in (running_mean, gaussian):
        assert np.allclose(way(np.full(500, 3.0), weight), 3.0)
        ramp = np.arange(2000.0)
        assert np.allclose(way(ramp, weight)[500:-500], ramp[500:-500]), "no delay"
        assert way(np.empty(0), weight).shape == (0,)
        assert way(np.ones(1), weight).tolist() == [1.0]
    assert smooth(np.arange(2000.0), 0.9)[1000] < 995, "the decaying one looks back only"
    values = np.random.default_rng(1).normal(size=50)
    radius = round(weight / (1 - weight))
    naive = [values[max(0, i - radius) : i + radius + 1].mean() for i in range(50)]
    assert np.allclose(running_mean(values, weight), naive)
    spiky = np.concatenate([values, [3.4e38], np.zeros(200), np.ones(3000)])
    for way in (running_mean, gaussian):
        assert np.allclose(way(spiky, weight)[1000:], way(np.ones(3000), weight)[-2251:])
    apart = np.subtract.outer(np.arange(50), np.arange(50)) * (1 - weight) / weight
    bells = np.exp(-0.5 * apart**2)
    assert np.allclose(gaussian(values, weight), bells @ values / bells.sum(1), atol=0.03)


def test_a_column_is_smoothed_again_when_it_grows_or_the_kind_changes() -> None:
    table = MetricTable()
    column = SmoothedColumn(table, "reward_mean")
    for update in range(1, 30):
        table.append(update_record("r", update, update, 1.0))
        raw = table.column("reward_mean")
        for kind, way in ((RUNNING, running_mean), (GAUSSIAN, gaussian), (DECAYING, smooth)):
            assert np.allclose(column.values(0.8, kind), way(raw, 0.8))


def test_the_clock_never_goes_back_and_is_read_as_times_of_day() -> None:
    table = MetricTable()
    for update, at in enumerate((100.0, 200.0, 50.0, 300.0), 1):  # the third was put back
        record = update_record("r", update, update, 1.0)
        table.append(msgspec.structs.replace(record, time=at))
    assert table.column(CLOCK).tolist() == [100.0, 200.0, 200.0, 300.0]
    assert CLOCK not in table.names, "it is an axis, no metric"
    noon = time.mktime((2026, 11, 23, 12, 0, 0, 0, 0, -1))
    assert [text for _, text in x_ticks(noon - 10, noon + 3700, 4, by_clock=True)] == ["12:00", "12:30", "13:00"]
    night = noon + 12 * 3600
    marks = x_ticks(night - 3700, night + 3700, 3, by_clock=True)
    assert (night, "11-24") in marks
