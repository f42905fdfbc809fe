"""`dmglab play`: a player without the app; frames go to a folder, the outcome to one object."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from trainer_core.cli.options import home_paths, parse
from trainer_core.environment import child_environment
from trainer_core.protocol import commands, records
from trainer_core.protocol.arc import is_arc, server_of
from trainer_core.protocol.checkpoints import read_meta
from trainer_core.protocol.errors import ConfigError, LabError, ProtocolError
from trainer_core.protocol.fields import MAX_SEED, limits
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.playing import MAX_SPEED, PlayerConfig, write_player_config
from trainer_core.protocol.task_lists import one_of
from trainer_core.protocol.tasks import BUILT_IN_TASKS, find_task
from trainer_core.runners.catalog import AgentRunner, runner_of_checkpoint
from trainer_core.runners.guest.runner import GuestRunner
from trainer_core.runs.finding import find_checkpoint


@dataclass(frozen=True)
class Options:
    checkpoint: str = "latest"
    """Checkpoint folder, or a run (id, folder, `latest`): its best checkpoint."""
    task: str = ""
    """Task id; default the checkpoint's, the first of several."""
    mode: Literal["greedy", "sample", "leave_loops"] = "leave_loops"
    speed: float = field(default=1.0, metadata=limits(0, MAX_SPEED))
    """1.0 is Game Boy speed, 0 as fast as possible, 64 at most."""
    seconds: float = field(default=10.0, metadata=limits(0.1, 10**6))
    """How long to play."""
    record: bool = False
    """Keep a recording; its folder is named in the result."""
    device: str = "cpu"
    seed: int = field(default=1, metadata=limits(0, MAX_SEED))
    home: Path | None = None
    """Where runs and tasks lie; default DMGLAB_HOME or var/ of the checkout."""


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
        task=task, checkpoint=str(folder), mode=options.mode, device=options.device,
        speed=options.speed, seed=options.seed,
    )  # fmt: skip
    home.players.mkdir(parents=True, exist_ok=True)
    stamp = time.strftime("%Y%m%d-%H%M%S-")
    directory = Path(tempfile.mkdtemp(prefix=stamp, dir=home.players))
    write_player_config(directory, config)
    return {
        "ok": True, "task": task, "player_dir": str(directory), **_play(runner, directory, options),
    }  # fmt: skip


def playing_runner(checkpoint: Path, home: HomePaths) -> AgentRunner:
    """Who plays it. Raises LabError where nobody can, or its library is not installed."""
    runner = runner_of_checkpoint(checkpoint)
    if not runner.capabilities.play:
        raise ConfigError(f"{checkpoint}: {runner.title} has no player for its checkpoints")
    if isinstance(runner, GuestRunner):
        runner.environment(home).check()
    return runner


def _play(runner: AgentRunner, directory: Path, options: Options) -> dict[str, Any]:
    """Run the runner's player for its time; what its events came to."""
    argv = runner.play(directory)
    player = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
        cwd=runner.folder(directory), env=child_environment(argv[0]),
    )  # fmt: skip
    assert player.stdin is not None
    assert player.stdout is not None
    episodes = successes = 0
    recording, deadline, told_to_stop = "", 0.0, False
    try:
        for line in player.stdout:
            try:
                event = records.decode(line)
            except ProtocolError:
                continue
            if isinstance(event, records.ErrorRecord):
                raise LabError(event.message)
            if isinstance(event, records.StateEvent) and event.state == "running":
                deadline = time.monotonic() + options.seconds
                if options.record:
                    _send(player, commands.Record(id=1, on=True))
            if isinstance(event, records.AckEvent) and event.id == 2:
                recording = event.detail
                _send(player, commands.Stop(id=3))
                told_to_stop = True
            if isinstance(event, records.PlayEvent) and (event.done or event.trunc):
                episodes, successes = episodes + 1, successes + event.success
            if deadline and time.monotonic() > deadline:
                deadline = float("inf")
                _send(player, commands.Record(id=2, on=False))
    finally:
        with contextlib.suppress(BrokenPipeError):
            player.stdin.close()
        status = player.wait()
    if not told_to_stop:
        raise LabError(f"the player ended by itself with status {status}, before its time")
    if not episodes:
        print(
            f"no episode ended in {options.seconds:g} s of play: give --seconds or --speed more",
            file=sys.stderr,
        )
    return {"episodes": episodes, "successes": successes, "recording": recording}


def _send(player: subprocess.Popen[bytes], command: commands.Command) -> None:
    assert player.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it has ended, which the end of its events tells
        player.stdin.write(commands.encode(command))
        player.stdin.flush()
