"""A guest's process: the protocol's side of it, so that an adapter only trains.

`main(train)` is the whole `python -m` of a worker. It reads config.json, takes over the run's lock,
opens the log, answers commands, beats, and ends as docs/protocol.md says; `train(run)` is given a
GuestRun and returns when its library is done or `run.boundary` has said why to end.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from trainer_core.owned import LossyPipe, die_with_parent, end_group
from trainer_core.protocol import records
from trainer_core.protocol.errors import LabError
from trainer_core.protocol.paths import RunPaths
from trainer_core.protocol.runs import RunState
from trainer_core.runners.guest.run import GuestRun, RunEnded
from trainer_core.runs.config_file import read_spec
from trainer_core.runs.lock import INHERITED, RunLock
from trainer_core.runs.writer import RunWriter
from trainer_core.train.control import Control
from trainer_core.worker import PARENT_GONE, beat, listen

Train = Callable[[GuestRun], None]


def run_guest(run_dir: Path, train: Train) -> int:
    """Train in `run_dir`; returns the exit status."""
    paths, pipe, control = RunPaths(run_dir.resolve()), LossyPipe(), Control()
    inherited = os.environ.pop(INHERITED, "")
    try:
        spec = read_spec(paths)
        # Never released: the kernel frees it with this process.
        RunLock.inherit(int(inherited)) if inherited else RunLock.take(paths)
        writer = RunWriter(paths, pipe.write)
    except LabError as error:
        print(f"worker: {error}", file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, lambda *_: control.stop("terminated"))
    signal.signal(signal.SIGINT, lambda *_: control.stop("interrupted"))
    threading.Thread(target=beat, args=(writer,), daemon=True).start()
    threading.Thread(target=listen, args=(control, writer), daemon=True).start()
    writer.tell(records.StateEvent, state="starting", detail="loading the library", progress=0.1)
    run = GuestRun(spec, paths, writer, control)
    code = _train(run, train)
    if control.stop_reason == PARENT_GONE:
        end_group(1)
    return code


def _train(run: GuestRun, train: Train) -> int:
    try:
        train(run)
        ended = RunEnded(RunState.FINISHED, "")
    except RunEnded as end:
        ended = end
    except Exception as error:
        run.report(error)
        text = str(error) if isinstance(error, LabError) else f"{type(error).__name__}: {error}"
        print(f"worker: {text}", file=sys.stderr)
        run.writer.tell(records.StateEvent, state="failed", detail=text)
        return 1
    finally:
        run.close()
    run.writer.tell(records.StateEvent, state=ended.state.value, detail=ended.reason)
    return 0


def main(train: Train) -> None:
    if len(sys.argv) != 2:
        print(f"usage: {Path(sys.argv[0]).name} RUN_DIR", file=sys.stderr)
        sys.exit(2)
    die_with_parent()
    code = run_guest(Path(sys.argv[1]), train)
    sys.stderr.flush()
    end_group(code)  # the listener blocks in read(0); there is nothing left to finalise
