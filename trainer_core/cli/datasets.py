"""`dmglab datasets VERB`: datasets of offline learning in the data folder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import HomeOptions, home_paths, parse
from trainer_core.cli.output import Result, table
from trainer_core.cli.progress import tell_progress
from trainer_core.lab.dataset_download import download
from trainer_core.lab.datasets import INTACT, DatasetCache, Kept
from trainer_core.wire.checks import size

HEAD = ("dataset", "size", "state", "sha256", "source")


@dataclass(frozen=True, kw_only=True)
class DownloadOptions(HomeOptions):
    name: Annotated[str, tyro.conf.Positional]
    """Name of the dataset, such as D4RL/pen/human-v2 (Minari) or halfcheetah-medium-v2 (D4RL), or the https address of
    a file with D4RL's layout."""
    mirror: str = ""
    """Address of another server with the same paths."""
    sha256: str = ""
    """Refuse a file with another hash; empty = the one that the first download pinned."""
    repin: bool = False
    """Accept another file than the first download's, and pin its hash."""


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(HomeOptions):
    names: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Names or hashes of datasets; default all."""


@dataclass(frozen=True, kw_only=True)
class PruneOptions(HomeOptions):
    names: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Names or hashes of datasets; default all that no run has learned from."""
    yes: bool = False
    """Delete them; without it they are only listed."""


def list_all(argv: list[str]) -> dict[str, Any]:
    entries = _cache(parse(HomeOptions, "datasets list", argv)).entries()
    return Result({"ok": True, "datasets": [_row(kept) for kept in entries]}, _table(entries))


def fetch(argv: list[str]) -> dict[str, Any]:
    options = parse(DownloadOptions, "datasets download", argv)
    told = {"mirror": options.mirror, "sha256": options.sha256, "repin": options.repin}
    kept, is_new = download(_cache(options), options.name, tell_progress, **told)
    text = f"Kept {kept.name}, {size(kept.size_bytes)}, in {kept.folder}."
    text += f"\nPinned its hash {kept.sha256}." if is_new else ""
    return Result({"ok": True, "pinned": is_new, **_row(kept)}, f"{text}\nTrain on it with --data {kept.name}")


def verify(argv: list[str]) -> dict[str, Any]:
    options = parse(VerifyOptions, "datasets verify", argv)
    cache = _cache(options)
    entries, found = _named(cache, options.names) or cache.entries(), []
    for number, kept in enumerate(entries):
        found.append(cache.verify(kept, lambda share, n=number: tell_progress((n + share) / len(entries))))
    wrong = [f"{kept.name} ({kept.folder}) is {kept.state}" for kept in found if kept.state != INTACT]
    result: dict[str, Any] = {"ok": not wrong, "datasets": [_row(kept) for kept in found]}
    if wrong:
        result["error"] = f"{'; '.join(wrong)}; `dmglab datasets prune NAME` deletes it, then download it again"
    return Result(result, _table(found))


def prune(argv: list[str]) -> dict[str, Any]:
    options = parse(PruneOptions, "datasets prune", argv)
    cache = _cache(options)
    doomed = _named(cache, options.names) if options.names else cache.unused()
    for kept in doomed if options.yes else ():
        cache.remove(kept)
    freed = sum(kept.size_bytes for kept in doomed)
    words = f"Deleted {size(freed)}." if options.yes else f"--yes deletes these {size(freed)}."
    found = {"ok": True, "deleted": options.yes, "bytes": freed, "datasets": [_row(kept) for kept in doomed]}
    return Result(found, f"{_table(doomed)}\n{words}" if doomed else "Runs have learned from every kept dataset.")


def _cache(options: HomeOptions) -> DatasetCache:
    return DatasetCache(home_paths(options.home))


def _named(cache: DatasetCache, names: tuple[str, ...]) -> list[Kept]:
    return [cache.entry(name) for name in names]


def _row(kept: Kept) -> dict[str, Any]:
    return {
        "name": kept.name,
        "bytes": kept.size_bytes,
        "state": kept.state,
        "checked_at": kept.checked_at,
        "sha256": kept.sha256,
        "source": kept.source,
        "folder": str(kept.folder),
    }


def _table(entries: list[Kept]) -> str:
    rows = [(kept.name, size(kept.size_bytes), kept.state, kept.sha256[:16], kept.source) for kept in entries]
    return table(HEAD, rows, "No dataset is kept; `dmglab datasets download NAME` fetches one.")
