"""States of a run, their transitions, and the index record that `fold` derives from its events."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta

from trainer_core.wire.errors import ProtocolError
from trainer_core.wire.records import (
    CheckpointRecord,
    ErrorRecord,
    EvalRecord,
    Record,
    ResumeRecord,
    StateEvent,
    UpdateRecord,
)
from trainer_core.wire.run_names import run_name


class RunState(StrEnum):
    IDLE = "idle"
    QUEUED = "queued"
    PREFLIGHT = "preflight"
    STARTING = "starting"
    RUNNING = "running"
    PAUSING = "pausing"
    PAUSED = "paused"
    STOPPING = "stopping"
    FINISHED = "finished"
    STOPPED = "stopped"
    FAILED = "failed"
    LOST = "lost"

    @property
    def is_end(self) -> bool:
        return self._value_ in _END_VALUES


END_STATES = frozenset({RunState.FINISHED, RunState.STOPPED, RunState.FAILED, RunState.LOST})
_END_VALUES = frozenset(state.value for state in END_STATES)
"""Values of END_STATES as plain strings: hashing an enum member runs Python code, and an index may be long."""
_ENDS = {RunState.STOPPED, RunState.FAILED, RunState.LOST}
TRANSITIONS: dict[RunState, frozenset[RunState]] = {
    RunState.IDLE: frozenset({RunState.QUEUED, RunState.PREFLIGHT}),
    RunState.QUEUED: frozenset({RunState.PREFLIGHT, *_ENDS}),
    RunState.PREFLIGHT: frozenset({RunState.STARTING, *_ENDS}),
    RunState.STARTING: frozenset({RunState.RUNNING, RunState.STOPPING, RunState.FINISHED, *_ENDS}),
    RunState.RUNNING: frozenset({RunState.PAUSING, RunState.PAUSED, RunState.STOPPING, RunState.FINISHED, *_ENDS}),
    RunState.PAUSING: frozenset({RunState.PAUSED, RunState.RUNNING, RunState.STOPPING, *_ENDS}),
    RunState.PAUSED: frozenset({RunState.RUNNING, RunState.STOPPING, *_ENDS}),
    RunState.STOPPING: frozenset({RunState.FINISHED, *_ENDS}),
    RunState.FINISHED: frozenset({RunState.STARTING}),
    RunState.STOPPED: frozenset({RunState.STARTING}),
    RunState.FAILED: frozenset({RunState.STARTING}),
    RunState.LOST: frozenset({RunState.STARTING}),
}


Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""Count that fits SQLite's integers."""
When = Annotated[float, Meta(ge=0, le=253_402_300_799)]
"""Seconds since 1970, up to the end of year 9999, which a calendar can show."""
LATEST_S = 1 << 33
"""Greatest time accepted in an imported run: seconds since 1970, in the year 2242."""


class RunRecord(msgspec.Struct, kw_only=True, frozen=True, gc=False):
    """State of one run as a line of the index runs.jsonl; of several lines with one run_id the last is valid."""

    v: int = 1
    run_id: str
    runner: str
    task: str
    algo: str
    device: str
    state: RunState
    created_at: When
    config_sha256: str
    pid: Count = 0
    pid_create_time: float = 0.0
    """Creation time by psutil: with the pid it identifies a process even if the pid is reused."""
    finished_at: When = 0.0
    reason: str = ""
    env_steps: Count = 0
    wall_time_s: float = 0.0
    """Seconds of training, resumes included; 0 also in lines written before December 2026."""
    best_success_rate: float = 0.0
    """Best success rate of greedy validations."""
    best_leaving_rate: float = 0.0
    """Best success rate of validations in mode leave_loops."""
    last_checkpoint: str = ""
    name: str = ""
    """Name that the user gave; otherwise, also in lines written before December 2026, the one made of the id."""
    host: str = ""
    """Computer on which process `pid` runs; empty in lines written before November 2026."""
    tags: dict[str, str] = {}
    """Labels that group runs; a trial of a sweep has `sweep`, `trial`, `setting`, `varied` (JSON)."""

    def __post_init__(self) -> None:
        if not self.name:
            msgspec.structs.force_setattr(self, "name", run_name(self.run_id))

    @property
    def title(self) -> str:
        """Name and id, for a sentence."""
        return f"{self.name} ({self.run_id})"


ARCHIVED = "archived: "
"""Beginning of the reason of an archived run; the file name follows."""


TRASHED = "in the trash: "
"""Beginning of the reason of a run in the trash; its folder follows."""
STORAGE_TAG = "storage"
"""Tag of a run that was moved: name and kind of its storage profile."""


def is_archived(run: RunRecord) -> bool:
    """Return whether the run's folder is gone, into an archive or the trash."""
    return run.state.is_end and run.reason.startswith((ARCHIVED, TRASHED))


def where_archived(run: RunRecord) -> str:
    """Return a sentence on an archived run: where it is, and the command that brings it back."""
    command = "storage undo" if run.reason.startswith(TRASHED) else "archive restore"
    return f"run {run.title} is {run.reason}; `dmglab {command}` brings it back"


LONGEST_ID = 200
"""Characters of a run id: a folder's name has at most 255 bytes."""


def is_run_id(text: str) -> bool:
    """Return whether `text` can be a run id: the name of a folder below the runs.

    It appears in paths, tables and command lines: no separator, no leading dot, no control character, no leading
    hyphen.
    """
    is_short = 0 < len(text) <= LONGEST_ID
    return is_short and text[0] not in ".-" and "/" not in text and text.isprintable()


def advance(state: RunState, new: RunState) -> RunState:
    """Return `new` if a run may change from `state` to it. Raises ProtocolError otherwise."""
    if new != state and new not in TRANSITIONS[state]:
        raise ProtocolError(f"a run cannot go from {state} to {new}")
    return new


def fold(record: RunRecord, event: Record) -> RunRecord:
    """Return `record` updated by one event of its run; `record` itself is unchanged."""
    match event:
        case StateEvent():
            try:
                new = RunState(event.state)
            except ValueError:
                raise ProtocolError(f"unknown run state {event.state!r}") from None
            # A running process no longer has the detail of its start; an error's message is kept.
            reason = event.detail or (record.reason if new.is_end else "")
            return msgspec.structs.replace(record, state=advance(record.state, new), reason=reason)
        case UpdateRecord():
            if record.state in (RunState.STARTING, RunState.PREFLIGHT):
                record = msgspec.structs.replace(record, state=RunState.RUNNING, reason="")
            return msgspec.structs.replace(record, env_steps=event.env_steps, wall_time_s=event.wall_time_s)
        case ResumeRecord():
            return msgspec.structs.replace(record, env_steps=event.env_steps)
        case EvalRecord(mode="greedy", is_part=False):
            best = max(record.best_success_rate, event.success_rate)
            return msgspec.structs.replace(record, best_success_rate=best)
        case EvalRecord(mode="leave_loops", is_part=False):
            best = max(record.best_leaving_rate, event.success_rate)
            return msgspec.structs.replace(record, best_leaving_rate=best)
        case CheckpointRecord():
            best = max(record.best_success_rate, event.success_rate)
            leaving = max(record.best_leaving_rate, event.leaving_success_rate)
            return msgspec.structs.replace(
                record,
                # A best checkpoint may be reported late, with weights older than the run's newest.
                env_steps=max(record.env_steps, event.env_steps),
                last_checkpoint=event.path,
                best_success_rate=best,
                best_leaving_rate=leaving,
            )
        case ErrorRecord():
            return msgspec.structs.replace(record, reason=event.message)
        case _:
            return record
