"""The two executors, generated C++ on a cpu and the data path of a GPU, compute the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from emulator import Cartridge, Emulator, EmulatorError
from emulator.frame_launcher import Executor
from emulator.kernels.sm83 import cpp_instructions
from emulator.launch import uniform, uniform_cpu
from emulator.rom.control_rows import SLOW_FETCH, predecode
from emulator.rom.isa import INSTRUCTIONS
from emulator.verify import fuzz_roms

CONSOLES = 20


@pytest.mark.warp
@pytest.mark.parametrize("idle_skip", [True, False])
def test_random_roms_come_to_the_same_states(idle_skip: bool) -> None:
    random = np.random.default_rng(7)
    cartridges = [
        Cartridge.from_bytes(fuzz_roms.random_rom(random, fuzz_roms.KINDS[i % 5], bool(i // 5 % 2)), f"{i}")
        for i in range(CONSOLES)
    ]
    pair = [
        Emulator(cartridges, CONSOLES, executor=executor, idle_skip=idle_skip) for executor in ("uniform", "native")
    ]
    for launch in range(8):
        buttons = random.integers(0, 256, CONSOLES).astype(np.uint8)
        for emulator in pair:
            emulator.run(buttons, 1 + launch, launch // 2)
        assert pair[0].state_hash() == pair[1].state_hash()
        assert np.array_equal(pair[0].screens.numpy(), pair[1].screens.numpy())
        assert np.array_equal(pair[0].work(), pair[1].work())
        for emulator in pair:
            fuzz_roms.set_going(np.random.default_rng(launch), emulator)


@pytest.mark.warp
def test_single_steps_come_to_the_same_states(busy: Cartridge) -> None:
    pair = [Emulator(busy, executor=executor) for executor in ("uniform", "native")]
    for emulator in pair:
        emulator.run(None, 20)
    for _ in range(300):
        for emulator in pair:
            emulator.step()
        assert pair[0].state_hash() == pair[1].state_hash()


@pytest.mark.warp
@pytest.mark.parametrize("executor", ["uniform", "native"])
def test_a_single_step_ends_with_halt(executor: Executor) -> None:
    image = bytearray(0x8000)
    image[0x14D] = 0xE7  # checksum of an empty header
    image[0x100:0x102] = bytes([0x76, 0x00])
    emulator = Emulator(Cartridge.from_bytes(bytes(image), "halt"), executor=executor)
    before = emulator.batch.console.numpy()["now"][0]
    emulator.step()
    assert emulator.batch.console.numpy()["now"][0] - before == 1


@pytest.mark.warp
def test_an_unknown_executor_is_refused(busy: Cartridge) -> None:
    with pytest.raises(EmulatorError, match="executor='fast' on cpu"):
        Emulator(busy, executor="fast")  # type: ignore[arg-type]


def test_walking_along_the_words_never_leaves_a_bank() -> None:
    rom = np.random.default_rng(0).integers(0, 256, 0x10000, dtype=np.uint8)
    words = predecode(rom, ends=True)
    at = np.arange(len(rom)) & 0x3FFF
    slow = (words & SLOW_FETCH) != 0
    lengths = np.array([row.length for row in INSTRUCTIONS])[words & 511]
    assert (at + lengths < 0x4000)[~slow].all()
    assert (at + lengths >= 0x4000)[slow].all()


def test_every_row_has_its_function() -> None:
    for row in INSTRUCTIONS:
        text = cpp_instructions.handler(row)
        assert text.startswith(f"// {row.mnemonic}\n")
        reads = row.access is not None and row.access.kind != "write"
        assert text.count("PART(") == 1 + reads
        for cycles in {row.m_cycles, row.m_cycles + row.taken_extra}:
            assert f"TIME({cycles})" in text


def test_a_cpu_compiles_nothing_of_a_gpus_launch() -> None:
    of_cpu: Any = uniform_cpu.run_alone
    of_gpu: Any = uniform.run_frames
    kernels = {"run_alone", "begin_frames", "end_frames", "power_on", "reset_envs", "peek", "store"}
    assert set(of_cpu.module.kernels) == kernels
    assert of_gpu.module is not of_cpu.module
