"""Lookup of runs and checkpoints by the names that users and commands give them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from trainer_core.lab.checkpoint_manifest import list_checkpoints, merit, read_meta
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.runs.index import RunRegistry
from trainer_core.wire.errors import CheckpointError, LabError, shown
from trainer_core.wire.run_record import RunRecord, is_archived, where_archived

MOST_TITLES = 5
"""Most runs listed when a name is ambiguous."""


class UnknownRunError(LabError):
    """Error that a text names no run."""


def named(text: str, runs: Iterable[RunRecord]) -> list[RunRecord]:
    """Return those of `runs` that `text` names by an id or a name; without one, by the beginning of either; without
    one, by the end of an id."""
    runs = list(runs) if text else []
    found = [run for run in runs if text == run.run_id] or [run for run in runs if text == run.name]
    found = found or [run for run in runs if run.run_id.startswith(text) or run.name.startswith(text)]
    return found or [run for run in runs if run.run_id.endswith(text)]


def the_one(text: str, runs: Iterable[RunRecord], home: HomePaths) -> RunRecord:
    """Return the run of `runs` that `text` names, as in `named`. Raises LabError for none and for several."""
    match named(text, runs):
        case [run]:
            return run
        case []:
            raise UnknownRunError(f"no run {shown(text)!r} below {home.runs}; `dmglab runs` lists them")
        case several:
            titles = ", ".join(run.title for run in several[:MOST_TITLES]) + ", ..." * (len(several) > MOST_TITLES)
            raise LabError(f"{shown(text)!r} names {len(several)} runs, write more of one: {titles}")


def find_run(text: str, home: HomePaths, asker: str = "") -> RunPaths:
    """Return the run that `text` names: an id, a name, the beginning of one, a folder, or `latest`, the newest run
    other than `asker`.

    Raises LabError naming the way to list the runs, or the runs that `text` may mean.
    """
    if text == "latest":
        there = [f for f in home.runs.glob("[!.]*/config.json") if f.parent.name != asker]
        runs = sorted(there, key=lambda path: path.stat().st_mtime)
        if not runs:
            raise LabError(f"{home.runs}: no runs yet; `dmglab train` makes one")
        return RunPaths(runs[-1].parent)
    for root in (Path(text), home.runs / text):
        if (root / "config.json").is_file():
            # A moved run is a link in the home.
            return RunPaths(root.parent.resolve() / root.name if root.is_symlink() else root.resolve())
    run = the_one(text, RunRegistry(home).reconcile().values(), home)
    if is_archived(run):
        raise LabError(where_archived(run))
    paths = home.run(run.run_id)
    if paths.root.is_symlink() and not paths.root.exists():
        raise LabError(f"run {run.title} is in {paths.root.readlink()}, which cannot be reached; mount that folder")
    return paths


def find_checkpoint(text: str, home: HomePaths, asker: str = "") -> Path:
    """Return the checkpoint that `text` names: its folder, or a run as in `find_run`, which means its best one.

    `asker` is the run that looks for one, as in `find_run`.

    The best has the greatest success in validation, compared in mode greedy, then leave_loops, then sample; then one
    whose own weights were validated comes first, then the newest.
    """
    if text not in ("", "latest") and (Path(text) / "meta.json").is_file():
        return Path(text).resolve()
    try:
        run = find_run(text or "latest", home, asker)
    except UnknownRunError:
        raise CheckpointError(
            f"{shown(text)!r} is neither a checkpoint folder nor a run below {home.runs}; `dmglab runs` lists the runs"
        ) from None
    except LabError as error:
        raise CheckpointError(str(error)) from None
    if not (found := list_checkpoints(run)):
        raise CheckpointError(f"run {run.run_id} has no checkpoint yet; `dmglab runs` lists others")
    return max(found, key=_merit)


def _merit(folder: Path) -> tuple[tuple[float, float, float, bool], str]:
    return merit(read_meta(folder)), folder.name
