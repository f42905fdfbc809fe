"""Headers, sizes and the one-line errors for files that cannot be run."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator import Cartridge, CartridgeError
from emulator.rom.cartridge import LOGO, MapperKind, parse_header
from emulator.tools.warmup import blank_rom


def rom(kind: int = 0, ram: int = 0, size: int = 0x8000) -> bytes:
    data = bytearray(blank_rom().ljust(size, b"\0"))
    data[0x147], data[0x149] = kind, ram
    data[0x14D] = -sum(byte + 1 for byte in data[0x134:0x14D]) & 0xFF
    return bytes(data)


@pytest.mark.parametrize(
    ("kind", "mapper"),
    [
        (0x00, MapperKind.NONE),
        (0x03, MapperKind.MBC1),
        (0x06, MapperKind.MBC2),
        (0x10, MapperKind.MBC3),
        (0x1B, MapperKind.MBC5),
        (0x1E, MapperKind.MBC5),
    ],
)
def test_the_type_byte_names_the_mapper(kind: int, mapper: MapperKind) -> None:
    assert parse_header(rom(kind)).mapper is mapper


@pytest.mark.parametrize(("code", "size"), [(0, 0), (1, 0x800), (2, 0x2000), (3, 0x8000), (9, 0)])
def test_the_ram_byte_gives_its_size(code: int, size: int) -> None:
    assert parse_header(rom(3, code)).ram_size == size


def test_mbc2_has_its_own_ram() -> None:
    assert parse_header(rom(6)).ram_size == 512


def test_a_logo_in_bank_16_makes_a_multicart() -> None:
    data = bytearray(rom(1, size=0x100000))
    assert parse_header(bytes(data)).mapper is MapperKind.MBC1
    data[0x40104:0x40134] = LOGO
    assert parse_header(bytes(data)).mapper is MapperKind.MBC1_MULTICART


@pytest.mark.parametrize("size", [0x8000, 0x10000, 0x100000])
def test_a_good_rom_has_no_warnings(size: int) -> None:
    data = bytearray(rom(1, size=size))
    data[0x148] = (size >> 15).bit_length() - 1
    data[0x14D] = -sum(byte + 1 for byte in data[0x134:0x14D]) & 0xFF
    assert Cartridge.from_bytes(bytes(data)).warnings == ()


def test_odd_sizes_and_bad_checksums_are_warnings() -> None:
    data = bytearray(rom() + b"\0")
    data[0x14D] ^= 1
    cartridge = Cartridge.from_bytes(bytes(data), "odd.gb")
    assert len(cartridge.rom) == 0x10000
    assert cartridge.rom_banks == 4
    assert [w.split(":")[0] for w in cartridge.warnings] == ["odd.gb", "odd.gb"]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (rom()[:20000], "20000 bytes is less than the 32768"),
        (bytes(0x8000), "no Game Boy ROM"),
        (rom(0x22), r"cartridge type \$22 \(MBC7\) is not emulated"),
        (rom(0x77), r"cartridge type \$77 \(unknown\)"),
    ],
)
def test_unusable_bytes_say_why(data: bytes, message: str) -> None:
    with pytest.raises(CartridgeError, match=message) as raised:
        Cartridge.from_bytes(data, "x.gb")
    assert str(raised.value).startswith("x.gb: ")
    assert "\n" not in str(raised.value)


def test_missing_files_and_folders_say_why(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.gb", tmp_path):
        with pytest.raises(CartridgeError, match=r"cannot read the ROM|not a file"):
            Cartridge.from_file(path)
