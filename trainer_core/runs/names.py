"""Lookup of runs and checkpoints by the names that users and commands give them."""

from __future__ import annotations

from pathlib import Path

from trainer_core.lab.checkpoint_manifest import list_checkpoints, merit, read_meta
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.runs.index import RunRegistry
from trainer_core.wire.errors import CheckpointError, LabError
from trainer_core.wire.run_record import is_archived


def find_run(text: str, home: HomePaths, asker: str = "") -> RunPaths:
    """Return the run that `text` names: an id, a folder, or `latest`, the newest run other than `asker`.

    Raises LabError naming the way to list the runs.
    """
    if text == "latest":
        there = [f for f in home.runs.glob("[!.]*/config.json") if f.parent.name != asker]
        runs = sorted(there, key=lambda path: path.stat().st_mtime)
        if not runs:
            raise LabError(f"{home.runs}: no runs yet; `dmglab train` makes one")
        return RunPaths(runs[-1].parent)
    for root in (Path(text), home.runs / text):
        if (root / "config.json").is_file():
            return RunPaths(root.resolve())
    if reason := _archived(text, home):
        raise LabError(reason)
    raise LabError(f"no run {text!r} below {home.runs}; `dmglab runs` lists them")


def find_checkpoint(text: str, home: HomePaths, asker: str = "") -> Path:
    """Return the checkpoint that `text` names: its folder, or a run by id, folder or `latest`, which means its best
    one.

    `asker` is the run that looks for one, as in `find_run`.

    The best has the greatest success in validation, compared in mode greedy, then leave_loops, then sample; then one
    whose own weights were validated comes first, then the newest.
    """
    if text not in ("", "latest") and (Path(text) / "meta.json").is_file():
        return Path(text).resolve()
    try:
        run = find_run(text or "latest", home, asker)
    except LabError as error:
        if text in ("", "latest") or _archived(text, home):
            raise CheckpointError(str(error)) from None
        raise CheckpointError(
            f"{text!r} is neither a checkpoint folder nor a run below {home.runs}; `dmglab runs` lists the runs"
        ) from None
    if not (found := list_checkpoints(run)):
        raise CheckpointError(f"run {run.run_id} has no checkpoint yet; `dmglab runs` lists others")
    return max(found, key=_merit)


def _archived(run_id: str, home: HomePaths) -> str:
    """Return a text with an archived run's file and the command to restore it; empty for any other run."""
    record = RunRegistry(home).load().get(run_id)
    if record is None or not is_archived(record):
        return ""
    return f"run {run_id} is {record.reason}; `dmglab archive restore` brings it back"


def _merit(folder: Path) -> tuple[tuple[float, float, float, bool], str]:
    return merit(read_meta(folder)), folder.name
