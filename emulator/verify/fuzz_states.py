"""Random states that pass the check: none may hang, and none may reach outside its own memory.

`python -m emulator.verify.fuzz_states --states 20000` draws every field of a console from the values that
state/console_check.py allows and fills the memory row with random bytes, puts the state in place as a reset
does, and runs it for a few frames with its pictures drawn, memory fenced in (fuzz_roms.py). It runs in a
child: an access outside its memory ends the child, which is reported in one line.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time

import numpy as np

from emulator import constants as k
from emulator.emulator import Emulator
from emulator.launch.warp_start import start_warp
from emulator.rom.cartridge import Cartridge, EmulatorError
from emulator.state.batch import CONSOLE_DTYPE, RUNNING, STOPPED
from emulator.state.console_check import AT_MOST, LOG_CAPACITY, RULES, Bits, Near, OneOf, Range, check_consoles
from emulator.state.power_on import power_on_console
from emulator.state.snapshot import Snapshot
from emulator.verify.fuzz_roms import KINDS, FencedBatch, random_rom, result_of_child

CONSOLES = 20
MOST_FRAMES = 4
EDGE_SHARE = 0.3
"""Share of the fields that get a value at an end of their range."""
KEPT_ROW_SHARE = 0.5
"""Share of the states whose memory row is a real one with some bytes changed."""


@dataclasses.dataclass(frozen=True, slots=True)
class StatesResult:
    """Record of a fuzz run."""

    states: int
    seed: int
    instructions: int
    seconds: float


def random_consoles(random: np.random.Generator, base: np.ndarray) -> np.ndarray:
    """Return copies of the records `base` [K] with random but allowed values in most fields."""
    count = len(base)
    found = base.copy()
    for name in ("now", *(name for name in CONSOLE_DTYPE.names or () if name != "now")):
        values = _values(random, name, found["now"], count)
        if name == "now":  # single steps may have left it far away; mostly they do not
            values = np.where(random.random(count) < 0.8, random.integers(0, 32, count), values)
        found[name] = values.astype(np.uint64) & 0xFFFFFFFF
    for name in ("mapper", "rom_banks", "ram_size", "has_rtc"):
        found[name] = base[name]
    found["ppu_sync"] = 4 * found["now"]
    found["stopped"] = random.random(count) < 0.05
    found["run_state"] = np.where(random.random(count) < 0.7, 0, found["run_state"])
    still = (found["run_state"] == STOPPED) | (found["run_state"] != RUNNING) & (found["dma_state"] != 0)
    found["stop_time"] = np.where(still, found["now"], 0)
    found["ppu_undo_count"] %= LOG_CAPACITY + 1 - found["ppu_log_count"]
    for low, high in AT_MOST:
        found[low] %= found[high] + 1
    return found


def _values(random: np.random.Generator, name: str, now: np.ndarray, count: int) -> np.ndarray:
    rule = RULES[name]
    edge = random.random(count) < EDGE_SHARE
    if isinstance(rule, Range):
        ends = random.choice([rule.low, rule.high], count)
        return np.where(edge, ends, random.integers(rule.low, rule.high + 1, count))
    if isinstance(rule, OneOf):
        return random.choice(rule.values, count)
    if isinstance(rule, Bits):
        return random.integers(0, 1 << 32, count) & rule.mask
    if isinstance(rule, Near):
        ends = random.choice([rule.low, rule.high], count)
        after = np.where(edge, ends, random.integers(rule.low, rule.high + 1, count))
        return (now.astype(np.int64) + after) & 0xFFFFFFFF
    return random.integers(0, 1 << 32, count)


def random_row(random: np.random.Generator, kept: np.ndarray) -> np.ndarray:
    """Return a memory row of random bytes, or the real row `kept` with some bytes changed."""
    if random.random() >= KEPT_ROW_SHARE:
        row = random.integers(0, 256, len(kept), dtype=np.uint8)
    else:
        row = kept.copy()
        places = random.integers(0, len(row), 2000)
        row[places] = random.integers(0, 256, len(places))
    if random.random() < 0.8:  # most states have the LCD on
        row[k.LCDC - k.ROW_ORIGIN] |= k.LCDC_ENABLE
    return row


def fuzz_states(states: int, seed: int) -> StatesResult:
    """Run `states` random states in this process; raise EmulatorError if one wrote outside its memory."""
    random = np.random.default_rng(seed)
    cartridges = [
        Cartridge.from_bytes(random_rom(random, KINDS[i % len(KINDS)], True), f"rom {i}") for i in range(CONSOLES)
    ]
    emulator = Emulator(cartridges, CONSOLES, rom_of_env=np.arange(CONSOLES))
    fence = FencedBatch(emulator, at_end=bool(seed % 2))
    kept = [emulator.snapshot(env).row for env in range(CONSOLES)]
    base = np.concatenate([power_on_console(cartridge, 0) for cartridge in cartridges])
    done, instructions, start = 0, 0, time.perf_counter()
    while done < states:
        consoles = random_consoles(random, base)
        rows = [random_row(random, row) for row in kept]
        snapshots = [Snapshot(consoles[i : i + 1], rows[i], cartridges[i].sha256) for i in range(CONSOLES)]
        for snapshot in snapshots:
            check_consoles(snapshot.console, snapshot.row[np.newaxis])
        cache = emulator.state_cache(snapshots)
        emulator.reset(None, cache, np.arange(CONSOLES, dtype=np.int32))
        for _ in range(2):
            emulator.run(random.integers(0, 256, CONSOLES).astype(np.uint8), int(random.integers(1, MOST_FRAMES + 1)))
            emulator.observations()
            instructions += int(emulator.work()[~emulator.stopped()].astype(np.uint64).sum())
        if problems := fence.problems():
            raise EmulatorError(f"seed {seed}, states {done} on: out of bounds: {problems}")
        done += CONSOLES
    return StatesResult(done, seed, instructions, round(time.perf_counter() - start, 1))


def fuzz_states_in_child(states: int, seed: int) -> StatesResult:
    """Run `fuzz_states` in a child process; raise EmulatorError if the child crashed or hung."""
    command = [sys.executable, "-m", "emulator.verify.fuzz_states", "--states", str(states)]
    command += ["--seed", str(seed), "--child"]
    return StatesResult(**result_of_child(command, f"states of seed {seed}"))


def main(argv: list[str] | None = None) -> int:
    """Print the record of a run as JSON; return 1 with one line on stderr if a state left its memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--states", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0, help="odd: rows end at a fence")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    start_warp()
    run = fuzz_states if arguments.child else fuzz_states_in_child
    try:
        result = run(arguments.states, arguments.seed)
    except EmulatorError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(json.dumps(dataclasses.asdict(result)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
