"""Compile every kernel once and measure what the next start costs."""

from __future__ import annotations

import subprocess
import sys
import time

import warp as wp

from emulator.cartridge import LOGO, Cartridge
from emulator.emulator import Emulator


def warm_up(device: str = "cpu", cold: bool = False) -> dict[str, float | str]:
    """Run two frames of an empty cartridge here, then again in a fresh process.

    Returns seconds: `compile_s` of this process (cold only if nothing was cached, or `cold`),
    `cached_start_s` from process start to a drawn picture.
    """
    if cold:
        wp.clear_kernel_cache()
    start = time.perf_counter()
    _run_blank(device)
    compile_s = time.perf_counter() - start
    start = time.perf_counter()
    code = "import sys; from emulator.warmup import _run_blank; _run_blank(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, device], check=True, stdout=subprocess.DEVNULL)
    return {
        "device": device,
        "compile_s": round(compile_s, 2),
        "cached_start_s": round(time.perf_counter() - start, 2),
    }


def blank_rom() -> bytes:
    """Return the smallest legal cartridge: a logo and an endless loop."""
    rom = bytearray(0x8000)
    rom[0x100:0x102] = b"\x18\xfe"  # jr 0100
    rom[0x104:0x134] = LOGO
    rom[0x14D] = -sum(byte + 1 for byte in rom[0x134:0x14D]) & 0xFF
    return bytes(rom)


def _run_blank(device: str) -> None:
    wp.config.log_level = wp.LOG_WARNING
    emulator = Emulator(Cartridge.from_bytes(blank_rom(), "blank"), 1, device)
    emulator.run(None, 2)
    emulator.screens.numpy()
    emulator.observations().numpy()
    emulator.peek(0, 0xFF44)
