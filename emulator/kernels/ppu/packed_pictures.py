"""Kernel that copies the shown pictures as they are kept, in bit planes: a quarter of the bytes of shades."""

from __future__ import annotations

from collections.abc import Callable

import warp as wp

from emulator.constants import ROW_SCREENS, SCREEN_BYTES
from emulator.kernels.intrinsics import Q, U, ld32, st32
from emulator.state.batch import STOPPED, Batch, Console

WORDS = SCREEN_BYTES // 4


@wp.kernel(enable_backward=False)
def copy_packed(batch: Batch, console: wp.array[Console], threads: wp.int32, out: wp.uint64):
    """Copy the picture of console env to `out` [N, 5760], 0 where the LCD is blank, with `threads` threads."""
    env, thread = wp.tid()
    row = batch.ram_base + Q(env) * Q(batch.row_stride) + Q(U(ROW_SCREENS) + console[env].ppu_front * U(SCREEN_BYTES))
    to = out + Q(env) * Q(SCREEN_BYTES)
    shown = console[env].ppu_blank == U(0) and console[env].run_state != U(STOPPED)
    for i in range(thread, WORDS, threads):
        st32(to + Q(4 * i), wp.where(shown, ld32(row + Q(4 * i)), U(0)))


def copy(batch: Batch, out: wp.array, launch: Callable) -> None:
    """Copy the shown pictures to `out`, uint8 [N, 144, 2, 20]."""
    threads = 32 if out.device.is_cuda else 1
    inputs = [batch, batch.console, threads, out.ptr]
    launch(copy_packed, dim=(out.shape[0], threads), inputs=inputs, device=out.device)
