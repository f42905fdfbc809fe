"""Import of curves logged to TensorBoard or W&B, as runs of a home that can be compared, not resumed."""

from __future__ import annotations

import hashlib
import io
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from trainer_core.formats import tensorboard_reader as tensorboard
from trainer_core.formats.logged_run import MOST_LOGGED_BYTES, LoggedRun
from trainer_core.formats.wandb_reader import read_file
from trainer_core.lab import durable_files
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.life import RunLife
from trainer_core.runs.log_writer import disk_error
from trainer_core.wire import records
from trainer_core.wire.decoding import parsing, plain
from trainer_core.wire.errors import LabError, ProtocolError
from trainer_core.wire.metric_names import METRICS
from trainer_core.wire.regular_files import open_regular, read_regular
from trainer_core.wire.run_record import LATEST_S, RunRecord, RunState
from trainer_core.wire.spec import MAX_SEED, NEUTRAL, RunSpec

WANDB, TENSORBOARD = "wandb", "tensorboard"
"""Runner names of imported runs: they tell where curves come from and cannot be started."""
IMPORTED = "imported from "
"""Beginning of the reason of an imported run's end; its source follows."""
MOST_RUNS = 250
"""Greatest number of runs in one folder: as many as one plot can show."""
STEPS = ("env_steps", "global_step", "_step")
"""Names under which a logged row may hold environment steps, the preferred one first."""
_OURS = {metric.name for metric in METRICS}
MOST_LINE_BYTES = 1 << 20
"""Greatest length of a line of history.jsonl; a record of ours has at most 64 KiB."""
MOST_NAME = 60
"""Characters of a run's name; of a longer one the end is kept, where names differ."""
MOST_SCALARS = 500
"""Curves kept of one row; a record has at most 64 KiB."""


class NoCurveError(LabError):
    """Error that a logged run has no number, so that there is no curve to import."""


@dataclass(frozen=True)
class Imported:
    runs: list[RunRecord]
    lost: list[str]
    """One line for each run or part that was not imported, with the reason."""


def is_logged(path: Path) -> bool:
    """Return whether `import_curves` can read `path`: a file of W&B, event files of TensorBoard or a folder of them."""
    if path.is_dir():
        return any(next(path.glob(f"{way}{tensorboard.EVENTS}"), None) for way in ("", "*/", "*/*/"))
    return path.suffix == ".wandb" or path.name == "history.jsonl" or path.match(tensorboard.EVENTS)


def import_curves(path: Path, home: HomePaths) -> Imported:
    """Import the runs that another program logged.

    `path` is a `run-ID.wandb`, the `history.jsonl` of our own export, an event file of TensorBoard, which stands for
    its folder, or a folder with any number of these below it. The same bytes imported twice give the same run. Of many
    runs an unreadable one is listed as lost. Raises LabError for a file of another kind, a damaged one, one without a
    curve, and a home that cannot be written.
    """
    if not path.is_dir() and not path.match(tensorboard.EVENTS):
        record, lost = import_wandb(path, home)
        return Imported([record], [lost] if lost else [])
    folders = tensorboard.run_folders(path) if path.is_dir() else [path.parent]
    if not folders:
        raise LabError(f"{path}: no event files of TensorBoard in it")
    if len(folders) > MOST_RUNS:
        raise LabError(f"{path}: {len(folders)} runs of TensorBoard; name a folder of {MOST_RUNS} or fewer")
    done = Imported([], [])
    for folder in folders:
        is_below = path.is_dir() and folder != path
        try:
            record, lost = _import_events(folder, str(folder.relative_to(path)) if is_below else "", home)
        except LabError as error:
            if len(folders) == 1:
                raise
            if not isinstance(error, NoCurveError):  # texts and pictures are no loss
                done.lost.append(str(error))
            continue
        done.runs.append(record)
        if lost:
            done.lost.append(f"{folder}: {lost}")
    if not done.runs:
        raise LabError((done.lost or [f"{path}: nothing in it was logged as a number"])[0])
    return done


def _import_events(folder: Path, name: str, home: HomePaths) -> tuple[RunRecord, str]:
    """Import one folder of TensorBoard's event files; return the run and a description of lost data."""
    hashed = hashlib.sha256()
    found = tensorboard.read_folder(folder)
    for file in tensorboard.event_files(folder):
        hashed.update(read_regular(file, MOST_LOGGED_BYTES))
    found.name = name or found.name
    task = str(found.config.get("task") or found.config.get("env_id") or TENSORBOARD)
    return _keep(folder, found, f"tb-{hashed.hexdigest()[:12]}", TENSORBOARD, task, home)


def import_wandb(file: Path, home: HomePaths) -> tuple[RunRecord, str]:
    """Import `run-ID.wandb`, or `history.jsonl` of our own export; return the run and a description of lost data."""
    found = _read_history(file) if file.suffix == ".jsonl" else read_file(file)
    run_id = f"wandb-{hashlib.sha256(read_regular(file, MOST_LOGGED_BYTES)).hexdigest()[:12]}"
    task = str(found.config.get("task") or found.project or WANDB)
    return _keep(file, found, run_id, WANDB, task, home)


def _keep(
    source: Path, found: LoggedRun, run_id: str, runner: str, task: str, home: HomePaths
) -> tuple[RunRecord, str]:
    """Write the logged run `found` as a run of the home, unless it exists; return it and a description of lost data."""
    lost = "the file ends within a record" if found.is_torn else ""
    known = RunRegistry(home).load().get(run_id)
    if known is not None:
        return known, lost
    paths = home.run(run_id)
    with parsing(f"{source}: does not fit a log"):
        log = _log(source, found, run_id, runner, task)
        spec = _spec(runner, task, found.config)
        try:
            lines = b"".join(map(records.encode, log))
        except ProtocolError as error:
            raise ValueError(str(error)) from None
    try:
        paths.root.mkdir(parents=True, exist_ok=True)
        durable_files.write_file(paths.train_log, lines)
    except OSError as error:
        raise disk_error(paths.train_log, error) from None
    life = RunLife.begin(
        home, run_id, spec, algo="", name=(found.name or found.run_id)[-MOST_NAME:], created_at=log[0].time
    )
    life.record = msgspec.structs.replace(life.record, device="")  # unknown
    for record in log:
        life.fold(record)
    life.end(RunState.FINISHED, f"{IMPORTED}{source}", finished_at=log[-1].time)
    return life.record, lost


def _spec(runner: str, task: str, config: dict[str, Any]) -> RunSpec:
    """Return the specification of an imported run, with the logged `config` as its options."""
    options = {name: value for name, value in config.items() if name not in (*NEUTRAL, "runner", "_wandb")}
    seed = str(config.get("seed", ""))
    is_seed = seed.isdecimal() and int(seed) <= MAX_SEED
    return RunSpec(runner=runner, task=task, seed=int(seed) if is_seed else 1, options=options)


def _read_history(file: Path) -> LoggedRun:
    """Return the run in a history.jsonl written by formats.wandb_history and the config.json beside it."""
    beside = file.with_name("config.json")
    run = LoggedRun(name=file.parent.parent.name)
    with parsing(f"{file}: no history of W&B, one JSON object a line"):
        with io.BufferedReader(open_regular(file)) as lines:
            while line := lines.readline(MOST_LINE_BYTES):
                run.is_torn = not line.endswith(b"\n")
                if run.is_torn and len(line) == MOST_LINE_BYTES:
                    raise ValueError(f"a line of more than {MOST_LINE_BYTES >> 20} MiB")
                if not run.is_torn:
                    run.add_row(_object(line))
        run.config = _object(read_regular(beside)) if beside.is_file() else {}
    run.project = str(run.config.get("task", ""))
    return run


def _object(text: bytes) -> dict[str, Any]:
    found = plain(json.loads(text))
    if not isinstance(found, dict):
        raise ValueError("no JSON object")
    return found


def _log(file: Path, found: LoggedRun, run_id: str, runner: str, task: str) -> list[records.Record]:
    """Return the records of an imported run's train_log.jsonl: a meta record, then one update record for each step.

    Logged rows of the same step are merged. Raises NoCurveError naming `file` if no row has a number.
    """
    by_step = _rows_by_step([numbers for row in found.rows if _metrics(numbers := _numbers(row))])
    if not by_step:
        raise NoCurveError(f"{file}: holds no number that was logged, so no curve")
    steps = sorted(by_step)
    first = by_step[steps[0]]
    began = max(0.0, first.get("_timestamp", 0.0) - first.get("_runtime", 0.0))
    log: list[records.Record] = [
        records.MetaRecord(
            run_id=run_id,
            seq=0,
            time=began,
            trace_id=records.trace_of(run_id, 0),
            runner=runner,
            task=task,
            config={name: value for name, value in found.config.items() if name != "_wandb"},
        )
    ]
    last_step, last_s = 0, 0.0
    for step in steps:
        row = by_step[step]
        wall_s = max(last_s, row.get("_runtime", last_s))
        passed = wall_s - last_s
        log.append(
            records.UpdateRecord(
                run_id=run_id,
                seq=len(log),
                time=row.get("_timestamp", began + wall_s),
                trace_id=records.trace_of(run_id, len(log)),
                env_steps=step,
                wall_time_s=wall_s,
                sps=(step - last_step) / passed if passed > 0 else 0.0,
                metrics=_metrics(row),
            )
        )
        last_step, last_s = step, wall_s
    return log


def _rows_by_step(rows: list[dict[str, float]]) -> dict[int, dict[str, float]]:
    """Return the rows merged by environment step.

    The step is read from the first name in STEPS that at least half of the rows have; a row without it belongs to the
    step of the row before.
    """
    axis = next((name for name in STEPS if 2 * sum(name in row for row in rows) >= len(rows)), "_step")
    found: dict[int, dict[str, float]] = {}
    step = 0
    for row in rows:
        step = int(row.get(axis, step))
        if 0 <= step < 2**63:
            found.setdefault(step, {}).update(row)
    return found


def _numbers(row: dict[str, Any]) -> dict[str, float]:
    """Return the numbers in a logged row, without the sizes and counts that describe a picture or a table."""
    if not 0 <= row.get("_timestamp", 0) < LATEST_S:  # outside the range of clocks and calendars
        row = {name: value for name, value in row.items() if name != "_timestamp"}
    media = tuple(name.removesuffix("_type") for name in row if name.endswith("._type"))
    return {name: value for name, value in row.items() if _is_number(value) and not (media and name.startswith(media))}


def _metrics(row: dict[str, float]) -> dict[str, float]:
    """Return the values of a row that are points of curves, by name; the prefix `train/` of our own export is
    removed."""
    found: dict[str, float] = {}
    for name, value in row.items():
        if name.startswith("_") or name in STEPS:
            continue
        plain = name.removeprefix("train/")
        found[plain if plain in _OURS else name] = float(value)
    for counter in ("wall_time_s", "sps"):  # fields of the record itself
        found.pop(counter, None)
    return dict(list(found.items())[:MOST_SCALARS])


def _is_number(value: Any) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300 and math.isfinite(value)
    )
