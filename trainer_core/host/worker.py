"""Worker program, `python -m trainer_core.worker RUN_DIR [TRAINEE_MODULE]`: one training run as a child process.

TRAINEE_MODULE belongs to a library and runs in that library's interpreter: its `make_trainee(host)` returns the
trainee. Without it our own trainee is used. Events go to a private duplicate of file descriptor 1, stray prints to
standard error; commands come on standard input, whose end means that the parent is gone
(docs/reference/protocol.md).
"""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from trainer_core.host.control import Control
from trainer_core.host.process_start import begin_process, load_torch
from trainer_core.host.validation_process import started
from trainer_core.host.wait_for_order import AHEAD, wait_for_order
from trainer_core.lab.checkpoint_manifest import list_checkpoints
from trainer_core.lab.paths import RunPaths, home_of
from trainer_core.runs.config_file import read_run_config, read_spec
from trainer_core.runs.log_writer import RunWriter
from trainer_core.runs.run_lock import INHERITED, RunLock
from trainer_core.wire import commands, records
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import FailureError, LabError
from trainer_core.wire.event_pipe import LossyPipe, Pipe
from trainer_core.wire.process_guard import GRACE_S, die_with_parent, end_group, on_stop_signals
from trainer_core.wire.spec import RunSpec
from trainer_core.wire.standard_streams import outlive_reader_of_stderr

if TYPE_CHECKING:
    from trainer_core.host.run import Host, Outcome
    from trainer_core.host.trainee import Trainee

LEAN = "LEAN"
"""Name of a worker package's flag: True if it uses only torch's tensors, layers and optimizers, so that torch can be
loaded early. Other packages import more of torch, in an order of their own."""
HEARTBEAT_S = 1.0
LIMITS = "DMGLAB_LIMITS"
"""Environment variable with limits that replace the run's own in this process."""
NOTHING_YET = "stopped before the first update"
PARENT_GONE = "the parent process is gone"


def listen(control: Control, writer: RunWriter) -> None:
    """Take commands until standard input ends; then save and end the whole process group."""
    for command in commands.from_standard_input("worker"):
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
    """Carry out one command; return an empty text, or the reason why it cannot be done."""
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
            if control.begun and was_paused:  # the loop may not have noticed the pause
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


def load_trainee(module: str, device: str = "cpu") -> Callable[[Host], Trainee]:
    """Import `module`, a library's worker, and return its `make_trainee`; the first call takes seconds."""
    package = module.rpartition(".")[0]
    if package and getattr(importlib.import_module(package), LEAN, False):
        load_torch(device)
    return importlib.import_module(module).make_trainee


def run(run_dir: Path, pipe: Pipe, inherited: str = "", module: str = "", limits: str = "{}") -> int:
    """Train the run in `run_dir`; return the exit code.

    `inherited` is the descriptor of the run's lock if the parent took it; `module` has the `make_trainee` to use, empty
    for our own trainer; `limits` is JSON with limits that replace the run's own.
    """
    paths = RunPaths(run_dir.absolute())  # a moved run's folder is a link
    try:
        spec = read_spec(paths) if module else RunSpec.of(read_run_config(paths))
        spec = dataclasses.replace(spec, **json.loads(limits))
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
    loading = "loading the library" if module else "loading torch"
    writer.tell(records.StateEvent, state="starting", detail=loading, progress=0.1)
    try:
        outcome = _train(spec, paths, writer, control, module)
    except LabError as error:
        if module:  # a library's error may have several lines
            traceback.print_exception(error)
        print(f"worker: {error}", file=sys.stderr)
        writer.tell(records.StateEvent, state="failed", detail=str(error))
        return 1
    writer.tell(records.StateEvent, state=outcome.state.value, detail=outcome.reason)
    if control.stop_reason == PARENT_GONE:
        end_group(1)
    return 0


def _train(spec: RunSpec, paths: RunPaths, writer: RunWriter, control: Control, module: str) -> Outcome:
    """Train to the end; raises LabError."""
    home = home_of(paths)
    if module:
        try:
            make = load_trainee(module, spec.device)
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            raise FailureError(f"{module} cannot be loaded: {told}") from error
        _tell_compiling(writer, control)
        from trainer_core.host.run import Host

        return Host(spec, paths, writer, control, make).run()
    config = spec.configure(RunConfig)
    beside = started(config)
    load_torch(config.device)  # seconds; the parent already sees a heartbeat
    _tell_compiling(writer, control)
    from trainer_core.envs.startable import check_startable
    from trainer_core.host.native import native_host

    tasks = check_startable(config, home, begins=not list_checkpoints(paths))
    host = native_host(config, paths, home, writer, control, tasks=tasks, beside=beside)
    return host.run()


def _tell_compiling(writer: RunWriter, control: Control) -> None:
    from trainer_core.envs.compile_progress import tell_what_compiles

    def tell(detail: str, progress: float) -> None:
        if not (control.paused or control.stop_reason):
            state = "running" if control.begun else "starting"
            writer.tell(records.StateEvent, state=state, detail=detail, progress=progress)

    tell_what_compiles(tell)


def _rehearse(run_dir: Path, pipe: Pipe, module: str) -> None:
    """Load and warm up before the order arrives; report kernel compilation on the pipe."""
    if module:
        load_trainee(module)
        return
    load_torch()
    from trainer_core.envs.compile_progress import tell_what_compiles
    from trainer_core.host.warm_up import rehearse

    def tell(detail: str, progress: float) -> None:
        event = records.StateEvent(
            run_id=run_dir.name, seq=0, time=time.time(), state="starting", detail=detail, progress=progress
        )
        pipe.write(records.encode(event))

    tell_what_compiles(tell)
    rehearse(home_of(RunPaths(run_dir)))
    tell("loaded", -1.0)


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print("usage: python -m trainer_core.worker RUN_DIR [TRAINEE_MODULE]", file=sys.stderr)
        return 2
    die_with_parent()
    begin_process()
    outlive_reader_of_stderr()
    pipe, run_dir, module = LossyPipe(), Path(sys.argv[1]).absolute(), "".join(sys.argv[2:])
    if order := os.environ.pop(AHEAD, ""):
        os.environ.update(wait_for_order(int(order), lambda: _rehearse(run_dir, pipe, module)))
    if module:
        os.chdir(run_dir)  # libraries write to the working directory
    inherited, limits = os.environ.pop(INHERITED, ""), os.environ.pop(LIMITS, "{}")
    code = run(run_dir, pipe, inherited, module, limits)
    sys.stderr.flush()
    end_group(code)  # the listener blocks in read(0); there is nothing left to finalise
