"""Task archives: one zip file with task.toml and the files it names, without the ROM."""

from __future__ import annotations

import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from emulator import EmulatorError
from emulator.rom.regular_file import open_regular
from emulator.state.npz import check_directory
from emulator.state.snapshot import load_snapshots
from trainer_core.author.folder import INPUTS, MANIFEST, free_folder, manifest_toml, new_folder
from trainer_core.envs.demonstrations import task_demonstrations
from trainer_core.envs.scoring import find_success_function
from trainer_core.envs.start_states import load_starts, read_scripts
from trainer_core.envs.task_files import load_goal, load_rom
from trainer_core.lab.manifest_checks import is_file_name
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.roms import REGISTER, registered_roms
from trainer_core.lab.tasks import Task, load_task, verify_file, verify_goal
from trainer_core.wire.decoding import parsing
from trainer_core.wire.errors import TaskError

MAX_FILES, MAX_BYTES = 16, 256 << 20
_EPOCH = (1980, 1, 1, 0, 0, 0)


def export_task(task: Task, out: Path) -> dict[str, Any]:
    """Write the archive of `task` to `out` atomically; return its description for the command's output.

    Equal tasks give equal bytes. Raises TaskError.
    """
    _verify(task)
    if out.exists() and not out.is_file():
        raise TaskError(f"{out}: not a file that could be replaced")
    names = [MANIFEST, *filter(None, (task.manifest.starts.file, task.manifest.goal.file))]
    names += [task.manifest.demo.file] if task.manifest.demo else []
    names += [INPUTS] if (task.folder / INPUTS).is_file() else []
    partial = out.with_name(f".{out.name}.tmp")
    try:
        with zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as archive:
            for name in names:
                entry = zipfile.ZipInfo(name, _EPOCH)
                entry.external_attr = 0o644 << 16
                data = (task.folder / name).read_bytes()
                archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
        os.replace(partial, out)
    except OSError as error:
        raise TaskError(f"{out}: cannot be written: {error.strerror or error}") from None
    finally:
        partial.unlink(missing_ok=True)
    return {"archive": str(out), "files": names, "rom_sha256": task.manifest.rom.sha256}


def import_task(path: Path, new_id: str, home: HomePaths) -> dict[str, Any]:
    """Unpack an archive into the home's tasks atomically; return the command's output.

    The task gets the id `new_id`, or keeps its own if that is empty. Raises TaskError.
    """
    files = _read(path)
    trial = ""
    try:
        home.tasks.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".import.", dir=home.tasks) as trial:
            made = Path(trial)
            for name, data in files.items():
                (made / name).write_bytes(data)
            task = _verified(made, files, new_id)
            rom = _try_rom(task, home)
            folder = free_folder(task.id, home)
            with new_folder(folder) as final:
                for name in files:
                    os.rename(made / name, final / name)
    except TaskError as error:
        raise TaskError(f"{path}: {str(error).removeprefix(f'{trial}/')}") from None
    except OSError as error:
        raise TaskError(f"{home.tasks}: cannot be written: {error.strerror or error}") from None
    return {"task": task.id, "folder": str(folder), "rom": rom}


def _read(path: Path) -> dict[str, bytes]:
    """Return the bytes of every file in the archive by name. Raises TaskError for unsafe archives."""
    with parsing(f"{path}: no archive of a task that can be read", TaskError):
        if not path.is_file():
            raise TaskError(f"{path}: no such archive")
        with open_regular(path, MAX_BYTES) as file, _checked_zip(file) as archive:
            entries = archive.infolist()
            for entry in entries:
                if not is_file_name(entry.filename):
                    raise TaskError(
                        f"{path}: holds {entry.filename!r}, which would leave the task's folder; "
                        "only plain files lie in a task"
                    )
            names = {entry.filename for entry in entries}
            if len(names) != len(entries) or len(entries) > MAX_FILES:
                raise TaskError(f"{path}: {len(entries)} files, some twice, or more than a task's")
            if sum(entry.file_size for entry in entries) > MAX_BYTES:
                raise TaskError(f"{path}: unpacks to more than {MAX_BYTES >> 20} MiB")
            if MANIFEST not in names:
                raise TaskError(f"{path}: holds no {MANIFEST}: no archive of a task")
            # A declared size may be false: never read more than it.
            return {entry.filename: archive.read(entry) for entry in entries}


def _checked_zip(file: BinaryIO) -> zipfile.ZipFile:
    """Open a zip file after checking that its directory is small.

    zipfile reads the whole directory, however many files it names.
    """
    check_directory(file)
    return zipfile.ZipFile(file)


def _verified(folder: Path, files: dict[str, bytes], new_id: str) -> Task:
    """Return the task unpacked in `folder` under the id `new_id`, after checking its `files`. Raises TaskError."""
    task = load_task(folder)
    if new_id:
        manifest = msgspec.structs.replace(task.manifest, id=new_id)
        (folder / MANIFEST).write_bytes(manifest_toml(manifest))
        task = load_task(folder)
    known = {MANIFEST, INPUTS, task.starts_path.name, task.goal_path.name}
    known |= {task.demo_path.name} if task.demo_path else set()
    if extra := set(files) - known:
        raise TaskError(f"holds {min(extra)!r}, which its {MANIFEST} does not name")
    _verify(task)
    return task


def _verify(task: Task) -> None:
    """Check that every file matches the manifest, can be read and belongs to its ROM. Raises TaskError."""
    manifest = task.manifest
    find_success_function(manifest.success)
    verify_file(task.starts_path, manifest.starts.sha256, "file of start states")
    verify_goal(task)
    if manifest.has_goal:
        load_goal(task.goal_path)
    if (task.folder / INPUTS).is_file():
        read_scripts(task.folder / INPUTS, manifest.codec)
    states = [demo.start for demo in task_demonstrations(task)]
    try:
        starts = load_snapshots(task.starts_path)
    except EmulatorError as error:
        if not (task.folder / INPUTS).is_file():
            raise TaskError(str(error)) from None
        starts = []  # states of another layout are remade from their inputs when the task is used
    if starts and len(starts) != manifest.starts.count:
        raise TaskError(f"{manifest.starts.file}: {len(starts)} states, the manifest says {manifest.starts.count}")
    for state in (*starts, *states):
        if state.rom_sha256 != manifest.rom.sha256:
            raise TaskError(
                f"a state of the ROM {state.rom_sha256[:12]}..., the task is for "
                f"{manifest.rom.sha256[:12]}...: another version of the game"
            )


def _try_rom(task: Task, home: HomePaths) -> str:
    """Open the task's start states on its ROM; return "found", or how to register the missing ROM.

    Raises TaskError for states that do not fit the ROM.
    """
    if task.rom_path is None and task.manifest.rom.sha256 not in registered_roms(home):
        sha256 = task.manifest.rom.sha256
        return f"missing: {task.manifest.rom.name}, SHA-256 {sha256}; register it with `{REGISTER}`"
    load_starts(task, load_rom(task, home))
    return "found"
