"""Parsing that the commands share: a dataclass or function to options, errors as one line."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any, TypeVar

import tyro

from trainer_core.protocol.checkpoints import list_checkpoints, read_meta
from trainer_core.protocol.errors import CheckpointError, ConfigError, LabError
from trainer_core.protocol.paths import HomePaths, RunPaths, default_home

T = TypeVar("T")


def parse(kind: type[T], command: str, argv: list[str], default: Any = None) -> T:
    """An instance of the dataclass `kind` from `argv`.

    Raises ConfigError with tyro's complaint on one line; --help prints and ends.
    """
    options: dict[str, Any] = {"prog": f"dmglab {command}", "args": argv}
    if default is not None:
        options["default"] = default
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return tyro.cli(kind, config=(tyro.conf.OmitArgPrefixes,), **options)
    except SystemExit as end:
        if not end.code:
            raise
        raise ConfigError(_one_line(complaint.getvalue())) from None


def _one_line(box: str) -> str:
    """tyro's framed message without its frame, title and colours."""
    plain = re.sub(r"\x1b\[[0-9;]*m", "", box)
    body = [line for line in plain.splitlines() if not line.startswith("\u256d")]
    return " ".join(re.sub(r"[\u2500-\u257f]", " ", " ".join(body)).split())


def home_paths(home: Path | None) -> HomePaths:
    return HomePaths((home or default_home()).expanduser().resolve())


def find_run(text: str, home: HomePaths) -> RunPaths:
    """A run by id, folder, or `latest`. Raises LabError naming what there is."""
    if text == "latest":
        runs = sorted(home.runs.glob("*/config.json"), key=lambda path: path.stat().st_mtime)
        if not runs:
            raise LabError(f"{home.runs}: no runs yet; `dmglab train` makes one")
        return RunPaths(runs[-1].parent)
    for root in (Path(text), home.runs / text):
        if (root / "config.json").is_file():
            return RunPaths(root.resolve())
    raise LabError(f"no run {text!r} below {home.runs}; `dmglab runs` lists them")


def find_checkpoint(text: str, home: HomePaths) -> Path:
    """A checkpoint by folder, or the best one of a run given by id, folder or `latest`.

    Best is the greatest greedy validation success, the newest among equals.
    """
    if text not in ("", "latest") and (Path(text) / "meta.json").is_file():
        return Path(text).resolve()
    try:
        found = list_checkpoints(find_run(text or "latest", home))
    except LabError:
        raise CheckpointError(
            f"{text!r} is neither a checkpoint folder nor a run below {home.runs}"
        ) from None
    if not found:
        raise CheckpointError(f"run {text!r} has no checkpoint yet")
    return max(found, key=lambda folder: (read_meta(folder).success_rate, folder.name))
