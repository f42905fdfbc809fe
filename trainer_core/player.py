"""Program of a player, `python -m trainer_core.player PLAYER_DIR [AGENT_MODULE]`: one game in real time.

config.json is a wire.playing.PlayerConfig: a person plays, or a policy, whose checkpoints are opened by AGENT_MODULE's
agent (ours without it). Every frame's picture goes to frames.bin. Commands come on standard input, events go to the old
standard output: docs/reference/protocol.md.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path
from queue import SimpleQueue

from trainer_core.host.process_start import begin_process
from trainer_core.play.warm_up import play_a_frame, think

if __name__ == "__main__":
    begin_process()  # before the imports below read the texts of the emulator's kernels

from trainer_core.envs.compile_progress import tell_what_compiles
from trainer_core.host.agent import MakeAgent, agent_class
from trainer_core.host.wait_for_order import AHEAD, FOR_PERSON, wait_for_order
from trainer_core.lab.paths import home_of_player
from trainer_core.play.loop import CommandLoop, Inbox, PlayLoop
from trainer_core.play.played_game import Player
from trainer_core.play.roll_loop import RollLoop
from trainer_core.play.thoughts import Tell
from trainer_core.play.versus import Versus, VersusLoop
from trainer_core.wire import commands, records
from trainer_core.wire.errors import LabError, in_words
from trainer_core.wire.event_pipe import Pipe
from trainer_core.wire.playing import PlayerConfig, read_player_config
from trainer_core.wire.process_guard import die_with_parent, end_group

HEARTBEAT_S = 1.0


class Events:
    """Sender of the player's events on the pipe; nothing is logged."""

    def __init__(self, pipe: Pipe, run_id: str) -> None:
        self._pipe, self._run_id = pipe, run_id
        self._lock = threading.Lock()

    def tell(self, kind: type[records.Record], /, **fields: object) -> None:
        record = kind(run_id=self._run_id, seq=0, time=time.time(), **fields)  # type: ignore[call-arg]
        with self._lock:
            self._pipe.write(records.encode(record))


def run(directory: Path, make_agent: MakeAgent, pipe: Pipe) -> int:
    """Play the game described in `directory` until a stop command or the end of input; return the exit status."""
    events = Events(pipe, directory.name)
    inbox: Inbox = SimpleQueue()
    try:
        config = read_player_config(directory)
        events.tell(records.StateEvent, state="starting", detail="starting the Game Boy")
        threading.Thread(target=_beat, args=(events,), daemon=True).start()
        _tell_compiling(events)
        loop = _open(directory, config, inbox, events.tell, make_agent)
    except (LabError, OSError) as error:
        reason = in_words(error)
        print(f"player: {reason}", file=sys.stderr)
        events.tell(records.ErrorRecord, kind=type(error).__name__, message=reason)
        events.tell(records.StateEvent, state="failed", detail=reason)
        return 1
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: inbox.put(None))
    threading.Thread(target=_listen, args=(inbox,), daemon=True).start()
    events.tell(records.StateEvent, state="running")
    loop.run()
    events.tell(records.StateEvent, state="finished")
    return 0


def _open(
    directory: Path, config: PlayerConfig, inbox: Inbox, tell: Tell, make_agent: MakeAgent
) -> CommandLoop | RollLoop:
    """Open the game, the recording or the two policies that `config` names; return the loop, its first picture shown.

    Raises LabError.
    """
    home = home_of_player(directory)
    if config.device != "cpu":
        from trainer_core.envs.startable import find_device  # loads torch

        find_device(config.device)
    if config.mode == "edit":
        return RollLoop(directory, home, config, inbox, tell)
    if config.rival:
        return VersusLoop(Versus(directory, home, config, tell, make_agent), inbox, tell)
    return PlayLoop(Player(directory, home, config, tell, make_agent), inbox, tell)


def _listen(inbox: Inbox) -> None:
    for command in commands.from_standard_input("player"):
        inbox.put(command)
    inbox.put(None)


def _beat(events: Events) -> None:
    while True:
        events.tell(records.HeartbeatEvent)
        time.sleep(HEARTBEAT_S)


def _tell_compiling(events: Events) -> None:
    """Send a state message while kernels compile, since the first picture then takes a minute on a fresh computer."""

    def tell(detail: str, progress: float) -> None:
        events.tell(records.StateEvent, state="starting", detail=detail, progress=progress)

    tell_what_compiles(tell)


def _rehearse(directory: Path, pipe: Pipe) -> None:
    events = Events(pipe, directory.name)
    _tell_compiling(events)
    play_a_frame(home_of_player(directory))
    events.tell(records.StateEvent, state="starting", detail="loaded")


def main() -> None:
    """Run the whole process."""
    if len(sys.argv) not in (2, 3):
        print("usage: python -m trainer_core.player PLAYER_DIR [AGENT_MODULE]", file=sys.stderr)
        sys.exit(2)
    die_with_parent()
    pipe, directory = Pipe(), Path(sys.argv[1])
    if order := os.environ.pop(AHEAD, ""):
        steps = () if os.environ.pop(FOR_PERSON, "") else (think,)
        os.environ.update(wait_for_order(int(order), lambda: _rehearse(directory, pipe), *steps))
    code = run(directory, agent_class("".join(sys.argv[2:])), pipe)
    sys.stderr.flush()
    end_group(code)


if __name__ == "__main__":
    main()
