"""Tasks and ROMs of a data folder: `tasks`, `roms`, `make_task`."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from trainer_core.lab.paths import HomePaths, default_home
from trainer_core.lab.roms import known_roms
from trainer_core.lab.tasks import BUILT_IN_TASKS, list_tasks
from trainer_core.wire.spec import from_fields


def find_home(given: str | os.PathLike[str] | None) -> HomePaths:
    """Return the paths of a data folder; None is DMGLAB_HOME or the default folder."""
    return HomePaths((Path(given) if given is not None else default_home()).expanduser().resolve())


def tasks(home: str | os.PathLike[str] | None = None) -> dict[str, str]:
    """Return the title of each task by its id: built-in and shipped tasks, and tasks of the data folder `home`."""
    return BUILT_IN_TASKS | {task.id: task.manifest.title for task in list_tasks(find_home(home))}


def roms(home: str | os.PathLike[str] | None = None) -> dict[str, Path]:
    """Return the path of each ROM by its name: the games of DMG Lab, and ROMs added by `dmglab rom add`."""
    return {rom.path.stem: rom.path for rom in reversed(known_roms(find_home(home)))}


def make_task(
    task: str,
    rom: str | os.PathLike[str],
    script: str,
    *,
    title: str = "",
    home: str | os.PathLike[str] | None = None,
    **options: Any,
) -> str:
    """Make a task from a ROM and a script of buttons that lead to the goal; return the task's id.

    `task`: the new id, like `mine/first_door`. `script`: words like `wait 180 START 3 UP A begin 6 RIGHT B`:
    frames without a button, then one button a step of 24 frames (a number before it repeats it);
    episodes begin at `begin`, the last picture is the goal. `options`: those of `dmglab task new`,
    like count, walk, mask, horizon. Raises LabError, one line, for an unusable ROM, script or option.
    """
    from trainer_core.author.new_task import NewTask
    from trainer_core.author.new_task import make_task as write_task

    with tempfile.TemporaryDirectory() as folder:
        words = Path(folder) / f"{task.rsplit('/')[-1]}.txt"
        words.write_text(script, encoding="utf-8")
        request = {"id": task, "rom": os.fspath(rom), "scripts": (words,), "title": title, **options}
        write_task(from_fields(NewTask, request), find_home(home))
    return task
