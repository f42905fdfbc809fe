"""`dmglab task export|import`: a task as one file, without the ROM."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from trainer_core.cli.options import home_paths, parse
from trainer_core.protocol.tasks import find_task


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


def export(argv: list[str]) -> dict[str, Any]:
    from trainer_core.play.authoring.archive import export_task

    options = parse(ExportOptions, "task export", argv)
    found = export_task(find_task(options.task, home_paths(options.home)), options.out)
    return {"ok": True, "task": options.task, **found}


def import_(argv: list[str]) -> dict[str, Any]:
    from trainer_core.play.authoring.archive import import_task

    options = parse(ImportOptions, "task import", argv)
    return {"ok": True, **import_task(options.archive, options.id, home_paths(options.home))}
