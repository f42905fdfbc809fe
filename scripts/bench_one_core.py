"""Time one console on one core beside PyBoy, in turns, by processor time, so that a busy computer does
not decide: `python scripts/bench_one_core.py GAME.gb ...`, one line of JSON for each. `--hot`: with
hot code (ADR 31) as well, in the same turns.

A step is 24 frames with a random button held for 8 and one picture: PyBoy's window buffer, our
observation. `instructions`: machine instructions a frame in user mode, of the launches and of the
observations, where Linux counts them; they hardly depend on what else runs.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import statistics
import struct
import sys
import time
from argparse import RawDescriptionHelpFormatter as RawText
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyboy

from emulator import Cartridge, Emulator
from emulator.hot_code.search import known_pieces

ROUNDS, STEPS, MORE = 6, 15, 4
BUTTONS = {"a": 16, "b": 32, "start": 128, "up": 4, "down": 8, "left": 2, "right": 1}
PERF_EVENT_OPEN = 298  # x86-64
USER_ONLY = 0x60


def instructions_counter() -> Callable[[], int]:
    """Return what counts the machine instructions of this thread; always 0 where they cannot be counted."""
    attributes = bytearray(128)
    struct.pack_into("IIQ", attributes, 0, 0, 128, 1)
    struct.pack_into("Q", attributes, 40, USER_ONLY)
    place = (ctypes.c_char * 128).from_buffer(attributes)
    fd = ctypes.CDLL(None).syscall(PERF_EVENT_OPEN, place, 0, -1, -1, 0)
    return (lambda: int.from_bytes(os.read(fd, 8), sys.byteorder)) if fd >= 0 else lambda: 0


def theirs(rom: Path) -> tuple[Callable[[], None], Callable[[], None]]:
    """Return a step of PyBoy, and its end."""
    machine = pyboy.PyBoy(str(rom), window="null", sound_emulated=False, log_level="ERROR")
    machine.set_emulation_speed(0)
    choose = random.Random(0)

    def step() -> None:
        name = choose.choice(list(BUTTONS))
        machine.button_press(name)
        machine.tick(8, False)
        machine.button_release(name)
        machine.tick(16, True)

    return step, lambda: machine.stop(save=False)


def seconds_of(step: Callable[[], None], steps: int) -> float:
    """Return the seconds of processor time for one frame."""
    begun = time.thread_time()
    for _ in range(steps):
        step()
    return (time.thread_time() - begun) / steps / 24


def ours(rom: Path, count: Callable[[], int], hot: bool) -> tuple[Callable[[], None], list[int]]:
    """Return a step of ours, and the machine instructions of launches and of observations so far, which
    `count` says of this thread. `hot`: with hot code, searched and compiled if it is not there."""
    cartridge = Cartridge.from_bytes(rom.read_bytes(), rom.name)
    emulator = Emulator(cartridge, 1, "cpu")
    if hot:
        emulator.adopt([known_pieces(cartridge, on_gpu=False)])
    choose, held, spent = random.Random(0), np.zeros(1, np.uint8), [0, 0]

    def step() -> None:
        held[0] = choose.choice(list(BUTTONS.values()))
        before = count()
        emulator.run(held, 24, 8)
        between = count()
        emulator.observations()
        spent[0] += between - before
        spent[1] += count() - between

    return step, spent


def measure(rom: Path, count: Callable[[], int], kinds: Sequence[bool]) -> dict[str, object]:
    """Measure PyBoy and ours in turns, without and with hot code as `kinds` say."""
    machines = [ours(rom, count, hot) for hot in kinds]
    peer, end = theirs(rom)
    for _ in range(15):
        peer()
        for step, _ in machines:
            step()
    for _, spent in machines:
        spent[:] = 0, 0
    rounds = [
        (seconds_of(peer, STEPS), *(seconds_of(step, STEPS * MORE) for step, _ in machines)) for _ in range(ROUNDS)
    ]
    end()
    frames = ROUNDS * STEPS * MORE * 24
    record: dict[str, object] = {"rom": rom.stem}
    record["pyboy_us"] = round(min(turn[0] for turn in rounds) * 1e6, 1)
    for i, hot in enumerate(kinds):
        name = "hot_" if hot else ""
        record[f"{name}us"] = round(min(turn[i + 1] for turn in rounds) * 1e6, 2)
        record[f"{name}times"] = round(statistics.median(turn[0] / turn[i + 1] for turn in rounds), 1)
        record[f"{name}instructions"] = [round(some / frames) for some in machines[i][1]]
    return record


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=RawText)
    parser.add_argument("roms", nargs="+", type=Path, metavar="GAME.gb")
    parser.add_argument("--hot", action="store_true", help="with hot code (ADR 31) as well")
    options = parser.parse_args()
    for path in options.roms:
        if not path.is_file():
            parser.error(f"{path}: there is no such file")
    counter = instructions_counter()  # one: several would share the processor's
    for path in options.roms:
        print(json.dumps(measure(path, counter, (False, True)[: 1 + options.hot])), flush=True)
