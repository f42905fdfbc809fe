"""Consoles on 64 KiB of plain RAM that run one instruction at a time, through the game kernels."""

from __future__ import annotations

import numpy as np
import warp as wp

from emulator.kernels.executors import native, uniform, uniform_cpu
from emulator.launch.launch_shapes import SERVED
from emulator.rom import control_rows
from emulator.rom.cartridge import MapperKind
from emulator.state.batch import CONSOLE_DTYPE, TRAP_STEP, Layout, allocate


class FlatBus:
    """N consoles. Fill `low`/`high` and `state`, call `step`, read them again."""

    def __init__(self, n: int, device: str, executor: str = "uniform") -> None:
        self.n, self.device, self.executor = n, device, executor
        self.batch = allocate(
            Layout(n), np.zeros(n * 0x8000, np.uint8), np.zeros(n * 0x8000, np.uint32),
            control_rows.control_words(), device,
        )  # fmt: skip
        self.buttons = wp.zeros(n, dtype=wp.uint8, device=device)
        self.low = np.zeros((n, 0x8000), np.uint8)
        """Addresses 0000-7FFF, uint8[n, 0x8000]."""
        self.high = np.zeros((n, self.batch.ram.shape[1]), np.uint8)
        """Addresses 8000-FFFF in the first 0x8000 columns."""
        self.state = np.zeros(n, dtype=CONSOLE_DTYPE)

    def clear(self) -> None:
        """Zero memory and registers."""
        self.low[:] = 0
        self.high[:] = 0
        self.state[:] = np.zeros((), CONSOLE_DTYPE)

    def poke(self, env: int, address: int, value: int) -> None:
        """Set one byte."""
        if address < 0x8000:
            self.low[env, address] = value
        else:
            self.high[env, address - 0x8000] = value

    def set_registers(self, env: int, registers: list[int]) -> None:
        """`registers`: pc sp a f b c d e h l ime."""
        pc, sp, a, f, b, c, d, e, h, low, ime = registers
        record = self.state[env]
        record["lo"] = c | b << 8 | e << 16 | d << 24
        record["hi"] = low | h << 8 | f << 16 | a << 24
        record["sp"], record["pc"], record["ime"] = sp, pc, ime

    def registers(self, env: int) -> list[int]:
        """Return pc sp a f b c d e h l ime; an EI whose delay still runs counts as off."""
        record = self.state[env]
        lo, hi = int(record["lo"]), int(record["hi"])
        packed = [hi >> 24, hi >> 16, lo >> 8, lo, lo >> 24, lo >> 16, hi >> 8, hi]
        ime = int(record["ime"] == 1)
        return [int(record["pc"]) & 0xFFFF, int(record["sp"]), *(v & 255 for v in packed), ime]

    def step(self) -> None:
        """Run one instruction on every console."""
        self.state["mapper"] = MapperKind.FLAT
        self.state["trap"] = TRAP_STEP
        self.state["rom_base"] = np.arange(self.n) * 0x8000
        self.state["rom_low"] = self.state["rom_high"] = self.state["rom_base"]
        self.state["fast"] = 0x81FF01FF
        self.batch.rom.assign(self.low.reshape(-1))
        self.batch.ram.assign(self.high)
        self.batch.console.assign(self.state)
        if self.executor == "native":
            native.launch(self.batch, self.buttons, 1, 0, True)
        else:
            data_path = uniform_cpu if self.buttons.device.is_cpu else uniform
            data_path.launch(self.batch, self.buttons, 1, 0, SERVED, True)
        self.low = self.batch.rom.numpy().reshape(self.n, 0x8000).copy()
        self.high = self.batch.ram.numpy().copy()
        self.state = self.batch.console.numpy().copy()
