"""Checks of callers' arguments, before they reach the device."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from emulator.constants import BUTTON_NAMES
from emulator.rom.cartridge import EmulatorError


class OnDevice(Protocol):
    """Protocol of another library's array, such as a torch tensor: DLPack says on which device it lies."""

    def __dlpack__(self) -> Any: ...
    def __dlpack_device__(self) -> tuple[Any, int]: ...


def whole_number(name: str, value: Any, low: int, high: int) -> int:
    """Return `value` as an int; raise EmulatorError, with `name`, unless it is a whole number from `low` to `high`."""
    equals = " " if name.startswith("--") else "="
    try:
        number = operator.index(value)
    except TypeError:
        raise EmulatorError(f"{name}{equals}{value!r:.60}: give a whole number") from None
    if not low <= number <= high:
        text = str(number) if number.bit_length() < 200 else "a number of hundreds of digits"
        raise EmulatorError(f"{name}{equals}{text}: give {low} to {high}")
    return number


def checked_roms(given: Any, num_envs: int, cartridges: int) -> np.ndarray:
    """Return the index of each env's cartridge, int32[N]; round robin if `given` is None.

    Raises EmulatorError for a wrong shape or dtype, or an index that is not below `cartridges`.
    """
    if given is None:
        return (np.arange(num_envs) % cartridges).astype(np.int32)
    roms = np.asarray(given)
    if roms.shape != (num_envs,) or roms.dtype.kind not in "iu":
        raise EmulatorError(f"rom_of_env: {roms.dtype}{list(roms.shape)}, give int[{num_envs}]")
    if roms.min() < 0 or roms.max() >= cartridges:
        raise EmulatorError(f"rom_of_env: there are cartridges 0 to {cartridges - 1}")
    return roms.astype(np.int32)


def checked_bytes(what: str, given: Any, num_envs: int) -> np.ndarray:
    """Return a mask or joypad masks as uint8[N]; raise EmulatorError, which calls them `what`, for other input.

    Accepted are whole numbers from 0 to 255, or bool, one for each env.
    """
    values = np.asarray(given)
    if values.dtype == np.uint8 and values.shape == (num_envs,):
        return values  # each step of training comes here
    if values.shape != (num_envs,):
        raise EmulatorError(f"{what}: shape {values.shape}: give one value per env ({num_envs},)")
    if values.dtype.kind not in "biu":
        raise EmulatorError(f"{what}: {values.dtype}: give whole numbers (uint8) or bool, one per env")
    if values.dtype.itemsize > 1 and (values.min() < 0 or values.max() > 255):
        raise EmulatorError(f"{what}: {values.min()} to {values.max()}: give bytes, 0 to 255")
    return values.astype(np.uint8, copy=False)


def button_mask(names: str | Sequence[str] | None) -> int:
    """Return the joypad mask of button names in any case: `a`, `a+up` or a list of names.

    Raises EmulatorError for an unknown name.
    """
    mask = 0
    for name in names.split("+") if isinstance(names, str) and names else names or ():
        if not isinstance(name, str) or name.strip().lower() not in BUTTON_NAMES:
            raise EmulatorError(f"button {name!r:.60}: give {', '.join(BUTTON_NAMES)}")
        mask |= 1 << BUTTON_NAMES.index(name.strip().lower())
    return mask


def button_masks(given: Any, num_envs: int) -> Any:
    """Return joypad masks from one button name for all envs (uint8[N]) or from a list with one entry for each env.

    An entry is a name, a list of names, a mask or None. An array is returned unchanged. Raises EmulatorError for other
    input.
    """
    if isinstance(given, str):
        return np.full(num_envs, button_mask(given), np.uint8)
    if isinstance(given, int):
        raise EmulatorError(f"buttons={given}: give names, as 'a' or 'a+up', or one mask per env; frames come second")
    if not isinstance(given, (list, tuple)):
        return given
    if len(given) != num_envs:
        raise EmulatorError(
            f"buttons={list(given)!r:.60}: give one entry per env ({num_envs}); 'a+up' holds two buttons in every env"
        )
    return [button_mask(each) if each is None or isinstance(each, (str, list, tuple)) else each for each in given]
