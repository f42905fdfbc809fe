"""Fixtures of the emulator's tests."""

from __future__ import annotations

from pathlib import Path

import pytest
import warp as wp
from micro.assembler import MicroRom, assemble

from emulator import Cartridge

wp.config.log_level = wp.LOG_WARNING


@pytest.fixture(params=["cpu", "cuda:0"], scope="session")
def device(request: pytest.FixtureRequest) -> str:
    """Each device that Warp has here."""
    return available(request.param)


ENGINES = [("cpu", "native"), ("cpu", "uniform"), ("cuda:0", "uniform")]


@pytest.fixture(params=ENGINES, scope="session", ids="-".join)
def engine(request: pytest.FixtureRequest) -> tuple[str, str]:
    """Each device with each executor that it can use: the GPU's runs on the cpu too."""
    return available(request.param[0]), request.param[1]


def available(device: str) -> str:
    """The device, or the end of the test if Warp has none."""
    if device != "cpu" and not wp.is_cuda_available():
        pytest.skip("no CUDA device")
    return device


@pytest.fixture(scope="session")
def micro_roms() -> dict[str, MicroRom]:
    """The assembled micro-ROMs by name."""
    return {path.stem: assemble(path) for path in Path(__file__).parent.glob("micro/*.asm")}


@pytest.fixture(scope="session")
def busy(micro_roms: dict[str, MicroRom]) -> Cartridge:
    """A cartridge whose state changes all the time: timer, DMA, interrupts, HALT, waiting loops."""
    return Cartridge.from_bytes(micro_roms["busy"].image, "busy")
