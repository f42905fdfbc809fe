"""Arguments from callers, checked before they reach the device."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from emulator.rom.cartridge import EmulatorError


def whole_number(name: str, value: Any, low: int, high: int) -> int:
    """`value` as an int from `low` to `high`; EmulatorError names what it is otherwise."""
    equals = " " if name.startswith("--") else "="
    try:
        number = operator.index(value)
    except TypeError:
        raise EmulatorError(f"{name}{equals}{value!r}: give a whole number") from None
    if not low <= number <= high:
        text = str(number) if number.bit_length() < 200 else "a number of hundreds of digits"
        raise EmulatorError(f"{name}{equals}{text}: give {low} to {high}")
    return number


def checked_roms(given: Any, num_envs: int, cartridges: int) -> np.ndarray:
    """Number of each env's cartridge, int32[N]; round robin if none is given."""
    if given is None:
        return (np.arange(num_envs) % cartridges).astype(np.int32)
    roms = np.asarray(given)
    if roms.shape != (num_envs,) or roms.dtype.kind not in "iu":
        raise EmulatorError(f"rom_of_env: {roms.dtype}{list(roms.shape)}, give int[{num_envs}]")
    if roms.min() < 0 or roms.max() >= cartridges:
        raise EmulatorError(f"rom_of_env: there are cartridges 0 to {cartridges - 1}")
    return roms.astype(np.int32)


def checked_bytes(given: Any, num_envs: int) -> np.ndarray:
    """A mask or joypad masks as uint8[N]: whole numbers from 0 to 255, or bool."""
    values = np.asarray(given)
    if values.shape != (num_envs,):
        raise EmulatorError(f"shape {values.shape}: give one value per env ({num_envs},)")
    if values.dtype.kind not in "biu":
        raise EmulatorError(f"{values.dtype}: give whole numbers (uint8) or bool, one per env")
    if values.dtype.itemsize > 1 and (values.min() < 0 or values.max() > 255):
        raise EmulatorError(f"{values.min()} to {values.max()}: give bytes, 0 to 255")
    return values.astype(np.uint8)
