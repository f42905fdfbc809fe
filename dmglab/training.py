"""Training in worker processes, and all runs of a data folder: `train`, `runs`, `Run`."""

from __future__ import annotations

import asyncio
import atexit
import dataclasses
import difflib
import os
import sys
import threading
import time
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dmglab.library import find_home
from trainer_core.lab.checkpoint_manifest import CheckpointMeta, list_checkpoints, merit, read_meta
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.presets import default_config, with_limit
from trainer_core.runners.catalog import find_runner
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.log_reader import read_history
from trainer_core.runs.names import named
from trainer_core.service.preflight import run_checks
from trainer_core.service.trainer import TrainerService
from trainer_core.wire.checks import require
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import ConfigError, LabError, shown
from trainer_core.wire.metric_names import scalars
from trainer_core.wire.records import EvalRecord, UpdateRecord
from trainer_core.wire.run_record import RunRecord, RunState
from trainer_core.wire.spec import NATIVE_ID, RunSpec

T = TypeVar("T")
LOOK_S = 0.1
TELL_S = 2.0
"""Seconds between two lines of progress."""


def runs(home: str | os.PathLike[str] | None = None, *, name: str = "") -> list[Run]:
    """Return the runs of the data folder `home`, the newest last; with `name`, those with this name or id, or with
    this beginning of one."""
    paths = find_home(home)
    found = list(RunRegistry(paths).reconcile().values())
    found = named(name, found) if name else found
    return [Run(record.run_id, paths) for record in sorted(found, key=lambda record: record.created_at)]


def train(
    task: str,
    seconds: float = 0.0,
    *,
    wait: bool = True,
    progress: bool = True,
    detach: bool = False,
    name: str = "",
    runner: str = NATIVE_ID,
    home: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Run:
    """Train a policy on a task in a separate process and return the run.

    `seconds`: time limit; `total_env_steps` and `target_success` are other limits, and without any
    limit the training ends at 0.98 success. `wait`: return at the end of the training; else at once,
    and `curves`, `wait` and `stop` of the run follow and end it. `progress`: print progress on standard
    error. When the Python program ends, the training saves and ends too, unless `detach` hands it to a
    process that outlives the program. `runner`: another library, like `sb3`. `options`: those of
    `dmglab train --help` (with `--runner` for another library), like device, num_envs, seed,
    learning_rate. `home`: the data folder. Raises LabError, one line, for an unknown task or option,
    and for a run that fails.
    """
    paths, chosen = find_home(home), {"task": task, "seconds": seconds, **options}
    spec = _native_spec(chosen, paths) if runner == NATIVE_ID else RunSpec.from_dict(runner, chosen)
    run = Run(_Host.of(paths).call(_start(paths, spec, name, detach)), paths)
    return run.wait(progress=progress) if wait else run


def _native_spec(chosen: dict[str, Any], home: HomePaths) -> RunSpec:
    """Return the order for DMG Lab's own trainer, with the preset's values as defaults."""
    known = [field.name for field in dataclasses.fields(RunConfig)]
    for name in chosen.keys() - set(known):
        near = difflib.get_close_matches(name, known, 3) or known
        raise ConfigError(f"no option {shown(name)!r} of a training; there is {shown(', '.join(near), 120)}")
    usual = default_config(
        str(chosen["task"]), str(chosen.get("device", "cpu")), home, str(chosen.get("warm_start", ""))
    )
    return RunSpec.of(with_limit(RunConfig.from_dict(usual.to_dict() | chosen)))


async def _start(home: HomePaths, spec: RunSpec, name: str, detach: bool) -> str:
    """Check the order as the app does and start its process; return the run's id. Raises LabError."""
    service = _Host.of(home).service
    plan = service.plan(spec, name)
    async for check in run_checks(plan.spec, home, find_runner(spec.runner)):
        require(check)
    return (await service.start(plan, wait=False, detach=detach)).run_id


@dataclass(frozen=True)
class Checkpoint:
    """A saved policy of a run; `load_policy`, and functions that take a path, accept it."""

    path: Path
    env_steps: int
    success_rate: float
    """Success of greedy play from starts that training never uses, in the validation before the save."""
    leaving_success_rate: float
    """Success of play in mode `leave_loops` in the same validation."""

    def __fspath__(self) -> str:
        return str(self.path)


class Run:
    """One training, active or ended."""

    def __init__(self, run_id: str, home: HomePaths) -> None:
        self.id, self.home = run_id, home
        self._offset = 0
        self._points: dict[str, list[tuple[float, float]]] = {}

    def __repr__(self) -> str:
        record = self._record
        return f"<Run {record.title}: {record.task}, {record.state}, {record.env_steps:,} steps>"

    @property
    def _record(self) -> RunRecord:
        """Current record of the run in the index. Raises LabError for a deleted run."""
        kept = _Host.of_run(self)
        record = kept or RunRegistry(self.home).load().get(self.id)
        if record is None:
            raise ConfigError(f"no run {shown(self.id)!r} in {self.home.runs_index}; see dmglab.runs()")
        return record if kept or record.state.is_end else RunRegistry(self.home).settle(record)

    @property
    def folder(self) -> Path:
        """Folder of the run's files: config.json, train_log.jsonl, checkpoints."""
        return self.home.run(self.id).root

    @property
    def task(self) -> str:
        """Task id."""
        return self._record.task

    @property
    def name(self) -> str:
        """Name that the user gave, or one made of the id, such as quiet-moth-12."""
        return self._record.name

    @property
    def state(self) -> str:
        """One of queued, preflight, starting, running, pausing, paused, stopping, finished, stopped, failed, lost."""
        return self._record.state.value

    @property
    def reason(self) -> str:
        """Reason for the end of the run, or its current activity; may be empty."""
        return self._record.reason

    @property
    def env_steps(self) -> int:
        """Steps of all environments together."""
        return self._record.env_steps

    @property
    def has_ended(self) -> bool:
        """True once no process trains the run."""
        return self._record.state.is_end

    @property
    def curves(self) -> dict[str, NDArray[np.float64]]:
        """Curves by name, like `success_rate`, `episode_return`, `loss`: float64[P, 2], a row for each point:
        environment steps, value. Every access reads the log on, also during the training."""
        self._read_on()
        return {name: np.array(points) for name, points in self._points.items()}

    @property
    def checkpoints(self) -> list[Checkpoint]:
        """Saved policies, the newest last."""
        return [_checkpoint(path, meta) for path, meta in self._metas()]

    @property
    def best(self) -> Checkpoint | None:
        """Saved policy with the best validation; None before the first is saved."""
        found = self._metas()
        return _checkpoint(*max(found, key=lambda pair: (merit(pair[1]), pair[0].name))) if found else None

    def wait(self, timeout: float | None = None, progress: bool = False) -> Self:
        """Return this run once it has ended, or after `timeout` seconds.

        Raises LabError with the reason if the run failed. Ctrl-C stops the run first.
        """
        began = told = time.monotonic()
        try:
            while not (record := self._record).state.is_end:
                if timeout is not None and time.monotonic() - began > timeout:
                    return self
                if progress and time.monotonic() - told > TELL_S:
                    told = time.monotonic()
                    print(self._progress(), file=sys.stderr, flush=True)
                time.sleep(LOOK_S)
        except KeyboardInterrupt:
            self.stop()
            raise
        if record.state in (RunState.FAILED, RunState.LOST):
            raise LabError(
                f"run {record.title} {record.state}: {record.reason}; {self.folder / 'worker.log'} says more"
            )
        return self

    def stop(self) -> Self:
        """Stop the run after its current update, once it has saved; return it then."""
        if not self.has_ended:
            host = _Host.of(self.home)
            host.call(host.service.stop(self.id, "stopped from Python"))
        return self

    def _metas(self) -> list[tuple[Path, CheckpointMeta]]:
        return [(path, read_meta(path)) for path in list_checkpoints(self.home.run(self.id))]

    def _read_on(self) -> None:
        """Add the new records of the log to the curves."""
        past = read_history(self.folder / "train_log.jsonl", self._offset)
        self._offset = past.offset
        for event in past.events:
            if isinstance(event, UpdateRecord | EvalRecord):
                for name, value in scalars(event).items():
                    self._points.setdefault(name, []).append((event.env_steps, value))

    def _progress(self) -> str:
        self._read_on()
        newest = {name: points[-1][1] for name, points in self._points.items()}
        if "sps" not in newest:
            return f"{self.id}: {self.reason or self.state}"
        success = f"  success {newest['success_rate']:.3f}" if "success_rate" in newest else ""
        return f"{self.id}: {int(newest['env_steps']):,} steps  {newest['sps']:,.0f}/s{success}"


def _checkpoint(path: Path, meta: CheckpointMeta) -> Checkpoint:
    return Checkpoint(path, meta.env_steps, meta.success_rate, meta.leaving_success_rate)


class _Host:
    """Service for the runs of one data folder that this program starts, on a thread with its own event loop.

    A notebook's own loop is not used. The kernel ends workers with the thread that started them, which
    runs until the program ends; workers are asked to save before that.
    """

    _all: dict[Path, _Host] = {}  # noqa: RUF012
    _making = threading.Lock()

    def __init__(self, home: HomePaths) -> None:
        self._loop = asyncio.new_event_loop()
        self.service = TrainerService(home, works_queue=False)
        threading.Thread(target=self._loop.run_forever, name="dmglab-runs", daemon=True).start()
        self.call(self._open())
        atexit.register(self._close)

    @classmethod
    def of(cls, home: HomePaths) -> _Host:
        """Return the host of a data folder, made at the first call."""
        with cls._making:
            if home.root not in cls._all:
                cls._all[home.root] = cls(home)
            return cls._all[home.root]

    @classmethod
    def of_run(cls, run: Run) -> RunRecord | None:
        """Return the record of a run from an existing host, None without one."""
        host = cls._all.get(run.home.root)
        return host.service.runs.get(run.id) if host else None

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop and return its result."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _open(self) -> None:
        self.service.open()

    def _close(self) -> None:
        if self.service.is_keeping():
            print("dmglab: saving and ending the training; detach=True lets one go on", file=sys.stderr, flush=True)
        self.call(self.service.close(reason="the Python program that started it ended"))
