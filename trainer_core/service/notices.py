"""Notices of a TrainerService to its listeners."""

from __future__ import annotations

from dataclasses import dataclass

from trainer_core.service.event_stream import BadLine
from trainer_core.wire.records import Event
from trainer_core.wire.run_record import RunRecord


@dataclass(frozen=True, slots=True)
class RunChanged:
    """Change of a run's state, or of its process's activity within the state."""

    record: RunRecord
    detail: str = ""
    progress: float = -1.0
    force_at: float = 0.0
    """time.monotonic() at which a stop takes its next, harder step (SIGTERM, SIGKILL); 0 when none is planned."""


@dataclass(frozen=True, slots=True)
class EventReceived:
    run_id: str
    event: Event


@dataclass(frozen=True, slots=True)
class LogLines:
    """New lines of a run's process on standard error."""

    run_id: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BadLineSeen:
    run_id: str
    line: BadLine


Notice = RunChanged | EventReceived | LogLines | BadLineSeen
