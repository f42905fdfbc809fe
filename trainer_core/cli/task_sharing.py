"""`dmglab task export|import|remove`: a task as one file, without the ROM, and away with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import home_paths, parse
from trainer_core.lab.tasks import find_task
from trainer_core.wire.errors import ConfigError


@dataclass(frozen=True)
class ExportOptions:
    task: Annotated[str, tyro.conf.Positional]
    """Task id."""
    out: Path
    """The archive to write, .zip."""
    home: Path | None = None
    """Where tasks lie; default DMGLAB_HOME or var/ of the checkout."""


@dataclass(frozen=True)
class ImportOptions:
    archive: Annotated[Path, tyro.conf.Positional]
    """An archive of `dmglab task export`."""
    id: str = ""
    """Another id for it here; default its own."""
    home: Path | None = None
    """Where the task goes; default DMGLAB_HOME or var/ of the checkout."""


@dataclass(frozen=True)
class RemoveOptions:
    task: Annotated[str, tyro.conf.Positional]
    """Task id, of the home's own tasks."""
    yes: bool = False
    """Remove it for good; without this nothing is done but to say what would be."""
    home: Path | None = None
    """Where the task lies; default DMGLAB_HOME or var/ of the checkout."""


def export(argv: list[str]) -> dict[str, Any]:
    from trainer_core.author.archive import export_task

    options = parse(ExportOptions, "task export", argv)
    found = export_task(find_task(options.task, home_paths(options.home)), options.out)
    return {"ok": True, "task": options.task, **found}


def import_(argv: list[str]) -> dict[str, Any]:
    from trainer_core.author.archive import import_task

    options = parse(ImportOptions, "task import", argv)
    return {"ok": True, **import_task(options.archive, options.id, home_paths(options.home))}


def remove(argv: list[str]) -> dict[str, Any]:
    from trainer_core.author.folder import own_folder, remove_task

    options = parse(RemoveOptions, "task remove", argv)
    home = home_paths(options.home)
    folder = own_folder(options.task, home)
    if not options.yes:
        raise ConfigError(f"{folder} would be removed for good: say --yes, or `dmglab task export` it first")
    return {"ok": True, "removed": str(remove_task(options.task, home))}
