"""Traces with one "gameboy-doctor" line per instruction, for diffing against reference logs.
https://github.com/robert/gameboy-doctor"""

from __future__ import annotations

from collections.abc import Iterator

from emulator.emulator import Emulator
from emulator.rom.cartridge import Cartridge


def trace(cartridge: Cartridge, frames: int, count: int, device: str = "cpu") -> Iterator[str]:
    """Run `frames` frames, then yield one gameboy-doctor line before each of the next `count` instructions."""
    emulator = Emulator(cartridge, 1, device)
    if frames:
        emulator.run(None, frames)
    for _ in range(count):
        r = emulator.registers()
        code = [int(emulator.peek(0, (r["pc"] + i) & 0xFFFF)[0]) for i in range(4)]
        registers = " ".join(f"{name.upper()}:{r[name]:02X}" for name in "afbcdehl")
        memory = ",".join(f"{byte:02X}" for byte in code)
        yield f"{registers} SP:{r['sp']:04X} PC:{r['pc']:04X} PCMEM:{memory}"
        emulator.step()
