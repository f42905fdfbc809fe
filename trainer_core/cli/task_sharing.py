"""`dmglab task export|import|remove`: pack a task into one file without the ROM, unpack one, delete one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.cli.output import Result
from trainer_core.lab.tasks import find_task
from trainer_core.wire.errors import ConfigError


@dataclass(frozen=True)
class ExportOptions:
    task: Annotated[str, tyro.conf.Positional]
    """Task id."""
    out: Path
    """The archive to write, .zip."""
    home: Home = None


@dataclass(frozen=True)
class ImportOptions:
    archive: Annotated[Path, tyro.conf.Positional]
    """An archive of `dmglab task export`."""
    id: str = ""
    """New id of the task; default the id in the archive."""
    home: Home = None


@dataclass(frozen=True)
class RemoveOptions:
    task: Annotated[str, tyro.conf.Positional]
    """Task id, of the home's own tasks."""
    yes: bool = False
    """Delete it; without this option the folder is only named."""
    home: Home = None


def export(argv: list[str]) -> dict[str, Any]:
    from trainer_core.author.archive import export_task

    options = parse(ExportOptions, "task export", argv)
    found = export_task(find_task(options.task, home_paths(options.home)), options.out)
    return Result({"ok": True, "task": options.task, **found}, f"Wrote {found['archive']}.")


def import_(argv: list[str]) -> dict[str, Any]:
    from trainer_core.author.archive import import_task

    options = parse(ImportOptions, "task import", argv)
    found = import_task(options.archive, options.id, home_paths(options.home))
    return Result({"ok": True, **found}, f"Imported {found['task']} into {found['folder']}. ROM: {found['rom']}")


def remove(argv: list[str]) -> dict[str, Any]:
    from trainer_core.author.folder import own_folder, remove_task

    options = parse(RemoveOptions, "task remove", argv)
    home = home_paths(options.home)
    folder = own_folder(options.task, home)
    if not options.yes:
        raise ConfigError(f"{folder} would be deleted for good: give --yes; `dmglab task export` keeps a copy")
    removed = str(remove_task(options.task, home))
    return Result({"ok": True, "removed": removed}, f"Deleted {removed}.")
