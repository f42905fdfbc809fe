"""Writer of train_log.jsonl for runners whose process does not write it."""

from __future__ import annotations

from typing import Any

from trainer_core.runs.log_writer import RunWriter
from trainer_core.service.plan import LaunchPlan
from trainer_core.wire import records
from trainer_core.wire.run_record import RunRecord


class GuestLog:
    """Writer of the events that a runner's `parse` returns, after a first meta or resume record."""

    def __init__(self, plan: LaunchPlan, record: RunRecord, writer: RunWriter) -> None:
        """Write the first record; raises DiskError."""
        self._writer = writer
        if writer.seq == 0:
            writer.append(records.MetaRecord, **_meta(plan, record))
        else:
            writer.append(
                records.ResumeRecord,
                env_steps=record.env_steps,
                update=0,
                checkpoint=record.last_checkpoint,
                previous_seq=writer.seq - 1,
            )

    def keep(self, event: records.Event) -> records.Event:
        """Append a log record to the log and return it with its number; return any other event unchanged.

        Raises LabError.
        """
        if not isinstance(event, records.LogRecord):
            return event
        return self._writer.keep(event)  # type: ignore[return-value]

    def close(self) -> None:
        self._writer.close()


def _meta(plan: LaunchPlan, record: RunRecord) -> dict[str, Any]:
    """Return the meta record's fields that are known without the runner."""
    spec = plan.spec
    return {
        "runner": spec.runner,
        "task": spec.task,
        "algo": record.algo,
        "config": spec.to_dict(),
        "argv": list(plan.argv),
        "seed": spec.seed,
        "device": spec.device,
    }
