"""docs/reference/extending.md as tests: an algorithm is file and row, a metric is row and measure."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.trainer_core.building import read_log, tiny_config, train_in
from trainer_core.cli.main import main
from trainer_core.formats.tensorboard import tags_of
from trainer_core.lab.paths import CHECKOUT, HomePaths
from trainer_core.learn import measures
from trainer_core.learn.measures import MEASURES, Measure
from trainer_core.learn.registry import implementation
from trainer_core.learn.rollout import RolloutBuffer
from trainer_core.runners.catalog import NATIVE
from trainer_core.runs.log_check import check_log
from trainer_core.wire import algorithms, metric_names, records
from trainer_core.wire.algorithms import ALGORITHMS, ignored_fields
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.metric_names import METRICS, Metric, scalars

ROW_AND_COMMAND = """
import sys
for name in [name for name in sys.modules if name.startswith("trainer_core")]:
    del sys.modules[name]
from trainer_core.wire.algorithms import ALGORITHMS, Algorithm

ALGORITHMS["reinforce"] = Algorithm(
    name="reinforce",
    title="REINFORCE",
    summary="one step per rollout, no critic",
    implementation="tests.trainer_core.toy_reinforce:REINFORCE",
)
from trainer_core.cli.main import main

sys.exit(main(sys.argv[1:]))
"""
"""In the tree the row stands in wire/algorithms.py; here a process of its own adds it, before
anything is loaded that reads the rows: a warm one has loaded that already."""


def dmglab(*words: object) -> tuple[int, dict]:
    done = subprocess.run(
        [sys.executable, "-c", ROW_AND_COMMAND, *map(str, words)],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


@pytest.mark.usefixtures("warm")
def test_an_algorithm_is_its_file_and_its_row(tmp_path: Path) -> None:
    code, found = dmglab(
        "train", "--task", "tiny_goal", "--algo", "reinforce", "--num-envs", 16, "--num-steps", 16,
        "--total-env-steps", 16 * 16 * 24, "--learning-rate", 3e-3, "--gamma", 0.9,
        "--eval-every", 0, "--checkpoint-every", 20, "--threads", 1, "--home", tmp_path,
    )  # fmt: skip
    assert code == 0, found
    log = Path(found["log"])
    assert check_log(log).errors == []
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert (lines[0]["algo"], lines[0]["config"]["algo"]) == ("reinforce", "reinforce")
    updates = [line for line in lines if line["type"] == "update"]
    assert len(updates) == 24
    assert {"policy_loss", "grad_norm", "reward_mean", "dist_p50"} <= set(updates[0])
    assert "baseline" in updates[0]["metrics"]
    # what its storage does not keep and its losses do not name is absent, not 0
    assert not {"value_mean", "value_loss", "explained_variance", "approx_kl"} & set(updates[0])
    assert "advantage_mean" not in updates[0]["metrics"]
    first, last = (sum(line["reward_mean"] for line in part) for part in (updates[:4], updates[-4:]))
    assert last > first, "it does not learn"


@pytest.mark.usefixtures("warm")
def test_the_command_line_offers_the_rows(tmp_path: Path) -> None:
    code, found = dmglab("train", "--algo", "dqn", "--home", tmp_path)
    assert code == 2
    for name in (*ALGORITHMS, "reinforce"):
        assert name in found["error"]


def test_form_and_catalog_offer_the_rows() -> None:
    (field,) = (field for field in dataclasses.fields(RunConfig) if field.name == "algo")
    assert field.metadata["choices"] == NATIVE.algorithms == tuple(ALGORITHMS)
    with pytest.raises(ConfigError, match="algo must be one of ppo, a2c, got 'dqn'"):
        RunConfig(algo="dqn")


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_row_names_fields_that_there_are_and_an_object_that_learns(name: str) -> None:
    row = ALGORITHMS[name]
    assert set(row.fields) <= {field.name for field in dataclasses.fields(RunConfig)}
    parts = implementation(name, ("policy", "value"))
    assert {"policy_loss", "value_loss", "entropy_loss"} <= {*parts.losses._fields}  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="needs a network with the head value"):
        implementation(name, ("policy",))


@pytest.mark.parametrize("name", ALGORITHMS)
def test_an_algorithm_reads_the_fields_of_its_row_and_no_others(name: str) -> None:
    parts = implementation(name, ("policy", "value"))
    files = {inspect.getfile(part) for part in (parts.update, parts.losses)}
    source = "".join(Path(file).read_text(encoding="utf-8") for file in sorted(files))
    source += inspect.getsource(RolloutBuffer)
    read = {
        node.attr
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Attribute)
        and (ast.unparse(node.value) == "config" or ast.unparse(node) == "learner.ent_coef")
    }
    everybodys = {"gamma", "batch_size"}
    sizes = {"minibatch_size": "num_minibatches"}
    assert {sizes.get(field, field) for field in read} - everybodys == {*ALGORITHMS[name].fields}


def test_a_field_that_the_algorithm_ignores_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "clip_range" in ignored_fields("a2c")
    assert ignored_fields("ppo") == frozenset()
    words = ("train", "--task", "tiny_goal", "--algo", "a2c", "--clip-range", "0.3")
    assert main([*words, "--total-env-steps", "1", "--home", str(tmp_path)]) == 0
    assert "a2c does not read clip_range" in capsys.readouterr().err


def test_rules_of_one_algorithm_are_not_those_of_another() -> None:
    with pytest.raises(ConfigError, match="num_minibatches must divide"):
        tiny_config(algo="ppo", num_envs=3, num_steps=5)
    assert tiny_config(algo="a2c", num_envs=3, num_steps=5).minibatch_size == 8
    assert algorithms.find_algorithm("a2c").check(tiny_config()) is None


# -- a metric ---------------------------------------------------------------------------------

WALKING = Metric(
    name="walk_rate",
    title="Walking",
    group="env",
    low=0.0,
    high=1.0,
    reduction="mean",
    help="Share of environment steps that pressed a direction.",
)


def walking(actions: Tensor) -> Tensor:
    """bool[T, N]: the last four actions are directions."""
    return actions >= 3


@pytest.fixture
def _with_walking(monkeypatch: pytest.MonkeyPatch) -> None:
    """The row and the measure, as if they stood in their tables."""
    monkeypatch.setattr(metric_names, "METRICS", (*METRICS, WALKING))
    added = Measure(("walk_rate",), ("actions",), walking)
    monkeypatch.setattr(measures, "MEASURES", (*MEASURES, added))


@pytest.mark.usefixtures("_with_walking")
def test_a_metric_is_a_row_and_a_measure(tmp_path: Path) -> None:
    train_in(tmp_path, tiny_config(log_every=2))
    log = HomePaths(tmp_path).run("run").train_log
    report = check_log(log)
    assert (report.errors, report.records["update"]) == ([], 2)
    for line in read_log(tmp_path):
        if line["type"] != "update":
            continue
        share = sum(line["action_hist"][3:]) / sum(line["action_hist"])
        assert line["metrics"]["walk_rate"] == pytest.approx(share)
        record = records.decode(json.dumps(line))
        assert scalars(record)["walk_rate"] == pytest.approx(share)
        assert tags_of(record)["train/walk_rate"] == pytest.approx(share)
    assert metric_names.metric("walk_rate").title == "Walking"


@pytest.mark.usefixtures("_with_walking")
def test_a_metrics_bounds_are_checked(tmp_path: Path) -> None:
    train_in(tmp_path, tiny_config())
    log = HomePaths(tmp_path).run("run").train_log
    text = log.read_text()
    log.write_text(text.replace('"walk_rate":0', '"walk_rate":7', 1))
    assert "walk_rate is 7" in check_log(log).errors[0]


def test_a_measure_without_a_row_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    added = Measure(("walk_rate",), ("actions",), walking)
    monkeypatch.setattr(measures, "MEASURES", (*MEASURES, added))
    with pytest.raises(ConfigError, match=r"measure walk_rate has no row"):
        train_in(tmp_path, tiny_config())


def test_a_metric_without_a_measure_is_no_field_of_the_storage() -> None:
    """A measure whose fields are not there leaves its metrics out, silently and completely."""
    bare = type("Bare", (), {"actions": torch.zeros(1, 1), "rewards": torch.zeros(1, 1)})()
    names = [name for measure in measures.measures_of(bare) for name in measure.names]
    assert {name.split("_")[0] for name in names} == {"reward"}
