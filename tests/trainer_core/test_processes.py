"""The real worker and the real player as child processes: events, commands, every way to end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest
from PIL import Image

from tests.trainer_core.building import read_log, tiny_config
from trainer_core.cli.main import main
from trainer_core.host.clips import ENCODING, MOST_FRAMES
from trainer_core.lab.checkpoint_manifest import list_checkpoints, verify
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.recording import read_recording
from trainer_core.runs.log_check import check_log
from trainer_core.runs.log_writer import write_json
from trainer_core.wire import commands, records
from trainer_core.wire.frames import FrameReader

LIMIT_S = 60
warm = pytest.mark.usefixtures("warm")
"""Without it, a test starts a new interpreter."""


class Child:
    """A process that speaks docs/reference/protocol.md."""

    def __init__(self, module: str, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", f"trainer_core.{module}", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
        )
        self._events: Queue[records.Event] = Queue()
        self.seen: list[records.Event] = []
        self._next_id = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._events.put(records.decode(line))  # a line that is no event fails the test below

    def wait_for(self, wanted: Callable[[Any], bool]) -> Any:
        """The next event that `wanted` accepts."""
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            try:
                event = self._events.get(timeout=0.2)
            except Empty:
                assert self.process.poll() is None, self.errors()
                continue
            self.seen.append(event)
            if wanted(event):
                return event
        raise AssertionError(f"never came; last seen: {self.seen[-5:]}")

    def state(self, name: str) -> None:
        self.wait_for(lambda e: isinstance(e, records.StateEvent) and e.state == name)

    def send(self, kind: type[commands.Command], **fields: Any) -> records.AckEvent:
        """Send one command; its acknowledgement."""
        self._next_id += 1
        number = self._next_id
        self.write(commands.encode(kind(id=number, **fields)))
        return self.wait_for(lambda e: isinstance(e, records.AckEvent) and e.id == number)

    def write(self, line: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def close_stdin(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def end(self) -> int:
        return self.process.wait(LIMIT_S)

    def errors(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()


@pytest.fixture
def start() -> Iterator[Callable[[str, Path], Child]]:
    children: list[Child] = []

    def begin(module: str, folder: Path) -> Child:
        children.append(Child(module, folder))
        return children[-1]

    yield begin
    for child in children:
        if child.process.poll() is None:
            os.killpg(child.process.pid, signal.SIGKILL)
            child.process.wait()


def run_directory(home: Path) -> Path:
    paths = HomePaths(home).run("run")
    paths.root.mkdir(parents=True)
    config = tiny_config(total_env_steps=0, seconds=LIMIT_S)
    write_json(paths.config, {"run": config.to_dict(), "name": ""})
    return paths.root


def player_directory(home: Path, **config: Any) -> Path:
    folder = HomePaths(home).players / "player"
    folder.mkdir(parents=True)
    write_json(folder / "config.json", {"task": "tiny_goal", "mode": "human", **config})
    return folder


def test_a_worker_obeys_and_stops_with_a_checkpoint(tmp_path: Path, start: Any) -> None:
    worker = start("worker", run_directory(tmp_path))
    worker.state("running")
    worker.wait_for(lambda e: isinstance(e, records.UpdateRecord))
    worker.write(b"this is no command\n")
    assert worker.send(commands.Pause).ok
    worker.state("paused")
    assert worker.send(commands.SaveCheckpoint).ok
    saved = worker.wait_for(lambda e: isinstance(e, records.CheckpointRecord))
    assert saved.reason == "request"
    refused = worker.send(commands.SetSpeed, value=2.0)
    assert (refused.ok, "SetSpeed" in refused.detail) == (False, True)
    assert worker.send(commands.Watch, envs=2).ok
    assert worker.send(commands.Unpause).ok
    worker.wait_for(lambda e: isinstance(e, records.UpdateRecord) and e.env_steps > saved.env_steps)
    paths = HomePaths(tmp_path).run("run")
    assert FrameReader(paths.frames).shape.envs == 2
    assert worker.send(commands.Stop).ok
    worker.state("stopped")
    assert worker.end() == 0
    assert "not a command" in worker.errors()
    newest = list_checkpoints(paths)[-1]
    assert verify(newest).reason == "stop"
    log = read_log(tmp_path)
    assert check_log(paths.train_log).errors == []
    announced = [e for e in worker.seen if isinstance(e, records.LogRecord)]
    assert [e.seq for e in announced] == [r["seq"] for r in log], "the pipe tells what is logged"


@warm
def test_a_worker_ends_after_its_episodes_and_a_resume_counts_on(tmp_path: Path, start: Any) -> None:
    folder = run_directory(tmp_path)
    config = tiny_config(total_env_steps=0, max_episodes=40, record_clips=2)
    write_json(folder / "config.json", {"run": config.to_dict(), "name": ""})
    worker = start("worker", folder)
    end = worker.wait_for(lambda e: isinstance(e, records.StateEvent) and e.state == "finished")
    assert worker.end() == 0
    with Image.open(next(HomePaths(tmp_path).videos.glob("run-*.gif"))) as clip:
        assert (clip.size, 1 < getattr(clip, "n_frames", 0) <= MOST_FRAMES) == ((160, 144), True)
    assert any(isinstance(e, records.StateEvent) and e.detail.startswith(ENCODING) for e in worker.seen)
    ended = [record["episodes"] for record in read_log(tmp_path) if record["type"] == "update"]
    assert end.detail == f"{sum(ended)} of 40 episodes"
    assert sum(ended[:-1]) < 40 <= sum(ended)
    assert main(["resume", "run", "--max-episodes", str(sum(ended) + 1), "--home", str(tmp_path)]) == 0
    again = [record["episodes"] for record in read_log(tmp_path) if record["type"] == "update"][len(ended) :]
    assert sum(again[:-1]) == 0 < again[-1], "it ended with the next episode"


@warm
@pytest.mark.parametrize("how", ["stdin", "sigterm"])
def test_a_worker_whose_parent_goes_saves_and_ends(how: str, tmp_path: Path, start: Any) -> None:
    worker = start("worker", run_directory(tmp_path))
    worker.wait_for(lambda e: isinstance(e, records.UpdateRecord))
    if how == "stdin":
        worker.close_stdin()
    else:
        worker.process.send_signal(signal.SIGTERM)
    code = worker.end()
    assert code == (1 if how == "stdin" else 0), "an orphan takes its group along"
    newest = list_checkpoints(HomePaths(tmp_path).run("run"))[-1]
    assert verify(newest).reason == "stop"
    assert check_log(HomePaths(tmp_path).run("run").train_log).errors == []


@warm
@pytest.mark.parametrize("module", ["worker", "player"])
def test_a_configuration_that_is_garbage_is_one_line(module: str, tmp_path: Path, start: Any) -> None:
    (tmp_path / "config.json").write_text("{{{")
    child = start(module, tmp_path)
    assert child.end() == 1
    lines = child.errors().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith(f"{module}: ")
    assert "config.json" in lines[0] or "malformed" in lines[0]
    assert [path.name for path in tmp_path.iterdir()] == ["config.json"]


def test_a_player_obeys_a_person_and_keeps_a_recording(tmp_path: Path, start: Any) -> None:
    folder = player_directory(tmp_path, speed=4.0)
    player = start("player", folder)
    player.state("running")
    assert player.send(commands.Pause).ok
    assert player.send(commands.Restart, start=3).ok
    assert player.send(commands.Record, on=True).ok
    for mask in (0x08, 0x00, 0x01):
        player.send(commands.SetButtons, mask=mask)
        player.send(commands.StepOnce)
    assert not player.send(commands.Restart, start=999).ok
    assert not player.send(commands.SetSpeed, value=-1.0).ok
    assert not player.send(commands.Takeover, human=False).ok, "there is no policy to play"
    assert not player.send(commands.LoadPolicy, checkpoint="/nope").ok
    unwritten = player.send(commands.SaveState, path=str(folder / "config.json" / "x"))
    assert unwritten.detail == f"{folder}/config.json: File exists", "and no number of an error"
    os.mkfifo(folder / "pipe")
    for kind in (commands.SaveState, commands.CaptureGoal):
        assert "is no regular file" in player.send(kind, path=str(folder / "pipe")).detail
    assert (folder / "pipe").is_fifo(), "nor a device: both would be replaced by a rename"
    goal = tmp_path / "goal.npz"
    assert player.send(commands.CaptureGoal, path=str(goal)).ok
    assert goal.is_file()
    kept = player.send(commands.Record, on=False)
    assert read_recording(Path(kept.detail)).frames == 3
    assert (Path(kept.detail) / "buttons.bin").read_bytes() == bytes((0x08, 0x00, 0x01))
    shape = FrameReader(folder / "frames.bin").shape
    assert (shape.width, shape.height) == (160, 144)
    assert player.send(commands.Stop).ok
    player.state("finished")
    assert player.end() == 0


@warm
@pytest.mark.parametrize("how", ["stdin", "sigterm"])
def test_a_player_ends_with_its_parent(how: str, tmp_path: Path, start: Any) -> None:
    player = start("player", player_directory(tmp_path))
    player.state("running")
    if how == "stdin":
        player.close_stdin()
    else:
        player.process.send_signal(signal.SIGTERM)
    assert player.end() == 0


@warm
def test_a_player_of_an_unknown_task_says_so(tmp_path: Path, start: Any) -> None:
    player = start("player", player_directory(tmp_path, task="nope"))
    player.wait_for(lambda e: isinstance(e, records.ErrorRecord) and "no task 'nope'" in e.message)
    assert player.end() == 1
    assert json.loads((HomePaths(tmp_path).players / "player" / "config.json").read_text())


@pytest.mark.parametrize("how", ["stdin", "sigterm"])
def test_a_worker_that_still_loads_ends_at_once(how: str, tmp_path: Path, start: Any) -> None:
    worker = start("worker", run_directory(tmp_path))
    worker.state("starting")  # a second before torch is there
    if how == "stdin":
        worker.close_stdin()
    else:
        worker.process.send_signal(signal.SIGTERM)
    assert worker.end() == (1 if how == "stdin" else -signal.SIGTERM)
    assert not HomePaths(tmp_path).run("run").train_log.read_bytes()
