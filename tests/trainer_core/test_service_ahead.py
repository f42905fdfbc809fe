"""A worker that was started ahead does the run that it was started for, and no other."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

from tests.support.made_checkpoints import make_checkpoint
from tests.support.scripted_native import ScriptedNative, scripted_native
from trainer_core.host.agent import StackedAgent
from trainer_core.host.wait_for_order import wait_for_order
from trainer_core.lab.paths import ASSETS, HomePaths
from trainer_core.play.played_game import Player
from trainer_core.runs.run_lock import RunLock
from trainer_core.service import PlayerService, StopLadder, TrainerService
from trainer_core.wire.errors import LabError
from trainer_core.wire.frames import FrameReader
from trainer_core.wire.playing import PlayerConfig
from trainer_core.wire.run_record import RunRecord, RunState
from trainer_core.wire.spec import RunSpec

WAITING_ECHO = Path(__file__).parents[1] / "support" / "waiting_echo.py"
SPEC = RunSpec(task="tiny_goal")


@dataclass(frozen=True, kw_only=True)
class WaitingNative(ScriptedNative):
    def command(self, run_dir: Path) -> list[str]:
        return [sys.executable, str(WAITING_ECHO), str(run_dir), json.dumps(self.script)]

    def play(self, player_dir: Path) -> list[str]:
        return [sys.executable, str(WAITING_ECHO), str(player_dir)]


def service_of(home: Path, **script: object) -> TrainerService:
    scripted = scripted_native(**script)
    fields = {spec.name: getattr(scripted, spec.name) for spec in dataclasses.fields(scripted)}
    runner = WaitingNative(**{**fields, "waits": True})
    return TrainerService(HomePaths(home), runners=(runner,), ladder=StopLadder(2.0, 0.5))


async def test_the_waiting_player_plays_what_it_is_asked_and_the_next_is_another(tmp_path: Path) -> None:
    runners = service_of(tmp_path).runners
    player = PlayerService(HomePaths(tmp_path), runners=runners)
    await player.prepare()
    first = player.ahead._child
    assert first is not None
    assert not player.home.players.exists(), "it must write nothing before its order"
    await player.prepare()
    assert player.ahead._child is first, "one is enough"
    old, kept, fresh = (player.home.players / name for name in ("old", "kept", "fresh"))
    for folder in (old, kept / "recordings", fresh):
        folder.mkdir(parents=True)
        (folder / "config.json").touch()
    for path in (old, kept):
        for each in (*path.iterdir(), path):
            os.utime(each, (1.0, 1.0))
    await player.start(PlayerConfig(task="tiny_goal", mode="human"))
    assert [folder.exists() for folder in (old, kept, fresh)] == [False, True, True]
    assert player._child is first
    assert not player.ahead.is_waiting
    assert player.frames_path is not None
    assert player.frames_path.exists()
    await player.start(PlayerConfig(task="tiny_goal", mode="human"))
    assert player._child is not first
    assert await gone(first.pid)
    await player.prepare()
    waiting = player.ahead._child
    assert waiting is not None
    await player.stop()
    await player.ahead.end()
    assert await gone(waiting.pid)


@pytest.mark.slow
async def test_a_player_that_waits_for_a_person_loads_the_game_and_no_policy(tmp_path: Path) -> None:
    player = PlayerService(HomePaths(tmp_path))
    await player.prepare(for_person=True)
    first = player.ahead._child
    assert first is not None
    game = ASSETS / "games/pocket_quest/pocket_quest.gb"
    await player.start(PlayerConfig(task=str(game), mode="human"))
    loaded = Path(f"/proc/{first.pid}/maps").read_text()
    assert player._child is first
    assert "warp" in loaded
    assert "libtorch" not in loaded
    await player.stop()


async def test_a_player_that_waits_for_a_person_makes_way_for_one_with_a_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    player, told = PlayerService(HomePaths(tmp_path)), list[str]()
    waiting: list[str] = []

    async def load(argv: Sequence[str], cwd: Path, **env: str) -> bool:
        if waiting:
            return False
        waiting.append("person" if env else "policy")
        told.append(waiting[0])
        return True

    async def end() -> None:
        told.append("ended")
        waiting.clear()

    monkeypatch.setattr(type(player.ahead), "is_waiting", property(lambda _: bool(waiting)))
    monkeypatch.setattr(player.ahead, "load", load)
    monkeypatch.setattr(player.ahead, "end", end)
    await player.prepare(for_person=True)
    await player.prepare(for_person=True)
    await player.prepare()
    await player.prepare()
    await player.prepare(for_person=True)
    assert told == ["person", "ended", "policy"], "one with a policy plays for a person as well"


def test_a_player_shows_its_first_picture_before_it_loads_a_policy(tmp_path: Path) -> None:
    def no_agent(*_: object, **__: object) -> StackedAgent:
        assert FrameReader(tmp_path / "frames.bin.new").seq == 1
        raise LabError("no network")

    run = tmp_path / "run"
    make_checkpoint(run)
    with pytest.raises(LabError, match="no network"):
        Player(
            tmp_path,
            HomePaths(tmp_path),
            PlayerConfig(task="tiny_goal", checkpoint=str(run)),
            lambda *_, **__: None,
            no_agent,
        )
    assert not (tmp_path / "frames.bin").exists(), "it does not replace another player"


async def test_the_first_picture_is_told_of_unless_another_player_is_active(tmp_path: Path) -> None:
    wait = "while new.exists(): time.sleep(0.01)"
    script = f"import sys, time, pathlib\nnew = pathlib.Path(sys.argv[1], 'frames.bin.new')\nnew.touch()\n{wait}"

    @dataclass(frozen=True, kw_only=True)
    class Slow(WaitingNative):
        def play(self, player_dir: Path) -> list[str]:
            return [sys.executable, "-c", script, str(player_dir)]

    native = service_of(tmp_path).runners[0]
    slow = Slow(**{spec.name: getattr(native, spec.name) for spec in dataclasses.fields(native)})
    player, seen = PlayerService(HomePaths(tmp_path), runners=(slow,)), list[str]()

    def look(path: Path) -> None:
        seen.append(path.name)
        path.unlink()

    player.on_preview = look
    with pytest.raises(LabError, match="ended with status 0"):
        await player.start(PlayerConfig(task="tiny_goal"))
    assert seen == ["frames.bin.new"]


def test_an_order_that_comes_early_leaves_out_what_is_not_loaded_yet() -> None:
    ours, theirs = socket.socketpair()
    done: list[str] = []

    def load() -> None:
        done.append("game")
        socket.send_fds(ours, [b'{"env": {"A": "b"}, "descriptors": []}'], [])

    with ours:
        assert wait_for_order(theirs.detach(), load, lambda: done.append("torch")) == {"A": "b"}
    assert done == ["game"]


async def finished(service: TrainerService, run_id: str) -> RunRecord:
    async for _ in service.notices(run_id):
        pass
    return service.runs[run_id]


async def soon(holds: Callable[[], bool]) -> bool:
    for _ in range(1000):
        if holds():
            return True
        await asyncio.sleep(0.01)
    return False


async def gone(pid: int) -> bool:
    def holds() -> bool:
        try:
            return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    return await soon(holds)


def waiting_pid(service: TrainerService) -> int:
    child = service.ahead._child
    assert child is not None
    return child.pid


async def test_the_waiting_process_does_the_run_with_its_lock_and_its_log(tmp_path: Path) -> None:
    service = service_of(tmp_path, updates=200, interval_s=0.01)
    plan = service.plan(SPEC)
    await service.ahead.prepare(plan)
    pid = waiting_pid(service)
    # Empty for a moment while the process is exchanged for its program.
    assert await soon(lambda: psutil.Process(pid).cmdline() == list(plan.argv))
    assert service.ahead.memory_bytes() > 0
    assert not plan.run_dir.exists(), "it must write nothing before its order"
    again = service.plan(SPEC, run_id=service.ahead.run_id)
    assert again.argv == plan.argv
    record = await service.start(again)
    assert record.pid == pid
    assert not service.ahead.is_waiting
    paths = service.home.run(plan.run_id)
    async for _ in service.notices(plan.run_id):
        if service.runs[plan.run_id].state is RunState.RUNNING:
            break
    assert str(paths.lock) in {os.readlink(link) for link in _descriptors(pid)}
    with pytest.raises(LabError, match="is being trained by process"):
        RunLock.take(paths)
    await service.stop(plan.run_id)
    assert service.runs[plan.run_id].state is RunState.STOPPED
    assert "stray print" in paths.worker_log.read_text()


def _descriptors(pid: int) -> list[Path]:
    return list(Path(f"/proc/{pid}/fd").iterdir())


async def test_another_plan_gets_a_process_of_its_own(tmp_path: Path) -> None:
    service = service_of(tmp_path, updates=3, interval_s=0.01)
    await service.ahead.prepare(service.plan(SPEC))
    pid = waiting_pid(service)
    record = await service.start(service.plan(SPEC))
    assert record.pid != pid
    assert service.ahead.is_waiting
    assert (await finished(service, record.run_id)).state is RunState.FINISHED
    await service.close()
    assert await gone(pid)


async def test_a_worker_of_another_runner_is_sent_away(tmp_path: Path) -> None:
    service = service_of(tmp_path, updates=3)
    plan = service.plan(SPEC)
    await service.ahead.prepare(plan)
    pid = waiting_pid(service)
    other = dataclasses.replace(plan.runner, id="other", install="")
    absent = (str(tmp_path / "not_installed"), *plan.argv[1:])
    await service.ahead.prepare(dataclasses.replace(plan, runner=other, argv=absent))
    assert await gone(pid)
    assert not service.ahead.is_waiting


async def test_one_that_was_killed_is_replaced(tmp_path: Path) -> None:
    service = service_of(tmp_path, updates=3, interval_s=0.01)
    plan = service.plan(SPEC)
    await service.ahead.prepare(plan)
    pid = waiting_pid(service)
    os.kill(pid, 9)
    assert await gone(pid)
    record = await service.start(plan)
    assert record.pid != pid
    assert (await finished(service, record.run_id)).state is RunState.FINISHED


async def test_one_that_is_sent_away_while_it_is_being_started_goes(tmp_path: Path) -> None:
    service = service_of(tmp_path)
    loading = asyncio.create_task(service.ahead.prepare(service.plan(SPEC)))
    await asyncio.sleep(0)
    await service.ahead.end()
    await loading
    assert not service.ahead.is_waiting
    assert service.ahead.run_id == "", "else the next plan would take the id of another run"
    waiting = [p for p in psutil.Process().children() if str(WAITING_ECHO) in p.cmdline()]
    assert waiting == []


async def test_the_end_of_its_socket_ends_it(tmp_path: Path) -> None:
    service = service_of(tmp_path, updates=3)
    await service.ahead.prepare(service.plan(SPEC))
    pid, order = waiting_pid(service), service.ahead._order
    assert order is not None
    order.close()
    assert await gone(pid)
    await service.close()
