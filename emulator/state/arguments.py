"""Checks of callers' arguments, before they reach the device."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from emulator import constants as k
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
        raise EmulatorError(f"{name}{equals}{value!r}: give a whole number") from None
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


def memory_bytes(given: int | bytes | Sequence[int] | NDArray[Any]) -> list[int]:
    """Return the bytes to write into memory, 0 to 255 each, as a list; raise EmulatorError for other values."""
    values = [given] if isinstance(given, int) else list(given)
    if not values:
        raise EmulatorError("no byte to write; give one or more, 0 to 255")
    return [whole_number("byte", value, 0, 255) for value in values]


def memory_place(address: int, console: NDArray[Any]) -> int:
    """Return the offset in a console's memory row of the RAM that its CPU sees at `address`.

    `console`: its record. Raises EmulatorError if there is no RAM at the address.
    """
    address = whole_number("address", address, 0, 0xFFFF)
    if address < k.VRAM or k.UNUSABLE <= address < k.HRAM or address == k.IE:
        raise EmulatorError(
            f"address 0x{address:04X} is no RAM: write to 0x8000-0xFE9F or 0xFF80-0xFFFE; "
            "patch the bytes of the ROM to change a ROM"
        )
    if k.WRAM > address >= k.CART_RAM:
        size, is_clock = int(console["ram_size"][0]), bool(console["has_rtc"][0]) and console["ram_bank"][0] > 3
        if address - k.CART_RAM >= size or is_clock:
            raise EmulatorError(f"address 0x{address:04X}: this cartridge has no RAM there now")
        return address - k.VRAM + int(console["ram_offset"][0])
    return address - k.VRAM - (k.ECHO - k.WRAM if k.ECHO <= address < k.OAM else 0)
