"""Every scalar of an update record, recomputed with plain Python from a full trace."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

import pytest
import torch

from tests.trainer_core.building import (
    prepared_run,
    read_log,
    shorten_episodes,
    tiny_config,
    tiny_trainer,
    train_in,
    trainer_of,
    weights_of,
)
from trainer_core.learn.measures import percentiles
from trainer_core.learn.metrics import MetricsAccumulator
from trainer_core.learn.update import ActorLearner

ENVS, STEPS = 8, 32


def full_trace(trainer: ActorLearner) -> list[dict[str, Any]]:
    """One dictionary per environment step of the last rollout."""
    rollout = trainer.rollout
    names = ("actions", "rewards", "done", "trunc", "success", "reset_mask", "from_demo", "dist",
             "values", "entropies", "advantages", "returns")  # fmt: skip
    columns = {name: getattr(rollout, name).flatten().tolist() for name in names}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@pytest.fixture(params=["ppo", "a2c"])
def traced(request: pytest.FixtureRequest) -> tuple[list[dict[str, Any]], dict[str, Any], Any]:
    config = tiny_config(algo=request.param, num_envs=ENVS, num_steps=STEPS, num_minibatches=1, update_epochs=1)
    trainer = tiny_trainer(config)
    trainer.env.episodes.own_starts = 24  # type: ignore[attr-defined]  # the others as if of demos
    trainer.run_update()
    losses = trainer.run_update()
    metrics = MetricsAccumulator(trainer.device)
    metrics.add(trainer.rollout, losses)
    return full_trace(trainer), metrics.emit(), losses


def test_every_scalar_follows_from_the_trace(traced: tuple[Any, Any, Any]) -> None:
    trace, record, losses = traced
    assert len(trace) == ENVS * STEPS

    def column(name: str) -> list[float]:
        return [float(row[name]) for row in trace]

    dist, rewards = sorted(column("dist")), sorted(column("rewards"))
    last = len(dist) - 1
    returns, values = column("returns"), column("values")
    errors = [a - b for a, b in zip(returns, values, strict=True)]
    resets = sum(column("reset_mask"))
    own = [row for row in trace if not row["from_demo"]]
    along = [row for row in trace if row["from_demo"]]
    ended_own, ended_along = (sum(row["reset_mask"] for row in rows) for rows in (own, along))
    assert min(ended_own, ended_along) > 0, "the trace says nothing about one kind of episode"
    expected = {
        "reward_mean": fmean(column("rewards")),
        "done_rate": fmean(column("done")),
        "trunc_rate": fmean(column("trunc")),
        "reset_rate": fmean(column("reset_mask")),
        "success_rate": sum(row["success"] for row in own) / ended_own,
        "episodes": resets,
        **{f"dist_p{share}": dist[round(share / 100 * last)] for share in (10, 50, 90)},
        **{f"reward_p{share}": rewards[round(share / 100 * last)] for share in (10, 50, 90)},
        "entropy_mean": fmean(column("entropies")),
        "value_mean": fmean(values),
        "value_std": pstdev(values),
        "explained_variance": 1 - pstdev(errors) ** 2 / pstdev(returns) ** 2,
        **dict(zip(losses.names, losses.sums.tolist(), strict=True)),
    }
    for name, value in expected.items():
        assert record[name] == pytest.approx(value, rel=1e-5, abs=1e-7), name
    histogram = [sum(row["actions"] == action for row in trace) for action in range(7)]
    assert record["action_hist"] == histogram
    for name, field in (("reward", "rewards"), ("advantage", "advantages"), ("return", "returns"), ("value", "values")):
        assert record["metrics"][f"{name}_min"] == pytest.approx(min(column(field)))
        assert record["metrics"][f"{name}_max"] == pytest.approx(max(column(field)))
    shares = {
        "episode_return": sum(float(row["rewards"]) for row in own) / ended_own,
        "episode_length": len(own) / ended_own,
        "success_rate_demo_starts": sum(row["success"] for row in along) / ended_along,
        "demo_start_share": ended_along / resets,
        "done_rate_own_starts": fmean(float(row["done"]) for row in own),
    }
    for name, share in shares.items():
        assert record["metrics"][name] == pytest.approx(share), name
    assert record["metrics"]["advantage_mean"] == pytest.approx(fmean(column("advantages")), abs=1e-6)
    assert record["metrics"]["return_mean"] == pytest.approx(fmean(returns), abs=1e-6)
    assert record["metrics"]["vpred_mean"] == pytest.approx(fmean(values), abs=1e-6)
    done_by_hand = {*expected, "action_hist", "metrics"}
    assert set(record) == done_by_hand, "a scalar nobody recomputes"
    kinds = {f"{name}_{kind}" for kind in ("min", "max") for name in ("reward", "advantage", "return", "value")}
    means = {"advantage_mean", "return_mean", "vpred_mean"}
    assert set(record["metrics"]) == kinds | means | set(shares)


def test_two_updates_in_one_record_are_their_mean() -> None:
    trainer = tiny_trainer(tiny_config())
    together, single = MetricsAccumulator(trainer.device), MetricsAccumulator(trainer.device)
    rewards, losses = [], []
    for _ in range(2):
        sums = trainer.run_update()
        together.add(trainer.rollout, sums)
        single.add(trainer.rollout, sums)
        alone = single.emit()
        rewards.append(alone["reward_mean"])
        losses.append(alone["policy_loss"])
    record = together.emit()
    assert record["reward_mean"] == pytest.approx(fmean(rewards))
    assert record["policy_loss"] == pytest.approx(fmean(losses))
    assert sum(record["action_hist"]) == 2 * 16 * 8


def test_percentiles_are_nearest_ranks() -> None:
    values = torch.arange(101).float()[torch.randperm(101)]
    assert percentiles(values).tolist() == [10, 50, 90]


def test_no_episode_ended_gives_success_rate_zero() -> None:
    trainer = tiny_trainer(tiny_config(num_steps=1, num_minibatches=1))
    metrics = MetricsAccumulator(trainer.device)
    metrics.add(trainer.rollout, trainer.run_update())
    assert metrics.emit()["success_rate"] == 0.0


@pytest.mark.parametrize("algo", ["ppo", "a2c"])
def test_weights_do_not_depend_on_how_often_is_logged(
    algo: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten_episodes(monkeypatch)
    found = []
    for log_every, eval_every in ((1, 2), (3, 0), (100, 0)):
        config = tiny_config(algo=algo, log_every=log_every, eval_every=eval_every)
        run = prepared_run(tmp_path / f"{log_every}", config)
        run.train()
        found.append(weights_of(trainer_of(run)))
        run.close()
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_every_logged_number_is_finite_and_the_histogram_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shorten_episodes(monkeypatch)
    train_in(tmp_path, tiny_config(eval_every=2))
    for record in read_log(tmp_path):
        for value in record.values():
            assert not isinstance(value, float) or math.isfinite(value)
        if record["type"] == "update":
            assert sum(record["action_hist"]) == 16 * 8
