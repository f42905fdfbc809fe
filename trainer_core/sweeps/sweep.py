"""Sweep on disk: `training/sweeps/<id>/sweep.json` and ended.jsonl.

sweep.json is written once, before the first trial; ended.jsonl has a line for each trial that its rule ended.
Everything else is in the runs: sweep.json has their folders' names, and their results are in their logs and in the
index. So a sweep that was killed needs only these two files to continue.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from trainer_core.lab import durable_files
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.log_writer import disk_error
from trainer_core.sweeps.space import MAX_TRIALS
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import BAD_JSON, ConfigError, LabError, shown
from trainer_core.wire.metric_names import METRICS
from trainer_core.wire.regular_files import read_regular
from trainer_core.wire.run_record import is_run_id
from trainer_core.wire.spec import RunSpec

MAX_BYTES = 64 << 20
SUCCESS = "success"
"""Name of the default metric: greedy success on the validation starts."""
LEAST_RUNG, MOST_RUNG = 1, 10**12
LEAST_FACTOR, MOST_FACTOR = 2, 100
"""Limits of halving: with a factor of 1, or rungs that begin at 0, there would be no last rung."""


def check_metric(name: str) -> None:
    """Raise ConfigError unless an update record may contain it (docs/reference/records.md)."""
    if name != SUCCESS and name not in {row.name for row in METRICS}:
        raise ConfigError(f"no metric '{shown(name)}': say success, or a name of docs/reference/records.md")


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a sweep: a setting (combination of varied fields) with a seed."""

    number: int
    """Number from 0, in the order of starting."""
    setting: int
    """Number of the setting; trials with equal numbers differ in their seed only."""
    seed: int
    values: dict[str, Any]
    """Values of the varied RunConfig fields, by name."""
    run_id: str


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """Line of ended.jsonl."""

    trial: int
    reason: str


class EarlyStop(msgspec.Struct, frozen=True, kw_only=True):
    """Rule that ends hopeless trials, and its metric."""

    rule: Literal["halving", "median", "none"] = "halving"
    metric: str = SUCCESS
    mode: Literal["max", "min"] = "max"
    first_rung: Annotated[int, Meta(ge=LEAST_RUNG, le=MOST_RUNG)] = 8192
    """Environment steps of the first rung; no trial is judged before it."""
    factor: Annotated[int, Meta(ge=LEAST_FACTOR, le=MOST_FACTOR)] = 3
    """Halving: one in `factor` trials goes on at each rung, and each rung is `factor` times the last."""


class Sweep(msgspec.Struct, frozen=True, kw_only=True):
    """Complete definition of a sweep."""

    v: int = 1
    sweep_id: str
    name: str = ""
    created_at: float
    search: Literal["grid", "random"]
    vary: list[str]
    base: dict[str, Any]
    """RunConfig fields that every trial shares."""
    early_stop: EarlyStop
    trials: list[Trial]

    def spec(self, trial: Trial, device: str = "") -> RunSpec:
        """Return the RunSpec of the trial's run, on `device` if given."""
        changes = {**trial.values, "seed": trial.seed}
        if device:
            changes["device"] = device
        return RunSpec.from_dict("native", self.base | changes)

    def tags(self, trial: Trial) -> dict[str, str]:
        """Return the labels in the run's config.json and index lines that link it to the sweep."""
        return {
            "sweep": self.sweep_id,
            "trial": str(trial.number),
            "setting": str(trial.setting),
            "varied": json.dumps(trial.values),
        }

    def title(self, trial: Trial) -> str:
        """Return the run's display name."""
        said = " ".join(f"{name}={value}" for name, value in trial.values.items())
        return f"{self.name or self.sweep_id} {said} seed={trial.seed}".replace("  ", " ")


def sweeps_folder(home: HomePaths) -> Path:
    return home.root / "training" / "sweeps"


def sweep_file(home: HomePaths, sweep_id: str) -> Path:
    return sweeps_folder(home) / sweep_id / "sweep.json"


def save_sweep(home: HomePaths, sweep: Sweep) -> Path:
    """Write the definition, once. Raises DiskError."""
    path = sweep_file(home, sweep.sweep_id)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        durable_files.replace_file(path, msgspec.json.format(msgspec.json.encode(sweep), indent=1))
        durable_files.sync_folder(path.parent.parent)
    except OSError as error:
        raise disk_error(path, error) from None
    return path


def load_sweep(home: HomePaths, sweep_id: str) -> Sweep:
    """Return the sweep with that id, or the `latest`. Raises LabError naming the file, or the sweeps there are."""
    if sweep_id == "latest":
        found = sorted(path.parent.name for path in sweeps_folder(home).glob("*/sweep.json"))
        if not found:
            raise LabError(f"{sweeps_folder(home)}: no sweeps yet; `dmglab sweep` makes one")
        sweep_id = found[-1]
    if not sweep_id or Path(sweep_id).name != sweep_id:
        raise LabError(f"'{shown(sweep_id)}' is no name of a sweep; {sweeps_folder(home)} has them")
    path = sweep_file(home, sweep_id)
    if not os.path.lexists(path):
        raise LabError(f"no sweep '{shown(sweep_id)}' in {sweeps_folder(home)}")
    try:
        sweep = msgspec.json.decode(read_regular(path, MAX_BYTES), type=Sweep)
        _check(sweep, sweep_id)
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}; restore it from a copy") from None
    except (ConfigError, *BAD_JSON) as error:
        raise LabError(f"{path}: {shown(error, 160)}; restore it from a copy, or begin another") from None
    return sweep


def _check(sweep: Sweep, folder: str) -> None:
    """Raise ConfigError for a definition that `dmglab sweep` would not have written."""
    if sweep.v != 1:
        raise ConfigError(f"version {shown(sweep.v)} is not 1: update DMG Lab to read it")
    if sweep.sweep_id != folder:  # the id names the folder of ended.jsonl
        raise ConfigError(f"sweep_id '{shown(sweep.sweep_id)}' is not the name of its folder")
    check_metric(sweep.early_stop.metric)
    if not 1 <= len(sweep.trials) <= MAX_TRIALS:
        raise ConfigError(f"{len(sweep.trials):,} trials, 1 to {MAX_TRIALS:,} are possible")
    for place, trial in enumerate(sweep.trials):
        if trial.number != place:
            raise ConfigError(f"trial {place} calls itself {shown(trial.number)}")
        if not is_run_id(trial.run_id):
            raise ConfigError(f"run_id of trial {place} is no name of a folder")
    if len({trial.run_id for trial in sweep.trials}) < len(sweep.trials):
        raise ConfigError("two trials have one run_id")
    if missing := {"task", "algo", "device"} - sweep.base.keys():
        raise ConfigError(f"base lacks {', '.join(sorted(missing))}")
    for trial in sweep.trials:
        config = sweep.spec(trial).configure(RunConfig)
        if not config.has_limit:
            raise ConfigError(f"trial {trial.number} has no limit and would never end")


def ended_file(home: HomePaths, sweep_id: str) -> Path:
    return sweep_file(home, sweep_id).with_name("ended.jsonl")


def add_ended(home: HomePaths, sweep_id: str, trial: Trial, reason: str) -> None:
    """Record that the rule ends a trial, before it is stopped. Raises DiskError.

    The run's own reason may differ: a worker that does not answer in time is killed.
    """
    path = ended_file(home, sweep_id)
    line = msgspec.json.encode(Ended(trial=trial.number, reason=reason)) + b"\n"
    try:
        with durable_files.open_log(path) as log:
            durable_files.write_all(log.fileno(), line)
            os.fsync(log.fileno())
    except OSError as error:
        raise disk_error(path, error) from None


def load_ended(home: HomePaths, sweep_id: str) -> dict[int, str]:
    """Return the reasons of the trials that the rule ended, by number; incomplete lines are skipped."""
    try:
        lines = read_regular(ended_file(home, sweep_id), MAX_BYTES).splitlines()
    except OSError:
        return {}
    found: dict[int, str] = {}
    for line in lines:
        with contextlib.suppress(*BAD_JSON):
            ended = msgspec.json.decode(line, type=Ended)
            found[ended.trial] = ended.reason
    return found
