"""What `train`, `resume` and `demo` share: a run without a pipe, indexed like the app's runs."""

from __future__ import annotations

import dataclasses
import os
import secrets
import signal
import sys
import time
from typing import Any

import msgspec
import torch

from trainer_core.control import Control
from trainer_core.protocol import records
from trainer_core.protocol.config import RunConfig
from trainer_core.protocol.paths import HomePaths, RunPaths
from trainer_core.protocol.runs import RunRecord, RunState, fold
from trainer_core.ranks import Ranks
from trainer_core.registry import RunRegistry, create_time
from trainer_core.run_dir import RunWriter, disk_error, write_json
from trainer_core.startable import check_startable
from trainer_core.training import Outcome, run_training
from trainer_core.worker import die_with_parent

PROGRESS_S = 2.0


class Narrator:
    """Tells a person on standard error how the run goes, and folds events for the index."""

    def __init__(self, record: RunRecord) -> None:
        self.record = record
        self._next = 0.0

    def __call__(self, line: bytes) -> None:
        event = records.decode(line)
        if not isinstance(event, records.StateEvent):
            self.record = fold(self.record, event)
        match event:
            case records.UpdateRecord() if time.monotonic() >= self._next:
                self._next = time.monotonic() + PROGRESS_S
                self._say(
                    f"{event.env_steps:>12,} steps  {event.sps:>9,.0f}/s  "
                    f"reward {event.reward_mean:+.4f}  "
                    f"success {event.success_rate:.3f} of {event.episodes:<4}  "
                    f"entropy {event.entropy_mean:.2f}  dist {event.dist_p50:.3f}"
                )
            case records.EvalRecord():
                self._say(
                    f"{event.env_steps:>12,} steps  validation ({event.mode}): "
                    f"{event.success_rate:.3f} of {event.episodes} episodes, "
                    f"median {event.median_steps_to_goal:g} steps to the goal"
                )
            case records.CheckpointRecord():
                self._say(f"{event.env_steps:>12,} steps  saved {event.path} ({event.reason})")
            case records.StateEvent() if event.detail:
                self._say(event.detail)

    def _say(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)


class SilentWriter(RunWriter):
    """The writer of ranks that write nothing; `seq` says whether the run is a resumed one."""

    def __init__(self, paths: RunPaths) -> None:
        self.paths = paths
        self.seq = self._next_seq()

    def append(self, kind: type[records.Record], /, **fields: Any) -> records.Record:
        return kind(run_id=self.paths.run_id, seq=0, time=0.0, **fields)

    def tell(self, kind: type[records.Record], /, **fields: Any) -> None:
        """Nobody listens."""

    def sync(self) -> None:
        """Nothing was written."""

    def close(self) -> None:
        """Nothing is open."""


def new_run_paths(home: HomePaths) -> RunPaths:
    """A run directory of a fresh name; nothing is made yet."""
    return home.run(f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}")


def run_in_this_process(
    config: RunConfig, paths: RunPaths, home: HomePaths, *, name: str = ""
) -> dict[str, Any]:
    """Train (or resume, when the directory has a log) to the end; returns the result object.

    Raises LabError when the run fails; the index then says so too.
    """
    control, ranks = Control(), Ranks()
    alone = ranks.world == 1  # torchrun repeats the terminal's Ctrl-C to every rank
    if not alone:
        die_with_parent()
    signal.signal(
        signal.SIGINT,
        lambda *_: _interrupt(control) if alone else control.stop("interrupted"),
    )
    signal.signal(signal.SIGTERM, lambda *_: control.stop("terminated"))
    paths = ranks.agree(paths)
    if ranks.world > 1 and config.device.startswith("cuda"):
        config = dataclasses.replace(config, device=f"cuda:{ranks.local_rank}")
        torch.cuda.set_device(ranks.local_rank)
    check_startable(config, home)
    if not ranks.is_first:
        with_writer = SilentWriter(paths)
        run_training(config, paths, home, with_writer, control, argv=sys.orig_argv, ranks=ranks)
        ranks.close()
        return {}
    result = _run_first(config, paths, home, control, ranks, name)
    ranks.close()
    return result


def _run_first(
    config: RunConfig, paths: RunPaths, home: HomePaths, control: Control, ranks: Ranks, name: str
) -> dict[str, Any]:
    registry = RunRegistry(home)
    try:
        paths.root.mkdir(parents=True, exist_ok=True)
        if not paths.config.exists():
            write_json(paths.config, {"run": config.to_dict(), "name": name})
        record = _index_record(config, paths, name)
        registry.append(record)
    except OSError as error:
        raise disk_error(paths.root, error) from None
    narrator = Narrator(record)
    writer = RunWriter(paths, narrator)
    print(f"run {paths.run_id} in {paths.root}", file=sys.stderr)
    try:
        outcome = run_training(
            config, paths, home, writer, control, argv=sys.orig_argv, ranks=ranks
        )
    except BaseException as error:
        _end(registry, narrator.record, RunState.FAILED, str(error) or type(error).__name__)
        raise
    finally:
        writer.close()
    _end(registry, narrator.record, outcome.state, outcome.reason)
    return _result(paths, outcome)


def _index_record(config: RunConfig, paths: RunPaths, name: str) -> RunRecord:
    return RunRecord(
        run_id=paths.run_id, runner="native", task=config.task, algo=config.algo,
        device=config.device, state=RunState.RUNNING, created_at=time.time(),
        config_sha256=config.sha256, pid=os.getpid(), pid_create_time=create_time(os.getpid()),
        name=name,
    )  # fmt: skip


def _end(registry: RunRegistry, record: RunRecord, state: RunState, reason: str) -> None:
    ended = msgspec.structs.replace(record, state=state, reason=reason, finished_at=time.time())
    try:
        registry.append(ended)
    except OSError as error:
        print(f"dmglab: {registry.path}: {error.strerror}", file=sys.stderr)


def _result(paths: RunPaths, outcome: Outcome) -> dict[str, Any]:
    return {
        "ok": True,
        "run_id": paths.run_id,
        "run_dir": str(paths.root),
        "state": outcome.state.value,
        "reason": outcome.reason,
        "env_steps": outcome.env_steps,
        "success_rate": outcome.success_rate,
        "checkpoint": str(paths.root / outcome.checkpoint) if outcome.checkpoint else "",
        "log": str(paths.train_log),
    }


def _interrupt(control: Control) -> None:
    if control.stop_reason:
        raise KeyboardInterrupt
    print("finishing the update, then saving; Ctrl-C again ends at once", file=sys.stderr)
    control.stop("interrupted")
