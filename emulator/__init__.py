"""Thousands of DMG Game Boys on one device, from one Warp source."""

from emulator.cartridge import Cartridge, CartridgeError, EmulatorError
from emulator.constants import (
    BUTTON_NAMES,
    OBSERVATION_HEIGHT,
    OBSERVATION_WIDTH,
    SCREEN_HEIGHT,
    SCREEN_WIDTH,
)
from emulator.emulator import Emulator, StateCache
from emulator.snapshot import Snapshot, SnapshotError

__all__ = [
    "BUTTON_NAMES",
    "OBSERVATION_HEIGHT",
    "OBSERVATION_WIDTH",
    "SCREEN_HEIGHT",
    "SCREEN_WIDTH",
    "Cartridge",
    "CartridgeError",
    "Emulator",
    "EmulatorError",
    "Snapshot",
    "SnapshotError",
    "StateCache",
]
