"""`python -m trainer_core.runners.guest.process WORKER RUN_DIR`: the process of a guest's run.

It does the protocol's side, so that an adapter only trains: it reads config.json, takes over the
run's lock, opens the log, answers commands, beats, and ends as docs/protocol.md says. WORKER is the
adapter's module; its `train(run)` is given a GuestRun and returns when its library is done, or when
`run.boundary` has said why to end.

WORKER imports its library, and with it torch: seconds in which the parent is told already, the
GPU's context opens, and which are over where the process was started ahead of its run
(service.preload).
"""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from trainer_core.host.control import Control
from trainer_core.host.preload import AHEAD, wait_for_order
from trainer_core.host.process_start import begin_process, load_torch
from trainer_core.host.worker import PARENT_GONE, beat, listen
from trainer_core.lab.paths import RunPaths
from trainer_core.runs.config_file import read_spec
from trainer_core.runs.log_writer import RunWriter
from trainer_core.runs.run_lock import INHERITED, RunLock
from trainer_core.wire import records
from trainer_core.wire.errors import LabError
from trainer_core.wire.event_pipe import LossyPipe
from trainer_core.wire.process_guard import die_with_parent, end_group, on_stop_signals
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec

if TYPE_CHECKING:
    from trainer_core.runners.guest.run import GuestRun

    Train = Callable[[GuestRun], None]


LEAN = ("trainer_core.runners.skrl.worker", "trainer_core.runners.sb3.worker")
"""Workers before which torch is loaded, while the GPU opens. Others import it in an order of their
own."""


def load_worker(module: str, device: str = "cpu") -> Train:
    """`train` of the adapter's module; seconds, the first time."""
    if module in LEAN:
        load_torch(device)
    return importlib.import_module(module).train


def run_guest(run_dir: Path, module: str) -> int:
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
    # Until there is something to save, SIGTERM ends this process at once: it may be loading.
    control.on_begin = lambda: on_stop_signals(lambda number: control.stop("terminated"))
    signal.signal(signal.SIGINT, lambda *_: control.stop("interrupted"))
    threading.Thread(target=beat, args=(writer,), daemon=True).start()
    threading.Thread(target=listen, args=(control, writer), daemon=True).start()
    writer.tell(records.StateEvent, state="starting", detail="loading the library", progress=0.1)
    code = _train(spec, paths, writer, control, module)
    if control.stop_reason == PARENT_GONE:
        end_group(1)
    return code


def _train(
    spec: RunSpec, paths: RunPaths, writer: RunWriter, control: Control, module: str
) -> int:  # fmt: skip
    try:
        train = load_worker(module, spec.device)
    except Exception as error:
        traceback.print_exc()
        text = f"{module} cannot be loaded: {type(error).__name__}: {error}"
        writer.tell(records.StateEvent, state="failed", detail=text)
        return 1
    from trainer_core.runners.guest.run import GuestRun, RunEnded

    run = GuestRun(spec, paths, writer, control)
    try:
        train(run)
        ended = RunEnded(RunState.FINISHED, "")
    except RunEnded as end:
        ended = end
    except Exception as error:
        run.report(error)
        text = str(error) if isinstance(error, LabError) else f"{type(error).__name__}: {error}"
        print(f"worker: {text}", file=sys.stderr)
        writer.tell(records.StateEvent, state="failed", detail=text)
        return 1
    finally:
        run.close()
    writer.tell(records.StateEvent, state=ended.state.value, detail=ended.reason)
    return 0


def main() -> None:
    if len(sys.argv) != 3:
        print("usage: python -m trainer_core.runners.guest.process WORKER RUN_DIR", file=sys.stderr)
        sys.exit(2)
    module, run_dir = sys.argv[1], Path(sys.argv[2]).absolute()
    die_with_parent()
    begin_process()
    if order := os.environ.pop(AHEAD, ""):
        os.environ.update(wait_for_order(lambda: _load_ahead(module), int(order)))
    os.chdir(run_dir)
    code = run_guest(run_dir, module)
    sys.stderr.flush()
    end_group(code)  # the listener blocks in read(0); there is nothing left to finalise


def _load_ahead(module: str) -> None:
    load_worker(module)


if __name__ == "__main__":
    main()
