"""Runs that differ in their seed alone as one curve: numbers, words, colours, the app."""

# pyright: reportOptionalMemberAccess=false
from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from gui.app import App
from gui.features.curves.card import PlotCard
from gui.features.curves.plots import spec_by_name
from gui.features.curves.view import CurvesView
from gui.features.runs.comparison import Comparison
from gui.features.runs.controller import RunsController
from gui.kit import theme
from gui.kit.settings import Settings
from gui.state.seed_groups import DEVIATION, RANGE, SeedGroup, spread_of
from gui.state.session import Navigation, Place
from gui.state.telemetry import TelemetryModel
from tests.gui.conftest import QtBot, find, foreign_record
from tests.support.made_homes import make_home
from tests.support.made_records import update_record
from trainer_core.wire import records


def told(model: TelemetryModel, run_id: str, values: list[float], **config: object) -> None:
    meta = records.MetaRecord(run_id=run_id, seq=0, time=0.0, runner="x", task="a/b", config=config)
    model.take(run_id, meta)
    for seq, value in enumerate(values, 1):
        model.take(run_id, foreign_record(seq, score=value))


@pytest.fixture
def model(qapp) -> TelemetryModel:
    made = TelemetryModel()
    made.set_smoothing(0.0)
    for seed, level in ((1, 1.0), (2, 2.0), (3, 6.0)):
        told(made, f"fast-{seed}", [level] * 4, seed=seed, rate=0.1, name=f"n{seed}")
    told(made, "slow-1", [0.0] * 4, seed=1, rate=0.01, name="")
    made.set_focus("fast-1")
    made.set_pinned(["slow-1", "fast-2", "fast-3"])
    return made


def test_a_mean_ends_where_half_of_the_runs_have() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0])
    curves = [(x, x), (x[:3], x[:3] + 2), (x[:1], x[:1] + 4)]
    grid, mean, low, high = spread_of(curves, RANGE)
    assert grid.tolist() == [1, 2, 3], "at 4 one of three is left"
    assert mean.tolist() == [3, 3, 4]
    assert (low.tolist(), high.tolist()) == ([1, 2, 3], [5, 4, 5])
    _, mean, low, high = spread_of(curves, DEVIATION)
    assert (high - mean)[0] == pytest.approx(np.std([1, 3, 5], ddof=1))
    assert spread_of(curves[:1], RANGE)[1].tolist() == x.tolist(), "one that measured it stays"


def test_a_band_of_long_runs_keeps_a_spike() -> None:
    x = np.arange(100_000, dtype=np.float64)
    spiky = np.zeros_like(x)
    spiky[54_321] = 9.0
    grid, mean, _, high = spread_of([(x, np.zeros_like(x)), (x, spiky)], RANGE)
    assert len(grid) < 5000
    assert high.max() == 9.0
    assert mean.max() < 1.0


def test_seeds_become_one_curve_with_a_band(model: TelemetryModel) -> None:
    card = PlotCard(spec_by_name("score", ["score"]), model)
    card.resize(400, 200)
    card.redraw()
    assert len(card.canvas.shown.curves) == 4
    assert not card.canvas.shown.bands
    model.set_spread(RANGE)
    assert card.is_stale()
    card.redraw()
    assert len(card.canvas.shown.curves) == 2, "three seeds, and the run that learns slower"
    (band,) = card.canvas.shown.bands
    assert (band.low.tolist(), band.high.tolist()) == ([1.0] * 4, [6.0] * 4)
    group = model.entries()[0]
    assert isinstance(group, SeedGroup)
    assert group.label == "rate 0.1 \u00d73"
    assert card.canvas.shown.y_range[1] >= 6.0
    assert card.readout() == {"score": pytest.approx(3.0)}
    assert "rate 0.1 \u00d73" in [name.text for name in card.canvas.shown.names]
    ground = card.grab().toImage()
    model.set_spread(DEVIATION)
    card.redraw()
    assert card.canvas.shown.bands[0].high[0] == pytest.approx(3 + np.std([1, 2, 6], ddof=1))
    assert card.grab().toImage() != ground
    model.take("fast-2", foreign_record(5, score=2.0))
    model.take("fast-3", foreign_record(5, score=9.0))
    card.redraw()
    assert card.readout() == {"score": pytest.approx(5.5)}, "of those that got there"


def test_a_group_has_one_colour_and_a_member_that_comes_later_takes_it(model: TelemetryModel) -> None:
    model.set_spread(RANGE)
    slots = model.slots
    assert slots["fast-1"] == slots["fast-2"] == slots["fast-3"] != slots["slow-1"]
    assert model.names_shown() == [model.entries()[0].run_id, "slow-1"]
    model.set_pinned([*model.pinned, "slow-2"])
    assert len(model.names_shown()) == 3, "nobody knows yet what it was told"
    told(model, "slow-2", [1.0], seed=2, rate=0.01)
    assert len(model.names_shown()) == 2
    assert model.slots["slow-2"] == model.slots["slow-1"]


def test_the_app_offers_it_and_keeps_it(qtbot: QtBot, app: App, make_app) -> None:
    app[Navigation].show(Place.CURVES)
    box = app[CurvesView].spread
    app.actions["groupRange"].trigger()
    assert box.button(RANGE).isChecked()
    app[TelemetryModel].set_x_axis("update")
    app[TelemetryModel].set_smoothing(0.25)
    app[Settings].save()
    again = make_app(app.bridge.home.root)
    qtbot.waitUntil(lambda: again[TelemetryModel].spread == RANGE)
    assert again[TelemetryModel].x_axis == find(again, "xAxisBox").currentData() == "update"
    assert again[TelemetryModel].smoothing == 0.25
    assert again[CurvesView].spread.button(RANGE).isChecked()
    again.actions["groupRange"].trigger()
    assert again[CurvesView].spread.button("").isChecked()


def test_groups_that_come_one_by_one_have_the_first_colours(qapp) -> None:
    model = TelemetryModel()
    model.set_spread(RANGE)
    model.set_pinned([f"run-{number}" for number in range(12)])
    for number in range(12):
        told(model, f"run-{number}", [1.0], seed=number, rate=number % 3)
    groups = model.names_shown()
    assert sorted(model.slots[name] for name in groups) == [0, 1, 2]


def test_a_long_label_keeps_the_values(qapp) -> None:
    model = TelemetryModel()
    model.set_spread(RANGE)
    for number, (rate, policy) in enumerate([(0.1, "small"), (0.2, "nature")] * 2):
        told(model, f"run-{number}", [1.0], seed=number, a_long_name_of_a_rate=rate, policy=policy)
    model.set_pinned([f"run-{number}" for number in range(4)])
    labels = [model.label(name) for name in model.names_shown()]
    assert labels == ["0.1, small \u00d72", "0.2, nature \u00d72"]


def test_many_seeds_are_brought_up_to_date_in_time(qapp) -> None:
    model = TelemetryModel()
    rng = np.random.default_rng(1)
    for number in range(250):
        told(model, f"run-{number}", [0.0, 0.0], seed=number, rate=number % 2)
        table = model.runs[f"run-{number}"].table
        table._data = rng.normal(size=(table._data.shape[0], 4000)).cumsum(axis=1)
        table._length = 2000
        table.column("env_steps")[:] = np.arange(2000) * 10.0
    model.set_pinned(list(model.runs))
    model.set_spread(RANGE)
    card = PlotCard(spec_by_name("score", ["score"]), model)
    card.resize(400, 200)
    card.redraw()
    costs = []
    for seq in range(2000, 2005):
        model.take("run-0", foreign_record(seq, score=1.0))
        begun = time.process_time()
        card.redraw()
        costs.append(time.process_time() - begun)
    assert len(card.canvas.shown.bands) == 2
    assert min(costs) < 0.05, costs


def test_runs_are_compared_by_what_they_were_told_and_what_came_of_it(app: App) -> None:
    model, runs = app[TelemetryModel], app[RunsController]
    told(model, "one", [1.0, 2.0], seed=1, rate=0.1)
    told(model, "other", [5.0], seed=1, rate=0.2)
    told(model, "stranger", [5.0], frames="many")
    model.set_focus("one")
    model.set_pinned(["other", "stranger"])
    axes = [axis.name for axis in runs.parallel()[1]]
    assert axes == ["rate", "success"], "what the stranger alone was told differs from nothing"
    model.take("one", update_record("one", 3, 3, 1.0))
    assert ("Steps", ["-", "-", "-"]) in runs.outcomes(), "runs that the home does not know"
    assert next(row for name, row in runs.outcomes() if "Reward" in name)[1:] == ["-", "-"]
    app.actions["compareRuns"].trigger()
    shown = app.window.findChild(Comparison)
    assert shown is not None
    assert [shown.tabs.tabText(place) for place in range(3)] == ["Settings", "Outcome", "Parallel"]
    shown.close()


def test_runs_that_were_on_show_are_on_show_again(qtbot: QtBot, make_app, tmp_path: Path) -> None:
    home = make_home(tmp_path / "home", runs=3, log_records=5).root
    app = make_app(home)
    app[RunsController].show_all(["run-00001"])
    app[Settings].save()
    again = make_app(home)[TelemetryModel]
    assert (again.focus, again.pinned) == ("run-00002", ["run-00001"])
    qtbot.waitUntil(lambda: "run-00001" in again.runs and len(again.runs["run-00001"].table) == 5)


def test_a_run_without_a_point_in_a_group_of_seeds_is_painted(model: TelemetryModel) -> None:
    told(model, "waits-1", [], seed=1, rate=0.5)
    told(model, "waits-2", [], seed=2, rate=0.5)
    told(model, "fast-4", [], seed=4, rate=0.1)
    model.set_pinned(["fast-2", "fast-4", "waits-1", "waits-2"])
    model.set_spread(RANGE)
    model.set_x_range((100.0, 200.0))  # a group whose band lies outside is empty here
    card = PlotCard(spec_by_name("score", ["score"]), model)
    card.resize(400, 200)
    card.redraw()
    card.grab()
    group = model.entries()[0]
    assert isinstance(group, SeedGroup)
    assert group.label.endswith("\u00d73")


def test_the_longest_run_goes_on_where_the_mean_ends(model: TelemetryModel) -> None:
    for level in range(5, 9):
        model.take("fast-2", foreign_record(level, score=float(level)))
    model.set_pinned(["fast-2", "fast-3"])
    model.set_spread(RANGE)
    card = PlotCard(spec_by_name("score", ["score"]), model)
    card.resize(400, 200)
    card.redraw()
    mean, rest = card.canvas.shown.curves
    assert rest.y.tolist() == [5.0, 6.0, 7.0, 8.0]
    assert (rest.color.rgb() & 0xFFFFFF, rest.width) == (mean.color.rgb() & 0xFFFFFF, 1.0)
    assert rest.x[0] > mean.x[-1]
    assert card.canvas.shown.x_range[1] >= rest.x[-1]
    assert card.canvas.shown.y_range[1] >= 8.0
    group, longest = (name.owner for name in card.canvas.shown.names)
    assert model.label(longest) == model.label("fast-2"), "whose line it is"
    owners = {group, longest}
    assert card._scenes.values_at(float(rest.x[-1]), owners) == {longest: (8.0, "8")}
    assert set(card._scenes.values_at(float(mean.x[-1]), owners)) == {group}


def test_a_group_without_the_metric_keeps_its_colour(model: TelemetryModel) -> None:
    for number in (1, 2):
        told(model, f"other-{number}", [1.0, 2.0], seed=number, rate=0.9)
        for seq in (3, 4):
            model.take(f"other-{number}", foreign_record(seq, score=1.0, kl=0.5))
    model.set_pinned(["fast-2", "other-1", "other-2"])
    model.set_spread(RANGE)
    card = PlotCard(spec_by_name("kl", ["kl"]), model)
    card.resize(400, 200)
    card.redraw()
    (curve,) = card.canvas.shown.curves
    (band,) = card.canvas.shown.bands
    slot = model.slots[model.entries()[1].run_id]
    assert slot != model.slots[model.entries()[0].run_id]
    assert curve.color.name() == band.color.name() == theme.curve_color(slot).name()
