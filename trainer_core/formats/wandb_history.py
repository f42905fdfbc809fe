"""Export of a run's curves in W&B's names: `python -m trainer_core.formats.wandb_history RUN_DIR [OUT]`.

Three JSON files: `history.jsonl`, one object a record with W&B's `_step`, `_timestamp` and `_runtime` beside our
metrics; `config.json`; `summary.json`, the last value of each metric. This is the form of W&B's history, not its
client's undocumented binary file: docs/notebook/service.md has the six lines that log it with the `wandb` package,
offline or not.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

from trainer_core.formats.as_job import run_export
from trainer_core.formats.tensorboard import tags_of
from trainer_core.lab.paths import RunPaths
from trainer_core.runs.log_reader import read_history
from trainer_core.wire import records
from trainer_core.wire.errors import LabError

_PROGRESS_EVERY = 500


def export(run: RunPaths, out: Path) -> Generator[float, None, Path]:
    """Write history.jsonl, config.json and summary.json into `out`; yield the share done, return `out`.

    Raises LabError when the run has no curve yet or a file cannot be written.
    """
    events = read_history(run.train_log).events
    past = [event for event in events if tags_of(event)]
    if not past:
        raise LabError(f"{run.train_log}: no update records yet; wait for the first one")
    meta = next((event for event in events if isinstance(event, records.MetaRecord)), None)
    summary: dict[str, Any] = {}
    try:
        out.mkdir(parents=True, exist_ok=True)
        partial = out / ".history.jsonl.partial"
        with partial.open("w", encoding="utf-8") as file:
            for index, record in enumerate(past):
                row = history_row(record, past[0].time)
                summary.update(row)
                file.write(json.dumps(row) + "\n")
                if index % _PROGRESS_EVERY == 0:
                    yield index / len(past)
        os.replace(partial, out / "history.jsonl")
        (out / "config.json").write_text(json.dumps(meta.config if meta else {}, indent=2))
        (out / "summary.json").write_text(json.dumps(summary, indent=2))
    except OSError as error:
        raise LabError(f"{out}: cannot be written: {error.strerror}") from None
    return out


def history_row(record: records.Event, began: float) -> dict[str, Any]:
    """Return a log record as a row of W&B's history: `_step` is environment steps, `_runtime` seconds since `began`."""
    return {
        "_step": getattr(record, "env_steps", 0),
        "_timestamp": record.time,
        "_runtime": record.time - began,
        **tags_of(record),
    }


def main(argv: list[str]) -> int:
    return run_export(argv, "wandb_history", export, "wandb_history")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
