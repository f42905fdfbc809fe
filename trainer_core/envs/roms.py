"""Open the ROM a task was made for: one that we ship, or the user's own by its hash."""

from __future__ import annotations

from emulator import Cartridge, EmulatorError
from trainer_core.protocol.errors import TaskError
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.roms import REGISTER, rom_path
from trainer_core.protocol.tasks import Task


def load_rom(task: Task, home: HomePaths) -> Cartridge:
    """The cartridge of a task. Raises TaskError when it is missing or another ROM."""
    wanted = task.manifest.rom.sha256
    path = rom_path(task, home)
    way_out = "" if task.rom_path else f"; register your copy anew with `{REGISTER}`"
    try:
        cartridge = Cartridge.from_file(path)
    except EmulatorError as error:
        raise TaskError(f"task {task.id}: {error}{way_out}") from None
    if cartridge.sha256 != wanted:
        raise TaskError(
            f"{path}: SHA-256 {cartridge.sha256[:12]}..., task {task.id} was made for "
            f"{wanted[:12]}...{way_out}"
        )
    return cartridge
