"""Battery files (.sav): a cartridge's RAM, then with an MBC3 the registers of its clock.

The clock is that of VisualBoyAdvance, BGB, mGBA and SameBoy: ten u32, then the Unix time as u32 or u64. A console's
clock counts emulated time, so the time that has passed since the file was written is not added.
"""

from __future__ import annotations

import os
import struct
import time

import numpy as np

from emulator import constants as k
from emulator.rom.cartridge import Cartridge, EmulatorError, MapperKind
from emulator.rom.regular_file import read_regular, reason
from emulator.state.snapshot import Snapshot

CLOCK_BYTES = (44, 48)
"""Sizes of a clock: with a time of 32 and of 64 bits."""
MOST_BYTES = 0x20000 + 48
CLOCK_FIELDS = ("rtc_seconds", "rtc_minutes", "rtc_hours")


def battery_bytes(snapshot: Snapshot, cartridge: Cartridge) -> bytes:
    """Return what the cartridge's battery keeps. Raises EmulatorError for a cartridge without a battery."""
    _check(cartridge)
    return ram_bytes(snapshot.row, cartridge) + (clock_bytes(snapshot) if cartridge.header.has_rtc else b"")


def put_battery(snapshot: Snapshot, cartridge: Cartridge, path: str | os.PathLike[str]) -> None:
    """Set a state's cartridge RAM, and its clock if the file has one, in place.

    Raises EmulatorError for a file that cannot be read, or of another size than the cartridge's.
    """
    _check(cartridge)
    try:
        data = read_regular(path, MOST_BYTES)
    except OSError as error:
        raise EmulatorError(f"{path}: cannot read the battery file ({reason(error)}); give a .sav") from error
    size = cartridge.header.ram_size
    allowed = [size, *(size + clock for clock in CLOCK_BYTES)] if cartridge.header.has_rtc else [size]
    if len(data) not in allowed:
        sizes = " or ".join(map(str, allowed))
        raise EmulatorError(f"{path}: {len(data)} bytes; {cartridge.name} keeps {sizes}: give the file of this game")
    put_ram(snapshot.row, cartridge, data)
    if len(data) > size:
        put_clock(snapshot.console, data[size:])


def _check(cartridge: Cartridge) -> None:
    if not cartridge.header.has_battery:
        raise EmulatorError(f"{cartridge.name}: this cartridge has no battery; keep a save state instead")


def ram_bytes(row: np.ndarray, cartridge: Cartridge) -> bytes:
    """Return the bytes of the cartridge RAM in a memory row, all banks."""
    first = row[k.ROW_CART_RAM : k.ROW_CART_RAM + k.RAM_BANK_SIZE].tobytes()
    return (first + row[k.ROW_CART_RAM_BANK_1 :].tobytes())[: cartridge.header.ram_size]


def put_ram(row: np.ndarray, cartridge: Cartridge, data: bytes) -> None:
    """Write `data`, as far as the cartridge has RAM, into a memory row."""
    ram = np.frombuffer(data, np.uint8)[: cartridge.header.ram_size]
    if cartridge.header.mapper is MapperKind.MBC2:
        ram = ram & 15
    for place, part in ((k.ROW_CART_RAM, ram[: k.RAM_BANK_SIZE]), (k.ROW_CART_RAM_BANK_1, ram[k.RAM_BANK_SIZE :])):
        row[place : place + len(part)] = part


def clock_bytes(snapshot: Snapshot) -> bytes:
    """Return a state's clock, 48 bytes."""
    c = {name: int(snapshot.console[name][0]) for name in snapshot.console.dtype.names or () if name[:4] == "rtc_"}
    low = c["rtc_latched_low"]
    values = [c[name] for name in CLOCK_FIELDS] + [c["rtc_days"] & 0xFF, c["rtc_days"] >> 8]
    values += [low & 0xFF, low >> 8 & 0xFF, low >> 16, c["rtc_latched_days"] & 0xFF, c["rtc_latched_days"] >> 8]
    return struct.pack("<10IQ", *values, int(time.time()))


def put_clock(console: np.ndarray, data: bytes) -> None:
    """Set the clock of a record, shape (1,), to that of 40 bytes or more; its second begins now."""
    seconds, minutes, hours, day, high, *latched = (value & 0xFF for value in struct.unpack_from("<10I", data))
    values = {"rtc_seconds": seconds & 63, "rtc_minutes": minutes & 63, "rtc_hours": hours & 31}
    values |= {"rtc_days": (day | high << 8) & 0xC1FF, "rtc_latched_days": (latched[3] | latched[4] << 8) & 0xC1FF}
    values["rtc_latched_low"] = latched[0] & 63 | (latched[1] & 63) << 8 | (latched[2] & 31) << 16
    for name, value in values.items():
        console[name] = value
    is_halted = console["rtc_days"][0] & 0x4000
    console["rtc_zero"] = 0 if is_halted else console["now"]
