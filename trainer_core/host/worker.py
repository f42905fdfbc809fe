"""`python -m trainer_core.worker RUN_DIR`: one training run as a child process.

Events go out on a private duplicate of file descriptor 1, stray prints to standard error; commands
come in on standard input, whose end means that the parent is gone. See docs/protocol.md.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

from trainer_core.host.control import Control
from trainer_core.host.preload import AHEAD, wait_for_order
from trainer_core.host.process_start import begin_process, load_torch
from trainer_core.host.validation_process import started
from trainer_core.lab.checkpoint_manifest import list_checkpoints
from trainer_core.lab.paths import RunPaths, home_of
from trainer_core.runs.config_file import read_run_config
from trainer_core.runs.log_writer import RunWriter
from trainer_core.runs.run_lock import INHERITED, RunLock
from trainer_core.wire import commands, records
from trainer_core.wire.errors import LabError, ProtocolError
from trainer_core.wire.event_pipe import LossyPipe, Pipe
from trainer_core.wire.process_guard import GRACE_S, die_with_parent, end_group, on_stop_signals
from trainer_core.wire.standard_streams import outlive_reader_of_stderr

HEARTBEAT_S = 1.0
NOTHING_YET = "stopped before the first update"
PARENT_GONE = "the parent process is gone"


def listen(control: Control, writer: RunWriter) -> None:
    """Take commands until standard input ends; then save, and leave with the whole group."""
    # Unbuffered: a thread inside a buffered reader aborts the interpreter when it shuts down.
    with open(0, "rb", buffering=0, closefd=False) as lines:
        for line in lines:
            try:
                command = commands.decode(line)
            except ProtocolError as error:
                print(f"worker: {error}", file=sys.stderr)
                continue
            detail = obey(command, control, writer)
            writer.tell(records.AckEvent, id=command.id, ok=not detail, detail=detail)
            if isinstance(command, commands.Stop) and not control.begun:
                writer.tell(records.StateEvent, state="stopped", detail=NOTHING_YET)
                end_group(0)  # it may load or compile for minutes, and has nothing to save
    control.stop(PARENT_GONE)
    if control.begun:
        time.sleep(GRACE_S)
    end_group(1)


def obey(command: commands.AnyCommand, control: Control, writer: RunWriter) -> str:
    """Carry out one command; returns "" or why it cannot be done."""
    match command:
        case commands.Stop():
            doing = records.FINISHING if control.begun else ""
            writer.tell(records.StateEvent, state="stopping", detail=doing)
            control.stop("stopped by command")
        case commands.Pause():
            if control.begun and not control.paused:  # else there is no update to finish
                writer.tell(records.StateEvent, state="pausing", detail=records.FINISHING)
            control.pause(True)
        case commands.Unpause():
            was_paused = control.paused
            control.pause(False)
            if control.begun and was_paused:  # the loop may not have noticed any of it
                writer.tell(records.StateEvent, state="running")
        case commands.SaveCheckpoint():
            control.request_checkpoint()
        case commands.Watch():
            control.watch(max(0, command.envs))
        case _:
            return f"a worker does not know {type(command).__name__}"
    return ""


def beat(writer: RunWriter) -> None:
    while True:
        writer.tell(records.HeartbeatEvent)
        time.sleep(HEARTBEAT_S)


def run(run_dir: Path, pipe: Pipe, inherited: str = "") -> int:
    """`inherited` is the descriptor of the run's lock when the parent took it already."""
    paths = RunPaths(run_dir.resolve())
    try:
        config = read_run_config(paths)
        # Never released: the kernel frees it with this process.
        RunLock.take_or_inherit(paths, inherited)
        writer = RunWriter(paths, pipe.write)
    except LabError as error:
        print(f"worker: {error}", file=sys.stderr)
        return 1
    control = Control()
    # Until there is something to save, SIGTERM ends this process at once: it may be loading torch.
    control.on_begin = lambda: on_stop_signals(lambda number: control.stop("terminated"))
    signal.signal(signal.SIGINT, lambda *_: control.stop("interrupted"))
    threading.Thread(target=beat, args=(writer,), daemon=True).start()
    threading.Thread(target=listen, args=(control, writer), daemon=True).start()
    writer.tell(records.StateEvent, state="starting", detail="loading torch", progress=0.1)

    beside = started(config)
    load_torch(config.device)  # seconds; the parent already sees a heartbeat
    from trainer_core.envs.compile_progress import tell_what_compiles
    from trainer_core.envs.startable import check_startable
    from trainer_core.host.run import run_training

    def tell_compiling(detail: str, progress: float) -> None:
        if not (control.paused or control.stop_reason):
            state = "running" if control.begun else "starting"
            writer.tell(records.StateEvent, state=state, detail=detail, progress=progress)

    tell_what_compiles(tell_compiling)
    home = home_of(paths)
    try:
        check_startable(config, home, begins=not list_checkpoints(paths))
        outcome = run_training(
            config, paths, home, writer, control, argv=sys.orig_argv, beside=beside
        )
    except LabError as error:
        print(f"worker: {error}", file=sys.stderr)
        writer.tell(records.StateEvent, state="failed", detail=str(error))
        return 1
    writer.tell(records.StateEvent, state=outcome.state.value, detail=outcome.reason)
    if control.stop_reason == PARENT_GONE:
        end_group(1)
    return 0


def _rehearse(run_dir: Path, pipe: Pipe) -> None:
    """What compiles is told even before the order comes: that comes soonest, and then it shows."""
    load_torch()
    from trainer_core.envs.compile_progress import tell_what_compiles
    from trainer_core.host.warm_up import rehearse

    def tell(detail: str, progress: float) -> None:
        event = records.StateEvent(
            run_id=run_dir.name, seq=0, time=time.time(), state="starting", detail=detail,
            progress=progress,
        )  # fmt: skip
        pipe.write(records.encode(event))

    tell_what_compiles(tell)
    rehearse(home_of(RunPaths(run_dir)))
    tell("loaded", -1.0)


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: python -m trainer_core.worker RUN_DIR", file=sys.stderr)
        return 2
    die_with_parent()
    begin_process()
    outlive_reader_of_stderr()
    pipe, run_dir = LossyPipe(), Path(sys.argv[1])
    if order := os.environ.pop(AHEAD, ""):
        os.environ.update(wait_for_order(lambda: _rehearse(run_dir, pipe), int(order)))
    code = run(run_dir, pipe, os.environ.pop(INHERITED, ""))
    sys.stderr.flush()
    end_group(code)  # the listener blocks in read(0); there is nothing left to finalise


if __name__ == "__main__":
    main()
