"""Zip file with which a run travels: its configuration, tasks, their ROMs, and what a resume or a warm start needs."""

from __future__ import annotations

import dataclasses
import io
import zipfile
from pathlib import Path

import msgspec

from trainer_core.lab.arc_games import is_arc
from trainer_core.lab.checkpoint_manifest import list_checkpoints
from trainer_core.lab.paths import ASSETS, HomePaths, RunPaths
from trainer_core.lab.roms import rom_path
from trainer_core.lab.task_lists import SEPARATOR, game_tasks, split_tasks
from trainer_core.lab.tasks import Task
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.regular_files import read_regular
from trainer_core.wire.spec import NATIVE_ID

HOME = "home"
"""Folder of the zip file that is the run's home on the cluster."""
TAIL_BYTES = 1 << 20
"""Bytes of the log's end that travel: the worker there goes on counting the records from the last one."""


def pack(paths: RunPaths, home: HomePaths, config: RunConfig) -> bytes:
    """Return the zip file of a run with `config`; nothing else of the home is in it. Raises LabError, OSError."""
    if arc := [name for name in split_tasks(config.task) if is_arc(name)]:
        raise ConfigError(f"on: {arc[0]} trains on this computer only: its library is installed in this home")
    there = HomePaths(Path(HOME))
    run = there.run(paths.run_id)
    tasks = game_tasks(config.task, home)
    files: dict[Path, bytes] = {}
    roms: dict[str, dict[str, str]] = {}
    for task in tasks.values():
        if not task.folder.is_relative_to(ASSETS):
            files |= _folder(task.folder, there.tasks / task.id)
        if task.rom_path is None:
            sha256 = task.manifest.rom.sha256
            roms[sha256] = {"path": f"{sha256}.gb"}
            files[there.settings / f"{sha256}.gb"] = read_regular(rom_path(task, home))
    if roms:
        files[there.settings / "roms.json"] = msgspec.json.encode(roms)
    if found := list_checkpoints(paths):
        files |= _folder(found[-1], run.checkpoints / found[-1].name)
        files[run.train_log] = _tail(paths.train_log)
    elif config.warm_start:
        files |= _folder(Path(config.warm_start), Path("warm_start"))
    files[run.config] = msgspec.json.encode({"runner": NATIVE_ID, "run": _there(config, tasks).to_dict()})
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as parcel:
        for path, data in sorted(files.items()):
            parcel.writestr(path.as_posix(), data)
    return made.getvalue()


def _there(config: RunConfig, tasks: dict[str, Task]) -> RunConfig:
    """Return the configuration as the cluster's worker reads it: Ray shows it only the GPU that it gave the job."""
    names = (tasks[name].id if name in tasks else name for name in split_tasks(config.task))
    return dataclasses.replace(
        config,
        on="",
        task=SEPARATOR.join(names),
        device="cpu" if config.device == "cpu" else "cuda:0",
        warm_start="warm_start" if config.warm_start else "",
    )


def _folder(folder: Path, there: Path) -> dict[Path, bytes]:
    return {there / path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def _tail(log: Path) -> bytes:
    """Return the last complete lines of a log, at least one."""
    with log.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(max(0, size - TAIL_BYTES))
        data = file.read()
    return data if size <= TAIL_BYTES else data[data.index(b"\n") + 1 :]
