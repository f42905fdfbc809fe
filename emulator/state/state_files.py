"""Files of save states: ours, BESS (SameBoy, BGB and others) and PyBoy's, told apart by their bytes."""

from __future__ import annotations

import os

from emulator.rom.cartridge import Cartridge
from emulator.rom.regular_file import read_regular, reason
from emulator.state.bess import is_bess, parse_bess
from emulator.state.pyboy_state import MOST_FILE_BYTES, parse, to_snapshot
from emulator.state.snapshot import Snapshot, SnapshotError

ZIP = b"PK\3\4"
LAST_VERSION = b"\x3f"
"""Version of PyBoy's states up to which a first byte is taken for one."""


def read_state(path: str | os.PathLike[str], cartridge: Cartridge) -> Snapshot:
    """Read a save state of a game on `cartridge`; raise SnapshotError, one line, if it cannot be.

    BESS states and those of PyBoy do not name their ROM by its hash: the caller vouches for it.
    """
    try:
        data = read_regular(path, MOST_FILE_BYTES)
    except OSError as error:
        raise SnapshotError(f"{path}: cannot read the state ({reason(error)}); give a save state") from error
    if data.startswith(ZIP):
        return Snapshot.load(path)
    try:
        return foreign_state(data, cartridge)[0]
    except SnapshotError as error:
        raise SnapshotError(f"{path}: {error}") from None


def foreign_state(data: bytes, cartridge: Cartridge, in_boot: bool = False) -> tuple[Snapshot, bool]:
    """Return the state that a BESS file or a PyBoy state holds, and whether the boot program is mapped in it.

    Raises SnapshotError, without `in_boot` also for a state in which it is.
    """
    if is_bess(data):
        return parse_bess(data, cartridge), False
    if data[:1] > LAST_VERSION:
        raise SnapshotError("no save state of this emulator, nor BESS or PyBoy's")
    state = parse(data, cartridge, in_boot)
    return to_snapshot(state, cartridge), bool(state.cpu["boot_rom"])
