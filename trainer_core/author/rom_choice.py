"""ROM of a new task: a file, a registered hash, or another task's ROM."""

from __future__ import annotations

from pathlib import Path

from emulator import Cartridge, EmulatorError
from trainer_core.envs.rom_registry import add_rom
from trainer_core.envs.task_files import load_rom
from trainer_core.lab.paths import ASSETS, HomePaths
from trainer_core.lab.roms import REGISTER, named_rom, registered_roms
from trainer_core.lab.tasks import Rom, find_task
from trainer_core.wire.errors import TaskError


def choose_rom(rom: str, task_id: str, home: HomePaths) -> tuple[Rom, Cartridge]:
    """Return the manifest entry and cartridge of the ROM `rom` (see `named_rom`), or of a task's ROM.

    `task_id` names the task if `rom` is empty. Does not register the ROM; `register_rom` does, since a task cannot be
    played without its ROM. Raises TaskError.
    """
    if not rom:
        if not task_id:
            raise TaskError(
                "which game? give --rom (a path, or a name of `dmglab rom list`), or --base with a "
                "task of the same game"
            )
        task = find_task(task_id, home)
        return task.manifest.rom, load_rom(task, home)
    path = named_rom(rom, home)
    try:
        cartridge = Cartridge.from_file(path)
    except EmulatorError as error:
        raise TaskError(f"{error}; `{REGISTER}` registers a ROM, `dmglab rom list` shows them") from None
    shipped = _shipped(path)
    name = cartridge.header.title.strip() or path.stem
    return Rom(name=name, sha256=cartridge.sha256, path=shipped), cartridge


def register_rom(rom: str, sha256: str, home: HomePaths) -> str:
    """Register the ROM file that `rom` names.

    Returns its path, or "" if the ROM was registered already or is one that we ship. Raises LabError.
    """
    if not rom or sha256 in registered_roms(home):
        return ""
    path = named_rom(rom, home)
    if _shipped(path):
        return ""
    add_rom(path, home)
    return str(path)


def _shipped(path: Path) -> str:
    """Return the path below the checkout, `assets/...`, of a ROM that we ship, else ""."""
    path = path.resolve()
    if not path.is_relative_to(ASSETS.resolve()):
        return ""
    return (Path("assets") / path.relative_to(ASSETS.resolve())).as_posix()
