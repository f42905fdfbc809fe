"""Check of a train_log.jsonl against docs/reference/records.md; it reports findings and raises none.

`record_check` judges each record by itself; this module compares it with the records before. A log is read line by line
and not stored, so that its length costs no memory.
"""

from __future__ import annotations

import collections
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

from msgspec import UNSET

from trainer_core.lab.task_lists import split_tasks
from trainer_core.runs.record_check import OWED_META_OF_A_TRAINING, explain, findings, line_findings
from trainer_core.wire import records
from trainer_core.wire.buttons import ACTIONS, CODECS
from trainer_core.wire.errors import ProtocolError
from trainer_core.wire.metric_names import scalars
from trainer_core.wire.regular_files import open_regular
from trainer_core.wire.spec import NATIVE_ID

MAX_FINDINGS = 50
AN_ERROR = "an error"
WITH_WEIGHTS = records.EvalRecord | records.EpisodeRecord | records.CheckpointRecord
"""Records about the weights that a run had at their env_steps."""
MOST_LATE = 4096
"""Number of newest update records that are kept, for a validation whose result comes later than its weights."""
COUNTERS = ("update", "env_steps", "opt_steps", "wall_time_s")


@dataclass
class Report:
    """Findings about one log; `errors` make it invalid, `warnings` do not."""

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


@dataclass(frozen=True, slots=True, order=True)
class Standing:
    """Counters of the newest update record at some point of the run; all 0 at its start."""

    update: int = 0
    env_steps: int = 0
    opt_steps: int = 0
    wall_time_s: float = 0.0


class Life:
    """Progress of the run within one training process; a resume begins another."""

    def __init__(self, base: Standing, env_steps: int = 0, update: int = 0) -> None:
        self.recorded = base
        """Counters of the newest update record from which this process continued."""
        self.env_steps, self.update = env_steps, update
        """Newest env_steps and update in any record of this process."""
        self.begun_at = env_steps
        self.saved = env_steps if env_steps else -1
        """env_steps of this process's newest checkpoint."""
        self.known = -1
        """env_steps of the validation that the newest checkpoint names, if this process reported it."""
        self.validated = env_steps
        """env_steps of this process's newest validation."""
        self.standings = collections.deque([base], maxlen=MOST_LATE)
        self.ended = ""
        """Event after which only a resume may follow; empty = none."""
        self.scalars: set[str] | None = None
        """Names of the scalars in this process's first update record: later ones must have the same."""

    def standing_at(self, env_steps: int) -> Standing:
        """Return the counters of the newest update record up to `env_steps`."""
        return max((one for one in self.standings if one.env_steps <= env_steps), default=Standing())


class LogChecker:
    """Checker of one log, which gets it line by line and returns a Report."""

    def __init__(self, run_id: str = "") -> None:
        """Begin to check a log; `run_id` is the name of its folder, "" if it is unknown."""
        self.report = Report()
        self._run_id = run_id
        self._seq = -1
        self._meta: records.MetaRecord | None = None
        self._imported = False
        self._is_traced = False
        """True once a record other than an update had a trace_id."""
        self._life = Life(Standing())
        self._rates: dict[tuple[int, str], float] = {}
        """Success rate of each validation of all tasks, by its env steps and mode."""
        self._checkpoints: dict[str, tuple[int, Standing]] = {}
        """Checkpoints reported or resumed from: env steps of each, and the newest update record before it."""

    # -- lines --------------------------------------------------------------------------------

    def check_line(self, number: int, line: bytes) -> None:
        """Check one complete line (without its newline); `number` counts from 1."""
        try:
            record = records.decode(line)
        except ProtocolError as error:
            self.report.error(number, explain(line, str(error)))
            return
        kind = str(type(record).__struct_config__.tag)
        self.report.records[kind] = self.report.records.get(kind, 0) + 1
        for finding in (*line_findings(line), *self._in_its_place(number, record)):
            self.report.error(number, finding)

    def finish(self, torn: bytes) -> Report:
        """Return the report, after the last complete line was checked; `torn` is the unfinished line at the log's
        end."""
        if torn:
            self.report.warnings.append(f"the last line has no end ({len(torn)} bytes): a crash tore it off; ignored")
        metas = self.report.records.get("meta", 0)
        if metas != 1:
            self.report.errors.append(f"{metas} meta records, expected exactly one on line 1")
        elif self._native and not self._imported:
            assert self._meta is not None
            for name in OWED_META_OF_A_TRAINING:
                if not getattr(self._meta, name):
                    self.report.error(1, f"the meta record of a {NATIVE_ID} run lacks {name}")
        if not self.report.records.get("update"):
            self.report.warnings.append("no update record yet")
        return self.report

    # -- one record after the others ----------------------------------------------------------

    @property
    def _native(self) -> bool:
        return self._meta is not None and self._meta.runner == NATIVE_ID

    @property
    def _log_every(self) -> int:
        """Number of updates between two update records, 0 if the log does not tell."""
        every = self._meta.config.get("log_every") if self._native and self._meta else 0
        return every if isinstance(every, int) and every > 0 else 0

    @property
    def _batch(self) -> int:
        """Environment steps of one update, 0 if the log does not tell."""
        if self._meta is None or not self._native:
            return 0
        steps = self._meta.config.get("num_steps")
        return steps * self._meta.num_envs if isinstance(steps, int) and steps > 0 else 0

    def _in_its_place(self, number: int, record: records.Record) -> Iterator[str]:
        yield from self._envelope(number, record)
        if not isinstance(record, records.LogRecord):
            tag = type(record).__struct_config__.tag
            yield f"a {tag} event belongs on the pipe, not in the log"
            return
        if isinstance(record, records.MetaRecord) and self._meta is None:
            self._meta = record
        yield from self._traced(record)
        codec = self._meta.codec if self._meta else ""
        # Logs without a codec and guests' environments have unknown names: seven bins, as always.
        yield from findings(record, self._native, len(CODECS.get(codec, ACTIONS)))
        if isinstance(record, records.ResumeRecord):
            yield from self._resume(record)
            return
        if self._life.ended and not isinstance(record, records.ErrorRecord):
            yield f"nothing but a resume may follow {self._life.ended}"
        if isinstance(record, records.ErrorRecord):
            self._life.ended = AN_ERROR
        if isinstance(record, records.UpdateRecord):
            yield from self._update(record)
        if isinstance(record, records.EvalRecord | records.EpisodeRecord):
            yield from self._validation(record.env_steps)
        if isinstance(record, records.EvalRecord):
            yield from self._same_task(record)
            if not record.is_part:
                self._rates[record.env_steps, record.mode] = record.success_rate
        if isinstance(record, records.CheckpointRecord):
            yield from self._checkpoint(record)
            yield from self._validated(record)

    def _traced(self, record: records.LogRecord) -> Iterator[str]:
        """Yield a finding if the record's trace_id is not that of its update, or is missing.

        Logs begun before December 2026 have one in update records only, until they are resumed.
        """
        is_own = self._native or not isinstance(record, records.ResumeRecord)  # a guest's resume has no number
        update: object = getattr(record, "update", UNSET) if is_own else UNSET
        is_imported = getattr(record, "reason", "") == "imported"  # its run may have had more consoles
        if isinstance(record, WITH_WEIGHTS) and self._batch and not record.env_steps % self._batch and not is_imported:
            update = record.env_steps // self._batch
        found = record.trace_id
        if isinstance(update, int):
            wanted = records.trace_of(record.run_id, update)
            is_right = found == wanted
        else:
            wanted = f"{record.run_id}-N"
            head, _, number = found.rpartition("-")
            is_right = head == record.run_id and number.isdecimal()
        if found and not is_right:
            yield f"trace_id is {found!r}, expected {wanted!r}"
        self._is_traced |= bool(found) and not isinstance(record, records.UpdateRecord)
        if not found and (self._is_traced or (self._native and isinstance(record, records.UpdateRecord))):
            yield "lacks trace_id"

    def _same_task(self, record: records.EvalRecord) -> Iterator[str]:
        task = self._meta.task if self._native and self._meta else record.task
        parts = split_tasks(task) if record.is_part else (task,)
        if record.task not in parts:
            yield f"task is {record.task!r}, the run's is {task!r}"

    def _envelope(self, number: int, record: records.Record) -> Iterator[str]:
        if isinstance(record, records.MetaRecord) != (number == 1):
            yield "the meta record must be line 1, and only line 1"
        if record.seq == self._seq:
            yield f"seq {record.seq} appears twice"
        elif record.seq != self._seq + 1:
            yield f"seq is {record.seq}, expected {self._seq + 1}"
        self._seq = max(self._seq, record.seq)
        self._run_id = self._run_id or record.run_id
        if record.run_id != self._run_id or not record.run_id:
            yield f"run_id {record.run_id!r} differs from {self._run_id!r}"

    def _reach(self, env_steps: int, *, recorded: bool = False) -> Iterator[str]:
        """Record that the run came to `env_steps`.

        Yields findings if the number decreases, is no multiple of the steps of an update, or is beyond an update record
        that is missing; `recorded` if this is an update record.
        """
        life = self._life
        if env_steps < life.env_steps:
            yield f"env_steps went back from {life.env_steps} to {env_steps}"
        life.env_steps = max(life.env_steps, env_steps)
        if self._batch and env_steps % self._batch:
            yield f"env_steps is {env_steps}, no multiple of {self._batch} steps an update"
        if self._batch and self._log_every and not recorded:
            due = self._due() * self._batch
            if env_steps >= due:
                yield f"env_steps is {env_steps}, the update record at {due} is missing"

    def _validation(self, env_steps: int) -> Iterator[str]:
        """Yield findings about the position of a validation of the weights of `env_steps` in the log.

        If a second process validates, its result may come after later updates, but not after a later validation.
        """
        life = self._life
        if not self._validates_late or env_steps >= life.env_steps:
            yield from self._reach(env_steps)
        elif env_steps < life.validated:
            yield f"a validation at {env_steps} steps follows one at {life.validated}"
        elif self._batch and env_steps % self._batch:
            yield f"env_steps is {env_steps}, no multiple of {self._batch} steps an update"
        life.validated = max(life.validated, env_steps)

    @property
    def _validates_late(self) -> bool:
        config = self._meta.config if self._native and self._meta else {}
        where = config.get("validate_on", "auto")
        return where == "cpu" or (where == "auto" and str(config.get("device")).startswith("cuda"))

    def _due(self) -> int:
        """Return the number of the next update that must have a record."""
        return (self._life.recorded.update // self._log_every + 1) * self._log_every

    # -- updates ------------------------------------------------------------------------------

    def _update(self, record: records.UpdateRecord) -> Iterator[str]:
        life, before = self._life, self._life.recorded
        now = Standing(
            **{
                name: getattr(before, name) if getattr(record, name) is UNSET else getattr(record, name)
                for name in COUNTERS
            }
        )
        for name in COUNTERS:
            if getattr(now, name) < getattr(before, name):
                was = getattr(before, name)
                yield f"{name} went back from {was} to {getattr(now, name)}"
        if record.update is not UNSET:
            yield from self._numbered(record, before)
        yield from self._reach(record.env_steps, recorded=True)
        steps = {record.env_steps - before.env_steps, record.env_steps - life.begun_at}
        if record.action_hist and sum(record.action_hist) not in steps:
            yield (
                f"action_hist sums to {sum(record.action_hist)}, "
                f"the record has {record.env_steps - before.env_steps} steps"
            )
        found = set(scalars(record))
        if self._native and (missing := (life.scalars or set()) - found):
            yield f"lacks {', '.join(sorted(missing))}"
        life.scalars = life.scalars or found
        life.begun_at = life.env_steps
        life.recorded = now
        life.standings.append(now)
        if self.report.first_env_steps is None:
            self.report.first_env_steps = record.env_steps
        self.report.last_env_steps = record.env_steps

    def _numbered(self, record: records.UpdateRecord, before: Standing) -> Iterator[str]:
        update = record.update
        assert isinstance(update, int)
        if not self._native:
            return
        if self._log_every and update != self._due():
            yield f"update is {update}, expected {self._due()}: log_every is {self._log_every}"
        elif update <= before.update:
            yield f"update is {update} again"
        if self._batch and record.env_steps != update * self._batch:
            yield f"env_steps is {record.env_steps}, {update} updates are {update * self._batch}"

    # -- checkpoints and resumes --------------------------------------------------------------

    def _checkpoint(self, record: records.CheckpointRecord) -> Iterator[str]:
        life = self._life
        if record.reason == "imported":
            if record.seq != 1:
                yield "an imported checkpoint comes second, after the meta record"
            self._imported = True
            life.env_steps = life.saved = record.env_steps
            life.ended = "an import"
            self._checkpoints[record.path] = (record.env_steps, Standing())
            return
        late = self._validates_late and record.reason == "best"
        past = record.env_steps < life.env_steps or record.env_steps == life.saved
        if late and past and record.env_steps == life.validated:
            self._checkpoints[record.path] = (record.env_steps, life.standing_at(record.env_steps))
            return
        yield from self._reach(record.env_steps)
        # A best checkpoint reported late may be saved again with its envs when the run ends there.
        last = life.saved - self._validates_late
        # A checkpoint written during the validation of its weights is saved again after it.
        knows_more = life.known < record.validated_env_steps == record.env_steps == life.saved
        if self._native and record.env_steps <= last and not knows_more:
            yield f"a checkpoint at {record.env_steps} steps was announced before"
        life.saved, life.known = record.env_steps, record.validated_env_steps
        self._checkpoints[record.path] = (record.env_steps, life.recorded)
        if self._native and record.reason in ("final", "stop"):
            life.ended = f"the {record.reason} checkpoint"

    def _validated(self, record: records.CheckpointRecord) -> Iterator[str]:
        """Yield a finding for each success rate of a checkpoint's record that differs from the validation that it
        names."""
        for mode, rate in (
            ("greedy", record.success_rate),
            ("leave_loops", record.leaving_success_rate),
            ("sample", record.sampled_success_rate),
        ):
            found = self._rates.get((record.validated_env_steps, mode), rate)
            if found != rate:
                yield (
                    f"{mode} success is {rate:g}, the validation at {record.validated_env_steps} steps has {found:g}"
                )

    def _resume(self, record: records.ResumeRecord) -> Iterator[str]:
        """Yield findings about a resume, whose counters must be exactly those of the resumed checkpoint."""
        if record.previous_seq != record.seq - 1:
            yield f"previous_seq is {record.previous_seq}, the line before has {record.seq - 1}"
        if not self._native:
            # Only the guest knows where its process continues.
            if record.env_steps > self._life.env_steps:
                yield f"resumes at {record.env_steps} steps, never reached before"
            self._life = Life(Standing())
            return
        if self._batch and record.env_steps != record.update * self._batch:
            yield f"resumes at {record.env_steps} steps and update {record.update}"
        base = Standing()
        if not record.checkpoint:
            if record.env_steps or record.update:
                yield f"resumes at {record.env_steps} steps without a checkpoint"
        elif self._imported and len(self._checkpoints) == 1 and self._log_every:
            # Its counters continue from the last record of a log that was not imported.
            recorded = record.update // self._log_every * self._log_every
            base = Standing(update=recorded, env_steps=recorded * self._batch)
        elif record.checkpoint in self._checkpoints:
            env_steps, base = self._checkpoints[record.checkpoint]
            if record.env_steps != env_steps:
                yield f"resumes at {record.env_steps} steps, {record.checkpoint} has {env_steps}"
        else:
            yield from self._unannounced(record)
            base = self._life.standing_at(record.env_steps)
            self._checkpoints[record.checkpoint] = (record.env_steps, base)
        self._life = Life(base, record.env_steps, record.update)

    def _unannounced(self, record: records.ResumeRecord) -> Iterator[str]:
        """Yield a finding about a resume from a checkpoint that has no record, unless a crash explains it.

        A crash between the writing of a checkpoint and that of its record does, if no later record follows; only the
        validation of its weights may have delayed the checkpoint behind later updates.
        """
        life = self._life
        name = f"checkpoints/{record.env_steps:012d}"
        owed = bool(self._log_every) and record.update >= self._due()
        over = life.ended not in ("", AN_ERROR)
        late = self._validates_late and record.env_steps == life.validated
        past = record.env_steps < life.env_steps and not late
        if record.checkpoint != name or past or over or owed:
            yield f"resumes from {record.checkpoint}, which no record announced"


# -- files --------------------------------------------------------------------------------------


def check_log(path: Path) -> Report:
    """Return every finding about one log. Raises OSError when it cannot be read or is no regular file."""
    folder = path.resolve().parent
    in_its_run = path.name == "train_log.jsonl" and (folder / "config.json").is_file()
    checker = LogChecker(folder.name if in_its_run else "")
    with BufferedReader(open_regular(path)) as file:  # on an unbuffered file readline reads byte by byte
        torn = _check_lines(file, checker)
    return checker.finish(torn)


def _check_lines(file: BinaryIO, checker: LogChecker) -> bytes:
    """Check every complete line of `file`; return the unfinished line at its end, b"" if there is none."""
    number = 0
    while line := file.readline(records.MAX_LINE_BYTES + 1):
        if line.endswith(b"\n"):
            number += 1
            checker.check_line(number, line[:-1])
            continue
        size, ended = len(line), False
        while not ended and (more := file.readline(records.MAX_LINE_BYTES)):
            size, ended = size + len(more), more.endswith(b"\n")
        if not ended:
            return line
        number += 1
        checker.report.error(number, f"{size} bytes, a line has at most {records.MAX_LINE_BYTES}")
    return b""
