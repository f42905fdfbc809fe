"""Bytes of every console's memory, read and written on the device by one small launch: `Watch` and `Poke`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import warp as wp

from emulator import constants as k
from emulator.kernels.sm83.hooks import BUS, CART, ROM
from emulator.launch.memory_kernels import peek_places, read_places
from emulator.rom.cartridge import Cartridge, EmulatorError
from emulator.rom.symbols import Symbols
from emulator.state.arguments import whole_number

Item: TypeAlias = "int | str | range | tuple[Any, ...] | list[Any]"
"""Address, name, (start, length), (bank, address) or a range of addresses; or several of them."""
MOST_BYTES = 4096
"""Most bytes of a console that a watch reads."""
MOST_BANK = 0x1FF
_BANK = 0x4000


def addresses_of(item: Item, symbols: Symbols) -> list[tuple[int | None, int]]:
    """Return bank (None: the one that the CPU sees) and address of each byte of an item.

    A pair whose second number is at most MOST_BYTES is a start, which may be a name, and a length; else one whose first
    number is at most MOST_BANK is a bank and an address. Raises EmulatorError for anything else.
    """
    if isinstance(item, str):
        bank, address = symbols.lookup(item)
        is_banked = _BANK <= address < k.VRAM or k.CART_RAM <= address < k.WRAM
        return [(bank if is_banked else None, address)]
    if isinstance(item, (int, np.integer)):
        return [(None, whole_number("address", item, 0, 0xFFFF))]
    if not isinstance(item, (tuple, list, range)) or not item:
        raise EmulatorError(f"{item!r:.60}: give an address, a name, (start, length) or (bank, address)")
    if len(item) == 2 and isinstance(item[1], (int, np.integer)) and not isinstance(item, range):
        first, second = item
        if second <= MOST_BYTES:
            ((bank, start),) = addresses_of(first, symbols)[:1]
            length = whole_number("length", second, 1, MOST_BYTES)
            whole_number("last address", start + length - 1, 0, 0xFFFF)
            return [(bank, start + at) for at in range(length)]
        if not isinstance(first, (str, tuple, list)) and first <= MOST_BANK:
            return [(whole_number("bank", first, 0, MOST_BANK), whole_number("address", second, 0, 0xFFFF))]
    return [place for part in item for place in addresses_of(part, symbols)]


def read_code(bank: int | None, address: int, cartridges: Sequence[Cartridge]) -> int:
    """Return where `read_places` finds a byte, the same for all cartridges. Raises EmulatorError if there is none."""
    if k.UNUSABLE <= address < k.IO:
        raise EmulatorError(f"address 0x{address:04X}: nothing is connected there; give an address below 0xFEA0")
    if bank == 0 and _BANK <= address < k.VRAM and all(cartridge.rom_banks == 2 for cartridge in cartridges):
        bank = 1  # as symbol files of ROMs without a mapper have it
    if address < k.VRAM and bank is not None:
        at = address if address < _BANK else address - _BANK + bank * _BANK
        if (bank > 0) != (address >= _BANK) or at >= min(len(cartridge.rom) for cartridge in cartridges):
            raise EmulatorError(_no_bank(bank, address, cartridges))
        return ROM | at
    if address < k.VRAM or k.IO <= address < k.HRAM or (k.CART_RAM <= address < k.WRAM and bank is None):
        return BUS | address
    return 0x7FFF if address == k.IE else row_place(bank, address, cartridges)


def row_place(bank: int | None, address: int, cartridges: Sequence[Cartridge]) -> int:
    """Return the place in the memory row of a byte of RAM, or CART | offset in the bank that is switched in.

    Raises EmulatorError if a cartridge has no RAM there.
    """
    if address < k.VRAM or k.UNUSABLE <= address < k.HRAM or address == k.IE:
        raise EmulatorError(
            f"address 0x{address:04X} is no RAM: write to 0x8000-0xFE9F or 0xFF80-0xFFFE; "
            "patch the bytes of the ROM to change a ROM"
        )
    if k.CART_RAM <= address < k.WRAM:
        offset = address - k.CART_RAM
        if any(cartridge.header.ram_size <= offset + (bank or 0) * k.RAM_BANK_SIZE for cartridge in cartridges):
            raise EmulatorError(_no_bank(bank, address, cartridges))
        if bank is None:
            return CART | offset
        return offset + (k.ROW_CART_RAM_BANK_1 + (bank - 1) * k.RAM_BANK_SIZE if bank else k.ROW_CART_RAM)
    if bank is not None and bank > int(k.WRAM + 0x1000 <= address < k.ECHO):  # RGBDS calls D000-DFFF bank 1
        raise EmulatorError(f"bank {bank} of 0x{address:04X}: only a Game Boy Color has it; give bank 0")
    return address - k.ROW_ORIGIN - (k.ECHO - k.WRAM if k.ECHO <= address < k.OAM else 0)


def _no_bank(bank: int | None, address: int, cartridges: Sequence[Cartridge]) -> str:
    if bank is None:
        return f"address 0x{address:04X}: this cartridge has no RAM there"
    there = ", ".join(f"{c.rom_banks} ROM banks and {c.header.ram_size} bytes of RAM" for c in cartridges[:3])
    return f"address {bank:02X}:{address:04X}: there is no such bank; this cartridge has {there}"


class Views(Mapping[str, Any]):
    """Views of one array by name; an unknown name raises EmulatorError with those there are."""

    def __init__(self, views: Mapping[str, Any], verb: str) -> None:
        self._views, self._verb = views, verb

    def __getitem__(self, name: Any) -> Any:
        name = str(name)
        if name not in self._views:
            raise EmulatorError(
                f"{name!r:.60} is not {self._verb}; {self._verb}: {', '.join(self._views) or 'nothing'}"
            )
        return self._views[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

    def __len__(self) -> int:
        return len(self._views)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {', '.join(self._views)}>"

    def __bool__(self) -> bool:
        return True

    # Arrays do not compare to one truth value.
    __eq__ = object.__eq__
    __hash__ = object.__hash__  # type: ignore[assignment]


class Watch(Views):
    """Watched bytes of every console, `bytes` uint8[N, B]; `watch[NAME]` is the view uint8[N, n] of a group.

    The arrays are the same ones every time and lie on the device: `torch.from_dlpack` and, on a CPU, `numpy()` share
    their memory. Every `Emulator.run` ends with an update; call `update` after a reset, a poke or a loaded slot.
    """

    def __init__(self, groups: Mapping[str, Sequence[int]], out: Any, batch: Any, launch: Callable[..., None]) -> None:
        """Use `read_code` numbers by group, an array uint8[N, bytes in all], and a function that launches as Warp's."""
        self.bytes = out
        self.slices: dict[str, slice] = {}
        """Columns of each group in `bytes`."""
        codes = np.array([code for codes in groups.values() for code in codes], np.uint32)
        of_bus = np.flatnonzero(codes >= BUS)
        device, on_cpu = out.device, out.device.is_cpu
        runs = _runs(codes) if on_cpu else np.ones(len(codes), np.int32)
        arrays = [wp.array(each, device=device) for each in (codes, runs, codes[of_bus], of_bus.astype(np.int32))]
        threads, where = 1 if on_cpu else 32, [out.ptr, out.strides[0]]
        self._launches = []
        if len(of_bus) < len(codes):
            how = (len(out), threads), [batch, batch.console, *arrays[:2], threads, *where], device
            self._launches.append(functools.partial(launch, read_places, *how))
        if len(of_bus):
            how = len(out), [batch, batch.console, *arrays[2:], *where], device
            self._launches.append(functools.partial(launch, peek_places, *how))
        begin = 0
        for name, group in groups.items():
            self.slices[name] = slice(begin, begin := begin + len(group))
        super().__init__({name: out[:, part] for name, part in self.slices.items()}, "watched")

    def update(self) -> None:
        """Read the bytes of all consoles as they are now. Nothing is allocated, and nothing is waited for."""
        for launch in self._launches:
            launch()


def _runs(codes: np.ndarray) -> np.ndarray:
    """Return how many places from each on follow each other in the memory row, int32[len(codes)]; at least 1."""
    runs = np.ones(len(codes), np.int32)
    for at in range(len(codes) - 2, -1, -1):
        if codes[at] + 1 == codes[at + 1] < ROM:
            runs[at] += runs[at + 1]
    return runs


class Poke:
    """Place of some bytes in every console, and room on the device for values that come from the host."""

    def __init__(self, name: Item, places: Sequence[int], num_envs: int, device: str) -> None:
        """Use `row_place` numbers; `name` is what messages call them."""
        self._name, self._num_envs = name, num_envs
        self.places = wp.array(list(places), dtype=wp.uint32, device=device)
        self._room = wp.zeros((num_envs, len(places)), dtype=wp.uint8, device=device)
        self.is_drawn = any(
            place < k.ROW_CART_RAM or k.ROW_OAM <= place < k.ROW_OAM + k.OAM_SIZE for place in places if place < CART
        )
        """True if pictures show these bytes."""

    def values(self, given: Any) -> wp.array[Any]:
        """Return the bytes to write, uint8[1 or N, n] on the device.

        `given`: one byte, or a list or bytes of n, for all consoles; or an array uint8[N, n], or [N] where n is 1, one
        row for each. Raises EmulatorError for other values.
        """
        n, all_envs = self.places.shape[0], (self._num_envs, self.places.shape[0])
        if isinstance(given, wp.array):
            found = given.reshape(all_envs) if n == 1 and given.shape == (self._num_envs,) else given
            if found.dtype is not wp.uint8 or found.shape != all_envs:
                raise EmulatorError(self._wrong(f"{given.dtype.__name__}{list(given.shape)} on the device"))
            return found
        is_array = hasattr(given, "__array__")
        values = np.asarray(list(given) if isinstance(given, (bytes, bytearray)) else given)
        if not values.size:
            raise EmulatorError("no byte to write; give one or more, 0 to 255")
        if values.dtype.kind not in "biu":
            raise EmulatorError(self._wrong(f"{values.dtype}{list(values.shape)}"))
        if values.min() < 0 or values.max() > 255:
            wrong = values.min() if values.min() < 0 else values.max()
            raise EmulatorError(f"byte={wrong}: give 0 to 255")
        if is_array and values.ndim and values.shape in (all_envs, (self._num_envs,) * (n == 1)):
            rows = values.reshape(all_envs)
        elif not is_array and values.ndim <= 1 and values.size == n:
            rows = values.reshape(1, n)
        elif values.ndim == 0:
            rows = np.full((1, n), values)
        else:
            raise EmulatorError(self._wrong(f"{values.dtype}{list(values.shape)}"))
        target: Any = self._room[: len(rows)]
        target.assign(rows.astype(np.uint8))
        return target

    def _wrong(self, what: str) -> str:
        n = self.places.shape[0]
        several = f"{n} bytes, " if n > 1 else ""
        return f"values for {self._name!r:.60}: {what}: give a byte, {several}or uint8[{self._num_envs}, {n}]"
