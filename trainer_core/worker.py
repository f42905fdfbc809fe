"""`python -m trainer_core.worker RUN_DIR`: one training run as a child process.

Events go out on a private duplicate of file descriptor 1, stray prints to standard error; commands
come in on standard input, whose end means that the parent is gone. See docs/protocol.md.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from pathlib import Path
from typing import NoReturn

import psutil

from trainer_core.control import Control
from trainer_core.protocol import commands, records
from trainer_core.protocol.errors import LabError, ProtocolError
from trainer_core.protocol.paths import HomePaths, RunPaths, default_home
from trainer_core.run_dir import RunWriter, read_run_config

HEARTBEAT_S = 1.0
PARENT_GONE = "the parent process is gone"
ORPHAN_GRACE_S = 10.0
_PR_SET_PDEATHSIG = 1


class Pipe:
    """The event pipe; once it breaks, writing to it is silent: stdin's end tells the rest."""

    def __init__(self) -> None:
        self._descriptor = os.dup(1)
        os.dup2(2, 1)
        os.set_inheritable(self._descriptor, False)

    def write(self, line: bytes) -> None:
        view = memoryview(line)
        try:
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError:
            pass


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
    control.stop(PARENT_GONE)
    time.sleep(ORPHAN_GRACE_S)
    end_group(1)


def obey(command: commands.AnyCommand, control: Control, writer: RunWriter) -> str:
    """Carry out one command; returns "" or why it cannot be done."""
    match command:
        case commands.Stop():
            writer.tell(records.StateEvent, state="stopping", detail="finishing the update")
            control.stop("stopped by command")
        case commands.Pause():
            if not control.paused:
                writer.tell(records.StateEvent, state="pausing", detail="finishing the update")
            control.pause(True)
        case commands.Resume():
            control.pause(False)
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


def die_with_parent() -> None:
    """Linux: be terminated with the parent, should the end of standard input go unnoticed."""
    if not sys.platform.startswith("linux"):
        return
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it died before the signal was armed
        end_group(1)


def end_group(code: int) -> NoReturn:
    """Leave now, and take the own process group along when this process leads one.

    One by one: killpg would hit this process too, and its status would not be `code`.
    """
    if os.getpgrp() == os.getpid() and code:
        for pid in psutil.pids():
            with contextlib.suppress(OSError):
                if pid != os.getpid() and os.getpgid(pid) == os.getpid():
                    os.kill(pid, signal.SIGKILL)
    os._exit(code)


def home_of(paths: RunPaths) -> HomePaths:
    runs = paths.root.parent
    if runs.name == "runs" and runs.parent.name == "training":
        return HomePaths(runs.parent.parent)
    return HomePaths(default_home())


def run(run_dir: Path) -> int:
    paths = RunPaths(run_dir.resolve())
    pipe = Pipe()
    try:
        config = read_run_config(paths)
        writer = RunWriter(paths, pipe.write)
    except LabError as error:
        print(f"worker: {error}", file=sys.stderr)
        return 1
    control = Control()
    signal.signal(signal.SIGTERM, lambda *_: control.stop("terminated"))
    signal.signal(signal.SIGINT, lambda *_: control.stop("interrupted"))
    threading.Thread(target=beat, args=(writer,), daemon=True).start()
    threading.Thread(target=listen, args=(control, writer), daemon=True).start()
    writer.tell(records.StateEvent, state="starting", detail="loading torch", progress=0.1)

    from trainer_core.training import run_training  # seconds; the parent already sees a heartbeat

    try:
        outcome = run_training(config, paths, home_of(paths), writer, control, argv=sys.orig_argv)
    except LabError as error:
        print(f"worker: {error}", file=sys.stderr)
        writer.tell(records.StateEvent, state="failed", detail=str(error))
        return 1
    writer.tell(records.StateEvent, state=outcome.state.value, detail=outcome.reason)
    if control.stop_reason == PARENT_GONE:
        end_group(1)
    return 0


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: python -m trainer_core.worker RUN_DIR", file=sys.stderr)
        return 2
    die_with_parent()
    code = run(Path(sys.argv[1]))
    sys.stderr.flush()
    end_group(code)  # the listener blocks in read(0); there is nothing left to finalise


if __name__ == "__main__":
    main()
