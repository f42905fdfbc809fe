"""rLLM: what needs no library, and TRL with rLLM's engine where both are; else skipped, and why.

dmglab runner install rllm; clone rllm-org/rllm to var/rllm or name it in DMGLAB_RLLM; name the
Python of an environment with VERL in DMGLAB_VERL;
pytest -rs tests/runners/rllm/test_rllm_runner.py
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import stat
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec import UNSET

from tests.support.extras import need_extras
from tests.support.guests import PATIENCE_S, ended, history, home_with, newest, run_to_end
from tests.support.processes import in_service, until
from trainer_core.host.control import Control
from trainer_core.host.progress import Counters, RunProgress
from trainer_core.host.run import Host
from trainer_core.host.trainee import Intervals, RunEnded
from trainer_core.lab import checkpoint_manifest
from trainer_core.lab.paths import HomePaths, default_home
from trainer_core.lab.text_episodes import batches, read_batch
from trainer_core.runners.rllm import countdown, verl
from trainer_core.runners.rllm.runner import ENGINE, RLLM, RllmConfig, _check_checkpoints
from trainer_core.runners.rllm.validation import COLUMNS, sample_rows
from trainer_core.runners.rllm.verl_process import POINTER, Supervisor
from trainer_core.runs.config_file import write_config
from trainer_core.runs.log_check import check_log
from trainer_core.runs.log_writer import RunWriter
from trainer_core.service.preflight import run_checks
from trainer_core.wire import commands, records
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec


def rllm_spec(steps: int, **options: Any) -> RunSpec:
    small = {
        "checkout": rllm_checkout(),
        "prompts": 4,
        "generations": 4,
        "form_steps": 3,
        "largest_number": 3,
        "eval_every": 0,
        "checkpoint_every": 0,
        "log_every": 1,
        "threads": 1,
    }
    return RunSpec(runner="rllm", task="countdown", total_env_steps=steps, options={"algo": "grpo", **small, **options})


def rllm_checkout() -> str:
    need_extras()
    folder = Path(os.environ.get("DMGLAB_RLLM", default_home() / "rllm"))
    if not (folder / ENGINE).is_file():
        pytest.skip(f"clone rllm-org/rllm into {folder}, or name it in DMGLAB_RLLM")
    return str(folder)


def told(spec: RunSpec, home: Path) -> dict[str, Any]:
    async def checks() -> dict[str, Any]:
        return {check.name: check async for check in run_checks(spec, HomePaths(home), RLLM)}

    return asyncio.run(checks())


# -- without a library ----------------------------------------------------------------------


def test_rows_can_be_solved_and_the_held_out_ones_are_never_trained_on() -> None:
    rows = countdown.make_rows(3)
    assert len({row["question"] for row in rows}) == len(rows) == 23
    for row in rows:
        a, b = row["nums"]
        assert row["target"] in (a + b, a * b, a - b)
        assert row["question"] == f"{a},{b}={row['target']}"
    train, held = countdown.split(rows)
    assert (len(train), len(held)) == (20, 3)
    assert not {row["question"] for row in train} & {row["question"] for row in held}
    assert countdown.split(rows) == (train, held)


@pytest.mark.parametrize(
    ("answer", "worth"),
    [
        ("<answer>3+4</answer>", 0.5),
        ("<answer>4-3</answer>", 0.5),
        ("<answer>3+3</answer>", 0.35),
        ("<answer>9*9</answer>", 0.2),
        ("<answer>3+4+", 0.15),
        ("<answer>+3", 0.0),
        ("nonsense \ud83e", 0.0),
        ("", 0.0),
    ],
)
def test_the_form_of_an_answer_is_worth_something(answer: str, worth: float) -> None:
    assert countdown.form(answer, [3, 4]) == pytest.approx(worth)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", ":2: no JSON"),
        ("[1]", ":2: no countdown row"),
        ('{"nums": [1], "target": 3}', "2 to 6 whole numbers"),
        ('{"nums": [1, "2"], "target": 3}', "whole numbers"),
        ('{"nums": [1, 2], "target": 3.5}', "whole target"),
        ('{"nums": [1, 2], "target": 3, "question": 7}', "question is no text"),
    ],
)
def test_a_wrong_row_is_one_line_with_its_place(tmp_path: Path, line: str, words: str) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"nums": [3, 4], "target": 7}\n' + line + "\n")
    with pytest.raises(ConfigError, match=words) as error:
        countdown.read_rows(file)
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)


def test_rows_of_a_file_are_asked_in_rllms_words(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"nums": [3, 4, 5], "target": 7}\n\n{"nums": [1, 2], "target": 3, "question": "q"}')
    one, other = countdown.read_rows(file)
    assert one["question"].startswith("Using the numbers 3, 4, 5, find a way to reach")
    assert (other["question"], other["data_source"]) == ("q", "countdown")
    file.write_bytes(b"\xff\n")
    with pytest.raises(ConfigError, match="no UTF-8"):
        countdown.read_rows(file)
    file.write_text("")
    with pytest.raises(ConfigError, match="0 rows"):
        countdown.read_rows(file)


def test_preflight_names_what_is_missing_and_the_way_out(tmp_path: Path) -> None:
    spec = RunSpec(
        runner="rllm",
        task="countdown",
        options={"algo": "verl", "checkout": str(tmp_path), "model": str(tmp_path / "m")},
    )
    found = told(spec, tmp_path)
    assert {name for name, check in found.items() if check.status == "fail"} == {
        "Python",
        "Task",
        "Checkout",
        "Model",
        "VERL",
    }
    assert found["Python"].fix == "dmglab runner install rllm"
    assert "config.json" in found["Model"].detail
    assert "CUDA GPUs alone" in found["VERL"].detail
    assert found["VERL"].remedy == {"algo": "grpo"}
    other = told(RunSpec(runner="rllm", task="pocket_quest/leave_bedroom"), tmp_path)
    assert other["Task"].remedy == {"task": "countdown"}
    with pytest.raises(ConfigError, match="generations must be"):
        RLLM.configure(RunSpec(runner="rllm", task="countdown", options={"generations": 1}))


def test_verls_metrics_are_read_and_rubbish_is_not() -> None:
    line = '{"step":1,"data":{"val/countdown/pass@1":0.5,"critic/score/mean":0.1,"x":NaN,"y":"z"}}'
    assert verl.parse_metrics(line) == (1, {"val/countdown/pass@1": 0.5, "critic/score/mean": 0.1})
    for other in ("", "{", "[]", '{"step":1}', '{"step":"1","data":{}}', '{"step":-1,"data":{}}'):
        assert verl.parse_metrics(other) is None


def test_verl_sees_the_checkout_and_one_folder_of_ours(tmp_path: Path) -> None:
    config = RllmConfig(algo="verl", rollout="hf", checkout=str(tmp_path), gpus=2, arguments="a=b")
    found = verl.environment(config, tmp_path)
    assert found["PYTHONPATH"] == f"{verl.BESIDE}{os.pathsep}{tmp_path}"
    for name in (*found["VERL_USE_EXTERNAL_MODULES"].split(","), "dmglab_workflow"):
        text = (verl.BESIDE / f"{name}.py").read_text()
        assert "import trainer_core" not in text  # VERL's interpreter lacks it
        assert "from trainer_core" not in text
    said = verl.overrides(config, tmp_path / "model", tmp_path)
    assert said[-1] == "a=b"
    assert {"+ray_init.num_gpus=2", "+ray_init.address=local"} <= set(said), "no GPU: Ray is told"
    vllm = RllmConfig(algo="verl", device="cuda:0", checkout=str(tmp_path))
    assert "VERL_USE_EXTERNAL_MODULES" not in verl.environment(vllm, tmp_path)
    assert not any("num_gpus" in text for text in verl.overrides(vllm, tmp_path, tmp_path))


def test_a_critic_is_a_second_trained_model(tmp_path: Path) -> None:
    config = RllmConfig(algo="verl", rollout="hf", checkout=str(tmp_path), critic=True)
    said = verl.overrides(config, tmp_path / "model", tmp_path)
    assert {
        "algorithm.adv_estimator=gae",
        f"critic.model.path={tmp_path}/model",
        "critic.strategy=fsdp2",
        "critic.model.use_remove_padding=False",
    } <= set(said)
    without = verl.overrides(dataclasses.replace(config, critic=False), tmp_path, tmp_path)
    assert not any(text.startswith("critic.") for text in without)


def test_rows_of_a_table_are_drawn_by_the_seed() -> None:
    def episode(number: int) -> Any:
        said = SimpleNamespace(text=f"<answer>{number}</answer>")
        steps = [SimpleNamespace(model_output=said)]
        trajectory = SimpleNamespace(steps=steps, reward=number % 2)
        task = {"question": f"q{number}"}
        return SimpleNamespace(task=task, trajectories=[trajectory], is_correct=number % 2, metrics={"score": number})

    episodes = [episode(number) for number in range(40)]
    rows = sample_rows(episodes, 10, "1 val 50")
    assert rows == sample_rows(episodes, 10, "1 val 50")
    assert rows != sample_rows(episodes, 10, "1 val 100")
    assert len({row[0] for row in rows}) == 10
    assert len(rows[0]) == len(COLUMNS)
    assert {row[0] for row in rows} != {f"q{number}" for number in range(10)}, "they are not the first ones"
    assert len(sample_rows(episodes[:4], 10, "1")) == 4


FAKE_VERL = """
import json, os, pathlib, signal, sys, time
given = dict(text.split("=", 1) for text in sys.argv if "=" in text)
out = pathlib.Path(given["trainer.default_local_dir"])
with open(os.environ["VERL_FILE_LOGGER_PATH"], "a") as file:
    for step in (1, 2):
        data = {"critic/score/mean": 0.1 * step, "val/countdown/pass@1": 0.25 * step}
        file.write(json.dumps({"step": step, "data": data}) + chr(10))
        file.flush()
(out / "global_step_2" / "actor").mkdir(parents=True)
(out / "latest_checkpointed_iteration.txt").write_text("2")
if "hang" in sys.argv:
    time.sleep(600)
sys.exit("fail" in sys.argv)
"""


@pytest.fixture
def supervised(tmp_path: Path) -> tuple[Supervisor, Host, list[str]]:
    """A supervisor, its run, and the command line of a program that writes what VERL writes."""
    (tmp_path / "verl.py").write_text(FAKE_VERL)
    fake = tmp_path / "python"  # a script's first line cannot name a path with a space
    fake.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tmp_path}/verl.py" "$@"\n')
    fake.chmod(fake.stat().st_mode | stat.S_IXUSR)
    config = RllmConfig(algo="verl", verl_python=str(fake), checkout=str(tmp_path))
    paths = HomePaths(tmp_path).run("one")
    spec = RunSpec.of(config, "rllm")
    writer = RunWriter(paths)
    write_config(paths, spec)
    argv = verl.command(config, tmp_path / "model", paths.root)
    run = Host(spec, paths, writer, Control(), lambda host: Supervisor(host, config, 4, argv))
    run.prepare()
    return cast("Supervisor", run.trainee), run, argv


def test_a_guest_is_validated_at_the_very_step() -> None:
    plan, progress, validated = Intervals(validate=100), RunProgress(), []
    for env_steps in (50, 99, 100, 150, 199, 200, 201):
        if plan.validation_is_due(Counters(env_steps), progress):
            validated.append(env_steps)
            progress.validated_env_steps = env_steps
    assert validated == [100, 200]


def test_a_verl_processs_files_become_records(supervised: Any) -> None:
    supervisor, run, argv = supervised
    supervisor.follow(argv)
    lines = [records.decode(line) for line in run.paths.train_log.read_bytes().splitlines()]
    updates = [line for line in lines if isinstance(line, records.UpdateRecord)]
    assert [(line.env_steps, line.reward_mean) for line in updates] == [(1, 0.1), (2, 0.2)]
    evals = [line for line in lines if isinstance(line, records.EvalRecord)]
    assert [line.success_rate for line in evals] == [0.25, 0.5]
    (folder,) = checkpoint_manifest.list_checkpoints(run.paths)
    assert json.loads((folder / POINTER).read_text())["path"] == "verl/global_step_2"
    assert check_log(run.paths.train_log).errors == []


def test_the_validation_after_the_last_update_is_no_step(supervised: Any) -> None:
    supervisor, run, argv = supervised
    supervisor.config = dataclasses.replace(supervisor.config, total_env_steps=1)
    supervisor.follow(argv)
    lines = [records.decode(line) for line in run.paths.train_log.read_bytes().splitlines()]
    updates = [line.env_steps for line in lines if isinstance(line, records.UpdateRecord)]
    evals = [line.env_steps for line in lines if isinstance(line, records.EvalRecord)]
    assert (updates, evals) == ([1], [1])


@pytest.mark.parametrize(
    ("every", "total", "saves", "warns"),
    [
        (200, 6, 6, ""),
        (0, 6, 6, ""),
        (200, 1000, 200, ""),
        (200, 500, 200, "after step 400"),
        (200, 0, 200, ""),
        (0, 0, -1, "saves nothing"),
    ],
)
def test_verl_makes_as_many_updates_as_asked_and_keeps_the_last(
    every: int, total: int, saves: int, warns: str, tmp_path: Path
) -> None:
    config = RllmConfig(algo="verl", checkout=str(tmp_path), checkpoint_every=every, total_env_steps=total)
    given = verl.overrides(config, tmp_path, tmp_path)
    assert f"trainer.save_freq={saves}" in given
    assert (f"trainer.total_training_steps={total + 1}" in given) == bool(total)
    told = list(_check_checkpoints(every, total))
    assert [check.status for check in told] == ["warn"] * bool(warns)
    assert all(warns in check.detail for check in told)


def test_a_verl_that_fails_and_one_that_is_stopped(supervised: Any) -> None:
    supervisor, run, argv = supervised
    with pytest.raises(ConfigError, match="ended with status 1"):
        supervisor.follow([*argv, "fail"])
    run.control.stop("stopped by you")
    with pytest.raises(RunEnded, match="stopped by you"):
        supervisor.follow([*argv, "hang"])


# -- with the libraries ---------------------------------------------------------------------


def weights(folder: Path) -> bytes:
    return (folder / "model.safetensors").read_bytes()


@pytest.mark.slow
async def test_resumed_is_the_run_that_was_never_stopped(tmp_path: Path) -> None:
    home, (once, half) = home_with("rllm", tmp_path), (rllm_spec(8), rllm_spec(5))
    async with in_service(home.root, within_s=3 * PATIENCE_S) as service:
        whole = await run_to_end(service, once)
        assert whole.state is RunState.FINISHED, whole.reason
        first = await run_to_end(service, half)
        assert first.env_steps == 5
        paths = home.run(first.run_id)
        write_config(paths, once)
        await service.resume(first.run_id)
        again = await ended(service, first.run_id)
        assert (again.state, again.env_steps) == (RunState.FINISHED, 8), again.reason
        one, other = newest(home, whole.run_id), newest(home, again.run_id)
        assert weights(one) == weights(other)
        assert weights(checkpoint_manifest.list_checkpoints(paths)[0]) != weights(other)
        assert check_log(paths.train_log).errors == []
        updates = await history(service, again.run_id, records.UpdateRecord)
        learned = [event for event in updates if "critic/score/mean" in event.metrics]
        assert [event.env_steps for event in learned] == list(range(1, 9))
        assert {"actor/pg_loss", "response_length/mean"} <= set(learned[-1].metrics)


@pytest.mark.slow
async def test_it_does_what_its_capabilities_say(tmp_path: Path) -> None:
    home = home_with("rllm", tmp_path)
    spec = rllm_spec(0, eval_every=2, eval_episodes=2, rollouts=2, wandb_tables=True, table_rows=3, table_every=1)
    async with in_service(home.root, within_s=3 * PATIENCE_S) as service:
        record = await service.start(service.plan(spec))
        run_id, paths = record.run_id, home.run(record.run_id)
        await until(lambda: service.runs[run_id].env_steps >= 2, PATIENCE_S)
        await service.pause(run_id)
        await until(lambda: service.runs[run_id].state is RunState.PAUSED, PATIENCE_S)
        before = service.runs[run_id].env_steps
        await service.request(run_id, commands.SaveCheckpoint)
        await until(lambda: newest(home, run_id).name >= f"{before:012d}", PATIENCE_S)
        await service.unpause(run_id)
        await until(lambda: service.runs[run_id].env_steps > before, PATIENCE_S)
        await service.stop(run_id)
        stopped = service.runs[run_id]
        assert (stopped.state, stopped.reason) == (RunState.STOPPED, "stopped by you")
        evals = await history(service, run_id, records.EvalRecord)
        assert {event.mode for event in evals} == {"greedy", "sample"}
        first = batches(paths.root)[-1]
        assert (first.step, first.mode) == (0, "val")
        episodes = read_batch(first)
        assert len(episodes) == len(list(first.folder.glob("episode_*.json"))) > 0
        questions = {row["question"] for row in RllmConfig(**spec.options).rows()[1]}
        assert {episode.question for episode in episodes} <= questions
        assert all(e.reward is not None and e.is_right is not None for e in episodes)
        assert any(e.answer for e in episodes)
        for where in ("val", "train"):
            (table, *_) = paths.root.glob(f"wandb/offline-run-*/files/media/table/{where}/sample_table*.table.json")
            kept = json.loads(table.read_text())
            assert kept["columns"] == list(COLUMNS)
            assert len(kept["data"]) == 3


@pytest.mark.slow
async def test_it_begins_with_a_donors_weights_and_refuses_a_torn_model(tmp_path: Path) -> None:
    home = home_with("rllm", tmp_path)
    async with in_service(home.root, within_s=3 * PATIENCE_S) as service:
        donor = await run_to_end(service, rllm_spec(1))
        folder = newest(home, donor.run_id)
        heir = await run_to_end(service, rllm_spec(1, warm_start=str(folder), learning_rate=1e-9))
        assert heir.state is RunState.FINISHED, heir.reason
        assert not (home.run(heir.run_id).root / "initial").exists()
        broken = tmp_path / "model"
        broken.mkdir()
        for path in folder.iterdir():
            (broken / path.name).write_bytes(path.read_bytes()[:40])
        rows = tmp_path / "rows.jsonl"
        rows.write_text('{"nums": [3, 4], "target": 7, "question": "3,4=7"}\n' * 2)
        refused = await run_to_end(service, rllm_spec(1, model=str(broken), data=str(rows)))
        assert refused.state is RunState.FAILED
        assert str(broken) in refused.reason
        assert "\n" not in refused.reason


OF_A_CRITIC = {
    *(f"critic/{name}" for name in ("vf_loss", "vf_clipfrac", "vpred_mean", "grad_norm", "vf_explained_var")),
    *(f"critic/{name}/mean" for name in ("values", "score", "rewards", "advantages", "returns")),
}


@pytest.mark.slow
@pytest.mark.parametrize("critic", [False, True])
async def test_verl_updates_the_small_model_and_its_files_become_records(tmp_path: Path, critic: bool) -> None:
    need_extras()
    python = os.environ.get("DMGLAB_VERL", "")
    if not python:
        pytest.skip("name the Python of an environment with VERL 0.8.0 in DMGLAB_VERL")
    home = home_with("rllm", tmp_path)
    more = {"max_prompt": 32, "eval_every": 1, "checkpoint_every": 2, "rollouts": 2, "critic": critic}
    spec = rllm_spec(2, algo="verl", rollout="hf", verl_python=python, **more)
    async with in_service(home.root, within_s=6 * PATIENCE_S) as service:
        run = await run_to_end(service, spec, 5 * PATIENCE_S)  # Ray takes minutes to start
        assert run.state is RunState.FINISHED, run.reason
        updates = await history(service, run.run_id, records.UpdateRecord)
        learned = [event for event in updates if "actor/pg_loss" in event.metrics]
        assert [event.env_steps for event in learned] == [1, 2]
        assert all(event.grad_norm and event.metrics["critic/score/mean"] for event in learned)
        assert set(learned[-1].metrics) >= OF_A_CRITIC or not critic
        assert (learned[-1].value_loss is not UNSET) == critic
        evals = await history(service, run.run_id, records.EvalRecord)
        assert [event.env_steps for event in evals] == [0, 1, 2]
        pointer = json.loads((newest(home, run.run_id) / POINTER).read_text())
        assert (home.run(run.run_id).root / pointer["path"] / "actor").is_dir()
        assert batches(home.run(run.run_id).root)
