"""`dmglab play`: a player without the app; frames go to a folder, the outcome to one object."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from trainer_core.cli.options import find_checkpoint, home_paths, parse
from trainer_core.protocol import commands, records
from trainer_core.protocol.checkpoints import read_meta
from trainer_core.protocol.errors import ConfigError, LabError, ProtocolError
from trainer_core.protocol.tasks import BUILT_IN_TASKS, find_task


@dataclass(frozen=True)
class Options:
    checkpoint: str = "latest"
    """Checkpoint folder, or a run (id, folder, `latest`): its best checkpoint."""
    task: str = ""
    """Task id; default the checkpoint's."""
    mode: Literal["greedy", "sample"] = "greedy"
    speed: float = 1.0
    """1.0 is Game Boy speed, 0 as fast as possible."""
    seconds: float = 10.0
    """How long to play."""
    record: bool = False
    """Keep a recording; its folder is named in the result."""
    device: str = "cpu"
    seed: int = 1
    home: Path | None = None
    """Where runs and tasks lie; default DMGLAB_HOME or var/ of the checkout."""


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "play", argv)
    if options.speed < 0 or options.seconds <= 0:
        raise ConfigError("speed must not be negative and seconds must be above 0")
    home = home_paths(options.home)
    folder = find_checkpoint(options.checkpoint, home)
    task = options.task or read_meta(folder).task
    if task not in BUILT_IN_TASKS:
        find_task(task, home)
    home.players.mkdir(parents=True, exist_ok=True)
    stamp = time.strftime("%Y%m%d-%H%M%S-")
    directory = Path(tempfile.mkdtemp(prefix=stamp, dir=home.players))
    config = {
        "task": task, "checkpoint": str(folder),
        "mode": options.mode, "device": options.device, "speed": options.speed,
        "seed": options.seed,
    }  # fmt: skip
    (directory / "config.json").write_text(json.dumps(config))
    return {"ok": True, "player_dir": str(directory), **_play(directory, options)}


def _play(directory: Path, options: Options) -> dict[str, Any]:
    """Run the player for its time; what its events came to."""
    player = subprocess.Popen(
        [sys.executable, "-m", "trainer_core.player", str(directory)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    assert player.stdin is not None
    assert player.stdout is not None
    episodes = successes = 0
    recording, deadline = "", 0.0
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
            if isinstance(event, records.PlayEvent) and (event.done or event.trunc):
                episodes, successes = episodes + 1, successes + event.success
            if deadline and time.monotonic() > deadline:
                deadline = float("inf")
                _send(player, commands.Record(id=2, on=False))
    finally:
        player.stdin.close()
        player.wait()
    return {"episodes": episodes, "successes": successes, "recording": recording}


def _send(player: subprocess.Popen[bytes], command: commands.Command) -> None:
    assert player.stdin is not None
    player.stdin.write(commands.encode(command))
    player.stdin.flush()
