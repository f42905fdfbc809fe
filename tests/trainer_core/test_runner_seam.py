"""A second runner through the seam: nothing of plan, start, stop, resume, deploy is ours."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import shutil
import sys
from pathlib import Path

import psutil
import pytest

from tests.support.echo_runner import EchoConfig, EchoRunner, echo_runner
from tests.support.made_checkpoints import make_checkpoint
from tests.support.processes import in_service, until
from tests.support.scripted_native import ScriptedNative
from trainer_core.cli.main import main
from trainer_core.lab.paths import HomePaths
from trainer_core.runners.catalog import NATIVE, find_runner, runner_of_checkpoint
from trainer_core.runs.config_file import read_run_config, read_spec
from trainer_core.runs.log_check import check_log
from trainer_core.service import EventReceived, PlayerService, TrainerService
from trainer_core.service.preflight import run_checks
from trainer_core.wire import commands, records
from trainer_core.wire.capabilities import RunnerCapabilities
from trainer_core.wire.checks import Check
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import ConfigError, LabError, ProtocolError
from trainer_core.wire.playing import PlayerConfig
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec


@pytest.fixture
def echo(tmp_path: Path) -> EchoRunner:
    """Its interpreter is the one below ours: none of our packages is there."""
    interpreter = tmp_path / "its own" / "python"
    interpreter.parent.mkdir()
    interpreter.symlink_to(os.path.realpath(sys.executable))
    return echo_runner(interpreter)


def order(**options: object) -> RunSpec:
    return RunSpec(runner="echo", task="hallway", options=options)


def values_of(events: list[records.Event]) -> list[float]:
    return [event.metrics["hallway/mean_return"] for event in events if isinstance(event, records.UpdateRecord)]


def checks_of(spec: RunSpec, runner: EchoRunner, home: Path) -> dict[str, Check]:
    async def collect() -> dict[str, Check]:
        return {check.name: check async for check in run_checks(spec, HomePaths(home), runner)}

    return asyncio.run(collect())


def test_its_options_are_its_own_and_checked(echo: EchoRunner, tmp_path: Path) -> None:
    service = TrainerService(HomePaths(tmp_path), runners=(NATIVE, echo))
    plan = service.plan(order(episodes=3))
    assert plan.argv[0] == echo.interpreter
    assert plan.cwd == plan.run_dir
    assert echo.configure(plan.spec) == EchoConfig(episodes=3)
    assert plan.spec.options == {"algo": "counting", "episodes": 3, "pause_s": 0.01, "warm_start": ""}
    for wrong, words in (
        (order(num_envs=64), "unknown configuration keys: num_envs"),
        (order(episodes=0), "episodes must be 1 to"),
        (order(algo="ppo"), "no algorithm 'ppo'; it has counting, guessing"),
        (RunSpec(runner="other", task="hallway"), "no runner 'other'; known runners: native, echo"),
    ):
        with pytest.raises(ConfigError, match=words):
            service.plan(wrong)
    assert not plan.run_dir.exists()


def test_preflight_asks_its_interpreter_not_ours(echo: EchoRunner, tmp_path: Path) -> None:
    found = checks_of(order(), echo, tmp_path)
    assert list(found) == ["Data folder", "Disk", "Task", "Python", "Device", "Patience"]
    assert found["Task"].detail == "hallway, Echo's own"
    assert found["Python"].status == "ok", found["Python"]
    ours = echo_runner(Path(echo.interpreter), modules=("msgspec",))
    check = checks_of(order(), ours, tmp_path)["Python"]
    assert (check.status, check.fix) == ("fail", "nothing can install it")
    assert f"msgspec cannot be found by {echo.interpreter}" in check.detail
    gone = echo_runner(tmp_path / "gone" / "python")
    check = checks_of(order(), gone, tmp_path)["Python"]
    assert (check.status, "no interpreter" in check.detail) == ("fail", True)


async def test_what_a_shell_set_for_its_own_python_does_not_reach_it(
    echo: EchoRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A user's PYTHONPATH with another numpy or torch stood before those of its environment."""
    shadow = tmp_path / "shadow"
    shadow.mkdir()
    (shadow / "json.py").write_text("raise SystemExit('the module of another Python')")
    for name in ("PYTHONPATH", "PYTHONSTARTUP"):
        monkeypatch.setenv(name, str(shadow))
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    async with in_service(tmp_path, echo) as service:
        found = {c.name: c async for c in run_checks(order(), service.home, echo)}
        assert found["Python"].status == "ok", found["Python"]
        plan = service.plan(order(episodes=1))
        await service.start(plan)
        await until(lambda: service.runs[plan.run_id].state.is_end)
        assert service.runs[plan.run_id].state is RunState.FINISHED


async def test_a_run_of_it_streams_its_own_metrics_to_its_end(echo: EchoRunner, tmp_path: Path) -> None:
    async with in_service(tmp_path, echo) as service:
        seen: list[records.Event] = []
        service.subscribe(lambda n: seen.append(n.event) if isinstance(n, EventReceived) else None)
        plan = service.plan(order(episodes=4, algo="guessing"), "first")
        await service.start(plan)
        await until(lambda: service.runs[plan.run_id].state.is_end)
        ended = service.runs[plan.run_id]
        assert (ended.state, ended.reason) == (RunState.FINISHED, "")
        assert (ended.runner, ended.algo, ended.task) == ("echo", "guessing", "hallway")
        assert (ended.env_steps, ended.last_checkpoint) == (40, "saves/step-000040.json")
        assert values_of(seen) == [0.01, 0.02, 0.03, 0.04]
        paths = service.home.run(plan.run_id)
        config = json.loads(paths.config.read_text())
        assert (config["runner"], config["name"]) == ("echo", "first")
        assert read_spec(paths) == plan.spec
        history = (await service.history(plan.run_id)).events
        meta = history[0]
        assert isinstance(meta, records.MetaRecord)
        assert (meta.runner, meta.config) == ("echo", plan.spec.to_dict())
        assert values_of(list(history)) == values_of(seen)
        assert check_log(paths.train_log).errors == []


async def test_stop_is_sigterm_at_once_and_resume_goes_on_with_the_right_runner(
    echo: EchoRunner, tmp_path: Path
) -> None:
    async with in_service(tmp_path, echo) as service:
        service.runners = (NATIVE, echo)
        plan = service.plan(order(episodes=5000, pause_s=0.02), "kept")
        record = await service.start(plan)
        await until(lambda: service.runs[plan.run_id].env_steps >= 30)
        assert psutil.Process(record.pid).cmdline() == list(plan.argv)
        for verb in (commands.SaveCheckpoint, commands.Pause):
            with pytest.raises(ProtocolError, match=f"Echo takes no {verb.__name__}"):
                await service.request(plan.run_id, verb)
        async with asyncio.timeout(60):  # it reads no commands: nobody waits for an answer
            await service.stop(plan.run_id)
        stopped = service.runs[plan.run_id]
        assert (stopped.state, stopped.reason) == (RunState.STOPPED, "stopped by you")
        again = await service.resume(plan.run_id)
        assert (again.name, again.created_at) == ("kept", stopped.created_at)
        assert again.last_checkpoint == stopped.last_checkpoint
        assert psutil.Process(again.pid).cmdline() == list(plan.argv)
        await until(lambda: service.runs[plan.run_id].env_steps > stopped.env_steps)
        await service.stop(plan.run_id)
        log = service.home.run(plan.run_id).train_log
        assert check_log(log).errors == []
        assert b'"type":"resume"' in log.read_bytes()


async def test_it_begins_with_what_a_donor_learned_and_goes_on_from_its_own(echo: EchoRunner, tmp_path: Path) -> None:
    async with in_service(tmp_path, echo) as service:
        seen: list[records.Event] = []
        service.subscribe(lambda n: seen.append(n.event) if isinstance(n, EventReceived) else None)
        donor = service.plan(order(episodes=3, pause_s=0.0))
        await service.start(donor)
        await until(lambda: service.runs[donor.run_id].state.is_end)
        (saved,) = echo.find_checkpoints(donor.run_dir)
        seen.clear()
        heir = service.plan(order(episodes=2, pause_s=0.0, warm_start=str(saved)))
        await service.start(heir)
        await until(lambda: service.runs[heir.run_id].state.is_end)
        assert values_of(seen) == [0.04, 0.05]
        assert service.runs[heir.run_id].env_steps == 20
        assert check_log(service.home.run(heir.run_id).train_log).errors == []


async def test_two_apps_do_not_train_one_run(echo: EchoRunner, tmp_path: Path) -> None:
    async with in_service(tmp_path, echo) as first:
        plan = first.plan(order(episodes=2, pause_s=0.0))
        await first.start(plan)
        await until(lambda: first.runs[plan.run_id].state.is_end)
        second = TrainerService(HomePaths(tmp_path), runners=(echo,))
        second.open()
        spec = order(episodes=5000)
        (plan.run_dir / "config.json").write_text(json.dumps({"runner": "echo", "run": spec.to_dict(), "name": ""}))
        await first.resume(plan.run_id)
        with pytest.raises(LabError, match=f"process {first.runs[plan.run_id].pid}"):
            await second.resume(plan.run_id)
        await first.stop(plan.run_id)


def test_a_shell_goes_on_with_a_run_of_it(
    echo: EchoRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("trainer_core.cli.resume.find_runner", lambda runner_id: echo)

    async def train() -> None:
        async with in_service(tmp_path, echo) as service:
            plan = service.plan(order(episodes=2, pause_s=0.0), "mine")
            await service.start(plan)
            await until(lambda: service.runs[plan.run_id].state.is_end)

    asyncio.run(train())
    (run_dir,) = HomePaths(tmp_path).runs.iterdir()
    words = ["resume", run_dir.name, "--home", str(tmp_path)]
    assert main([*words, "--seconds", "5", "--gpus", "2"]) == 2
    assert "leave --seconds, --gpus away" in capsys.readouterr().err
    longer = echo.complete(order(episodes=4)).to_dict()
    (run_dir / "config.json").write_text(json.dumps({"runner": "echo", "run": longer}))
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["state"], found["env_steps"]) == ("finished", 40)
    assert b'"type":"resume"' in (run_dir / "train_log.jsonl").read_bytes()
    shutil.rmtree(run_dir / "saves")
    assert main(words) == 2
    assert "has no checkpoint to go on from: start a new run" in capsys.readouterr().err


async def test_a_checkpoint_is_played_by_its_runner(echo: EchoRunner, tmp_path: Path) -> None:
    async with in_service(tmp_path, echo) as service:
        plan = service.plan(order(episodes=2, pause_s=0.0))
        await service.start(plan)
        await until(lambda: service.runs[plan.run_id].state.is_end)
        (checkpoint,) = echo.find_checkpoints(plan.run_dir)
        assert runner_of_checkpoint(checkpoint, (NATIVE, echo)) is echo
        player = PlayerService(HomePaths(tmp_path), runners=(NATIVE, echo))
        request = PlayerConfig(task="hallway", checkpoint=str(checkpoint), mode="greedy")
        await player.start(request)
        assert player.directory is not None
        argv = psutil.Process(player._child.pid).cmdline()  # type: ignore[union-attr]
        assert argv == echo.play(player.directory)
        assert argv[0] == echo.interpreter
        assert player.can_load(checkpoint)
        assert not player.can_load(tmp_path / "native" / "checkpoints" / "000000000001")
        await player.stop()
        mute = dataclasses.replace(echo, capabilities=RunnerCapabilities())
        player.runners = (NATIVE, mute)
        with pytest.raises(ConfigError, match="has no player"):
            await player.start(request)


PLAYER = """
import json, os, sys, threading, time
def say(kind, **fields):
    line = {"type": kind, "v": 2, "run_id": "p", "seq": 0, "time": 1.0, **fields}
    print(json.dumps(line), flush=True)
def beat():
    while True:
        say("heartbeat")
        time.sleep(0.05)
say("state", state="running", detail="")
threading.Thread(target=beat, daemon=True).start()
for line in sys.stdin:
    asked = json.loads(line)
    if asked["cmd"] == "stop":
        break
    mark = os.environ["DMGLAB_FAMILY"]
    say("ack", id=asked["id"], ok=True, detail=sys.argv[1] + "/recorded " + mark)
"""


def theirs_playing(code: str) -> ScriptedNative:
    """Return a runner whose player is a Python program."""

    class Theirs(ScriptedNative):
        def play(self, player_dir: Path) -> list[str]:
            return [sys.executable, "-c", code, str(player_dir)]

    fields = {spec.name: getattr(NATIVE, spec.name) for spec in dataclasses.fields(NATIVE)}
    return Theirs(**{**fields, "id": "theirs", "title": "Theirs"})


def test_a_shell_plays_a_checkpoint_by_its_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    theirs = theirs_playing(PLAYER)
    monkeypatch.setattr("trainer_core.cli.play.runner_of_checkpoint", lambda folder: theirs)
    monkeypatch.setenv("DMGLAB_FAMILY", "ours")
    policy = make_checkpoint(tmp_path / "policy")
    words = ["play", "--checkpoint", str(policy), "--home", str(tmp_path), "--seconds", "0.1"]
    assert main([*words, "--record"]) == 0
    found = json.loads(capsys.readouterr().out)
    folder, _, mark = found["recording"].partition("/recorded ")
    assert folder == found["player_dir"]
    assert mark, "its guard ends what has its mark"
    assert mark != "ours", "which is not whoever started it"
    theirs = dataclasses.replace(theirs, capabilities=RunnerCapabilities())
    assert main(words) == 2
    assert "Theirs has no player" in capsys.readouterr().err


WAITS = "while True: time.sleep(60)"
SILENT = f"import time\n{WAITS}"
BEATS = (
    PLAYER[: PLAYER.index('say("state"')]
    + f"""
threading.Thread(target=beat, daemon=True).start()
{WAITS}
"""
)
DEAF = PLAYER[: PLAYER.index("for line")] + WAITS
STAYS = PLAYER.replace("        break", f"        {WAITS}")


@pytest.mark.parametrize(
    ("code", "limit", "told"),
    [
        (SILENT, "SILENT_S", "the player said nothing for 0.2 s while it was starting: it was"),
        (BEATS, "SILENT_S", "the player said nothing for 0.2 s while it was starting: it was"),
        (DEAF, "ANSWER_S", "the player did not answer within 0.2 s when its time was over"),
        (STAYS, "END_S", ""),
    ],
    ids=["silent", "beats", "deaf", "stays"],
)
def test_a_shell_waits_for_no_player_that_hangs(
    code: str,
    limit: str,
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    theirs = theirs_playing(code)
    monkeypatch.setattr("trainer_core.cli.play.runner_of_checkpoint", lambda folder: theirs)
    monkeypatch.setattr(f"trainer_core.cli.play.{limit}", 0.2)
    policy = make_checkpoint(tmp_path / "policy")
    words = ["play", "--checkpoint", str(policy), "--home", str(tmp_path), "--seconds", "0.1"]
    before = set(psutil.Process().children())
    assert main(words) == (1 if told else 0)
    assert told in capsys.readouterr().err
    assert set(psutil.Process().children()) <= before, "it was ended"


async def test_our_worker_does_not_take_a_run_of_another_runner(echo: EchoRunner, tmp_path: Path) -> None:
    async with in_service(tmp_path, echo) as service:
        plan = service.plan(order(episodes=1))
        await service.start(plan)
        with pytest.raises(ConfigError, match="a run of 'echo'"):
            read_run_config(service.home.run(plan.run_id))


def test_a_config_of_the_old_form_is_a_run_of_ours(tmp_path: Path) -> None:
    paths = HomePaths(tmp_path).run("old")
    paths.root.mkdir(parents=True)
    config = RunConfig(task="tiny_goal", seed=7, target_success=0.5)
    paths.config.write_text(json.dumps({"run": config.to_dict()}))
    spec = read_spec(paths)
    assert (spec.runner, spec.seed, spec.target_success) == ("native", 7, 0.5)
    assert find_runner(spec.runner).configure(spec) == config == read_run_config(paths)
