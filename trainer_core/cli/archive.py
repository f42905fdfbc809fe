"""`dmglab archive RUN...`: runs as one file each, with hashes; with --remove they make room."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import home_paths, parse
from trainer_core.cli.output import say
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.archive import archive
from trainer_core.runs.disk_use import disk_use
from trainer_core.runs.index import RunRegistry
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import limits


@dataclass(frozen=True)
class Options:
    runs: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Run ids; none with --older-than."""
    out: Path | None = None
    """Folder for the archives; default `archives` of the home."""
    remove: bool = False
    """Remove each run's folder once its archive was read back and compared."""
    older_than: float = field(default=-1.0, metadata=limits(-1))
    """Every run that ended more than so many days ago; below 0 none."""
    keep: int = field(default=0, metadata=limits(0))
    """With --older-than: spare the newest so many ended runs."""
    dry_run: bool = False
    """Only say which, and what they take."""
    home: Path | None = None
    """Where runs lie; default DMGLAB_HOME or var/ of the checkout."""


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "archive", argv)
    home = home_paths(options.home)
    chosen = list(options.runs)
    if options.older_than >= 0:
        chosen += ended_before(home, time.time() - 86_400 * options.older_than, options.keep)
    if not chosen and options.older_than < 0:
        raise ConfigError("say which runs, or --older-than DAYS; `dmglab runs` lists them")
    known, rows = RunRegistry(home).reconcile(), []
    for run_id in chosen:
        if run_id not in known:  # a path would be walked through
            raise ConfigError(f"no run {run_id!r} below {home.runs}; `dmglab runs` lists them")
    for run_id in dict.fromkeys(chosen):
        row: dict[str, Any] = {"run_id": run_id, "bytes": disk_use(home, run_id).total}
        if not options.dry_run:
            say(f"archiving {run_id}")
            target = archive(home, run_id, options.out or home.archives, remove=options.remove)
            row |= {"archive": str(target), "archive_bytes": target.stat().st_size}
        rows.append(row)
    return {"ok": True, "removed": options.remove and not options.dry_run, "runs": rows}


def ended_before(home: HomePaths, when: float, keep: int) -> list[str]:
    """Ended runs that still have a folder, oldest first, the newest `keep` of them spared."""
    ended = sorted(
        (
            record
            for record in RunRegistry(home).reconcile().values()
            if record.state.is_end and home.run(record.run_id).config.is_file()
        ),
        key=lambda record: record.finished_at,
    )
    older = ended[: max(0, len(ended) - keep)]
    return [record.run_id for record in older if record.finished_at < when]
