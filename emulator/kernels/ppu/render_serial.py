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
from emulator.kernels.ppu.downsample import spread
from emulator.kernels.ppu.frame_log_reader import SCREEN_LINE_BYTES
from emulator.kernels.ppu.frame_log_writer import draw_finished
from emulator.state.batch import Batch, Console


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


DOWNSAMPLE = """
typedef unsigned char u8;
typedef unsigned int u32;
typedef u8 v16 __attribute__((vector_size(16)));
typedef u32 v4 __attribute__((vector_size(16)));
typedef v16 __attribute__((aligned(1), may_alias)) loose16;
struct Counts { // set bits in each 2x2 block, at the place of its right column
    v16 ones, twos, fours;
    Counts(const u8* upper) {
        const v16 above = *(const loose16*)upper, below = *(const loose16*)(upper + 40);
        const v16 a = above & 0x55, b = above >> 1 & 0x55, c = below & 0x55, d = below >> 1 & 0x55;
        ones = a ^ b ^ c ^ d;
        twos = (a & b) ^ (c & d) ^ ((a ^ b) & (c ^ d));
        fours = a & b & c & d;
    }
};
// Each byte of a word four times.
#define SPREAD(word) __builtin_shufflevector((v16)(v4){word}, (v16)(v4){}, \\
    0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3)
#define ROWS 72
const v16 bits = { 64, 16, 4, 1, 64, 16, 4, 1, 64, 16, 4, 1, 64, 16, 4, 1 };
for (u8 *line = (u8*)screen, *to = (u8*)out; to < (u8*)out + ROWS * 80; line += 80, to += 80)
    for (int at = 0; at < 8; at += 4) { // bytes 0 to 15 of the line, then 4 to 19 for the last four
        const Counts l(line + at), h(line + 20 + at);
        const v16 carry = l.twos | h.ones; // as `downsample.means`
        const v16 low = l.fours ^ h.twos ^ carry;
        const v16 high = h.fours | (l.fours & h.twos) | (carry & (l.fours | h.twos));
        for (int i = at ? 3 : 0; i < 4; i++) {
            const u32 l4 = ((v4)low)[i], h4 = ((v4)high)[i];
            const v16 p = SPREAD(l4) & bits, q = SPREAD(h4) & bits;
            *(loose16*)(to + 4 * at + 16 * i) = ((v16)(p != 0) & 1) | ((v16)(q != 0) & 2);
        }
    }
"""


@wp.func_native(f"#if !defined(__CUDA_ARCH__)\n{DOWNSAMPLE}#undef SPREAD\n#undef ROWS\n#endif\n")
def downsample_screen(screen: Q, out: Q):
    """Write the rounded means of the 2x2 blocks of the packed picture at `screen`, 72 rows of 80 bytes at `out`."""
    ...


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

    The observation of an LCD that is blank is all light.
    """
    env = wp.tid()
    mem = batch.ram_base + Q(env) * Q(batch.row_stride)
    out = observation + Q(env) * stride
    if console[env].ppu_finished != U(0):
        draw_finished(console[env], mem)
    if console[env].ppu_blank == U(0):
        downsample_screen(mem + Q(U(ROW_SCREENS)) + Q(console[env].ppu_front * U(SCREEN_BYTES)), out)
    else:
        lighten(out)


@wp.kernel(enable_backward=False)
def unpack_serially(batch: Batch, console: wp.array[Console], shades: wp.uint64):
    """Unpack a line of the shown picture into `shades` [n, 144, 160], 0 (lightest) to 3, in thread (env, y)."""
    env, y = wp.tid()
    line = batch.ram_base + Q(env) * Q(batch.row_stride) + Q(U(ROW_SCREENS + y * SCREEN_LINE_BYTES))
    line = line + Q(console[env].ppu_front * U(SCREEN_BYTES))
    shown = console[env].ppu_blank == U(0)
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
