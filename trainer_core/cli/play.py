"""`dmglab play`: let a checkpoint play without the app; the frames go to a folder."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Literal, NoReturn

from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.cli.output import Result
from trainer_core.cli.progress import tell_progress
from trainer_core.lab.arc_games import is_arc, server_of
from trainer_core.lab.checkpoint_manifest import read_meta
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.task_lists import one_of
from trainer_core.lab.tasks import BUILT_IN_TASKS, find_task
from trainer_core.runners.catalog import AgentRunner, runner_of_checkpoint
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.runs.names import find_checkpoint
from trainer_core.wire import commands, records
from trainer_core.wire.environment import child_environment
from trainer_core.wire.errors import ConfigError, FailureError, ProtocolError
from trainer_core.wire.fields import MAX_SEED, limits
from trainer_core.wire.playing import MAX_SPEED, PlayerConfig, write_player_config
from trainer_core.wire.process_guard import family, kill_group

SILENT_S, COMPILING_S = 300.0, 900.0
"""Longest silence, in seconds, of a starting player, and of one that compiles kernels first."""
ANSWER_S, END_S = 60.0, 20.0
"""Seconds for a player to write its recording after its time; to end after a stop command."""


@dataclass(frozen=True)
class Options:
    checkpoint: str = "latest"
    """Checkpoint folder, or a run (name, id, folder, `latest`): its best checkpoint."""
    task: str = ""
    """Task id; default the checkpoint's, the first of several."""
    mode: Literal["greedy", "sample", "leave_loops"] = "leave_loops"
    speed: float = field(default=1.0, metadata=limits(0, MAX_SPEED))
    """1.0 is the speed of a Game Boy, 0 the highest possible speed; at most 64."""
    seconds: float = field(default=10.0, metadata=limits(0.1, 10**6))
    """Length of the play in seconds."""
    record: bool = False
    """Write a recording; the result names its folder."""
    device: str = "cpu"
    seed: int = field(default=1, metadata=limits(0, MAX_SEED))
    home: Home = None


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "play", argv)
    home = home_paths(options.home)
    folder = find_checkpoint(options.checkpoint, home)
    task = options.task or one_of(read_meta(folder).task)
    if is_arc(task):
        server_of(task)
    elif task not in BUILT_IN_TASKS:
        find_task(task, home)
    runner = playing_runner(folder, home)
    config = PlayerConfig(
        task=task,
        checkpoint=str(folder),
        mode=options.mode,
        device=options.device,
        speed=options.speed,
        seed=options.seed,
    )
    home.players.mkdir(parents=True, exist_ok=True)
    stamp = time.strftime("%Y%m%d-%H%M%S-")
    directory = Path(tempfile.mkdtemp(prefix=stamp, dir=home.players))
    write_player_config(directory, config)
    played = _play(runner, directory, options)
    text = f"{played['successes']} of {played['episodes']} episodes reached the goal."
    if not played["episodes"]:
        text = f"No episode ended in {options.seconds:g} s of play; give a longer --seconds or a higher --speed."
    if played["recording"]:
        text += f"\nWrote {played['recording']}."
    return Result({"ok": True, "task": task, "player_dir": str(directory), **played}, text)


def playing_runner(checkpoint: Path, home: HomePaths) -> AgentRunner:
    """Return the runner that plays a checkpoint. Raises LabError for one without a player or without its library."""
    runner = runner_of_checkpoint(checkpoint)
    if not runner.capabilities.play:
        raise ConfigError(f"{checkpoint}: {runner.title} has no player for its checkpoints")
    if isinstance(runner, GuestRunner):
        runner.environment(home).check()
    return runner


def _play(runner: AgentRunner, directory: Path, options: Options) -> dict[str, Any]:
    """Run the player of the runner for its time; return the counts of its events."""
    argv = runner.play(directory)
    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        cwd=runner.folder(directory),
        env=child_environment(argv[0], **family()),
    )
    player = _Player(process)
    try:
        player.play(options)
    except BaseException:
        player.end(0.0 if player.is_hung else END_S)
        raise
    status = player.end(END_S)
    if not player.told_to_stop:
        raise FailureError(f"the player ended by itself with status {status}, before its time")
    return {"episodes": player.episodes, "successes": player.successes, "recording": player.recording}


class _Player:
    """Process of a player, which plays for a limited time and may stop responding at any point."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._lines: SimpleQueue[bytes] = SimpleQueue()
        self.episodes = self.successes = 0
        self.recording = ""
        self.told_to_stop = self.is_hung = False
        threading.Thread(target=self._listen, daemon=True).start()

    def play(self, options: Options) -> None:
        """Wait until the player plays, let it play for its time, then stop it.

        Raises LabError with the player's own error, and for a player that is silent for too long.
        """
        if not self._wait_until_it_plays():
            return
        if options.record:
            self._send(commands.Record(id=1, on=True))
        until = time.monotonic() + options.seconds
        while (left_s := until - time.monotonic()) > 0:
            tell_progress(1 - left_s / options.seconds)
            if not self._hear(left_s):
                return
        self._send(commands.Record(id=2, on=False))
        until = time.monotonic() + ANSWER_S
        while not self.told_to_stop:
            if (left_s := until - time.monotonic()) <= 0:
                self._give_up(f"did not answer within {ANSWER_S:g} s when its time was over")
            if not self._hear(left_s):
                return
        until = time.monotonic() + END_S
        while (left_s := until - time.monotonic()) > 0 and self._hear(left_s):
            pass

    def end(self, patience_s: float) -> int:
        """Close the player's input, kill it if it does not end, and return its exit status."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            return self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            kill_group(self._process.pid)
            return self._process.wait()

    def _wait_until_it_plays(self) -> bool:
        """Return False if the player ended before it played. Heartbeats do not prolong the wait."""
        spoke, limit_s = time.monotonic(), SILENT_S
        while True:
            if (left_s := spoke + limit_s - time.monotonic()) <= 0:
                self._give_up(f"said nothing for {limit_s:g} s while it was starting")
            event = self._hear(left_s)
            if event is None:
                return False
            if isinstance(event, records.StateEvent):
                if event.state == "running":
                    return True
                compiles = event.detail.startswith(records.COMPILING)
                spoke, limit_s = time.monotonic(), COMPILING_S if compiles else SILENT_S

    def _hear(self, patience_s: float) -> records.Event | Literal["nothing"] | None:
        """Return the player's next event, None once it has ended.

        "nothing" stands for a foreign line, and for silence of `patience_s`. Raises LabError with the player's error.
        """
        try:
            line = self._lines.get(timeout=patience_s)
        except Empty:
            return "nothing"
        if not line:
            return None
        try:
            event = records.decode(line)
        except ProtocolError:
            return "nothing"
        if isinstance(event, records.ErrorRecord):
            raise FailureError(event.message)
        if isinstance(event, records.AckEvent) and event.id == 2:
            self.recording = event.detail
            self._send(commands.Stop(id=3))
            self.told_to_stop = True
        if isinstance(event, records.PlayEvent) and (event.done or event.trunc):
            self.episodes, self.successes = self.episodes + 1, self.successes + event.success
        return event

    def _give_up(self, what: str) -> NoReturn:
        self.is_hung = True
        raise FailureError(f"the player {what}: it was ended")

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as out:
            for line in out:
                self._lines.put(line)
        self._lines.put(b"")

    def _send(self, command: commands.Command) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # the player has ended; `_hear` reports it
            self._process.stdin.write(commands.encode(command))
            self._process.stdin.flush()
