"""`PyBoy.memory` and `PyBoy.register_file`: the address space, its banks, and the registers of the CPU."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np

from dmglab.pyboy.machine import BANK, BOOT, BOOT_BYTES, Machine
from dmglab.pyboy.utils import PyBoyInvalidInputException, PyBoyInvalidOperationException, PyBoyOutOfBoundsException
from emulator import constants as k
from emulator.state.batch import HALTED

JOYPAD_READS = 0xCF
"""Bits that PyBoy's P1 can have: its selection bits read 0."""
PLAIN_REGISTERS = frozenset((k.TMA, k.LCDC, k.SCY, k.SCX, k.LYC, k.DMA, k.BGP, k.OBP0, k.OBP1, k.WY, k.WX))
"""Registers that read as what was written to them last."""
HIGHEST_BANKS = {k.VRAM: 0, k.CART_RAM: 16, k.WRAM: 0}


class PyBoyMemoryView:
    """Memory: `memory[0xC000]` an int, `memory[0xC000:0xC010]` a list, `memory[1, 0x4000]` of a bank, -1 the boot's.

    Writing to ROM without a bank goes to the mapper; with a bank it changes the ROM. Raises PyBoyInvalidInputException
    and PyBoyOutOfBoundsException for what is no address, and OverflowError for a value that is no byte.
    """

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._row = machine.row.data
        self._absent = np.zeros((HIGHEST_BANKS[k.CART_RAM] + 1, k.RAM_BANK_SIZE), np.uint8)

    def __len__(self) -> int:
        raise PyBoyInvalidOperationException("memory has no length; its addresses are 0 to 0xFFFF")

    def __iter__(self) -> NoReturn:
        raise PyBoyInvalidOperationException("memory is not iterated; read a slice, memory[0xC000:0xE000]")

    def __getitem__(self, key: Any) -> Any:
        if key.__class__ is int and 0xC000 <= key < 0xE000:  # most reads of an environment; names would cost a half
            return self._row[key - 0x8000]
        bank, first, stop, step = _parsed(key)
        is_slice = isinstance(key[1] if isinstance(key, tuple) else key, slice)
        if bank is None:
            found = self._read(first, stop)
        else:
            area, offset = self._banked(bank, first, stop, 1)
            found = area[offset : offset + stop - first].tolist()
        return found[::step] if is_slice else found[0]

    def __setitem__(self, key: Any, value: Any) -> None:
        bank, first, stop, step = _parsed(key)
        is_slice = isinstance(key[1] if isinstance(key, tuple) else key, slice)
        values = _bytes_of(value, len(range(first, stop, step)), is_slice)
        self._machine.touched = True
        if bank is None:
            for address, byte in zip(range(first, stop, step), values, strict=True):
                self._write(address, byte)
            return
        area, offset = self._banked(bank, first, stop, 0)
        whole = area[offset : offset + stop - first].copy()
        whole[::step] = values
        if first < k.VRAM:
            self._machine.patch(bank, offset, whole)
        else:
            self._machine.emulator.draw()  # a finished picture reads video memory when it is drawn
            area[offset : offset + stop - first] = whole

    def _read(self, first: int, stop: int) -> list[int]:
        """Return the bytes from `first` up to `stop` as the CPU sees them, without side effects."""
        found: list[int] = []
        if first in PLAIN_REGISTERS and stop == first + 1:
            return [self._row[first - k.ROW_ORIGIN]]
        while first < stop:
            if first < k.VRAM:
                high = first >= BANK
                end = k.VRAM if high else BANK
                at = first + int(self._machine.record["rom_high" if high else "rom_low"][0]) & 0xFFFFFFFF
                part = self._machine.rom[at : at + min(stop, end) - first].tolist()
            elif k.CART_RAM <= first < k.WRAM or k.IO <= first < k.HRAM:
                end = next(limit for limit in (k.WRAM, k.HRAM) if first < limit)
                part = self._machine.emulator.peek(0, first, min(stop, end) - first).tolist()
                if first == k.P1:
                    part[0] = (part[0] & JOYPAD_READS) | 0xC0
            else:
                end = next(limit for limit in (k.CART_RAM, k.ECHO, k.OAM, k.IO, 0x10000) if first < limit)
                at = first - k.ROW_ORIGIN - (0x2000 if k.ECHO <= first < k.OAM else 0)
                part = self._row[at : at + min(stop, end) - first].tolist()
            found += part
            first = min(stop, end)
        return found

    def _write(self, address: int, value: int) -> None:
        """Write a byte as PyBoy's bus does: video memory is never blocked."""
        machine = self._machine
        if address == 0xFF50:
            if value in (1, 0x11):
                machine.unmap_boot()
        elif address < k.VRAM or k.CART_RAM <= address < k.WRAM or k.IO <= address < k.HRAM or address == k.IE:
            on = machine.lcd_on
            machine.emulator.store(0, address, value)
            if machine.lcd_on != on:
                machine.align()
        else:
            if not k.WRAM <= address < k.OAM:
                machine.emulator.draw()
            self._row[address - k.ROW_ORIGIN - (0x2000 if k.ECHO <= address < k.OAM else 0)] = value

    def _banked(self, bank: int, first: int, stop: int, margin: int) -> tuple[np.ndarray, int]:
        """Return a bank's bytes and the offset of `first` in them; `margin`: bytes at its end that PyBoy refuses."""
        if first >= k.ECHO:
            raise PyBoyInvalidInputException(f"{first:#06x} has no banks; leave the bank out")
        start = next(start for start in (k.WRAM, k.CART_RAM, k.VRAM, 0) if first >= start)
        machine, offset = self._machine, first - start
        size = {0: BOOT_BYTES if bank == BOOT else BANK}.get(start, k.RAM_BANK_SIZE)
        offset -= size * (start == 0 and offset >= BANK and bank != BOOT)
        if start in (k.VRAM, k.WRAM) and bank:
            raise PyBoyInvalidInputException(f"bank {bank} of {first:#06x}: only a Game Boy Color has it; give bank 0")
        banks = len(machine.rom) // BANK if start == 0 else HIGHEST_BANKS[start] + 1
        there = 0 <= bank < banks or (bank == BOOT and start == 0)
        if not there or offset + stop - first > size - margin * (stop - first > 1):
            raise PyBoyOutOfBoundsException(f"bank {bank} has no {first:#06x} to {stop:#06x}")
        area = machine.bank(bank, first)
        if offset < BOOT_BYTES and start == 0 and bank == 0 and machine.booting:
            area = np.concatenate([machine.hidden, area[BOOT_BYTES:]])
        if start == k.CART_RAM and bank >= machine.cartridge.ram_banks:
            area = self._absent[bank]
        return area, offset


def _parsed(key: Any) -> tuple[int | None, int, int, int]:
    """Return bank (None: the mapped ones), first address, end and step of an index."""
    bank = None
    if isinstance(key, tuple):
        if len(key) != 2 or not isinstance(key[0], int):
            raise PyBoyInvalidInputException("give memory[bank, address], with a whole number as the bank")
        bank, key = key
    if isinstance(key, int):
        return bank, key & 0xFFFF, (key & 0xFFFF) + 1, 1
    if not isinstance(key, slice):
        raise TypeError(f"memory[{key!r}]: give an int, not {type(key).__name__}, or a slice")
    if key.start is None or key.stop is None:
        raise PyBoyInvalidInputException("give a slice its first address and its end: memory[0xC000:0xE000]")
    first, stop, step = int(key.start), int(key.stop), 1 if key.step is None else int(key.step)
    if first < 0 or stop < 0 or first >= stop or step < 1:
        raise PyBoyInvalidInputException(f"memory[{first}:{stop}:{step}]: give a first address and an end behind it")
    if first > 0xFFFF or stop > 0x10000:
        raise PyBoyOutOfBoundsException(f"memory[{first:#x}:{stop:#x}]: addresses end at 0xFFFF")
    return bank, first, stop, step


def _bytes_of(value: Any, count: int, is_slice: bool) -> Iterable[int]:
    """Return `count` bytes of what is assigned: a number for all addresses of a slice, or as many as it has."""
    several = is_slice and hasattr(value, "__iter__")
    values = [operator.index(v) for v in value] if several else [operator.index(value)] * count
    if len(values) != count:
        raise PyBoyInvalidInputException(f"{len(values)} bytes for {count} addresses: give one, or {count}")
    if min(values) < 0 or max(values) > 0xFF:
        raise OverflowError("a byte is 0 to 255")
    return values


_PLACES = {"A": ("hi", 24), "F": ("hi", 16), "B": ("lo", 8), "C": ("lo", 0), "D": ("lo", 24), "E": ("lo", 16)}
_PAIRS = {"HL": ("hi", 0), "SP": ("sp", 0), "PC": ("pc", 0)}


class PyBoyRegisterFile:
    """Registers `A F B C D E HL SP PC` of the CPU, read and written; of use inside a hook's callback."""

    _record: np.ndarray
    _machine: Machine

    def __init__(self, machine: Machine) -> None:
        object.__setattr__(self, "_record", machine.record)
        object.__setattr__(self, "_machine", machine)

    def __getattr__(self, name: str) -> int:
        field, shift, mask = self._found(name)
        in_halt = name == "PC" and int(self._record["run_state"][0]) == HALTED  # PyBoy's PC stays on a HALT
        return (int(self._record[field][0]) >> shift) - in_halt & mask

    def __setattr__(self, name: str, value: int) -> None:
        field, shift, mask = self._found(name)
        kept = int(self._record[field][0]) & ~(mask << shift)
        self._machine.touched = True
        self._record[field] = kept | (int(value) & mask & (0xF0 if name == "F" else mask)) << shift

    def _found(self, name: str) -> tuple[str, int, int]:
        if name in _PLACES:
            return *_PLACES[name], 0xFF
        if name in _PAIRS:
            return *_PAIRS[name], 0xFFFF
        raise AttributeError(f"register_file.{name}: the registers are {', '.join([*_PLACES, *_PAIRS])}")
