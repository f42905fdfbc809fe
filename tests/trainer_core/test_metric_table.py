"""The table of metrics has a row per flat scalar; `scalars` gives whatever a record holds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.imports import CHECKOUT
from trainer_core.wire import records
from trainer_core.wire.metric_names import FLAT_SCALARS, METRICS, metric, scalars

GOLDEN = Path(__file__).parent / "golden" / "records.jsonl"


def golden(kind: type[records.Record]) -> records.Event:
    found = (records.decode(line) for line in GOLDEN.read_bytes().splitlines())
    return next(record for record in found if isinstance(record, kind))


def test_names_are_unique_and_every_flat_scalar_has_a_row() -> None:
    names = [row.name for row in METRICS]
    assert len(names) == len(set(names))
    assert set(FLAT_SCALARS) <= set(names)


def test_a_curve_beside_another_names_one_that_has_a_plot_of_its_own() -> None:
    for row in METRICS:
        if row.beside:
            assert metric(row.beside) in METRICS, row.name
            assert not metric(row.beside).beside, row.name


def test_every_row_is_explained_in_the_documentation() -> None:
    text = (CHECKOUT / "docs" / "reference" / "records.md").read_text(encoding="utf-8")
    assert [row.name for row in METRICS if f"`{row.name}`" not in text] == []


def test_an_unknown_name_is_a_neutral_row() -> None:
    row = metric("charts/episodic_return")
    assert (row.title, row.group, row.low, row.high) == ("charts/episodic_return", "other", None, None)
    assert metric("success_rate").is_share
    assert not metric("sps").is_share


def test_scalars_of_an_update_are_flat_ones_the_map_and_shares_of_the_time() -> None:
    update = golden(records.UpdateRecord)
    found = scalars(update)
    assert found["reward_mean"] == -0.006
    assert found["reward_max"] == 1.0
    assert found["env_steps"] == 20480
    assert found["time/emulate"] == pytest.approx(0.4)
    assert sum(v for name, v in found.items() if name.startswith("time/")) == pytest.approx(1)
    assert not {"action_hist", "v", "seq", "time", "metrics"} & set(found)
    assert set(found) - {row.name for row in METRICS} == set()


def test_scalars_leave_out_what_a_trainer_does_not_measure() -> None:
    bare = records.UpdateRecord(run_id="r", seq=1, time=0.0, env_steps=5, wall_time_s=1.0, sps=5.0, metrics={"loss": 2})
    assert scalars(bare) == {"env_steps": 5.0, "wall_time_s": 1.0, "sps": 5.0, "loss": 2.0}
    assert all(type(value) is float for value in scalars(bare).values())


def test_scalars_of_a_validation_carry_task_and_mode() -> None:
    found = scalars(golden(records.EvalRecord))
    assert found["eval/pocket_quest/leave_bedroom/greedy/success_rate"] > 0
    assert scalars(golden(records.MetaRecord)) == {}
