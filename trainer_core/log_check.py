"""Is a train_log.jsonl what docs/rl_observability.md promises? Findings, never an exception."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trainer_core.protocol import records
from trainer_core.protocol.errors import ProtocolError

MAX_FINDINGS = 50
RATES = ("done_rate", "trunc_rate", "reset_rate", "success_rate", "clipfrac", "vf_clipfrac")
COUNTERS = ("update", "env_steps", "opt_steps", "wall_time_s")


@dataclass
class Report:
    """What was found; `errors` make a log invalid, `warnings` do not."""

    records: dict[str, int] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    first_env_steps: int | None = None
    last_env_steps: int | None = None

    def error(self, line: int, text: str) -> None:
        if len(self.errors) < MAX_FINDINGS:
            self.errors.append(f"line {line}: {text}")

    def to_dict(self) -> dict[str, Any]:
        return {
            "ok": not self.errors,
            "records": sum(self.records.values()),
            "by_type": self.records,
            "first_env_steps": self.first_env_steps,
            "last_env_steps": self.last_env_steps,
            "errors": self.errors,
            "warnings": self.warnings,
        }


class LogChecker:
    """A fold over the lines of one log."""

    def __init__(self) -> None:
        self.report = Report()
        self._seq = -1
        self._run_id = ""
        self._counters: dict[str, float] = {}
        self._announced = 0

    def check_line(self, number: int, line: bytes) -> None:
        """Judge one complete line (without its newline); `number` counts from 1."""
        try:
            record = records.decode(line)
        except ProtocolError as error:
            self.report.error(number, explain(line, str(error)))
            return
        kind = type(record).__struct_config__.tag
        self.report.records[str(kind)] = self.report.records.get(str(kind), 0) + 1
        self._check_envelope(number, record)
        if not isinstance(record, records.LogRecord):
            self.report.error(number, f"a {kind} event belongs on the pipe, not in the log")
        if isinstance(record, records.ResumeRecord):
            self._check_resume(number, record)
        if isinstance(record, records.CheckpointRecord):
            self._announced = max(self._announced, record.env_steps)
        if isinstance(record, records.UpdateRecord):
            self._check_update(number, record)
        if isinstance(record, records.EvalRecord):
            self._check_rates(number, record, ("success_rate", "pass_at_1", "pass_at_n"))

    def finish(self, torn: bytes) -> Report:
        """After the last complete line; `torn` is what follows it."""
        if torn:
            self.report.warnings.append(
                f"the last line has no end ({len(torn)} bytes): a crash tore it off; ignored"
            )
        metas = self.report.records.get("meta", 0)
        if metas != 1:
            self.report.errors.append(f"{metas} meta records, expected exactly one on line 1")
        if not self.report.records.get("update"):
            self.report.warnings.append("no update record yet")
        return self.report

    def _check_envelope(self, number: int, record: records.Record) -> None:
        if isinstance(record, records.MetaRecord) != (number == 1):
            self.report.error(number, "the meta record must be line 1, and only line 1")
        if record.seq == self._seq:
            self.report.error(number, f"seq {record.seq} appears twice")
        elif record.seq != self._seq + 1:
            self.report.error(number, f"seq is {record.seq}, expected {self._seq + 1}")
        self._seq = max(self._seq, record.seq)
        if self._run_id and record.run_id != self._run_id:
            self.report.error(number, f"run_id {record.run_id!r} differs from {self._run_id!r}")
        self._run_id = self._run_id or record.run_id

    def _check_resume(self, number: int, record: records.ResumeRecord) -> None:
        """Counters go back to the checkpoint that was resumed, and only there."""
        if record.env_steps > max(self._announced, self._counters.get("env_steps", 0)):
            self.report.error(number, f"resumes at {record.env_steps} steps, never reached before")
        self._counters = {"update": record.update, "env_steps": record.env_steps}

    def _check_update(self, number: int, record: records.UpdateRecord) -> None:
        for name in COUNTERS:
            value = getattr(record, name)
            if value < self._counters.get(name, 0):
                self.report.error(
                    number, f"{name} went back from {self._counters[name]} to {value}"
                )
            self._counters[name] = value
        histogram = record.action_hist
        if len(histogram) != records.NUM_ACTIONS:
            self.report.error(
                number,
                f"action_hist has {len(histogram)} bins, expected {records.NUM_ACTIONS}",
            )
        if any(count < 0 for count in histogram) or not sum(histogram):
            self.report.error(number, "action_hist must count at least one action, none negative")
        self._check_rates(number, record, RATES)
        if not record.dist_p10 <= record.dist_p50 <= record.dist_p90:
            self.report.error(number, "dist_p10, dist_p50 and dist_p90 are out of order")
        if self.report.first_env_steps is None:
            self.report.first_env_steps = record.env_steps
        self.report.last_env_steps = record.env_steps

    def _check_rates(self, number: int, record: records.Record, names: tuple[str, ...]) -> None:
        for name in names:
            value = getattr(record, name)
            if not 0.0 <= value <= 1.0:
                self.report.error(number, f"{name} is {value}, expected 0 to 1")


def check_log(path: Path) -> Report:
    """Every finding about one log. Raises OSError when the file cannot be read."""
    data = path.read_bytes()
    end = data.rfind(b"\n") + 1
    checker = LogChecker()
    for number, line in enumerate(data[:end].split(b"\n")[:-1], start=1):
        checker.check_line(number, line)
    return checker.finish(data[end:])


def explain(line: bytes, reason: str) -> str:
    """`reason` with a better word for NaN, infinity and lines that were torn in the middle."""
    try:
        json.loads(line)
    except (ValueError, UnicodeDecodeError, RecursionError):
        return f"torn or not JSON: {reason}"
    for word in (b"NaN", b"Infinity"):
        if word in line:
            return f"{word.decode()} is not a number a record may hold: {reason}"
    return reason
