"""Consoles on 64 KiB of plain RAM that run one instruction at a time, through the game kernels."""

from __future__ import annotations

import numpy as np
import warp as wp

from emulator.launch import native, uniform, uniform_cpu
from emulator.launch.launch_shapes import FEW
from emulator.rom import control_rows
from emulator.rom.cartridge import MapperKind
from emulator.state.batch import CONSOLE_DTYPE, TRAP_STEP, Layout, allocate


class FlatBus:
    """N consoles. Fill `low`/`high` and `state`, call `step`, read them again."""

    def __init__(self, n: int, device: str, executor: str = "uniform") -> None:
        self.n, self.device, self.executor = n, device, executor
        self.batch = allocate(
            Layout(n),
            np.zeros(n * 0x8000, np.uint8),
            np.zeros(n * 0x8000, np.uint32),
            control_rows.control_words(),
            device,
        )
        self.buttons = wp.zeros(n, dtype=wp.uint8, device=device)
        self.low = np.zeros((n, 0x8000), np.uint8)
        """Addresses 0000-7FFF, uint8[n, 0x8000]."""
        self.high = np.zeros((n, self.batch.ram.shape[1]), np.uint8)
        """Addresses 8000-FFFF in the first 0x8000 columns."""
        self.shares = self.batch.rom.device.is_cpu
        """Both are the memory of the consoles themselves, not copies of it."""
        if self.shares:
            self.low = self.batch.rom.numpy().reshape(n, 0x8000)
            self.high = self.batch.ram.numpy()
        self.state = np.zeros(n, dtype=CONSOLE_DTYPE)

    def clear(self) -> None:
        """Zero memory and registers."""
        self.low[:] = 0
        self.high[:] = 0
        self.state[:] = np.zeros((), CONSOLE_DTYPE)

    def poke(self, envs: np.ndarray, addresses: np.ndarray, values: np.ndarray) -> None:
        """Set one byte of each of these consoles."""
        is_low = addresses < 0x8000
        self.low[envs[is_low], addresses[is_low]] = values[is_low]
        is_high = ~is_low
        self.high[envs[is_high], addresses[is_high] - 0x8000] = values[is_high]

    def peek(self, envs: np.ndarray, addresses: np.ndarray) -> np.ndarray:
        """Return one byte of each of these consoles."""
        low = self.low[envs, addresses & 0x7FFF]
        return np.where(addresses < 0x8000, low, self.high[envs, addresses & 0x7FFF])

    def set_registers(self, registers: np.ndarray) -> None:
        """`registers`, int[n, 11]: pc sp a f b c d e h l ime of each console."""
        pc, sp, a, f, b, c, d, e, h, low, ime = registers.astype(np.uint32).T
        self.state["lo"] = c | b << 8 | e << 16 | d << 24
        self.state["hi"] = low | h << 8 | f << 16 | a << 24
        self.state["sp"], self.state["pc"], self.state["ime"] = sp, pc, ime

    def registers(self) -> np.ndarray:
        """Return int[n, 11]: pc sp a f b c d e h l ime of each console; an EI whose delay still
        runs counts as off."""
        lo, hi = self.state["lo"], self.state["hi"]
        packed = [hi >> 24, hi >> 16, lo >> 8, lo, lo >> 24, lo >> 16, hi >> 8, hi]
        whole = [self.state["pc"] & 0xFFFF, self.state["sp"]]
        ime = self.state["ime"] == 1
        return np.stack([*whole, *(part & 255 for part in packed), ime], 1).astype(np.int64)

    def step(self) -> None:
        """Run one instruction on every console."""
        self.state["mapper"] = MapperKind.FLAT
        self.state["trap"] = TRAP_STEP
        self.state["rom_base"] = np.arange(self.n) * 0x8000
        self.state["rom_low"] = self.state["rom_high"] = self.state["rom_base"]
        self.state["fast"] = 0x81FF01FF
        if not self.shares:
            self.batch.rom.assign(self.low.reshape(-1))
            self.batch.ram.assign(self.high)
        self.batch.console.assign(self.state)
        if self.executor == "native":
            native.launch(self.batch, self.buttons, 1, 0, True)
        else:
            data_path = uniform_cpu if self.shares else uniform
            data_path.launch(self.batch, self.buttons, 1, 0, FEW, True)
        if not self.shares:
            self.low = self.batch.rom.numpy().reshape(self.n, 0x8000)
            self.high = self.batch.ram.numpy()
        self.state = self.batch.console.numpy().copy()
