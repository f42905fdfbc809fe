"""SPADE-BDI itself, where its environment is; else skipped, and why.

dmglab runner install spade_bdi; pytest -rs tests/runners/spade_bdi/test_spade_bdi_runner.py
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from tests.support.guests import PATIENCE_S, ended, history, home_with, newest, plays, run_to_end
from tests.support.processes import in_service, until
from trainer_core.lab import checkpoint_manifest
from trainer_core.lab.paths import HomePaths
from trainer_core.runners.spade_bdi.experience import Experience
from trainer_core.runners.spade_bdi.runner import SPADE_BDI, named_skills
from trainer_core.runs.config_file import write_config
from trainer_core.runs.log_check import check_log
from trainer_core.service import EventReceived, PlayerService
from trainer_core.wire import records
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.playing import PlayerConfig
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec

PLANS = """
!wander.
+!wander : still(N) & N > 0 <-
    .choose(stuck, [up, down, left, right], B); .press(B); !judge(B); !wander.
+!wander <- .any(B); .press(B); !wander.
+!judge(B) : still(0) <- .credit(stuck, B, 1).
+!judge(B) <- .credit(stuck, B, 0).
+ended(Outcome, Steps) : coach(Coach) <- .send(Coach, tell, result(Outcome, Steps)).
"""


def bdi_spec(plans: Path, steps: int, **options: Any) -> RunSpec:
    small = {"eval_every": 0, "checkpoint_every": 0, "log_every": 2, "threads": 1}
    return RunSpec(
        runner="spade_bdi", task="tiny_goal", total_env_steps=steps, options={"plans": str(plans), **small, **options}
    )


@pytest.fixture
def plans(tmp_path: Path) -> Path:
    path = tmp_path / "wander.asl"
    path.write_text(PLANS)
    return path


def mind_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "mind.json").read_text())


def test_skills_are_named_and_a_wrong_name_is_one_line() -> None:
    assert named_skills(" out=a/b, c ,") == {"out": "a/b", "skill2": "c"}
    for text in ("Out=a", "x=a,x=b", "a b=c", "=c"):
        with pytest.raises(ConfigError, match="each another one"):
            named_skills(text)


def test_a_choice_is_tried_once_then_the_best_is_taken() -> None:
    made = Experience(0.0, np.random.default_rng(1))
    for option, value in (("up", 0.0), ("down", 1.0)):
        assert made.choose("stuck", ["up", "down"], greedy=False) == option
        made.credit("stuck", option, value)
    made.credit("stuck", "down", 0.0)
    assert made.table["stuck"] == {"up": [1, 0.0], "down": [2, 0.5]}
    assert made.choose("stuck", ["up", "down"], greedy=True) == "down"


def test_preflight_names_what_is_missing(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    spec = RunSpec(runner="spade_bdi", task="tiny_goal", options={"plans": str(tmp_path / "x.asl")})
    told = {check.name: check for check in SPADE_BDI.check_options(spec, None, home)}  # type: ignore[arg-type]
    assert (told["Plans"].status, told["Skills"].status) == ("fail", "ok")
    assert "x.asl: no such file" in told["Plans"].detail
    bare = RunSpec(runner="spade_bdi", task="tiny_goal", options={})
    told = {check.name: check for check in SPADE_BDI.check_options(bare, None, home)}  # type: ignore[arg-type]
    assert told["Skills"].status == "fail"
    assert "dmglab train" in told["Skills"].fix


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("+!go <- .press(up", "bad.asl:1:"),
        ("!go.\n+!go <- .jump(up).", "bad.asl:2:9: "),
        ("!go.", "no applicable plan for"),
    ],
)
def test_wrong_plans_are_one_line_with_a_place(tmp_path: Path, text: str, words: str) -> None:
    home, bad = home_with("spade_bdi", tmp_path), tmp_path / "bad.asl"
    bad.write_text(text)

    found = SPADE_BDI.check_options(bdi_spec(bad, 100), None, home)  # type: ignore[arg-type]
    (check,) = [check for check in found if check.name == "Plans"]
    assert check.status == "fail"
    assert words in check.detail
    assert "\n" not in check.detail


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plan", "place", "words"),
    [
        (".press(up); .press(sideways).", "bad.asl:2:", "the buttons are a, b, start"),
        (
            '.send("x@localhost", tell, hi); .press(up); !go.',
            "bad.asl: .send to x@localhost",
            "messages reach coach@localhost, player@localhost, and agents of other processes once",
        ),
    ],
)
async def test_plans_that_fail_midway_end_the_run_with_one_line(
    tmp_path: Path, plan: str, place: str, words: str
) -> None:
    home, bad = home_with("spade_bdi", tmp_path), tmp_path / "bad.asl"
    bad.write_text(f"!go.\n+!go <- {plan}")
    async with in_service(home.root) as service:
        failed = await run_to_end(service, bdi_spec(bad, 100))
        assert failed.state is RunState.FAILED
        assert place in failed.reason
        assert words in failed.reason


@pytest.mark.slow
async def test_resumed_is_the_run_that_was_never_stopped(tmp_path: Path, plans: Path) -> None:
    home = home_with("spade_bdi", tmp_path)
    async with in_service(home.root) as service:
        whole = await run_to_end(service, bdi_spec(plans, 400))
        assert whole.state is RunState.FINISHED, whole.reason
        half = await run_to_end(service, bdi_spec(plans, 150))
        paths = home.run(half.run_id)
        write_config(paths, bdi_spec(plans, 400))
        plans.write_text("broken now")  # the checkpoint has the plans; the file is not looked at
        await service.resume(half.run_id)
        again = await ended(service, half.run_id)
        assert again.state is RunState.FINISHED, again.reason
        one, other = (mind_of(newest(home, run.run_id)) for run in (whole, again))
        assert one["mind"] == other["mind"]
        assert one["loop"]["steps"] == other["loop"]["steps"]
        assert one["loop"]["recent"] == other["loop"]["recent"], "rewards know what was seen"
        assert one["mind"]["experience"]["stuck"]
        logged = (await history(service, whole.run_id, records.UpdateRecord))[-1].mind
        assert any(belief.startswith("still(") for belief in logged.beliefs), "its beliefs are in the log"
        assert check_log(paths.train_log).errors == []
        meta = checkpoint_manifest.verify(newest(home, again.run_id))
        assert {"plans.asl", "coach.asl", "mind.json"} <= set(meta.files)
        (announced,) = (await history(service, whole.run_id, records.CheckpointRecord))[-1:]
        assert announced.sha256 == checkpoint_manifest.verify(newest(home, whole.run_id)).files["mind.json"]


@pytest.mark.slow
async def test_it_tells_its_mind_on_the_loopback_only_and_leaves_no_orphan(tmp_path: Path, plans: Path) -> None:
    home = home_with("spade_bdi", tmp_path)
    told: list[records.BeliefsEvent] = []
    async with in_service(home.root) as service:

        def notice(one: object) -> None:
            if isinstance(one, EventReceived) and isinstance(one.event, records.BeliefsEvent):
                told.append(one.event)

        service.subscribe(notice)
        record = await service.start(service.plan(bdi_spec(plans, 0, eval_every=300, eval_episodes=4)))
        run_id = record.run_id
        process = psutil.Process(record.pid)
        await until(lambda: len(told) > 3, PATIENCE_S)
        assert any(belief.startswith("still(") for belief in told[-1].beliefs)
        await until(lambda: "wander" in str(told[-1].intentions), PATIENCE_S)
        listening = [c for c in process.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
        assert listening
        assert {c.laddr.ip for c in listening} == {"127.0.0.1"}
        assert 9090 not in {c.laddr.port for c in listening}
        company = process.children(recursive=True)
        assert len(company) <= 1, "our own guard, and none of the server's processes"
        await until(lambda: any("tell result(" in m for m in told[-1].messages), PATIENCE_S)
        await until(lambda: any(home.run(run_id).checkpoints.glob("0*/meta.json")), PATIENCE_S)
        await service.stop(run_id)
        assert service.runs[run_id].reason == "stopped by you"
        assert not process.is_running()
        await until(lambda: not any(one.is_running() for one in company), PATIENCE_S)
        await plays(home, newest(home, run_id))


@pytest.mark.slow
async def test_an_agent_of_another_process_is_heard_and_answered(tmp_path: Path, plans: Path) -> None:
    home = home_with("spade_bdi", tmp_path)
    plans.write_text(PLANS + "+advice(How)[source(Who)] <- .send(Who, tell, result(How, 3)).")
    guide = tmp_path / "guide.asl"
    guide.write_text("+player(Player) <- .send(Player, tell, advice(draw)).")
    argv = [SPADE_BDI.at(home).interpreter, "-m", "trainer_core.runners.spade_bdi.guide"]
    told: list[str] = []
    async with in_service(home.root) as service:

        def notice(one: object) -> None:
            if isinstance(one, EventReceived) and isinstance(one.event, records.BeliefsEvent):
                told[:] = one.event.messages

        service.subscribe(notice)
        record = await service.start(service.plan(bdi_spec(plans, 0, coach="none")))
        log = home.run(record.run_id).worker_log
        await until(lambda: log.is_file() and "listens" in log.read_text(), PATIENCE_S)
        (port,) = re.findall(r"the player listens: .*:(\d+)", log.read_text())
        with subprocess.Popen([*argv, port, str(guide)], stdout=subprocess.PIPE, text=True) as other:
            await until(lambda: len(told) >= 2, PATIENCE_S)
            await service.stop(record.run_id)
            said, _ = other.communicate(timeout=PATIENCE_S)
        assert said.splitlines() == told
        assert told == ["guide tell advice(draw) to player", "player tell result(draw, 3) to guide"]
        assert other.returncode == 0
        late = subprocess.run([*argv, port, str(guide)], capture_output=True, text=True, check=False)
        assert (late.returncode, late.stderr.count("\n")) == (1, 1)
        assert "no run's XMPP server answers" in late.stderr


@pytest.mark.slow
async def test_a_donors_experience_warms_it_and_its_player_tells_its_mind(tmp_path: Path, plans: Path) -> None:
    home = home_with("spade_bdi", tmp_path)
    async with in_service(home.root) as service:
        donor = await run_to_end(service, bdi_spec(plans, 200))
        folder = newest(home, donor.run_id)
        heir = await run_to_end(service, bdi_spec(plans, 1, warm_start=str(folder), coach="none"))
        assert heir.state is RunState.FINISHED, heir.reason
        known = mind_of(folder)["mind"]["experience"]["stuck"]
        grown = mind_of(newest(home, heir.run_id))["mind"]["experience"]["stuck"]
        assert all(grown[option][0] >= count for option, (count, _) in known.items())
        player, seen = PlayerService(home), []
        player.on_event = seen.append
        await player.start(PlayerConfig(task="tiny_goal", checkpoint=str(folder), mode="greedy", speed=0.0))
        try:
            await until(lambda: any(isinstance(e, records.BeliefsEvent) for e in seen), PATIENCE_S)
        finally:
            await player.stop()
