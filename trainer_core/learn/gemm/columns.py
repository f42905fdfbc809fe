"""Kernels between two matrix products: im2col of pictures and activations, and col2im of gradients.

Warp kernels over raw addresses. A thread moves 16 bytes, which are eight bf16 numbers: neighbouring threads access
neighbouring words. Sizes are constants in the code, since a division by a variable costs more than the copy. Arithmetic
is done in float32.
"""

import functools
from dataclasses import dataclass

import warp as wp

from emulator.kernels.intrinsics import Q, U, ld32, ld128, prmt, st128

PAD = 8
"""Columns after the inputs of a layer: a one, which multiplies the bias, and seven zeros, which keep rows a multiple of
16 bytes long."""
LANES = 8
"""Number of bf16 values that a thread copies."""
THIRDS_LOW = wp.constant(wp.uint32(0x802BAB00))
THIRDS_HIGH = wp.constant(wp.uint32(0x3F3F3E00))
"""High bytes of 0, 1/3, 2/3 and 1 as bf16, the values of the four shades; THIRDS_LOW has the low bytes."""
ONE = wp.constant(wp.uint32(0x3F80))
"""Word with the bf16 numbers 1 (low half) and 0."""
SIGNS = wp.constant(wp.uint32(0x00010001))
HIGH = wp.constant(wp.uint32(0xFFFF0000))


@dataclass(frozen=True, slots=True)
class Window:
    """Window of a convolution in pixels; a full connection has a window as large as its input."""

    height: int
    width: int
    channels: int
    kernel_height: int
    kernel_width: int
    stride: int
    pad: int

    @property
    def out_height(self) -> int:
        return (self.height + 2 * self.pad - self.kernel_height) // self.stride + 1

    @property
    def out_width(self) -> int:
        return (self.width + 2 * self.pad - self.kernel_width) // self.stride + 1

    @property
    def windows(self) -> int:
        """Number of windows in one picture."""
        return self.out_height * self.out_width

    @property
    def inputs(self) -> int:
        """Number of input values in a window."""
        return self.kernel_height * self.kernel_width * self.channels

    @property
    def words(self) -> int:
        """Number of threads that write one row of columns; the last writes the padding. Without the padding, sectors of
        memory would be written in part, for which a GPU has to read them first."""
        return (self.inputs + PAD) // LANES


@wp.func_native("""
#if defined(__CUDA_ARCH__)
unsigned int d; asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(d) : "f"(high), "f"(low)); return d;
#else
unsigned int a, b; __builtin_memcpy(&a, &low, 4); __builtin_memcpy(&b, &high, 4);
a = (a + 0x7FFFu + (a >> 16 & 1u)) >> 16; b = (b + 0x7FFFu + (b >> 16 & 1u)) >> 16;
return b << 16 | a;
#endif
""")
def rounded_pair(low: wp.float32, high: wp.float32) -> U:
    """Return one word with two float32 converted to bf16, rounded to nearest even."""
    ...


@wp.func
def low_of(pair: U) -> wp.float32:
    """Return the bf16 number in the low half of a word as float32."""
    return wp.cast(pair << U(16), wp.float32)


@wp.func
def high_of(pair: U) -> wp.float32:
    """Return the bf16 number in the high half of a word as float32."""
    return wp.cast(pair & HIGH, wp.float32)


@wp.func
def rectified(pair: U) -> U:
    """Return max(x, 0) of each of two bf16 numbers in a word."""
    negative = ((pair >> U(15)) & SIGNS) * U(0xFFFF)
    return pair & (~negative)


@wp.func
def where_positive(value: U, low: wp.float32, high: wp.float32) -> U:
    """Return `low` and `high` as two bf16 numbers in a word, each 0 unless its half of `value` is above 0 (ReLU's
    gradient)."""
    a = wp.where(low_of(value) > 0.0, low, wp.float32(0.0))
    b = wp.where(high_of(value) > 0.0, high, wp.float32(0.0))
    return rounded_pair(a, b)


@wp.func
def thirds(shades: U) -> wp.vec2ui:
    """Return four shades, one a byte, divided by 3, as four bf16 numbers."""
    nibbles = shades | (shades >> U(4))
    pick = (nibbles & U(0xFF)) | ((nibbles >> U(8)) & U(0xFF00))
    low, high = prmt(THIRDS_LOW, U(0), pick), prmt(THIRDS_HIGH, U(0), pick)
    return wp.vec2ui(prmt(low, high, U(0x5140)), prmt(low, high, U(0x7362)))


@functools.cache
def picture_columns(shape: Window) -> wp.Kernel:
    """Return the kernel that copies the windows of pictures to columns (im2col); windows of `shape` are 8 pixels
    wide."""
    assert shape.kernel_width == LANES
    assert shape.pad == 0
    assert shape.width % 4 == shape.stride % 4 == 0
    height, width, stride = shape.height, shape.width, shape.stride
    words, kernel_height = shape.words, shape.kernel_height
    out_width, windows = shape.out_width, shape.windows
    picture_bytes = shape.channels * height * width

    @wp.kernel(enable_backward=False, module="unique")
    def columns_of_pictures(pictures: Q, index: Q, columns: Q):
        """Copy one line of a window of picture `index[b]`, as bf16 shades divided by 3, to its row of columns; one per
        thread.

        `pictures` u8[S, K, H, W]; `index` i64[B]; `columns` bf16[B * OH * OW, inputs + PAD], in the order (plane, y, x)
        of torch's weights.
        """
        thread = U(wp.tid())
        row = thread / U(words)
        line = thread - row * U(words)
        target = columns + Q(thread) * Q(16)
        if line == U(words - 1):
            st128(target, ONE, U(0), U(0), U(0))
            return
        sample = row / U(windows)
        window = row - sample * U(windows)
        out_y = window / U(out_width)
        x = (window - out_y * U(out_width)) * U(stride)
        plane = line / U(kernel_height)
        y = out_y * U(stride) + line - plane * U(kernel_height)
        picture = ld32(index + Q(sample) * Q(8))
        at = (plane * U(height) + y) * U(width) + x
        source = pictures + Q(picture) * Q(picture_bytes) + Q(at)
        first, second = thirds(ld32(source)), thirds(ld32(source + Q(4)))
        st128(target, first[0], first[1], second[0], second[1])

    return columns_of_pictures


@functools.cache
def rectified_columns(shape: Window) -> wp.Kernel:
    """Return the kernel that copies the windows of relu(values) to columns (im2col)."""
    assert shape.channels % LANES == 0
    channel_words, words = shape.channels // LANES, shape.words
    height, width, stride, pad = shape.height, shape.width, shape.stride, shape.pad
    kernel_width, out_width, windows = shape.kernel_width, shape.out_width, shape.windows

    @wp.kernel(enable_backward=False, module="unique")
    def columns_of_values(values: Q, columns: Q):
        """Copy relu of eight channels at one position of a window to its row of columns; one group of eight per thread.

        `values` bf16[B, H, W, C]; `columns` bf16[B * OH * OW, inputs + PAD], in the order (y, x, channel).
        """
        thread = U(wp.tid())
        row = thread / U(words)
        word = thread - row * U(words)
        target = columns + Q(thread) * Q(16)
        if word == U(words - 1):
            st128(target, ONE, U(0), U(0), U(0))
            return
        sample = row / U(windows)
        window = row - sample * U(windows)
        out_y = window / U(out_width)
        tap = word / U(channel_words)
        tap_y = tap / U(kernel_width)
        x = (window - out_y * U(out_width)) * U(stride) + tap - tap_y * U(kernel_width) - U(pad)
        y = out_y * U(stride) + tap_y - U(pad)
        a, b, c, d = U(0), U(0), U(0), U(0)
        if x < U(width) and y < U(height):  # unsigned: left of 0 is far right
            pixel = (sample * U(height) + y) * U(width) + x
            at = pixel * U(channel_words) + word - tap * U(channel_words)
            ld128(values + Q(at) * Q(16), a, b, c, d)
        st128(target, rectified(a), rectified(b), rectified(c), rectified(d))

    return columns_of_values


@functools.cache
def gradient_of_columns(shape: Window) -> wp.Kernel:
    """Return the kernel that adds the gradients of columns to the values that they were copied from (col2im)."""
    channel_words = shape.channels // LANES
    height, width, stride, pad = shape.height, shape.width, shape.stride, shape.pad
    kernel_height, kernel_width = shape.kernel_height, shape.kernel_width
    out_height, out_width, windows = shape.out_height, shape.out_width, shape.windows
    taps_y, taps_x = -(-kernel_height // stride), -(-kernel_width // stride)
    row_bytes = 2 * (shape.inputs + PAD)

    @wp.kernel(enable_backward=False, module="unique")
    def gradient_of_values(columns: Q, values: Q, gradient: Q):
        """Sum the gradients of eight channels of one pixel over all windows that contain it; one group of eight per
        thread.

        `columns` and `gradient` are gradients of columns_of_values' output and of its `values`.
        """
        thread = U(wp.tid())
        pixel = thread / U(channel_words)
        word = thread - pixel * U(channel_words)
        line = pixel / U(width)
        x = pixel - line * U(width) + U(pad)
        sample = line / U(height)
        y = line - sample * U(height) + U(pad)
        even, odd = wp.vec4(0.0, 0.0, 0.0, 0.0), wp.vec4(0.0, 0.0, 0.0, 0.0)
        for tap_y in range(taps_y):
            out_y = y / U(stride) - U(tap_y)
            from_y = y % U(stride) + U(tap_y * stride)
            for tap_x in range(taps_x):
                out_x = x / U(stride) - U(tap_x)
                from_x = x % U(stride) + U(tap_x * stride)
                inside = out_y < U(out_height) and from_y < U(kernel_height)
                if inside and out_x < U(out_width) and from_x < U(kernel_width):
                    row = sample * U(windows) + out_y * U(out_width) + out_x
                    at = (from_y * U(kernel_width) + from_x) * U(channel_words) + word
                    a, b, c, d = U(0), U(0), U(0), U(0)
                    ld128(columns + Q(row) * Q(row_bytes) + Q(at * U(16)), a, b, c, d)
                    even += wp.vec4(low_of(a), low_of(b), low_of(c), low_of(d))
                    odd += wp.vec4(high_of(a), high_of(b), high_of(c), high_of(d))
        e, f, g, h = U(0), U(0), U(0), U(0)
        ld128(values + Q(thread) * Q(16), e, f, g, h)
        st128(
            gradient + Q(thread) * Q(16),
            where_positive(e, even[0], odd[0]),
            where_positive(f, even[1], odd[1]),
            where_positive(g, even[2], odd[2]),
            where_positive(h, even[3], odd[3]),
        )

    return gradient_of_values
