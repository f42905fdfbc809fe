"""Find the ROM a task was made for: one that we ship, or the user's own by its hash."""

from __future__ import annotations

import json
from pathlib import Path

from emulator import Cartridge, EmulatorError
from trainer_core.protocol.errors import TaskError
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.tasks import Task


def registered_roms(home: HomePaths) -> dict[str, Path]:
    """SHA-256 to path of the ROMs a user registered in `settings/roms.json`."""
    try:
        found = json.loads((home.settings / "roms.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {sha: Path(path) for sha, path in found.items() if isinstance(path, str)}


def load_rom(task: Task, home: HomePaths) -> Cartridge:
    """The cartridge of a task. Raises TaskError when it is missing or another ROM."""
    wanted = task.manifest.rom.sha256
    path = task.rom_path or registered_roms(home).get(wanted)
    if path is None:
        raise TaskError(
            f"task {task.id} needs the ROM {task.manifest.rom.name} (SHA-256 {wanted[:12]}...): "
            "register your copy in the app or in settings/roms.json"
        )
    try:
        cartridge = Cartridge.from_file(path)
    except EmulatorError as error:
        raise TaskError(f"task {task.id}: {error}") from None
    if cartridge.sha256 != wanted:
        raise TaskError(
            f"{path}: SHA-256 {cartridge.sha256[:12]}..., task {task.id} was made for "
            f"{wanted[:12]}..."
        )
    return cartridge
