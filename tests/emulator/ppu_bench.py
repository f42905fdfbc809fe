"""A PPU on the bench: one console, no CPU, a script of register accesses with their times."""

from __future__ import annotations

from typing import no_type_check

import numpy as np
import warp as wp

from emulator import constants as k
from emulator.kernels.intrinsics import Q, U, st8
from emulator.kernels.memory import io_registers as io
from emulator.kernels.memory.io_registers import io_get, io_set
from emulator.kernels.ppu import lcd_registers
from emulator.kernels.ppu import vram_oam_access as ppu_access
from emulator.kernels.ppu.render_parallel import render_pictures, unpack
from emulator.kernels.ppu.scanline_plan import allocate_plans
from emulator.state.batch import Console, Layout, allocate

READ, WRITE, PEEK_VRAM, POKE_VRAM, POKE_OAM, EVENT, BEGIN, END, IF, STABLE, NEXT = range(11)


@no_type_check
@wp.kernel(enable_backward=False, module="unique")
def play(
    console: wp.array(dtype=Console),
    rows: wp.uint64,
    stride: wp.uint32,
    script: wp.array2d(dtype=wp.int32),
    out: wp.array2d(dtype=wp.int32),
):
    """Thread i plays the script on console i."""
    i = wp.tid()
    mem = rows + Q(i) * Q(stride)
    for step in range(script.shape[0]):
        op = script[step, 0]
        a = U(script[step, 1])
        b = U(script[step, 2])
        t = U(script[step, 3])
        value = U(0)
        if op <= 4 and wp.int32(t - console[i].ppu_next) >= 0:
            lcd_registers.ppu_event(console[i], mem, t)
        if op == 0:
            value = lcd_registers.ppu_read(console[i], mem, a, t)
        elif op == 1:
            lcd_registers.ppu_write(console[i], mem, a, b, t)
        elif op == 2:
            value = ppu_access.ppu_vram_access(console[i], mem, a, t, U(0))
        elif op == 3:
            value = ppu_access.ppu_vram_access(console[i], mem, a, t, U(1))
            if value != U(0):
                st8(mem + Q(a - U(0x8000)), b)
        elif op == 4:
            value = ppu_access.ppu_oam_access(console[i], mem, a, t, U(1))
            if value != U(0):
                st8(mem + Q(a - U(0x8000)), b)
        elif op == 5:
            lcd_registers.ppu_event(console[i], mem, t)
        elif op == 6:
            lcd_registers.ppu_launch_begin(console[i], mem, a)
        elif op == 7:
            console[i].now = t - a
            lcd_registers.ppu_launch_end(console[i], mem, a)
        elif op == 8:
            if wp.int32(t - console[i].ppu_next) >= 0:
                lcd_registers.ppu_event(console[i], mem, t)
            value = io_get(mem, U(io.IF))
            io_set(mem, U(io.IF), a)
        elif op == 9:
            lcd_registers.ppu_read(console[i], mem, a, t)
            value = console[i].stable
        elif op == 10:
            value = console[i].ppu_next
        out[i, step] = wp.int32(value)


class Bench:
    """`n` consoles whose PPU is where the boot program leaves it; `begin(frames)` first."""

    def __init__(self, n: int = 1) -> None:
        one = np.zeros(16, dtype=np.uint8)
        words = np.zeros(16, dtype=np.uint32)
        control = np.zeros(512 * 8, dtype=np.uint32)
        self.batch = allocate(Layout(num_envs=n), one, words, control, "cpu")
        self.n = n
        self.plans = allocate_plans(n, "cpu")
        self.shades = wp.zeros((n, k.SCREEN_HEIGHT, k.SCREEN_WIDTH), dtype=wp.uint8, device="cpu")

    @property
    def rows(self) -> np.ndarray:
        """The memory rows, uint8 [n, row_stride]: a view."""
        return self.batch.ram.numpy()

    def console(self) -> np.ndarray:
        """The consoles as records [n]: a view."""
        return self.batch.console.numpy()

    def play(self, script: list[tuple[int, int, int, int]]) -> np.ndarray:
        """Results of each step, int32 [n, steps]."""
        steps = wp.array(np.asarray(script, dtype=np.int32), dtype=wp.int32, device="cpu")
        out = wp.zeros((self.n, len(script)), dtype=wp.int32, device="cpu")
        inputs = [self.batch.console, self.batch.ram_base, self.batch.row_stride, steps, out]
        wp.launch(play, dim=self.n, inputs=inputs, device="cpu")
        return out.numpy()

    def pictures(self) -> np.ndarray:
        """Draw what waits and return the shown shades, uint8 [n, 144, 160]."""
        render_pictures(self.batch, self.plans)
        unpack(self.batch, self.shades)
        return self.shades.numpy()
