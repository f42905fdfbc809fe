"""`dmglab archive RUN...`: pack runs into one file each, with hashes; `archive restore FILE...`: unpack them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.cli.output import Result, table
from trainer_core.cli.progress import tell_progress
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.archive import archive, check, restore
from trainer_core.runs.disk_use import disk_use
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.names import the_one
from trainer_core.wire.errors import ConfigError, shown
from trainer_core.wire.fields import limits


@dataclass(frozen=True)
class Options:
    runs: Annotated[tuple[str, ...], tyro.conf.Positional] = ()
    """Run names or ids; not needed with --older-than."""
    out: Path | None = None
    """Folder for the archives; default `archives` in the data folder."""
    remove: bool = False
    """Delete the folder of each run after its archive has been read back and compared."""
    older_than: float = field(default=-1.0, metadata=limits(-1))
    """Archive every run that ended more than this number of days ago; below 0 = none."""
    keep: int = field(default=0, metadata=limits(0))
    """With --older-than: leave out this number of ended runs, the newest ones."""
    dry_run: bool = False
    """List the runs and their sizes only."""
    home: Home = None


@dataclass(frozen=True)
class RestoreOptions:
    files: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Archives of `dmglab archive`."""
    check: bool = False
    """Compare the hashes only."""
    home: Home = None


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "archive", argv)
    home = home_paths(options.home)
    chosen = list(options.runs)
    if options.older_than >= 0:
        chosen += ended_before(home, time.time() - 86_400 * options.older_than, options.keep)
    if not chosen and options.older_than < 0:
        raise ConfigError("name runs, or give --older-than DAYS; `dmglab runs` lists the runs")
    known, rows = RunRegistry(home).reconcile(), []
    chosen = list(dict.fromkeys(the_one(text, known.values(), home).run_id for text in chosen))
    for number, run_id in enumerate(chosen):
        row: dict[str, Any] = {"run_id": run_id, "name": known[run_id].name, "bytes": disk_use(home, run_id).total}
        if not options.dry_run:
            tell_progress(number / len(chosen), known[run_id].name)
            target = archive(home, run_id, options.out or home.archives, remove=options.remove)
            row |= {"archive": str(target), "archive_bytes": target.stat().st_size}
        rows.append(row)
    found = {"ok": True, "removed": options.remove and not options.dry_run, "runs": rows}
    head = ("name", "run", "MiB", "archive", "archive MiB")
    cells = (
        (shown(row["name"]), row["run_id"], _mib(row["bytes"]), row.get("archive"), _mib(row.get("archive_bytes", 0)))
        for row in rows
    )
    return Result(found, table(head, cells, "No run is old enough."))


def _mib(size: int) -> str:
    return f"{size / (1 << 20):,.1f}" if size else ""


def restore_all(argv: list[str]) -> dict[str, Any]:
    options = parse(RestoreOptions, "archive restore", argv)
    if not options.files:
        raise ConfigError("name an archive; `dmglab archive` writes them")
    home, names = home_paths(options.home), []
    for number, file in enumerate(options.files):
        tell_progress(number / len(options.files), file.name)
        names.append(check(file).run_id if options.check else restore(file, home).run_id)
    key, verb = ("whole", "Intact") if options.check else ("restored", "Restored")
    return Result({"ok": True, key: names}, f"{verb}: {', '.join(names)}")


def ended_before(home: HomePaths, when: float, keep: int) -> list[str]:
    """Return the ended runs that still have a folder, oldest first, without the newest `keep`."""
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
