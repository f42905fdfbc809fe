"""One hardware fact a ROM (micro/*.asm), all of them as lanes of one batch."""

from __future__ import annotations

import dataclasses
import zlib
from pathlib import Path

import numpy as np
import pytest
from micro.assembler import MicroRom, assemble

from emulator import Cartridge, Emulator
from emulator.frame_launcher import Executor

pytestmark = pytest.mark.warp

SOURCES = sorted(Path(__file__).parent.glob("micro/*.asm"))
ROMS = {path.stem: assemble(path) for path in SOURCES if path.stem != "busy"}
HELD = {  # buttons from frame 41 on
    "joypad_rise": 0x11,
    "stop_runs_on": 0x10,
    "stop_wakes_on_a_button": 0x10,
    "stop_with_a_request": 0x10,
}
PAIRS = ("af", "bc", "de", "hl")


@pytest.fixture(scope="module")
def finished(engine: tuple[str, Executor]) -> Emulator:
    """All micro-ROMs after 120 frames."""
    cartridges = [Cartridge.from_bytes(rom.image, name) for name, rom in ROMS.items()]
    device, executor = engine
    emulator = Emulator(cartridges, len(cartridges), device, trap_ld_b_b=True, executor=executor)
    held = np.array([HELD.get(name, 0) for name in ROMS], np.uint8)
    for _ in range(20):
        emulator.run(None, 1)  # a picture is drawn at the end of a launch
    for launch in range(1, 6):
        assert launch >= 3 or not emulator.stopped()[held != 0].any()
        emulator.run(held * np.uint8(launch >= 2), 20)
    return emulator


def stopped(emulator: Emulator) -> dict[str, int]:
    assert emulator.stopped().all()
    return emulator.registers(0)


@pytest.mark.parametrize("bounces", [False, True])
def test_a_button_let_go_requests_an_interrupt_if_it_bounces(engine: tuple[str, Executor], bounces: bool) -> None:
    rom = Cartridge.from_bytes(ROMS["joypad_release"].image)
    emulator = Emulator(rom, 1, engine[0], trap_ld_b_b=True, executor=engine[1])
    emulator.bouncing_buttons = bounces
    start = emulator.snapshot()
    emulator.run("a", 2)
    emulator.run(None, 2)
    assert stopped(emulator)["b"] == 0x10 * bounces
    emulator.restore(start)
    emulator.run("a", 4, release_after=2)
    assert stopped(emulator)["b"] == 0x10 * bounces


def test_the_first_mbc3_copies_its_clock_only_when_bit_0_rises(engine: tuple[str, Executor]) -> None:
    rom = dataclasses.replace(Cartridge.from_bytes(ROMS["mbc3_rtc_latch"].image), first_mbc3=True)
    emulator = Emulator(rom, 1, engine[0], trap_ld_b_b=True, executor=engine[1])
    emulator.run(None, 4)
    assert [stopped(emulator)[name] for name in "bcde"] == [5] * 4


@pytest.mark.parametrize("rom", ROMS.values(), ids=ROMS.keys())
def test_micro_rom(finished: Emulator, rom: MicroRom) -> None:
    env = list(ROMS).index(rom.name)
    expect = dict(rom.expect)
    locked = bool(expect.pop("locked", 0))
    assert finished.stopped()[env] == (not locked)
    registers = finished.registers(env)
    registers |= {pair: registers[pair[0]] << 8 | registers[pair[1]] for pair in PAIRS}
    assert {name: registers[name] for name in expect} == expect
    if rom.lines:
        screen = finished.first_screens(env + 1).numpy()[env]
        shown = {name: zlib.crc32(screen[first : last + 1].tobytes()) for name, (first, last, _) in rom.lines.items()}
        assert shown == {name: crc for name, (_, _, crc) in rom.lines.items()}
