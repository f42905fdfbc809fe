"""Damaged files for every decoder: each is read, or refused in one line, soon and in little memory.

`python -m emulator.verify.fuzz_files --inputs 20000` makes good files (a save state, a set of
states, a ROM, a jobs file, and a PyBoy state where PyBoy is installed), damages them byte by byte
and value by value, decodes each, and runs what was accepted for a frame. It prints how many inputs
of each kind were tried, how many were accepted, the longest time and the memory that it took.
"""

from __future__ import annotations

import argparse
import io
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from emulator import constants as k
from emulator.emulator import Emulator
from emulator.launch.warp_start import start_warp
from emulator.rom.cartridge import Cartridge, EmulatorError
from emulator.state.bess import bess_bytes
from emulator.state.snapshot import read_states, save_snapshots
from emulator.state.state_files import read_state
from emulator.tools.job_files import parse_job, read_jobs, shown
from emulator.tools.warmup import blank_rom
from emulator.verify.fuzz_roms import random_rom

MOST_SECONDS = 2.0
MOST_BYTES = 256 << 20
LONGEST_MESSAGE = 600
NUMBERS = (0, 1, -1, 2, 7, 255, 256, 1000, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 40, -(1 << 62))
VALUES: tuple[Any, ...] = (
    None, True, "", "x", "\0", "\ud800", "a" * 300, "../x", [], [1], {}, {"x": []}, 1.5,
    float("nan"), float("inf"), -1, 0, 1 << 70, [[0, -1]], [[40960, 1 << 60]], [["a", "b"]],
)  # fmt: skip
GOOD_JOB = {
    "id": "a/b",
    "rom": "game.gb",
    "frames": 20,
    "inputs": [{"frame": 3, "buttons": ["a"]}],
    "screens": [5],
    "memory": [[0xC000, 4]],
    "until": {"serial": "Passed", "ld_b_b": True},
}


class Kind:
    """Kind of file, with a good example, ways to damage it and its decoder."""

    def __init__(
        self, good: bytes, decode: Callable[[Path], Any], rebuild: Callable[[np.random.Generator], bytes] | None = None
    ) -> None:
        self.good, self.decode, self.rebuild = good, decode, rebuild

    def damaged(self, random: np.random.Generator) -> bytes:
        """Return a damaged file: with changed values if the kind has a `rebuild`, else with changed bytes."""
        if self.rebuild is not None and random.random() < 0.7:
            return self.rebuild(random)
        return damage(random, self.good)


def damage(random: np.random.Generator, good: bytes) -> bytes:
    """Return a copy of the file `good` with bits flipped and bytes overwritten, cut, repeated or inserted."""
    data = bytearray(good)
    for _ in range(int(random.integers(1, 6))):
        place = int(random.integers(0, len(data))) if data else 0
        length = int(random.integers(1, 64))
        match int(random.integers(0, 5)) if data else 3:
            case 0:
                data[place] ^= 1 << int(random.integers(0, 8))
            case 1:
                data[place : place + length] = bytes([int(random.choice([0, 255, 127]))]) * length
            case 2:
                del data[place : place + int(random.integers(1, len(data) + 1))]
            case 3:
                data[place:place] = random.bytes(length)
            case _:
                data[place:place] = data[place : place + 8 * length]
    return bytes(data)


def damaged_arrays(random: np.random.Generator, good: bytes) -> bytes:
    """Return a valid .npz archive like `good` with changed values, types and shapes of its arrays."""
    with np.load(io.BytesIO(good), allow_pickle=False) as data:
        arrays: dict[str, Any] = {name: data[name] for name in data.files}
    for _ in range(int(random.integers(1, 3))):
        name = str(random.choice(["console"] * 6 + list(arrays)))
        array = np.array(arrays[name])
        match int(random.integers(0, 9)):
            case 0:
                array = array[..., :-1] if array.ndim else array[np.newaxis]
            case 1:
                array = array[np.newaxis]
            case 2:
                array = array.astype(np.float64) * np.nan if array.dtype.kind in "iu" else array
            case 3 if array.dtype.kind in "iu":
                array = array.astype(random.choice(["f4", "i2", "u8", "U3", "?"]))
            case 4:
                array = array[..., :0] if array.ndim else array
            case _:
                if array.ndim and array.size and array.dtype.kind in "iu":
                    array = array.astype(np.int64) if name == "console" else array
                    value = int(random.choice(NUMBERS))
                    low, high = np.iinfo(array.dtype).min, np.iinfo(array.dtype).max
                    array.flat[int(random.integers(0, array.size))] = min(max(value, low), high)
        arrays[name] = array
    out = io.BytesIO()
    np.savez_compressed(out, **arrays)
    return out.getvalue()


def damaged_jobs(random: np.random.Generator) -> bytes:
    """Return a jobs file with values of wrong types or out of range."""
    job = json.loads(json.dumps(GOOD_JOB))
    for _ in range(int(random.integers(1, 4))):
        name = str(random.choice(list(GOOD_JOB)))
        value = VALUES[int(random.integers(0, len(VALUES)))]
        if random.random() < 0.3 and isinstance(job.get(name), list) and job[name]:
            job[name] = [*job[name], value]
        else:
            job[name] = value
    return json.dumps({"jobs": [GOOD_JOB, job]}).encode()


def kinds(folder: Path, random: np.random.Generator) -> dict[str, Kind]:
    """Return all kinds by name, each with a good file made from one random ROM."""
    cartridge = Cartridge.from_bytes(random_rom(random, 0x10, True), "good.gb")
    emulator = Emulator(cartridge, 2)
    emulator.run(None, 30)
    snapshots = [emulator.snapshot(env) for env in range(2)]
    snapshots[0].save(folder / "one.npz")
    save_snapshots(folder / "set.npz", snapshots)
    one, both = ((folder / name).read_bytes() for name in ("one.npz", "set.npz"))
    target = Emulator(cartridge, 1)

    def run_states(path: Path) -> None:
        snapshots = read_states(path)
        try:
            cache = target.state_cache(snapshots)
        except EmulatorError as error:  # name the file, as callers that read a set do
            raise EmulatorError(f"{path}: {error}") from None
        for index in range(min(2, len(snapshots))):
            target.reset(None, cache, np.array([index]))
            target.run(None, 1)
            target.observations()

    def run_rom(path: Path) -> None:
        Emulator(Cartridge.from_file(path)).run(None, 1)

    quiet = Cartridge.from_bytes(blank_rom(), "quiet.gb")  # random code can hang PyBoy
    receiver = Emulator(quiet, 1)

    def run_foreign(path: Path) -> None:
        receiver.restore(read_state(path, quiet))
        receiver.run(None, 1)
        receiver.observations()

    found = {
        "state": Kind(one, run_states, lambda random: damaged_arrays(random, one)),
        "set of states": Kind(both, run_states, lambda random: damaged_arrays(random, both)),
        "ROM": Kind(cartridge.rom[:0x8000].tobytes(), run_rom),
        "jobs": Kind(json.dumps({"jobs": [GOOD_JOB]}).encode(), decode_jobs, damaged_jobs),
    }
    bess = bess_bytes(receiver.snapshot(), quiet, receiver.peek(0, k.IO, k.HRAM - k.IO).tolist())
    found["BESS state"] = Kind(bess, run_foreign)
    if (state := pyboy_state(quiet, folder)) is not None:
        found["PyBoy state"] = Kind(state, run_foreign)
    return found


def decode_jobs(path: Path) -> None:
    """Decode every job of a jobs file, as `run-many` does; errors pass through."""
    for entry in read_jobs(path):
        try:
            parse_job(entry)
        except EmulatorError as error:
            raise EmulatorError(f"{path}: {error}") from None


def pyboy_state(cartridge: Cartridge, folder: Path) -> bytes | None:
    """Return a save state that PyBoy made with this cartridge; None if PyBoy is not installed."""
    try:
        import pyboy
    except ImportError:
        return None
    rom = folder / "good.gb"
    rom.write_bytes(cartridge.rom.tobytes())
    machine = pyboy.PyBoy(str(rom), window="null", cgb=False, log_level="CRITICAL")
    machine.set_emulation_speed(0)
    machine.tick(400, True)  # past its boot program
    out = io.BytesIO()
    machine.save_state(out)
    machine.stop(save=False)
    return out.getvalue()


def attempt(kind: Kind, data: bytes, path: Path) -> tuple[bool, float]:
    """Decode a file; return whether it was accepted, and the CPU seconds that it took.

    Raises EmulatorError if the refusal had several lines, did not name the file, or came late. Other exceptions of the
    decoder pass through.
    """
    path.write_bytes(data)
    start = time.process_time()
    accepted, message = True, ""
    try:
        kind.decode(path)
    except EmulatorError as error:
        accepted, message = False, str(error)
    seconds = time.process_time() - start
    if seconds > MOST_SECONDS:
        raise EmulatorError(f"{path}: took {seconds:.1f} s")
    named = path.name in message and message.isprintable() and len(message) < LONGEST_MESSAGE
    if not accepted and not named:
        raise EmulatorError(f"{path}: refused with {shown(message)}")
    return accepted, seconds


def fuzz_files(inputs: int, seed: int, folder: Path) -> dict[str, dict[str, Any]]:
    """Decode `inputs` damaged files, the kinds in turn; return counts by kind."""
    random = np.random.default_rng(seed)
    found = kinds(folder, random)
    tried: dict[str, dict[str, float]] = {name: {"inputs": 0, "accepted": 0, "longest_s": 0.0} for name in found}
    for kind in found.values():  # compile first: that time is not the files'
        (folder / "tried").write_bytes(kind.good)
        kind.decode(folder / "tried")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(inputs):
        name = list(found)[number % len(found)]
        kind = found[name]
        accepted, seconds = attempt(kind, kind.damaged(random), folder / "tried")
        tried[name]["inputs"] += 1
        tried[name]["accepted"] += accepted
        tried[name]["longest_s"] = round(max(tried[name]["longest_s"], seconds), 3)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) << 10
    if grown > MOST_BYTES:
        raise EmulatorError(f"seed {seed}: {grown >> 20} MiB more memory")
    tried["memory"] = {"grown_mib": grown >> 20}
    return tried


def main(argv: list[str] | None = None) -> int:
    """Print the counts of a run as JSON; return 1 with one line if a file was refused badly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args(argv)
    start_warp()
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        try:
            tried = fuzz_files(arguments.inputs, arguments.seed, Path(folder))
        except EmulatorError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    print(json.dumps(tried | {"seconds": round(time.perf_counter() - start, 1)}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
