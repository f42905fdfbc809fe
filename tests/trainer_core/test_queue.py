"""The queue file, device locks and mail: what several processes of one home share."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from tests.support.made_records import run_record
from tests.support.processes import SPEC
from trainer_core.cli.main import main
from trainer_core.lab.paths import HomePaths
from trainer_core.runners.catalog import NATIVE
from trainer_core.runs import queue_steps
from trainer_core.runs.command_files import Mailbox
from trainer_core.runs.config_file import read_config, tags_of
from trainer_core.runs.device_lock import DeviceLock, run_on
from trainer_core.runs.index import FORGOTTEN, RunRegistry
from trainer_core.runs.log_writer import DiskError
from trainer_core.runs.queue import QueueBusyError, QueueEntry, RunQueue
from trainer_core.runs.run_lock import RunLock
from trainer_core.service.detached import DetachedLock
from trainer_core.service.next_run import NextRun
from trainer_core.wire import commands
from trainer_core.wire.errors import ConfigError, LabError
from trainer_core.wire.run_record import RunState


@pytest.fixture
def home(tmp_path: Path) -> HomePaths:
    return HomePaths(tmp_path / "a home with ümlauts")


def everybody(runner_id: str) -> bool:
    return True


def put(home: HomePaths, *run_ids: str, **how: object) -> None:
    for run_id in run_ids:
        queue_steps.enqueue(home, run_id, SPEC, algo="ppo", **how)  # type: ignore[arg-type]


def order(home: HomePaths) -> list[str]:
    return [entry.run_id for entry in RunQueue(home).entries()]


def test_runs_wait_in_order_priorities_go_before_and_a_move_beats_both(home: HomePaths) -> None:
    put(home, "a", "b")
    put(home, "c", priority=5)
    put(home, "d", priority=5)
    assert order(home) == ["c", "d", "a", "b"]
    RunQueue(home).move("b", 1)
    assert order(home) == ["b", "c", "d", "a"]
    with pytest.raises(ConfigError, match="'x' is not in the queue; waiting: b, c, d, a"):
        RunQueue(home).move("x", 1)
    with pytest.raises(ConfigError, match="count from 1"):
        RunQueue(home).move("a", 0)
    assert RunRegistry(home).reconcile()["a"].state is RunState.QUEUED


def test_the_first_whose_device_is_free_is_taken_and_stays_until_its_process_is_there(home: HomePaths) -> None:
    put(home, "a", "b")
    put(home, "g", devices=("cuda:0", "cuda:1"))
    RunQueue(home).hold("a")
    found = queue_steps.claim(home, everybody)
    assert found is not None
    assert found.life.record.run_id == "b"
    assert found.life.record.state is RunState.PREFLIGHT
    assert order(home) == ["a", "b", "g"]  # a kill here leaves it waiting
    RunQueue(home).hold("a", held=False)
    other = queue_steps.claim(home, everybody)
    assert other is not None
    assert other.life.record.run_id == "g"  # cpu is b's
    assert (other.spec.device, other.life.record.device) == ("cuda:0", "cuda:0")
    queue_steps.started(home, "b")
    assert queue_steps.claim(home, everybody) is None
    found.life.end(RunState.FINISHED, "")
    assert found.device is not None
    found.device.release()
    third = queue_steps.claim(home, everybody)
    assert third is not None
    assert third.life.record.run_id == "a"


def test_the_second_device_is_taken_when_the_first_is_busy_and_written_down(home: HomePaths) -> None:
    busy = DeviceLock.take(home, "cuda", "elsewhere")
    assert busy is not None
    put(home, "g", devices=("cuda", "cuda:1"), tags={"sweep": "s"})
    found = queue_steps.claim(home, everybody)
    assert found is not None
    assert found.spec.device == "cuda:1"
    assert RunRegistry(home).load()["g"].device == "cuda:1"
    assert b'"cuda:1"' in home.run("g").config.read_bytes()
    assert tags_of(read_config(home.run("g"))) == {"sweep": "s"}


def test_a_detached_run_is_left_to_the_keeper_while_there_is_one_or_one_may_come(home: HomePaths) -> None:
    queue_steps.enqueue(home, "d", SPEC, algo="ppo", detached=True)
    put(home, "behind")
    assert queue_steps.claim(home, everybody) is None  # nor does who waits behind it overtake
    put_back(home, "d", added_at=time.time() - 2 * queue_steps.DETACHED_START_S)
    keeper = DetachedLock(home)
    assert keeper.take()
    assert queue_steps.claim(home, everybody) is None
    kept = queue_steps.claim(home, everybody, is_detached_host=True)
    assert kept is not None
    assert kept.life.record.run_id == "d"
    kept.life.end(RunState.STOPPED, "")
    assert kept.device is not None
    kept.device.release()
    keeper.release()
    queue_steps.enqueue_again(home, RunRegistry(home).load()["d"], first=True)
    put_back(home, "d", added_at=time.time() - 2 * queue_steps.DETACHED_START_S)
    found = queue_steps.claim(home, everybody)
    assert found is not None
    assert found.life.record.run_id == "d"  # nobody else will


def put_back(home: HomePaths, run_id: str, **fields: object) -> None:
    with RunQueue(home).locked() as entries:
        at = next(i for i, entry in enumerate(entries) if entry.run_id == run_id)
        entries[at] = msgspec.structs.replace(entries[at], **fields)
        RunQueue(home).write(entries)


def test_a_runner_that_this_process_does_not_know_is_left_to_others(home: HomePaths) -> None:
    put(home, "a")
    assert queue_steps.claim(home, lambda runner_id: False) is None
    assert order(home) == ["a"]
    assert queue_steps.claim(home, everybody) is not None  # the device was given back


def test_a_claim_whose_process_died_waits_again_where_it_was(home: HomePaths) -> None:
    put(home, "a", "b")
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from trainer_core.lab.paths import HomePaths\n"
        "from trainer_core.runs import queue_steps\n"
        "found = queue_steps.claim(HomePaths(Path(sys.argv[1])), lambda runner: True)\n"
        "assert found.life.record.run_id == 'a'\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(home.root)], check=False)
    assert done.returncode == -9
    assert RunRegistry(home).load()["a"].state is RunState.PREFLIGHT
    assert RunRegistry(home).reconcile()["a"].state is RunState.QUEUED
    assert order(home) == ["a", "b"]
    found = queue_steps.claim(home, everybody)
    assert found is not None
    assert found.life.record.run_id == "a"


@pytest.mark.parametrize("rubbish", [b"", b"{", b'{"entries": 3}', b"\xff\xfe", b"[]", b"x" * 99, b'"\x80"'])
def test_a_queue_file_that_is_damaged_is_made_again_from_the_index(home: HomePaths, rubbish: bytes) -> None:
    put(home, "a", "b")
    home.queue.write_bytes(rubbish)
    assert order(home) == ["a", "b"]
    RunQueue(home).hold("b")
    assert [entry.held for entry in RunQueue(home).entries()] == [False, True]
    assert home.queue.with_suffix(".damaged").read_bytes() == rubbish


def test_what_waits_in_the_index_alone_is_lost_and_said_so(home: HomePaths) -> None:
    put(home, "a")
    home.queue.write_bytes(b'{"v": 1, "entries": []}')
    assert RunRegistry(home).reconcile()["a"].reason == FORGOTTEN
    assert RunRegistry(home).load()["a"].state is RunState.LOST


def test_a_run_whose_order_cannot_be_read_fails_and_the_next_has_its_turn(home: HomePaths) -> None:
    put(home, "a", "b")
    home.run("a").config.write_text("{")
    found = queue_steps.claim(home, everybody)
    record = RunRegistry(home).load()
    assert record["a"].state is RunState.FAILED
    assert "config.json" in record["a"].reason
    assert found is not None
    assert found.life.record.run_id == "b"
    assert order(home) == ["b"]


def test_a_run_that_its_runner_refuses_fails_and_the_next_has_its_device(home: HomePaths) -> None:
    put(home, "a", "b")
    config = home.run("a").config
    config.write_text(config.read_text().replace('"stack_k"', '"of_another_version"'))
    turns = NextRun(home, is_detached_host=False)
    assert turns.next((NATIVE,)) is None
    kept = turns.next((NATIVE,))
    record = RunRegistry(home).load()["a"]
    assert (record.state, record.reason) == (RunState.FAILED, "unknown configuration keys: of_another_version")
    assert kept is not None
    assert kept.plan.run_id == "b"
    assert order(home) == ["b"]
    RunLock.take(home.run("a")).release()


def test_a_waiting_run_is_dropped_once(home: HomePaths) -> None:
    put(home, "a")
    dropped = queue_steps.drop(home, "a", "not wanted")
    assert dropped is not None
    assert (dropped.state, dropped.reason) == (RunState.STOPPED, "not wanted")
    assert queue_steps.drop(home, "a", "again") is None
    assert RunRegistry(home).reconcile()["a"].state is RunState.STOPPED


def test_nothing_waits_that_could_not_be_written(home: HomePaths, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: object, record: object) -> None:
        raise OSError(28, os.strerror(28))

    put(home, "a")
    monkeypatch.setattr(RunRegistry, "append", full)
    with pytest.raises(DiskError, match="free some space"):
        put(home, "b")
    assert order(home) == ["a"]


def test_a_process_that_holds_the_queue_for_good_is_named_not_waited_for(home: HomePaths) -> None:
    put(home, "a")
    with RunQueue(home).locked():
        with pytest.raises(QueueBusyError, match="is one of DMG Lab's processes stopped"), RunQueue(home).locked(0.05):
            pass
        assert queue_steps.claim(home, everybody) is None
    assert queue_steps.claim(home, everybody) is not None


def test_a_device_belongs_to_one_run_until_its_last_process_is_gone(home: HomePaths) -> None:
    lock = DeviceLock.take(home, "cuda", "a")
    assert lock is not None
    assert DeviceLock.take(home, "cuda:0", "b") is None
    child = subprocess.Popen(["sleep", "60"], pass_fds=(lock.descriptor,))
    lock.release()
    assert DeviceLock.take(home, "cuda:0", "b") is None
    child.kill()
    child.wait()
    assert DeviceLock.take(home, "cuda:0", "b") is not None


# -- mail ------------------------------------------------------------------------------------


def test_mail_is_given_out_once_in_order_and_answered(home: HomePaths) -> None:
    paths = home.run("a")
    paths.root.mkdir(parents=True)
    sender, keeper = Mailbox(paths), Mailbox(paths)
    assert keeper.take() == []
    first, second = sender.post(commands.Pause), sender.post(commands.Watch, envs=4)
    letters = keeper.take()
    assert [type(letter.command) for letter in letters] == [commands.Pause, commands.Watch]
    assert keeper.take() == []
    keeper.answer(letters[1], False, "no pictures")
    assert sender.answer_to(first) is None
    answer = sender.answer_to(second)
    assert answer is not None
    assert (answer.ok, answer.detail) == (False, "no pictures")
    assert not sender.withdraw(first)
    third = sender.post(commands.Stop)
    assert sender.withdraw(third)
    assert keeper.take() == []


def test_rubbish_in_the_box_is_answered_or_passed_over(home: HomePaths) -> None:
    paths = home.run("a")
    paths.mail.mkdir(parents=True)
    (paths.mail / "1.request").write_bytes(b"\x1b[31mgarbage")
    (paths.mail / "2.request").write_bytes(b'{"cmd": "stop", "id": 1}' + b" " * (2 << 20))
    (paths.mail / "3.request").mkdir()
    os.mkfifo(paths.mail / "4.request")
    (paths.mail / "5.request").write_bytes(b'{"cmd": "stop", "id": 1}')
    box = Mailbox(paths)
    assert [type(letter.command) for letter in box.take()] == [commands.Stop]
    answer = box.answer_to("1")
    assert answer is not None
    assert "not a command" in answer.detail


def test_mail_for_an_earlier_life_does_not_count(home: HomePaths) -> None:
    put(home, "a")
    Mailbox(home.run("a")).post(commands.Stop)
    assert queue_steps.claim(home, everybody) is not None
    assert Mailbox(home.run("a")).take() == []


def test_mail_that_cannot_be_left_is_one_clear_line(home: HomePaths) -> None:
    with pytest.raises(LabError, match="folder is gone; put it back"):
        Mailbox(home.run("nowhere")).post(commands.Stop)
    home.run("closed").root.mkdir(parents=True)
    home.run("closed").mail.write_bytes(b"no folder")
    with pytest.raises(LabError, match="mail"):
        Mailbox(home.run("closed")).post(commands.Stop)


# -- who is alive ----------------------------------------------------------------------------


def test_a_locked_run_is_alive_whatever_the_clock_makes_of_its_process(home: HomePaths) -> None:
    paths = home.run("a")
    paths.root.mkdir(parents=True)
    registry = RunRegistry(home)
    jumped = run_record("a", pid=os.getpid(), pid_create_time=86_400.0)
    registry.append(jumped)
    lock = RunLock.take(paths)
    assert registry.reconcile()["a"].state is RunState.RUNNING
    lock.release()
    assert registry.reconcile()["a"].state is RunState.LOST


def test_an_end_that_came_meanwhile_is_not_made_a_loss(home: HomePaths) -> None:
    registry = RunRegistry(home)
    running = run_record("a", pid=2**22 - 3, pid_create_time=1.0)
    registry.append(running)
    registry.append(msgspec.structs.replace(running, state=RunState.FINISHED))
    assert registry.settle(running).state is RunState.FINISHED
    assert registry.load()["a"].state is RunState.FINISHED


def test_an_entry_reads_back_as_it_was(home: HomePaths) -> None:
    entry = QueueEntry(run_id="a", devices=("cpu", "cuda:1"), priority=-3, held=True, added_at=2.5)
    RunQueue(home).add(entry)
    assert RunQueue(home).entries() == [entry]


def test_a_device_that_becomes_free_meanwhile_belongs_to_who_asked_first(
    home: HomePaths, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(home, "a", "b")
    real, asked = DeviceLock.take, list[str]()

    def busy_at_first(home: HomePaths, device: str, run_id: str) -> DeviceLock | None:
        asked.append(run_id)
        return real(home, device, run_id) if len(asked) > 1 else None

    monkeypatch.setattr(DeviceLock, "take", busy_at_first)
    assert queue_steps.claim(home, everybody) is None
    found = queue_steps.claim(home, everybody)
    assert found is not None
    assert found.life.record.run_id == "a"


def test_a_full_disk_lets_go_of_no_lock(home: HomePaths, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who holds one is written into it only for those who are refused."""
    paths = home.run("r")
    paths.root.mkdir(parents=True)

    def full(*_: object) -> int:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "pwrite", full)
    lock, keeper = RunLock.take(paths), DetachedLock(home)
    assert keeper.take(0.0)
    lock.name_holder(7)
    with pytest.raises(LabError, match="is being trained by process"):
        RunLock.take(paths)
    assert not DetachedLock(home).take(0.0)
    lock.release()
    keeper.release()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"devices": []}, "no device"),
        ({"devices": ["../../evil"]}, "device must be cpu or cuda:N"),
        ({"devices": ["cpu", "/tmp/x"]}, "device must be cpu or cuda:N"),
        ({"run_id": "nope"}, "config.json"),
        ({"run_id": "../../runs"}, "no name of a run's folder"),
        ({"run_id": "a\0b\x1b[2J"}, "no name of a run's folder"),
        ({"run_id": "n" * 50_000}, "no name of a run's folder"),
    ],
)
def test_an_entry_that_can_never_start_is_told_taken_out_and_the_next_has_its_turn(
    home: HomePaths, change: dict[str, object], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    put(home, "a", "b")
    raw = json.loads(home.queue.read_text())
    raw["entries"][0] |= change
    raw["entries"] += raw["entries"]  # and each of them twice
    home.queue.write_text(json.dumps(raw))
    assert main(["queue", "list", "--text", "--home", str(home.root)]) == 0
    shown = capsys.readouterr().out
    assert "cannot start: " in shown
    assert said in shown
    assert shown.count("\n") == 3
    assert shown.replace("\n", "").isprintable()
    found = queue_steps.claim(home, everybody)
    assert found is not None
    assert found.life.record.run_id == "b"
    assert order(home) == ["b"]
    if "devices" in change:
        record = RunRegistry(home).load()["a"]
        assert record.state is RunState.FAILED
        assert said in record.reason
    assert {path.name for path in home.devices.iterdir()} == {"cpu.lock"}
    assert {path.name for path in home.root.iterdir()} == {"training"}


def test_a_queue_of_entries_that_can_never_start_ends(home: HomePaths, capsys: pytest.CaptureFixture[str]) -> None:
    home.queue.parent.mkdir(parents=True)
    home.queue.write_text('{"v":1,"entries":[{"run_id":"nope","devices":[]}]}')
    assert main(["queue", "run", "--home", str(home.root)]) == 0
    out, err = capsys.readouterr()
    assert err == "nope is taken out of the queue: it names no device\n"
    assert json.loads(out) == {"ok": True, "queue": []}


def test_a_run_of_a_trainer_that_is_not_here_keeps_nobody_waiting(home: HomePaths) -> None:
    put(home, "a")
    config = home.run("a").config
    config.write_text(config.read_text().replace('"native"', '"another"'))
    assert main(["queue", "run", "--home", str(home.root)]) == 0
    assert order(home) == ["a"]


def test_a_queue_of_a_newer_version_is_listed_from_the_index_and_left_as_it_is(home: HomePaths) -> None:
    put(home, "a")
    newer = home.queue.read_text().replace('"v": 1', '"v": 2')
    home.queue.write_text(newer)
    assert order(home) == ["a"]
    with pytest.raises(LabError, match="version 2 of the queue"):
        RunQueue(home).hold("a")
    assert home.queue.read_text() == newer


def test_a_name_that_is_no_device_makes_no_file(home: HomePaths) -> None:
    with pytest.raises(ConfigError, match="device must be"):
        DeviceLock.take(home, "../../evil", "a")
    assert not home.root.exists()


def test_a_device_names_the_run_that_took_it_last_and_that_alone(home: HomePaths) -> None:
    for run_id in ("20261124-120000-a-long-one", "short"):
        lock = DeviceLock.take(home, "cpu", run_id)
        assert lock is not None
        assert run_on(home, "cpu") == run_id
        lock.release()


def test_who_is_held_waits_for_no_device(home: HomePaths) -> None:
    """A new run starts at once beside one that waits to be released."""
    put(home, "a", held=True)
    turns = NextRun(home, is_detached_host=False)
    assert not turns.others_wait("cpu")
    RunQueue(home).hold("a", held=False)
    assert turns.others_wait("cpu")


def test_a_run_that_was_taken_up_is_not_dropped(home: HomePaths) -> None:
    put(home, "a")
    found = queue_steps.claim(home, everybody)
    assert found is not None
    assert queue_steps.drop(home, "a", "too late") is None
    assert order(home) == ["a"]
    assert RunRegistry(home).load()["a"].state is RunState.PREFLIGHT
    found.life.lock.release()
    assert found.device is not None
    found.device.release()
