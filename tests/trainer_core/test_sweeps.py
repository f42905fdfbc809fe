"""A sweep from its definition to its table: places, early ends, stops, kills, what is refused."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.support.echo_sweeps import ENDLESS, EchoSlot, conductor, made_sweep
from tests.support.processes import PATIENCE_S, until, wait_until
from trainer_core.cli.main import main
from trainer_core.lab.paths import CHECKOUT, HomePaths, RunPaths
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.run_lock import RunLock, is_locked
from trainer_core.sweeps.results import ranking
from trainer_core.sweeps.sweep import load_ended, load_sweep
from trainer_core.wire.run_record import RunRecord, RunState


def test_the_hopeless_is_ended_and_every_run_says_where_it_belongs(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    good = [{"learning_rate": 0.9}] * 3  # equals go on
    hopeless = {"learning_rate": 0.01, "total_env_steps": ENDLESS}
    sweep = made_sweep(home, [*good, hopeless], rule="halving", first_rung=4096, factor=2)
    said: list[str] = []
    asyncio.run(asyncio.wait_for(conductor(home, sweep, 1, said).run(), 120))
    found = RunRegistry(home).load()
    assert list(found) == [f"echo-t00{number}" for number in range(4)], "in order, one at a time"
    assert [run.state for run in found.values()] == [RunState.FINISHED] * 3 + [RunState.STOPPED]
    (ended,) = load_ended(home, "echo").items()
    assert ended[0] == 3
    assert "is not among the best 2 of 4" in ended[1], "whatever its last words were"
    assert found["echo-t001"].tags == {
        "sweep": "echo",
        "trial": "1",
        "setting": "1",
        "varied": '{"learning_rate": 0.9}',
    }
    config = json.loads(home.run("echo-t001").config.read_text())
    assert config["tags"] == found["echo-t001"].tags
    assert (config["run"]["learning_rate"], config["run"]["seed"]) == (0.9, 7)
    rows = ranking(home, sweep, found)
    assert [row["values"]["learning_rate"] for row in rows] == [0.9, 0.9, 0.9, 0.01]
    assert all(row["trials"][0]["done"] for row in rows)
    again = conductor(home, sweep, 1, said)
    asyncio.run(asyncio.wait_for(again.run(), 120))
    assert said[-1] == "4 of 4 trials are done already"


def test_a_stopped_sweep_goes_on_where_it_was(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    long = {"learning_rate": 0.1, "total_env_steps": ENDLESS}
    sweep = made_sweep(home, [long, long, {"learning_rate": 0.1}])

    async def begin_and_stop() -> None:
        begun = conductor(home, sweep, 2, [])
        task = asyncio.create_task(begun.run())
        logs = [home.run(f"echo-t00{number}").train_log for number in (0, 1)]
        await until(lambda: all(log.exists() and "update" in log.read_text() for log in logs), 120)
        begun.stop("interrupted")
        await asyncio.wait_for(task, 120)

    asyncio.run(begin_and_stop())
    found = RunRegistry(home).load()
    assert {run_id: run.state for run_id, run in found.items()} == {
        "echo-t000": RunState.STOPPED,
        "echo-t001": RunState.STOPPED,
    }, "the third never began"
    _make_short(home, ["echo-t000", "echo-t001"])
    said: list[str] = []
    again = conductor(home, load_sweep(home, "latest"), 2, said)
    asyncio.run(asyncio.wait_for(again.run(), 120))
    assert all(run.state is RunState.FINISHED for run in RunRegistry(home).load().values())
    assert sum("goes on" in line for line in said) == 2
    assert sum("begins" in line for line in said) == 1


def test_a_trial_that_waits_for_its_former_life_can_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = HomePaths(tmp_path)
    sweep = made_sweep(home, [{"learning_rate": 1e-3}])
    paths = home.run(sweep.trials[0].run_id)
    paths.root.mkdir(parents=True)
    former = RunLock.take(paths)  # whose process saves still
    slot, looked = EchoSlot(str(home.root), sweep.sweep_id), asyncio.Event()

    def look(paths: RunPaths) -> bool:
        looked.set()
        return is_locked(paths)

    monkeypatch.setattr("trainer_core.sweeps.slot.is_locked", look)

    async def scenario() -> RunRecord:
        trial = asyncio.create_task(slot.run(0))
        await asyncio.wait_for(looked.wait(), PATIENCE_S)
        await slot.stop("interrupted")
        return msgspec.json.decode(await asyncio.wait_for(trial, PATIENCE_S), type=RunRecord)

    record = asyncio.run(scenario())
    assert (record.state, record.reason) == (RunState.IDLE, "interrupted")
    former.release()


def _make_short(home: HomePaths, run_ids: list[str]) -> None:
    """Have those echoes end by themselves in their next life."""
    for run_id in run_ids:
        path = home.run(run_id).config
        config = json.loads(path.read_text())
        config["run"]["total_env_steps"] = 2 * 2048
        path.write_text(json.dumps(config))


def test_a_killed_sweep_leaves_no_process_and_goes_on(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    long = {"learning_rate": 0.1, "total_env_steps": ENDLESS}
    sweep = made_sweep(home, [long, long])
    driver = subprocess.Popen([sys.executable, "-m", "tests.support.echo_sweeps", str(tmp_path), "echo"], cwd=CHECKOUT)
    runs = [home.run(trial.run_id) for trial in sweep.trials]
    try:
        wait_until(lambda: all(r.train_log.exists() and r.train_log.stat().st_size for r in runs))
    finally:
        driver.kill()
        driver.wait()
    wait_until(lambda: not any(is_locked(run) for run in runs))
    # A process gives up its lock a moment before it is gone.
    wait_until(lambda: {run.state for run in RunRegistry(home).reconcile().values()} == {RunState.LOST})
    short = made_sweep(home, [{"learning_rate": 0.1}] * 2)  # begins anew: there is no checkpoint
    asyncio.run(asyncio.wait_for(conductor(home, short, 2, []).run(), 120))
    assert {run.state for run in RunRegistry(home).load().values()} == {RunState.FINISHED}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "a trial without a limit"),
        (["--seconds", "1", "--vary", "num_steps=0,8"], "trial 0, {'num_steps': 0}: num_steps"),
        (["--seconds", "1", "--search", "random"], "wants --trials"),
        (["--seconds", "1", "--trials", "3"], "is for --search random"),
        (["--seconds", "1", "--seeds", "1", "1"], "each once"),
        (["--seconds", "1", "--metric", "luck"], "no metric 'luck'"),
        (["--seconds", "1", "--devices", "tpu"], "cpu or cuda:N"),
        (["--seconds", "1", "--devices", "cpu", "cpu"], "--jobs"),
        (["--seconds", "1", "--task", "nowhere"], "no task 'nowhere'"),
        (["--seconds", "1", "--factor", "1"], "factor must be 2 to 100"),
        (["--resume", "latest"], "no sweeps yet"),
        (["--resume", "../x"], "no name of a sweep"),
    ],
)
def test_bad_input_is_one_line_and_begins_nothing(
    words: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    task = [] if "--task" in words else ["--task", "tiny_goal"]
    extra = [] if "--resume" in words else task
    assert main(["sweep", *words, *extra, "--home", str(tmp_path / "home")]) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert len(err.splitlines()) == 1
    assert json.loads(out)["ok"] is False
    assert not (tmp_path / "home").exists()


def test_a_resumed_sweep_is_taken_as_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made_sweep(HomePaths(tmp_path), [{"learning_rate": 0.1}])
    assert main(["sweep", "--resume", "echo", "--num-envs", "8", "--home", str(tmp_path)]) == 2
    assert "cannot change a sweep" in capsys.readouterr().err
    assert main(["sweep", "--show", "echo", "--home", str(tmp_path)]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["state"], shown["trials"], shown["done"]) == ("unfinished", 1, 0)


def test_a_damaged_definition_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made_sweep(HomePaths(tmp_path), [{"learning_rate": 0.1}])
    path = tmp_path / "training" / "sweeps" / "echo" / "sweep.json"
    path.write_text(path.read_text().replace("echo-t000", "../../escape"))
    assert main(["sweep", "--resume", "echo", "--home", str(tmp_path)]) == 2
    assert "no name of a folder" in capsys.readouterr().err
    path.write_bytes(os.urandom(100))
    assert main(["sweep", "--resume", "echo", "--home", str(tmp_path)]) == 2
    assert str(path) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("early_stop.first_rung", 0, "first_rung"),
        ("early_stop.factor", 1, "factor"),
        ("early_stop.factor", 0, "factor"),
        ("early_stop.rule", "hope", "Invalid enum value 'hope'"),
        ("early_stop.mode", "up", "Invalid enum value 'up'"),
        ("early_stop.metric", "luck", "no metric 'luck'"),
        ("search", "magic", "Invalid enum value"),
        ("sweep_id", "../../../evil", "is not the name of its folder"),
        ("v", 2, "update DMG Lab"),
        ("trials", [], "0 trials"),
        ("trials.0.values", {"luck": 1}, "unknown configuration keys: luck"),
        ("trials.0.values", {"learning_rate": 1e9}, "learning_rate must be"),
        ("trials.0.values", {"device": "../../evil"}, "device must be cpu or cuda:N"),
        ("trials.0.number", 7, "calls itself 7"),
        ("trials.0.run_id", "echo-t001", "two trials have one run_id"),
        ("trials.0.run_id", "a\0b", "no name of a folder"),
        ("trials.0.seed", 10**300, "seed"),
        ("base", {}, "base lacks algo, device, task"),
        ("base.total_env_steps", 0, "has no limit and would never end"),
    ],
)
def test_an_edited_definition_is_refused_in_one_line(
    path: str, value: object, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = HomePaths(tmp_path)
    made_sweep(home, [{"learning_rate": 0.1}, {"learning_rate": 0.2}])
    file = tmp_path / "training" / "sweeps" / "echo" / "sweep.json"
    raw = json.loads(file.read_text())
    place, *rest = reversed(path.split("."))
    table = raw
    for name in reversed(rest):
        table = table[int(name) if name.isdecimal() else name]
    table[place] = value
    file.write_text(json.dumps(raw))
    for verb in ("--show", "--resume"):
        assert main(["sweep", verb, "echo", "--home", str(tmp_path)]) == 2
        line = capsys.readouterr().err
        assert said in line
        assert str(file) in line
        assert len(line) < 400
    assert [path.name for path in (tmp_path / "training").iterdir()] == ["sweeps"]
