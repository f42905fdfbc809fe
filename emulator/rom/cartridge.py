"""Cartridge files: header, mapper kind, sizes; independent of the device.
https://gbdev.io/pandocs/The_Cartridge_Header.html"""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import os

import numpy as np

from emulator.rom.regular_file import read_regular, reason

MIN_ROM_SIZE = 0x8000
MAX_ROM_SIZE = 0x800000
LOGO = bytes.fromhex("ceed6666cc0d000b03730083000c000d0008111f8889000edccc6ee6ddddd999bbbb67636e0eecccdddc999fbbb9333e")
RAM_SIZES = {0: 0, 1: 0x800, 2: 0x2000, 3: 0x8000, 4: 0x20000, 5: 0x10000}


class EmulatorError(Exception):
    """Base of this package's errors; the text is one line with the problem, the value and the remedy."""


class CartridgeError(EmulatorError):
    """File that cannot be run as a Game Boy cartridge."""


class MapperKind(enum.IntEnum):
    """Mapper chips; the numbers are those of `Console.mapper`."""

    NONE = 0
    MBC1 = 1
    MBC2 = 2
    MBC3 = 3
    MBC5 = 5
    MBC1_MULTICART = 6
    HUC3 = 7
    FLAT = 9
    """64 KiB of plain RAM, for CPU test vectors."""


MAPPERS = {
    0x00: MapperKind.NONE, 0x08: MapperKind.NONE, 0x09: MapperKind.NONE,
    0x01: MapperKind.MBC1, 0x02: MapperKind.MBC1, 0x03: MapperKind.MBC1,
    0x05: MapperKind.MBC2, 0x06: MapperKind.MBC2,
    0x0F: MapperKind.MBC3, 0x10: MapperKind.MBC3, 0x11: MapperKind.MBC3,
    0x12: MapperKind.MBC3, 0x13: MapperKind.MBC3,
    0x19: MapperKind.MBC5, 0x1A: MapperKind.MBC5, 0x1B: MapperKind.MBC5,
    0x1C: MapperKind.MBC5, 0x1D: MapperKind.MBC5, 0x1E: MapperKind.MBC5,
    0xFE: MapperKind.HUC3,
}  # fmt: skip
RTC_TYPES = {0x0F, 0x10, 0xFE}
BATTERY_TYPES = {0x03, 0x06, 0x09, 0x0F, 0x10, 0x13, 0x1B, 0x1E, 0xFE}
UNSUPPORTED = {
    0x0B: "MMM01",
    0x0C: "MMM01",
    0x0D: "MMM01",
    0x20: "MBC6",
    0x22: "MBC7",
    0xFC: "Pocket Camera",
    0xFD: "TAMA5",
    0xFF: "HuC1",
}


@dataclasses.dataclass(frozen=True, slots=True)
class CartridgeHeader:
    """Fields of the header at 0100-014F."""

    title: str
    mapper: MapperKind
    ram_size: int
    """Bytes of cartridge RAM (512 for the half bytes inside an MBC2)."""
    has_rtc: bool
    has_battery: bool
    checksum_ok: bool
    cgb_only: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Cartridge:
    """ROM, padded to a power of two of 16 KiB banks, uint8[rom_size], with its header."""

    name: str
    rom: np.ndarray
    header: CartridgeHeader
    sha256: str
    warnings: tuple[str, ...] = ()
    first_mbc3: bool = False
    """True for the first MBC3, False for an MBC3A, which copies its clock for reading at every write to 6000-7FFF.

    The first one does so only if bit 0 rises. `dataclasses.replace(cartridge, first_mbc3=True)` changes the chip.
    """

    @property
    def rom_banks(self) -> int:
        """Number of 16 KiB banks."""
        return len(self.rom) // 0x4000

    @property
    def ram_banks(self) -> int:
        """Number of 8 KiB banks that the memory row must hold, at least one."""
        return max(1, self.header.ram_size // 0x2000) + (self.header.mapper is MapperKind.HUC3)

    @property
    def rtc(self) -> int:
        """Clock of the cartridge: 0 none, 1 MBC3A or HuC3, 2 the first MBC3."""
        return int(self.header.has_rtc) * (2 if self.first_mbc3 and self.header.mapper is MapperKind.MBC3 else 1)

    @classmethod
    def of(cls, given: Rom) -> Cartridge:
        """Return `given`, or the cartridge of the ROM at that path or in those bytes; may raise CartridgeError."""
        if isinstance(given, Cartridge):
            return given
        if isinstance(given, (str, os.PathLike)):
            return cls.from_file(given)
        if isinstance(given, (bytes, bytearray)):
            return cls.from_bytes(bytes(given))
        raise CartridgeError(f"{given!r:.60} is no ROM; give the path of a .gb file, its bytes or a Cartridge")

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Cartridge:
        """Read a .gb file; raise CartridgeError, one line, if it cannot be run."""
        try:
            data = read_regular(path, MAX_ROM_SIZE)
        except OSError as error:
            raise CartridgeError(
                f"{path}: cannot read the ROM ({reason(error)}); give the path of an unpacked .gb ROM, 8 MiB at most"
            ) from error
        return cls.from_bytes(data, str(path))

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "ROM") -> Cartridge:
        """Return the cartridge of a ROM's bytes; raise CartridgeError, with `name` in the text, if it cannot be run."""
        if len(data) < MIN_ROM_SIZE:
            raise CartridgeError(
                f"{name}: {len(data)} bytes is less than the 32768 of the smallest cartridge;"
                " the file is truncated or no Game Boy ROM"
            )
        if len(data) > MAX_ROM_SIZE:
            raise CartridgeError(
                f"{name}: {len(data)} bytes is more than a Game Boy cartridge can hold (8 MiB);"
                " give the unpacked .gb ROM"
            )
        header = parse_header(data, name)
        size = MIN_ROM_SIZE
        while size < len(data):
            size *= 2
        rom = np.full(size, 0xFF, dtype=np.uint8)
        rom[: len(data)] = np.frombuffer(data, dtype=np.uint8)
        warnings = []
        if not header.checksum_ok:
            warnings.append(f"{name}: the header checksum is wrong; a real DMG would not start it")
        if len(data) != size:
            warnings.append(f"{name}: {len(data)} bytes is an odd size; padded to {size} with FF")
        declared = MIN_ROM_SIZE << data[0x148] if data[0x148] <= 8 else 0
        if len(data) < declared:
            warnings.append(f"{name}: {len(data)} bytes, the header says {declared}; the file may be cut off")
        if header.cgb_only:
            warnings.append(f"{name}: made for the Game Boy Color only; it runs as on a DMG")
        return cls(name, rom, header, hashlib.sha256(data).hexdigest(), tuple(warnings))


Rom = Cartridge | str | os.PathLike[str] | bytes
"""Cartridge, or the path or the bytes of one."""


def parse_header(data: bytes, name: str = "ROM") -> CartridgeHeader:
    """Return the header of `data`; raise CartridgeError for a mapper that is not emulated.

    A file with neither the boot logo nor a right checksum is no Game Boy ROM.
    """
    checksum = 0
    for byte in data[0x134:0x14D]:
        checksum = (checksum - byte - 1) & 0xFF
    checksum_ok = checksum == data[0x14D]
    if not checksum_ok and data[0x104:0x134] != LOGO:
        raise CartridgeError(
            f"{name}: no Game Boy ROM (neither the logo at 0104 nor the header checksum is right);"
            " give an unpacked .gb file"
        )
    kind = data[0x147]
    if kind not in MAPPERS:
        chip = UNSUPPORTED.get(kind, "unknown")
        raise CartridgeError(
            f"{name}: cartridge type ${kind:02X} ({chip}) is not emulated;"
            " supported are ROM only, MBC1, MBC2, MBC3, MBC5 and HuC3"
        )
    mapper = MAPPERS[kind]
    if kind == 0 and len(data) > MIN_ROM_SIZE:
        # More ROM than the address space without a mapper: the cartridge must have had one.
        mapper = MapperKind.MBC3
    if mapper is MapperKind.MBC1 and _is_multicart(data):
        mapper = MapperKind.MBC1_MULTICART
    ram_size = 0x200 if mapper is MapperKind.MBC2 else RAM_SIZES.get(data[0x149], 0)
    if kind == 0:
        ram_size = 0
    title = data[0x134:0x144].split(b"\0")[0].decode("ascii", "replace").strip()
    return CartridgeHeader(
        title=title,
        mapper=mapper,
        ram_size=ram_size,
        has_rtc=kind in RTC_TYPES,
        has_battery=kind in BATTERY_TYPES,
        checksum_ok=checksum_ok,
        cgb_only=data[0x143] == 0xC0,
    )


def _is_multicart(data: bytes) -> bool:
    """Return whether a 1 MiB MBC1 image holds several games (a logo at the start of bank 10 hex)."""
    return len(data) == 0x100000 and data[0x40104:0x40134] == LOGO
