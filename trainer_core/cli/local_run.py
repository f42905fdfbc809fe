"""Train a run in this process for `train`, `resume` and `demo`; the index lists it like the app's runs."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import threading
import time
from typing import Any

import torch

from trainer_core.cli.output import Result, in_words, say, trained_text, training_line
from trainer_core.cli.progress import Limits
from trainer_core.envs.startable import available_bytes, check_startable
from trainer_core.host.control import Control
from trainer_core.host.native import native_host
from trainer_core.host.ranks import Ranks
from trainer_core.host.run import Outcome
from trainer_core.host.validation_process import ValidationProcess
from trainer_core.host.worker import NOTHING_YET, obey
from trainer_core.lab.checkpoint_manifest import list_checkpoints
from trainer_core.lab.memory_estimate import check_memory
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.lab.tasks import Task
from trainer_core.runs.command_files import LOOK_S, Mailbox
from trainer_core.runs.config_file import read_run_config
from trainer_core.runs.device_lock import DeviceLock, run_on
from trainer_core.runs.life import RunLife, new_run_id
from trainer_core.runs.log_writer import DiskError, RunWriter
from trainer_core.runs.run_lock import RunLock
from trainer_core.runs.wandb_run import agree
from trainer_core.service.wandb_sender import end_sender, start_sender
from trainer_core.wire import commands, records
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import ProtocolError
from trainer_core.wire.process_guard import on_stop_signals
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec

PROGRESS_S = 2.0
"""Seconds between two lines about the same thing."""


STARTING_S = 5.0
"""Seconds between two lines about a run that starts."""
OFTEN = (records.VALIDATING, records.FINISHING, records.PREPARING)
"""Beginnings of details that are sent every second."""


class Narrator:
    """Listener that reports a run's progress on standard error and passes its events to its record."""

    def __init__(self, life: RunLife, limits: Limits | None = None) -> None:
        self.life, self._limits = life, limits or Limits()
        self._next = 0.0
        self._began = time.monotonic()
        self._waits_for = ""
        """Current long step of the start."""
        threading.Thread(target=self._keep_telling, daemon=True).start()

    def __call__(self, line: bytes) -> None:
        event = records.decode(line)
        with contextlib.suppress(ProtocolError):  # a state that cannot follow changes nothing
            self.life.fold(event)
        match event:
            case records.UpdateRecord() if time.monotonic() >= self._next:
                self._next = time.monotonic() + PROGRESS_S
                self._limits.tell(event.env_steps)
                self._say(training_line(event))
            case records.StateEvent() if event.detail.startswith(OFTEN):
                self._waits_for = event.detail if event.state == "starting" else ""
                if time.monotonic() >= self._next:
                    self._next = time.monotonic() + PROGRESS_S
                    self._say(event.detail)
            case records.StateEvent() if event.detail:
                self._say(event.detail)
            case _ if words := in_words(event):
                self._say(words)

    def _keep_telling(self) -> None:
        """Repeat the current step of a long start while there is no other message."""
        while self.life.record.state is RunState.STARTING:
            time.sleep(STARTING_S)
            words = self._waits_for
            if words and time.monotonic() >= self._next + STARTING_S - PROGRESS_S:
                self._next = time.monotonic() + PROGRESS_S
                self._say(f"{words}, {time.monotonic() - self._began:.0f} s so far")

    def _say(self, text: str) -> None:
        say(text)


class SilentWriter(RunWriter):
    """Log writer without output, for all ranks but the first; `seq` is above 0 in a resumed run."""

    def __init__(self, paths: RunPaths) -> None:
        self.paths = paths
        self.seq = self._next_seq()

    def append(self, kind: type[records.Record], /, **fields: Any) -> records.Record:
        return kind(run_id=self.paths.run_id, seq=0, time=0.0, **fields)

    def tell(self, kind: type[records.Record], /, **fields: Any) -> None:
        """Send nothing."""

    def check_place(self) -> None:
        """Accept every place: nothing is written."""

    checkpoints_in_place = check_place

    def close(self) -> None:
        """Do nothing: no file is open."""


def train_new(
    config: RunConfig, home: HomePaths, *, name: str = "", beside: ValidationProcess | None = None, wandb: str = ""
) -> dict[str, Any]:
    """Train a new run to its end in this process; return the result object. `beside` validates it.

    `wandb` is PROJECT[/NAME] at W&B if the user agreed to send it there.

    Raises LabError when the run fails or cannot start; then no files are left.
    """
    ranks, control = _begin_process()
    ranks.require_same(repr(config))
    run_id = ranks.agree(new_run_id(home))
    config = own_device(config, ranks)
    tasks = check_startable(config, home)
    if not ranks.is_first:
        return _run_beside(config, tasks, home.run(run_id), home, control, ranks)
    agree(home.run(run_id), wandb, name)
    life = RunLife.begin(home, run_id, RunSpec.of(config), algo=config.algo, name=name)
    return _run_first(config, tasks, home, control, ranks, life, beside)


def resume_here(paths: RunPaths, home: HomePaths, limits: dict[str, Any], lock: RunLock | None) -> dict[str, Any]:
    """Continue a run in this process with new `limits`; results and errors as in `train_new`.

    The first rank passes the run's `lock`, the others None.
    """
    ranks, control = _begin_process()
    config = dataclasses.replace(read_run_config(paths), **limits)
    ranks.require_same(repr((paths.run_id, config)))
    config = own_device(config, ranks)
    begins = not list_checkpoints(paths)
    tasks = check_startable(config, home, begins=begins)
    if not ranks.is_first:
        return _run_beside(config, tasks, paths, home, control, ranks)
    assert lock is not None
    life = RunLife.resume(home, paths.run_id, lock, algo=config.algo)
    return _run_first(config, tasks, home, control, ranks, life)


def _begin_process() -> tuple[Ranks, Control]:
    """Return the ranks of this process, and a Control that its signals set."""
    control, ranks = Control(), Ranks()
    alone = ranks.world == 1  # a terminal sends its Ctrl-C to every rank
    signal.signal(signal.SIGINT, lambda *_: _interrupt(control) if alone else control.stop("interrupted"))
    control.on_begin = lambda: on_stop_signals(lambda number: control.stop("terminated"))
    if alone:  # a rank that has nothing to save yet ends at once with its launcher
        on_stop_signals(lambda number: _leave(control, "terminated"))
    return ranks, control


def own_device(config: RunConfig, ranks: Ranks) -> RunConfig:
    """Return the configuration with the GPU of this rank in place of the common one."""
    if ranks.world == 1 or not config.device.startswith("cuda"):
        return config
    torch.cuda.set_device(ranks.local_rank)
    return dataclasses.replace(config, device=f"cuda:{ranks.local_rank}")


def _run_first(
    config: RunConfig,
    tasks: dict[str, Task],
    home: HomePaths,
    control: Control,
    ranks: Ranks,
    life: RunLife,
    beside: ValidationProcess | None = None,
) -> dict[str, Any]:
    """Train as the first rank, which writes the run's record and log."""
    paths = life.paths
    say(f"run {life.record.title} in {paths.root}")
    sender = start_sender(paths)
    memory = check_memory(config, available_bytes(torch.device(config.device)), home, tasks.values())
    say(f"memory: {memory.detail}")
    devices: list[DeviceLock] = []  # the kernel releases them when this process ends
    try:
        devices = _take_devices(config, home, ranks, paths.run_id)
        with contextlib.closing(
            RunWriter(paths, Narrator(life, Limits(config.seconds, config.total_env_steps)))
        ) as writer:
            threading.Thread(target=_read_mail, args=(paths, control, writer), daemon=True).start()
            host = native_host(config, paths, home, writer, control, ranks=ranks, tasks=tasks, beside=beside)
            outcome = host.run()
    except KeyboardInterrupt:
        with contextlib.suppress(DiskError):
            if control.begun:
                life.end(RunState.FAILED, "ended at once: interrupted twice")
            else:
                life.end(RunState.STOPPED, NOTHING_YET)
        raise
    except BaseException as error:
        with contextlib.suppress(DiskError):  # the raised error is reported anyway
            life.end(RunState.FAILED, str(error) or type(error).__name__)
        raise
    try:
        life.end(outcome.state, outcome.reason)
    except DiskError as error:
        say(f"dmglab: {error}")
    finally:
        for device in devices:
            device.release()
    ranks.close()
    if sender is not None:
        end_sender(sender)
        sender.wait()
    return _result(life, outcome)


def _take_devices(config: RunConfig, home: HomePaths, ranks: Ranks, run_id: str) -> list[DeviceLock]:
    """Lock the devices, so that the queue starts no other run on them. A busy device is only reported."""
    names = [config.device]
    if ranks.world > 1 and config.device.startswith("cuda"):
        names = [f"cuda:{index}" for index in range(ranks.world)]
    found = []
    for name in names:
        lock = DeviceLock.take(home, name, run_id)
        if lock is not None:
            found.append(lock)
        else:
            say(f"{name} trains run {run_on(home, name)} too (`dmglab queue add` would wait for the device)")
    return found


def _read_mail(paths: RunPaths, control: Control, writer: RunWriter) -> None:
    """Carry out requests of other processes to this run; the thread ends with the process."""
    box = Mailbox(paths)
    while True:
        for letter in box.take():
            detail = obey(letter.command, control, writer)
            box.answer(letter, not detail, detail)
            if isinstance(letter.command, commands.Stop) and not control.begun:
                os.kill(os.getpid(), signal.SIGTERM)  # `_leave`, in the main thread
        time.sleep(LOOK_S)


def _run_beside(
    config: RunConfig, tasks: dict[str, Task], paths: RunPaths, home: HomePaths, control: Control, ranks: Ranks
) -> dict[str, Any]:
    """Train as a rank other than the first, which writes nothing."""
    native_host(config, paths, home, SilentWriter(paths), control, ranks=ranks, tasks=tasks).run()
    ranks.close()
    return {}


def _result(life: RunLife, outcome: Outcome) -> dict[str, Any]:
    paths = life.paths
    found = {
        "ok": True,
        "run_id": paths.run_id,
        "name": life.record.name,
        "run_dir": str(paths.root),
        "state": outcome.state.value,
        "reason": outcome.reason,
        "env_steps": outcome.env_steps,
        "reached_by": outcome.reached_by,
        "success_rate": outcome.success_rate,
        "leaving_success_rate": outcome.leaving_success_rate,
        "best_success_rate": outcome.best[0],
        "best_leaving_success_rate": outcome.best[1],
        "checkpoint": str(paths.root / outcome.checkpoint) if outcome.checkpoint else "",
        "log": str(paths.train_log),
    }
    return Result(found, trained_text(found))


def _interrupt(control: Control) -> None:
    if control.stop_reason:
        raise KeyboardInterrupt
    if control.begun:
        say(f"{records.FINISHING}, then saving; Ctrl-C again ends at once")
    _leave(control, "interrupted")


def _leave(control: Control, reason: str) -> None:
    """Stop after the current update.

    Raises KeyboardInterrupt before the first update, when there is nothing to save.
    """
    if not control.begun:
        raise KeyboardInterrupt
    control.stop(reason)
