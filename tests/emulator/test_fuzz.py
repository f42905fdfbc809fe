"""Random bytes as ROMs, with memory fenced in; and proof that the fence holds.

The full size is `python -m emulator fuzz` (docs/notebook/accuracy.md has its figures).
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from emulator import Cartridge, Emulator, EmulatorError
from emulator.__main__ import main
from emulator.verify import fuzz_roms

pytestmark = [pytest.mark.warp, pytest.mark.usefixtures("warm")]

TRESPASS = """
import ctypes, os
from emulator.verify.fuzz_roms import Fence

def status(at_end, place):
    child = os.fork()
    if child == 0:
        fence = Fence(5000, at_end=at_end)
        ctypes.c_uint8.from_address(fence.address + place).value
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

print(status(True, 5000), status(False, -1), status(True, 4999))
"""
STRAY_FETCH = """
import numpy as np
from emulator import Cartridge, Emulator
from emulator.verify import fuzz_roms
cartridge = Cartridge.from_bytes(fuzz_roms.random_rom(np.random.default_rng(0), 3, True))
emulator = Emulator(cartridge, 2)
fence = fuzz_roms.FencedBatch(emulator, True)
emulator.run(None, 1)
print("ran", flush=True)
consoles = emulator.batch.console.numpy()
consoles["pc"], consoles["run_state"], consoles["rom_low"] = 0x150, 0, len(cartridge.rom)
emulator.batch.console.assign(consoles)
emulator.run(None, 1)
"""


@pytest.mark.parametrize("seed", [0, 1])  # rows begin at a fence, or end at one
def test_random_bytes_neither_hang_nor_leave_their_memory(seed: int) -> None:
    result = fuzz_roms.fuzz_in_child(10, 300, seed, "cpu", bounds_checks=False)
    assert result.fenced
    assert result.instructions > 1_000_000
    assert result.restarts > 0


@pytest.mark.cuda
def test_padding_survives_on_cuda(device: str) -> None:
    if device == "cpu":
        pytest.skip("fenced on the cpu")
    assert fuzz_roms.fuzz_in_child(256, 300, 0, device, bounds_checks=False).instructions > 1_000_000


def test_a_fence_ends_the_process_that_touches_it_and_none_that_does_not() -> None:
    done = subprocess.run([sys.executable, "-c", TRESPASS], capture_output=True, check=True)
    assert done.stdout.split() == [b"-11", b"-11", b"0"]


def test_a_kernel_that_reads_outside_its_row_is_caught() -> None:
    code = [sys.executable, "-c", STRAY_FETCH]
    done = subprocess.run(code, capture_output=True, text=True, check=False)
    assert "ran" in done.stdout
    assert done.returncode == -11


def test_writes_into_padding_are_reported() -> None:
    random = np.random.default_rng(5)
    cartridge = Cartridge.from_bytes(fuzz_roms.random_rom(random, 0x1B, True))
    fence = fuzz_roms.FencedBatch(Emulator(cartridge, 3), at_end=False)
    assert fence.problems() == []
    fence._rows.bytes[fence._slacks[1][0]] ^= 1
    assert fence.problems() == ["row 1"]


def test_fenced_machines_compute_the_same() -> None:
    cartridges = [
        Cartridge.from_bytes(fuzz_roms.random_rom(np.random.default_rng(seed), 0x10, True)) for seed in range(4)
    ]
    plain, fenced = (Emulator(cartridges, 4, rom_of_env=range(4)) for _ in range(2))
    fence = fuzz_roms.FencedBatch(fenced, at_end=True)
    for emulator in (plain, fenced):
        emulator.run(None, 30)
    ours, theirs = plain.batch.console.numpy(), fenced.batch.console.numpy()
    assert ours.tobytes() == theirs.tobytes()
    assert fence.problems() == []


def test_bad_numbers_are_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--consoles", "0"]) == 1
    assert "--consoles 0: give 1 to" in capsys.readouterr().err
    with pytest.raises(EmulatorError, match="at least 1"):
        fuzz_roms.fuzz_in_child(1, 0, 0, "cpu", False)
