"""Every micro-ROM, assembled from source, in one mixed batch.

Each micro-ROM shows one hardware fact and ends at a trapped LD B,B with the registers that its
`; expect` line names; `locked=1` ones never get there. The expected values were also confirmed on
SameBoy, an independent emulator.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from micro.assembler import AssemblyError, MicroRom, assemble

from emulator import Cartridge, Emulator

pytestmark = pytest.mark.warp

MICRO = Path(__file__).parent / "micro"
SOURCES = sorted(MICRO.glob("*.asm"))
FRAMES = 120
MIN_ROMS = 25


@pytest.fixture(scope="module")
def roms() -> list[MicroRom]:
    return [assemble(path) for path in SOURCES]


@pytest.fixture(scope="module")
def outcome(roms: list[MicroRom], device: str) -> dict[str, dict[str, int]]:
    """Registers at the end by ROM name, with `locked` = 1 where LD B,B was not reached."""
    cartridges = [Cartridge.from_bytes(rom.image, rom.name) for rom in roms]
    emulator = Emulator(
        cartridges, len(roms), device, rom_of_env=range(len(roms)), trap_ld_b_b=True
    )
    emulator.run(None, FRAMES)
    stopped = emulator.stopped()
    return {
        rom.name: emulator.registers(env) | {"locked": int(not stopped[env])}
        for env, rom in enumerate(roms)
    }


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_registers_are_what_the_hardware_fact_demands(
    path: Path, roms: list[MicroRom], outcome: dict[str, dict[str, int]]
) -> None:
    rom = next(rom for rom in roms if rom.name == path.stem)
    registers = outcome[rom.name]
    seen = {name: value_of(registers, name) for name in rom.expect}
    assert seen == rom.expect
    assert registers["locked"] == rom.expect.get("locked", 0)


def value_of(registers: dict[str, int], name: str) -> int:
    """A register, a pair such as `hl`, or `locked`."""
    if name in registers:
        return registers[name]
    return registers[name[0]] << 8 | registers[name[1]]


def test_every_rom_expects_something(roms: list[MicroRom]) -> None:
    assert len(roms) >= MIN_ROMS
    assert all(rom.expect for rom in roms)


def test_a_trapped_machine_shows_its_ld_b_b(roms: list[MicroRom], device: str) -> None:
    rom = next(rom for rom in roms if rom.name == "pop_af")
    emulator = Emulator(Cartridge.from_bytes(rom.image, rom.name), 2, device,
                        trap_ld_b_b=np.array([True, False]))  # fmt: skip
    emulator.run(None, FRAMES)
    assert emulator.stopped().tolist() == [True, False]
    assert emulator.peek(0, emulator.registers(0)["pc"])[0] == 0x40


def test_the_assembler_names_the_line_it_cannot_read(tmp_path: Path) -> None:
    source = tmp_path / "bad.asm"
    source.write_text("main:\n  ld b, 1\n  fly a, b\n")
    with pytest.raises(AssemblyError, match=r"bad\.asm:3.*no such instruction"):
        assemble(source)
