"""Random bytes as ROMs: nothing may hang, and nothing may be touched outside its own memory.

The kernels reach memory through raw addresses, which Warp's bounds checks do not see. So on the
cpu device every row, the ROMs, their decoded words and the control table are moved between pages
that may not be touched: an access outside ends the process, which runs for that purpose as a child.
Padding that could be reached without meeting such a page, and all of it on cuda, is filled with a
pattern that must survive. Warp's own checks (for arrays) are a matter of `--bounds-checks`.
"""

from __future__ import annotations

import ctypes
import dataclasses
import json
import mmap
import subprocess
import sys
import time
import zlib
from typing import Any

import numpy as np
import warp as wp

from emulator.emulator import Emulator
from emulator.frame_launcher import Executor
from emulator.rom.cartridge import LOGO, Cartridge, EmulatorError
from emulator.state.batch import PADDING, row_bytes

PAGE = mmap.PAGESIZE
NO_ACCESS = 0  # PROT_NONE
CANARY = 0xA5
CANARY_BYTES = 1024
KINDS = (0x00, 0x03, 0x06, 0x10, 0x1B)
"""Cartridge types: ROM only, MBC1, MBC2, MBC3 with clock, MBC5."""
LOCKING = (0x10, 0xD3, 0xDB, 0xDD, 0xE3, 0xE4, 0xEB, 0xEC, 0xED, 0xF4, 0xFC, 0xFD)
"""Opcodes that stop the CPU, STOP and the undefined ones; every second ROM has none of them, so that it runs on."""
REGISTERS = (*range(0x40, 0x4C), 0x46, *range(0x00, 0x30), 0xFF)
MID_LINE = (0x40, 0x40, 0x40, 0x41, 0x42, 0x43, 0x45, 0x46, 0x46, 0x46, 0x47, 0x4A, 0x4B, 0x10, 0x13, 0x14, 0x02, 0x01)
"""Registers that every second ROM writes with values that keep the LCD on: picture, OAM DMA, sweep, serial port."""
HIGH_BYTES = (*range(0x00, 0x80, 8), 0x88, 0x98, 0xA0, 0xB8, 0xC0, 0xFE)
"""High bytes of the addresses to which a random ROM writes."""
STEP_FRAMES = 20
CONSTANT_FIELDS = ("mapper", "rom_base", "rom_banks", "ram_size", "serial_capacity", "serial_log")
TIMEOUT_S = 7200


@dataclasses.dataclass(frozen=True, slots=True)
class FuzzResult:
    """Record of a fuzz run."""

    consoles: int
    frames: int
    device: str
    seed: int
    instructions: int
    restarts: int
    """Number of times that a console had stopped at an undefined opcode or STOP and was restarted elsewhere."""
    seconds: float
    fenced: bool
    """True if memory lay between inaccessible pages."""
    bounds_checks: bool
    against: str
    """Device and executor with which states and pictures were compared, empty if with none."""


def random_rom(random: np.random.Generator, kind: int, calm: bool) -> bytes:
    """Return 32 to 256 KiB of random bytes with a header of this cartridge type."""
    size_code = 0 if kind == 0 else int(random.integers(0, 4))
    rom = random.integers(0, 256, 0x8000 << size_code, dtype=np.uint8)
    if calm:
        for opcode in LOCKING:
            rom[rom == opcode] = random.integers(0x40, 0x76)
        poke_hardware(random, rom)
    data = bytearray(rom.tobytes())
    data[0x104:0x134] = LOGO
    data[0x147:0x14A] = bytes((kind, size_code, 0 if kind == 0 else int(random.integers(0, 6))))
    data[0x14D] = -sum(byte + 1 for byte in data[0x134:0x14D]) & 0xFF
    return bytes(data)


def poke_hardware(random: np.random.Generator, rom: np.ndarray) -> None:
    """Insert writes to I/O registers, bank registers, VRAM and OAM at random places of the ROM.

    A fifth of them writes a value of its own to one of `MID_LINE`.
    """
    count = len(rom) // 24
    drawn = (
        random.integers(0, len(rom) - 4, count),
        random.random(count) < 0.7,
        random.choice(REGISTERS, count),
        random.integers(0, 256, count),
        random.choice(HIGH_BYTES, count),
    )
    for at, is_short, register, low, high in zip(*(part.tolist() for part in drawn), strict=True):
        code = (0xE0, register) if is_short else (0xEA, low, high)
        if low % 5 == 0:
            chosen = MID_LINE[high * 31 % len(MID_LINE)]
            value = {0x40: low | 0x80, 0x14: low | 0x80, 0x46: 0xC0 | low & 0x1F}.get(chosen, low)
            code = (0x3E, value, 0xE0, chosen)
        rom[at : at + len(code)] = code


def set_going(random: np.random.Generator, emulator: Emulator) -> int:
    """Restart every locked or stopped console at a random address with random registers; return their number."""
    consoles = emulator.batch.console.numpy()
    locked = consoles["run_state"] >= 2
    count = int(locked.sum())
    consoles["run_state"][locked] = 0
    consoles["ime"][locked] = random.integers(0, 2, count)
    consoles["pc"][locked] = random.integers(0, 0x8000, count)
    consoles["sp"][locked] = random.integers(0, 0x10000, count)
    for name in ("lo", "hi"):
        consoles[name][locked] = random.integers(0, 1 << 32, count, dtype=np.uint32)
    consoles["hi"] &= 0xFFF0FFFF
    emulator.batch.console.assign(consoles)
    return count


class Fence:
    """Block of memory with an inaccessible page before and after its `size` usable bytes.

    The usable bytes end at the rear page (`at_end`) or begin at the front one.
    """

    def __init__(self, size: int, at_end: bool) -> None:
        self.usable = -(-size // PAGE) * PAGE
        self._map = mmap.mmap(-1, self.usable + 2 * PAGE)
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._map))
        self._slack = np.ctypeslib.as_array((ctypes.c_uint8 * self.usable).from_address(base + PAGE))
        self._slack[:] = CANARY
        offset = self.usable - size if at_end else 0
        self.address = base + PAGE + offset
        self._start, self._size = offset, size
        self.bytes = self._slack[offset : offset + size]
        libc = ctypes.CDLL(None, use_errno=True)
        for page in (base, base + PAGE + self.usable):
            if libc.mprotect(ctypes.c_void_p(page), PAGE, NO_ACCESS):
                raise EmulatorError(f"mprotect failed ({ctypes.get_errno()}); run on Linux")

    def intact(self) -> bool:
        """Return whether the unused bytes between the two pages still have their pattern."""
        outside = np.delete(self._slack, slice(self._start, self._start + self._size))
        return bool((outside == CANARY).all())


class FencedBatch:
    """Emulator on the CPU whose rows, ROMs and tables lie between inaccessible pages."""

    def __init__(self, emulator: Emulator, at_end: bool) -> None:
        batch = emulator.batch
        state = row_bytes(max(cartridge.ram_banks for cartridge in emulator.cartridges))
        size = state + PADDING  # the CPU kernel keeps its own values there
        batch.scratch = state
        # Rows at equal distances with a forbidden page between each two.
        stride = -(-size // PAGE) * PAGE + PAGE
        self._rows = Fence(stride * emulator.num_envs - PAGE, at_end=False)
        libc = ctypes.CDLL(None)
        offset = stride - PAGE - size if at_end else 0
        for env in range(1, emulator.num_envs):
            libc.mprotect(ctypes.c_void_p(self._rows.address + env * stride - PAGE), PAGE, NO_ACCESS)
        batch.ram_base = self._rows.address + offset
        batch.row_stride = stride
        self._slacks = []
        for env in range(emulator.num_envs):
            start = env * stride
            room = self._rows.bytes[start : start + stride - PAGE]
            self._slacks.append(np.delete(np.arange(start, start + len(room)), slice(offset, offset + size)))
        self.constants: dict[str, Fence] = {}
        for name in ("rom", "words", "control"):
            data = np.frombuffer(getattr(batch, name).numpy().tobytes(), np.uint8)
            fence = Fence(len(data), at_end)
            fence.bytes[:] = data
            setattr(batch, f"{name}_base", fence.address)
            self.constants[name] = fence
        emulator._frames.forget_recorded()
        emulator.reset()

    def problems(self) -> list[str]:
        """Return the names of the memory areas whose padding or constants were overwritten."""
        found = [
            f"row {env}" for env, slack in enumerate(self._slacks) if not (self._rows.bytes[slack] == CANARY).all()
        ]
        return found + [name for name, fence in self.constants.items() if not fence.intact()]


def fuzz(consoles: int, frames: int, seed: int, device: str, fenced: bool, compare: bool = False) -> FuzzResult:
    """Run `consoles` random ROMs for `frames` frames in this process; raise EmulatorError for a violated invariant.

    `compare`: another executor, on the CPU, must come to the same states and pictures.
    """
    random = np.random.default_rng(seed)
    cartridges = [
        Cartridge.from_bytes(random_rom(random, KINDS[i % len(KINDS)], bool(i // 5 % 2)), f"rom {i}")
        for i in range(consoles)
    ]
    emulator = Emulator(cartridges, consoles, device, rom_of_env=np.arange(consoles), serial_capacity=CANARY_BYTES)
    twin = None
    if compare:
        executor: Executor = "uniform" if emulator.executor == "native" else "native"
        twin = Emulator(cartridges, consoles, "cpu", rom_of_env=np.arange(consoles), executor=executor)
    records = emulator.batch.console.numpy()
    records["serial_capacity"] = 0  # nothing may be written where the serial log would be
    emulator.batch.console.assign(records)
    fence = FencedBatch(emulator, at_end=bool(seed % 2)) if fenced else None
    padding = _paint_padding(emulator) if fence is None else None
    before = _constants(emulator, fence)
    fields = emulator.batch.console.numpy().copy()
    instructions, restarts, start = 0, 0, time.perf_counter()
    for _ in range(0, frames, STEP_FRAMES):
        buttons = random.integers(0, 256, consoles).astype(np.uint8)
        how = (buttons, min(STEP_FRAMES, frames), int(random.integers(0, STEP_FRAMES)))
        emulator.run(*how)
        instructions += int(emulator.work().astype(np.uint64).sum())
        screens = emulator.screens.numpy()
        if twin is not None:
            twin.run(*how)
            same = [a == b for a, b in zip(emulator.state_hash(), twin.state_hash(), strict=True)]
            same = np.array(same) & (screens == twin.screens.numpy()).all(axis=(1, 2))
            if not same.all():
                raise EmulatorError(f"fuzz with seed {seed}: executors differ in ROMs {np.flatnonzero(~same).tolist()}")
        emulator.observations().numpy()
        state = random.bit_generator.state
        restarts += set_going(random, emulator)
        if twin is not None:
            random.bit_generator.state = state
            set_going(random, twin)
    seconds = time.perf_counter() - start
    problems = fence.problems() if fence is not None else []
    records = emulator.batch.console.numpy()
    if padding is not None and not np.array_equal(padding, _padding(emulator)):
        problems.append("padding of a memory row")
    if _constants(emulator, fence) != before:
        problems.append("ROM, decoded words or control table")
    if any(not np.array_equal(records[name], fields[name]) for name in CONSTANT_FIELDS):
        problems.append("constant fields of a console")
    if (records["pc"] > 0xFFFF).any() or (records["sp"] > 0xFFFF).any():
        problems.append("PC or SP")
    if problems:
        raise EmulatorError(f"fuzz with seed {seed}: out of bounds: {', '.join(problems)}")
    return FuzzResult(
        consoles,
        frames,
        device,
        seed,
        instructions,
        restarts,
        round(seconds, 1),
        fenced,
        wp.config.mode == "debug",
        f"cpu {twin.executor}" if twin else "",
    )


def _padding(emulator: Emulator) -> np.ndarray:
    size = row_bytes(max(cartridge.ram_banks for cartridge in emulator.cartridges))
    return emulator.batch.ram.numpy()[:, size : size + CANARY_BYTES]


def _paint_padding(emulator: Emulator) -> np.ndarray:
    rows = emulator.batch.ram.numpy()
    size = row_bytes(max(cartridge.ram_banks for cartridge in emulator.cartridges))
    rows[:, size : size + CANARY_BYTES] = CANARY
    emulator.batch.ram.assign(rows)
    return rows[:, size : size + CANARY_BYTES].copy()


def _constants(emulator: Emulator, fence: FencedBatch | None) -> list[int]:
    batch = emulator.batch
    if fence is not None:
        return [zlib.crc32(part.bytes.tobytes()) for part in fence.constants.values()]
    return [zlib.crc32(part.numpy().tobytes()) for part in (batch.rom, batch.words, batch.control)]


def fuzz_in_child(
    consoles: int, frames: int, seed: int, device: str, bounds_checks: bool, compare: bool = False
) -> FuzzResult:
    """Run `fuzz` in a child process; raise EmulatorError if the child crashed or hung."""
    if consoles < 1 or frames < 1:
        raise EmulatorError(f"{consoles} consoles, {frames} frames: give at least 1 of each")
    arguments = [consoles, frames, seed, device, int(bounds_checks), int(compare)]
    command = [sys.executable, "-m", "emulator.verify.fuzz_roms", *map(str, arguments)]
    return FuzzResult(**result_of_child(command, f"fuzz with seed {seed}"))


def result_of_child(command: list[str], name: str) -> dict[str, Any]:
    """Return the JSON that a child process prints last; raise EmulatorError if it crashed, hung or failed."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise EmulatorError(f"{name}: hung for {TIMEOUT_S} s") from None
    if done.returncode < 0:
        raise EmulatorError(f"{name}: ended by signal {-done.returncode}: a memory access outside")
    if done.returncode:
        raise EmulatorError(done.stderr.strip().splitlines()[-1].removeprefix("error: "))
    return json.loads(done.stdout.splitlines()[-1])


def main(argv: list[str]) -> int:
    """Run `fuzz` as the child process; arguments: consoles, frames, seed, device, bounds checks, compare."""
    consoles, frames, seed = (int(text) for text in argv[:3])
    wp.config.log_level = wp.LOG_WARNING
    if argv[4] == "1":
        wp.config.mode = "debug"
    try:
        result = fuzz(
            consoles, frames, seed, argv[3], fenced=argv[3] == "cpu" and argv[5] == "0", compare=argv[5] == "1"
        )
    except EmulatorError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(json.dumps(dataclasses.asdict(result)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
