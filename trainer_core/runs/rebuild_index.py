"""Recovery of runs whose folders exist and whose lines of the index are lost or damaged.

A folder describes its run by its config.json and its log; how the run ended is only known by
the reason of its last checkpoint.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Container
from pathlib import Path

import msgspec

from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.runs.config_file import read_config, read_spec, tags_of
from trainer_core.runs.log_reader import read_history
from trainer_core.wire import records
from trainer_core.wire.errors import LabError, ProtocolError, shown
from trainer_core.wire.run_record import LONGEST_ID, RunRecord, RunState, fold, is_run_id

FOUND = "found again in its folder: the index of runs had lost it"
UNREADABLE = "its folder cannot be read as a run"
HEAD_BYTES, TAIL_BYTES = 256 << 10, 4 << 20
"""Bytes that are read of a log's beginning, which describes the run, and of its end, which tells its progress."""
_ENDS = {"final": RunState.FINISHED, "stop": RunState.STOPPED}
"""End state of a run, by the `reason` of its last checkpoint."""


def unlisted(home: HomePaths, known: Container[str]) -> list[str]:
    """Return the names of those folders of runs that are not in `known`, sorted; names begin with a time."""
    try:
        with os.scandir(home.runs) as entries:
            names = [
                entry.name for entry in entries if entry.name not in known and is_run_id(entry.name) and entry.is_dir()
            ]
    except OSError:
        return []
    return sorted(name for name in names if os.path.lexists(home.run(name).config))


def from_files(home: HomePaths, run_id: str, algo: str = "") -> RunRecord:
    """Return a record made of the run's config.json and log; its state is lost if they do not tell how it ended.

    Raises LabError for an unusable config.json.
    """
    paths = home.run(run_id)
    spec, raw = read_spec(paths), read_config(paths)
    events = _events(paths.train_log)
    record = RunRecord(
        run_id=run_id,
        runner=spec.runner,
        task=spec.task,
        algo=algo or _algo(events, raw),
        device=spec.device,
        state=RunState.LOST,
        reason=FOUND,
        created_at=events[0].time if events else _changed_at(paths.config),
        finished_at=_changed_at(paths.train_log),
        config_sha256=spec.sha256,
        name=shown(raw.get("name", ""), LONGEST_ID),
        tags=tags_of(raw),
    )
    for event in events:
        with contextlib.suppress(ProtocolError):  # a state that cannot follow is ignored
            record = fold(record, event)
    last = next((e for e in reversed(events) if isinstance(e, records.CheckpointRecord)), None)
    state = _ENDS.get(last.reason, RunState.LOST) if last else RunState.LOST
    return msgspec.structs.replace(record, state=state)


def unreadable(run_id: str, paths: RunPaths, error: LabError) -> RunRecord:
    """Return a record for a run whose files cannot be read, so that lists show it with the reason `error`."""
    return RunRecord(
        run_id=run_id,
        runner="?",
        task="?",
        algo="?",
        device="?",
        state=RunState.LOST,
        created_at=_changed_at(paths.config),
        config_sha256="",
        reason=f"{UNREADABLE}: {error}",
    )


def _events(log: Path) -> list[records.LogRecord]:
    """Return the records in the first HEAD_BYTES and the last TAIL_BYTES of a log."""
    try:
        size = os.stat(log).st_size
        head = read_history(log, 0, HEAD_BYTES)
        rest = read_history(log, max(head.offset, size - TAIL_BYTES), TAIL_BYTES).events
    except OSError:
        return []
    found = (*head.events, *rest)
    return [event for event in found if isinstance(event, records.LogRecord)]


def _algo(events: list[records.LogRecord], raw: dict[str, object]) -> str:
    meta = next((event for event in events if isinstance(event, records.MetaRecord)), None)
    run = raw["run"]
    said = meta.algo if meta else run.get("algo", "") if isinstance(run, dict) else ""
    return shown(said or "?")


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
