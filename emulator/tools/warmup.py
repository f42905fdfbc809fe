"""Compilation of every kernel, and the time of later starts."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time

import warp as wp

from emulator.emulator import Emulator
from emulator.hot_code.background_search import child_environment
from emulator.rom.cartridge import LOGO, Cartridge


def warm_up(device: str = "cpu", cold: bool = False) -> dict[str, float | str]:
    """Compile missing kernels, then measure how long fresh processes take to draw a picture, in seconds.

    `warm_s`: this call's own start, with the cache as it was; `cached_start_s`: a fresh process after it;
    `cold_start_s` (only with `cold`): a fresh process with an empty kernel cache.
    """
    start = time.perf_counter()
    run_blank(device)
    seconds: dict[str, float | str] = {"device": device}
    seconds["warm_s"] = round(time.perf_counter() - start, 2)
    seconds["cached_start_s"] = _fresh_process(device, {})
    if cold:
        with tempfile.TemporaryDirectory() as folder:
            seconds["cold_start_s"] = _fresh_process(device, {"WARP_CACHE_PATH": folder})
    return seconds


def _fresh_process(device: str, environment: dict[str, str]) -> float:
    start = time.perf_counter()
    code = "import sys; from emulator.tools.warmup import run_blank; run_blank(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", code, device],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=child_environment(**environment),
    )
    return round(time.perf_counter() - start, 2)


def blank_rom() -> bytes:
    """Return the smallest valid ROM: a logo and an endless loop."""
    rom = bytearray(0x8000)
    rom[0x100:0x102] = b"\x18\xfe"  # jr 0100
    rom[0x104:0x134] = LOGO
    rom[0x14D] = -sum(byte + 1 for byte in rom[0x134:0x14D]) & 0xFF
    return bytes(rom)


def run_blank(device: str) -> None:
    """Run a blank ROM so that every kernel is compiled and launched once."""
    wp.config.log_level = wp.LOG_WARNING
    emulator = Emulator(Cartridge.from_bytes(blank_rom(), "blank"), 1, device)
    emulator.wait_for_kernels()
    emulator.run(None, 2)
    emulator.screens.numpy()
    emulator.observations().numpy()
    emulator.peek(0, 0xFF44)
