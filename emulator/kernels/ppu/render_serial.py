"""Kernels for finished pictures on a CPU core: one thread draws and downsamples a console's.

A core runs the threads of a launch one after another, so the plans that render_parallel.py makes for lines
drawn side by side are only extra work here, and so is a thread for every four pixels.
"""

from collections.abc import Callable

import warp as wp

from emulator.constants import (
    OBSERVATION_HEIGHT,
    OBSERVATION_WIDTH,
    ROW_SCREENS,
    SCREEN_BYTES,
    SCREEN_HEIGHT,
    SCREEN_WIDTH,
)
from emulator.kernels.intrinsics import Q, U, ld8, st32
from emulator.kernels.ppu.downsample import means_of_blocks, spread
from emulator.kernels.ppu.frame_log_reader import SCREEN_LINE_BYTES
from emulator.kernels.ppu.frame_log_writer import draw_finished
from emulator.state.batch import STOPPED, Batch, Console


@wp.func
def spaced(byte: U) -> U:
    """Return the eight bits of a byte with a 0 bit before each."""
    nibbles = (byte | (byte << U(4))) & U(0x0F0F)
    pairs = (nibbles | (nibbles << U(2))) & U(0x3333)
    return (pairs | (pairs << U(1))) & U(0x5555)


@wp.func
def interleaved(low: U, high: U) -> U:
    """Return the shades of eight pixels from their low and high bits, two bits each."""
    return spaced(low) | (spaced(high) << U(1))


@wp.func(inline=False)
def downsample_screen(screen: Q, out: Q):
    """Write the rounded means of the 2x2 blocks of the packed picture at `screen`, 72 rows of 80 bytes at `out`."""
    for y in range(OBSERVATION_HEIGHT):
        for word in range(5):
            place = screen + Q(U(2 * y * SCREEN_LINE_BYTES + 4 * word))
            shades = means_of_blocks(place)
            to = out + Q(U(y * OBSERVATION_WIDTH + 16 * word))
            st32(to, spread(shades & U(255)))
            st32(to + Q(4), spread((shades >> U(8)) & U(255)))
            st32(to + Q(8), spread((shades >> U(16)) & U(255)))
            st32(to + Q(12), spread(shades >> U(24)))


@wp.func(inline=False)
def lighten(out: Q):
    """Write the observation of a blank LCD, all light, to `out`."""
    for word in range(OBSERVATION_HEIGHT * OBSERVATION_WIDTH // 4):
        st32(out + Q(U(4 * word)), U(0))


@wp.kernel(enable_backward=False)
def draw_serially(batch: Batch, console: wp.array[Console]):
    """Draw the finished picture of thread env's console, if there is one, and show it."""
    env = wp.tid()
    if console[env].ppu_finished != U(0):
        draw_finished(console[env], batch.ram_base + Q(env) * Q(batch.row_stride))


@wp.kernel(enable_backward=False)
def observe_serially(batch: Batch, console: wp.array[Console], observation: wp.uint64, stride: wp.uint64):
    """Draw like `draw_serially`, and write the picture's 72 rows of 80 means at `observation` + env * `stride`.

    The observation of an LCD that is blank, or stopped by STOP, is all light.
    """
    env = wp.tid()
    mem = batch.ram_base + Q(env) * Q(batch.row_stride)
    out = observation + Q(env) * stride
    if console[env].ppu_finished != U(0):
        draw_finished(console[env], mem)
    if console[env].ppu_blank == U(0) and console[env].run_state != U(STOPPED):
        downsample_screen(mem + Q(U(ROW_SCREENS)) + Q(console[env].ppu_front * U(SCREEN_BYTES)), out)
    else:
        lighten(out)


@wp.kernel(enable_backward=False)
def unpack_serially(batch: Batch, console: wp.array[Console], shades: wp.uint64):
    """Unpack a line of the shown picture into `shades` [n, 144, 160], 0 (lightest) to 3, in thread (env, y)."""
    env, y = wp.tid()
    line = batch.ram_base + Q(env) * Q(batch.row_stride) + Q(U(ROW_SCREENS + y * SCREEN_LINE_BYTES))
    line = line + Q(console[env].ppu_front * U(SCREEN_BYTES))
    shown = console[env].ppu_blank == U(0) and console[env].run_state != U(STOPPED)
    to = shades + Q(U((env * SCREEN_HEIGHT + y) * SCREEN_WIDTH))
    for byte in range(20):
        pixels = wp.where(shown, interleaved(ld8(line + Q(U(byte))), ld8(line + Q(U(20 + byte)))), U(0))
        st32(to + Q(U(8 * byte)), spread(pixels >> U(8)))
        st32(to + Q(U(8 * byte + 4)), spread(pixels & U(255)))


def render_pictures(batch: Batch, launch: Callable) -> None:
    """Draw every finished picture of `batch` that is not drawn yet."""
    device = batch.console.device
    launch(draw_serially, dim=int(batch.num_envs), inputs=[batch, batch.console], device=device)


def observe(batch: Batch, observation: wp.array, launch: Callable) -> None:
    """Draw like `render_pictures`, and write the downsampled pictures to `observation`.

    `observation` is uint8 [N, 72, 80] of contiguous rows and pictures.
    """
    inputs = [batch, batch.console, observation.ptr, observation.strides[0]]
    launch(observe_serially, dim=int(batch.num_envs), inputs=inputs, device=observation.device)


def unpack(batch: Batch, shades: wp.array) -> None:
    """Write the pictures that the first n envs show to `shades`, uint8 [n, 144, 160]."""
    inputs = [batch, batch.console, shades.ptr]
    wp.launch(unpack_serially, (len(shades), SCREEN_HEIGHT), inputs, device=shades.device)
