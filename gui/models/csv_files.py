"""Tables of numbers as the text of a CSV file (RFC 4180), for spreadsheets and pandas."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import numpy as np

from gui.models.metric_series import Array
from gui.models.run_notes import Note
from trainer_core.wire.run_record import RunRecord

AXES = ("env_steps", "update", "wall_time_s")
"""Counters that come before the metrics in a row."""
CONFIG = "config."
"""What names of fields of the configuration begin with."""


def runs_csv(runs: Sequence[RunRecord], configs: Mapping[str, Mapping[str, str]], notes: Mapping[str, Note]) -> str:
    """A row a run: what it is, how far it came, and every field of what any of them was told."""
    fields = list(dict.fromkeys(name for run in runs for name in configs.get(run.run_id, {})))
    head = ["run_id", "name", "state", "reason", "task", "trainer", "algo", "device", "steps",
            "best", "started", "ended", "tags", "notes"]  # fmt: skip
    rows = [[*head, *(CONFIG + name for name in fields)]]
    for run in runs:
        told, note = configs.get(run.run_id, {}), notes.get(run.run_id, Note())
        rows.append([
            run.run_id, run.name, run.state, run.reason, run.task, run.runner, run.algo, run.device,
            str(run.env_steps), f"{run.best_success_rate:.10g}", _time(run.created_at),
            _time(run.finished_at), " ".join(note.tags), note.text,
            *(told.get(name, "") for name in fields),
        ])  # fmt: skip
    return _text(rows)


def curves_csv(runs: Sequence[tuple[str, str, Mapping[str, Array]]]) -> str:
    """A row a record of (run id, name, f64[records] by metric); what was not measured is empty."""
    every = list(dict.fromkeys(metric for _, _, columns in runs for metric in columns))
    head = [*(name for name in AXES if name in every), *(n for n in every if n not in AXES)]
    rows = [["run_id", "name", *head]]
    for run_id, name, columns in runs:
        length = max(map(len, columns.values()), default=0)
        texts = [_cells(columns[metric]) if metric in columns else [""] * length for metric in head]
        rows += [[run_id, name, *values] for values in zip(*texts, strict=True)]
    return _text(rows)


def _cells(values: Array) -> list[str]:
    missing = np.isnan(values).tolist()
    return ["" if is_missing else f"{value:.10g}" for value, is_missing in zip(values.tolist(), missing, strict=True)]


def _time(when: float) -> str:
    """In UTC, ISO 8601; nothing of a time that was not."""
    return datetime.fromtimestamp(when, UTC).isoformat(timespec="seconds") if when else ""


def _text(rows: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()
