"""Kernels for finished pictures: draw them all in parallel, unpack, downsample.

Drawing takes five launches over the batch: `prepare_pictures` undoes later writes to VRAM for each picture
and plans its lines (scanline_plan.py), three draw a line a thread, by kind of line, and `release_pictures`
redoes the VRAM and shows the picture. Where VRAM changed while the picture was on its way down the screen, a
line searches the log for bytes that changed below it (vram_changes.py). Consoles whose OAM changed meanwhile
are drawn by one thread each, in the first launch.
"""

from collections.abc import Callable

import warp as wp

from emulator.constants import (
    OBSERVATION_HEIGHT,
    OBSERVATION_WIDTH,
    ROW_OAM,
    ROW_SCREENS,
    SCREEN_BYTES,
    SCREEN_HEIGHT,
    SCREEN_WIDTH,
)
from emulator.kernels.intrinsics import I, Q, U, ld8, st128
from emulator.kernels.ppu.downsample import means_of_blocks, spread
from emulator.kernels.ppu.frame_log import FINISHED_OAM, FROZEN_DMA
from emulator.kernels.ppu.frame_log_reader import KIND_EXACT, KIND_PLAIN, SCREEN_LINE_BYTES, Walk, exact_line
from emulator.kernels.ppu.frame_log_writer import back_screen, draw_finished, redo_up, release_finished, undo_down
from emulator.kernels.ppu.mode_timing import VBLANK_LINE
from emulator.kernels.ppu.scanline import draw_in_words, left_of_window
from emulator.kernels.ppu.scanline_plan import (
    CHANGING_COUNT,
    DMA_BIAS,
    DMA_FROZEN,
    EXACT_COUNT,
    FIRST_TODO,
    PLANS_BYTES,
    Plan,
    Plans,
    load_plan,
    plan_lines,
    plans_of,
    window_line,
    window_of,
)
from emulator.kernels.ppu.vram_changes import NOTHING, entries_above, map_changes
from emulator.state.batch import Batch, Console

LISTED = wp.constant(1 << 16)  # most threads that draw listed lines


@wp.func
def row_of(batch: Batch, env: int) -> Q:
    """Return the machine address of an env's memory row."""
    return batch.ram_base + Q(env) * Q(batch.row_stride)


@wp.func
def line_of(c: wp.ref[Console], mem: Q, line: int) -> Q:
    """Return the machine address of a line of the picture that is being drawn."""
    return back_screen(c, mem) + Q(U(line * SCREEN_LINE_BYTES))


@wp.func
def later_writes(c: wp.ref[Console]) -> int:
    """Return the number of VRAM writes made after the picture, which are undone while it is drawn.

    0 if VRAM also changed during the picture: its lines then search the undo log instead.
    """
    return wp.where(c.ppu_undo_done == U(0), I(c.ppu_undo_count), 0)


@wp.kernel(enable_backward=False, cuda_max_registers=128)  # all of 65,536 at once
def prepare_pictures(batch: Batch, console: wp.array[Console], plans: wp.uint64, todo: wp.array[wp.int32]):
    """Undo later VRAM writes and plan the 144 lines of the picture of thread env's console.

    A picture during which OAM changed is drawn here instead.
    """
    env = wp.tid()
    if console[env].ppu_finished != U(0):
        mem = row_of(batch, env)
        own = plans_of(plans, env)
        vram_only = wp.bool(True)
        if console[env].ppu_undo_done != U(0):
            count = I(console[env].ppu_undo_count)
            vram_only = map_changes(mem, I(console[env].ppu_undo_done), count, own + Q(PLANS_BYTES))
        if vram_only:
            undo_down(mem, later_writes(console[env]), 0, ROW_OAM)
            plan_lines(console[env], mem, own, env, todo)
        else:
            draw_finished(console[env], mem)


@wp.kernel(enable_backward=False, cuda_max_registers=64)
def draw_plain_lines(batch: Batch, console: wp.array[Console], plans: wp.uint64):
    """Draw a planned line, in thread (env, line), if it is plain and no VRAM write lies below it in the picture.

    No function is called, so it needs few machine registers and many threads run side by side.
    """
    env, line = wp.tid()
    if console[env].ppu_finished != U(0):
        p = load_plan(plans, env, line)
        if I(p.flags & U(3)) == KIND_PLAIN and I(p.rest) == NOTHING:
            mem = row_of(batch, env)
            left = left_of_window(p.lower, p.upper, window_of(p))
            draw_in_words(
                mem,
                mem + Q(U(FINISHED_OAM)),
                line,
                p.lower,
                p.upper,
                left,
                window_line(p),
                line_of(console[env], mem, line),
                NOTHING,
                Q(0),
            )


@wp.kernel(enable_backward=False)
def draw_changing_lines(
    batch: Batch, console: wp.array[Console], plans: wp.uint64, todo: wp.array[wp.int32], step: int
):
    """Draw plain lines after which VRAM changed: thread i of `step` draws every `step`th of the list in `todo`."""
    i = wp.tid()
    while i < todo[CHANGING_COUNT]:
        place = todo[todo.shape[0] - 1 - i]
        i = i + step
        env = place / SCREEN_HEIGHT
        line = place - env * SCREEN_HEIGHT
        p = load_plan(plans, env, line)
        mem = row_of(batch, env)
        left = left_of_window(p.lower, p.upper, window_of(p))
        draw_in_words(
            mem,
            mem + Q(U(FINISHED_OAM)),
            line,
            p.lower,
            p.upper,
            left,
            window_line(p),
            line_of(console[env], mem, line),
            I(p.rest),
            plans_of(plans, env) + Q(PLANS_BYTES),
        )


@wp.func(inline=False)
def draw_exact(c: wp.ref[Console], mem: Q, line: int, p: Plan):
    """Draw line `line` by the pixel pipeline from the present VRAM; `p` is its plan."""
    w = Walk()
    w.line_lower = p.lower
    w.line_upper = p.upper
    w.line_window = window_of(p)
    w.line_window_y = window_line(p)
    w.line_carry = I((p.flags >> U(3)) & U(1))
    w.line_bus = I(p.flags >> U(16))
    w.first_entry = I(p.rest & U(0x7FF))
    w.last = I((p.rest >> U(11)) & U(0x7FF))
    dma = I(p.rest >> U(22))
    w.line_dma = wp.where(dma == DMA_FROZEN, FROZEN_DMA, (dma - DMA_BIAS) * 4)
    exact_line(w, mem, mem + Q(U(FINISHED_OAM)), line, line_of(c, mem, line))


@wp.kernel(enable_backward=False)
def draw_exact_lines(batch: Batch, console: wp.array[Console], plans: wp.uint64, todo: wp.array[wp.int32], step: int):
    """Draw lines by the pixel pipeline: thread i of `step` draws every `step`th of the list in `todo`.

    Of a picture during which VRAM changed only the first such line is listed; its thread draws those below as well,
    from VRAM that it restores to the state that each line saw.
    """
    i = wp.tid()
    while i < todo[EXACT_COUNT]:
        place = todo[FIRST_TODO + i]
        i = i + step
        env = place / SCREEN_HEIGHT
        line = place - env * SCREEN_HEIGHT
        mem = row_of(batch, env)
        done = I(console[env].ppu_undo_done)
        if done == 0:
            draw_exact(console[env], mem, line, load_plan(plans, env, line))
        else:
            count = I(console[env].ppu_undo_count)
            at = count  # number of entries that are redone
            while line < VBLANK_LINE:
                p = load_plan(plans, env, line)
                if I(p.flags & U(3)) == KIND_EXACT:
                    seen = entries_above(mem, done, line)
                    undo_down(mem, at, seen, ROW_OAM)
                    redo_up(mem, at, seen, ROW_OAM)
                    at = seen
                    draw_exact(console[env], mem, line, p)
                line = line + 1
            redo_up(mem, at, count, ROW_OAM)


@wp.kernel(enable_backward=False)
def release_pictures(batch: Batch, console: wp.array[Console], todo: wp.array[wp.int32]):
    """Redo the undone writes and show the new picture of thread env's console; empty the lists in `todo`."""
    env = wp.tid()
    if env == 0:
        todo[EXACT_COUNT] = 0
        todo[CHANGING_COUNT] = 0
    if console[env].ppu_finished != U(0):
        mem = row_of(batch, env)
        redo_up(mem, 0, later_writes(console[env]), ROW_OAM)
        release_finished(console[env], mem)


@wp.func
def screen_byte(batch: Batch, console: wp.array[Console], env: int, offset: int) -> int:
    """Return a byte of the packed picture that is shown; 0 (the lightest shade) if the LCD is blank."""
    value = I(0)
    if console[env].ppu_blank == U(0):
        front = console[env].ppu_front * U(SCREEN_BYTES)
        value = I(ld8(row_of(batch, env) + Q(U(ROW_SCREENS + offset) + front)))
    return value


@wp.kernel(enable_backward=False)
def unpack_screens(batch: Batch, console: wp.array[Console], shades: wp.array3d[wp.uint8]):
    """Write eight pixels of the shown picture to `shades` [N, 144, 160], 0 (lightest) to 3.

    In thread (env, y, x / 8).
    """
    env, y, column = wp.tid()
    low = screen_byte(batch, console, env, y * SCREEN_LINE_BYTES + column)
    high = screen_byte(batch, console, env, y * SCREEN_LINE_BYTES + 20 + column)
    for i in range(8):
        shade = ((low >> (7 - i)) & 1) | (((high >> (7 - i)) & 1) << 1)
        shades[env, y, column * 8 + i] = wp.uint8(shade)


@wp.func
def spread_sum(byte: int) -> int:
    """Return the sums of the four pairs of neighbouring bits of a byte, two bits each, leftmost in the top two bits."""
    return (byte & 0x55) + ((byte >> 1) & 0x55)


@wp.kernel(enable_backward=False)
def downsample(batch: Batch, console: wp.array[Console], observation: wp.array3d[wp.uint8]):
    """Write four pixels of `observation` [N, 72, 80] in thread (env, y, x / 4).

    Each is the rounded mean of its 2x2 block: (a + b + c + d + 2) >> 2 of shades 0 to 3.
    """
    env, y, column = wp.tid()
    top = 2 * y * SCREEN_LINE_BYTES + column
    low0 = spread_sum(screen_byte(batch, console, env, top))
    high0 = spread_sum(screen_byte(batch, console, env, top + 20))
    low1 = spread_sum(screen_byte(batch, console, env, top + 40))
    high1 = spread_sum(screen_byte(batch, console, env, top + 60))
    for i in range(4):
        down = 6 - 2 * i
        lows = ((low0 >> down) & 3) + ((low1 >> down) & 3)
        highs = ((high0 >> down) & 3) + ((high1 >> down) & 3)
        observation[env, y, column * 4 + i] = wp.uint8((lows + 2 * highs + 2) >> 2)


@wp.kernel(enable_backward=False)
def downsample_words(batch: Batch, console: wp.array[Console], observation: wp.uint64, stride: wp.uint64):
    """Write 16 pixels of an observation at `observation` + env * `stride`, in thread (env, y, x / 16).

    An observation is 72 rows of 80 bytes; all addresses are multiples of 16.
    """
    env, y, word = wp.tid()
    shades = U(0)
    if console[env].ppu_blank == U(0):
        screen = row_of(batch, env) + Q(U(ROW_SCREENS) + console[env].ppu_front * U(SCREEN_BYTES))
        shades = means_of_blocks(screen + Q(U(2 * y * SCREEN_LINE_BYTES + 4 * word)))
    st128(
        observation + Q(env) * stride + Q(U(y * OBSERVATION_WIDTH + 16 * word)),
        spread(shades & U(255)),
        spread((shades >> U(8)) & U(255)),
        spread((shades >> U(16)) & U(255)),
        spread(shades >> U(24)),
    )


def render_pictures(batch: Batch, plans: Plans, launch: Callable = wp.launch) -> None:
    """Draw every finished picture of `batch` that is not drawn yet; `plans` is scratch from `allocate_plans`."""
    n = int(batch.num_envs)
    device = plans.lines.device
    inputs = [batch, batch.console, plans.lines.ptr]
    listed = min(n * SCREEN_HEIGHT, LISTED)
    launch(prepare_pictures, dim=n, inputs=[*inputs, plans.todo], device=device)
    launch(draw_plain_lines, dim=(n, SCREEN_HEIGHT), inputs=inputs, device=device)
    for draw in (draw_changing_lines, draw_exact_lines):
        launch(draw, dim=listed, inputs=[*inputs, plans.todo, listed], device=device)
    launch(release_pictures, dim=n, inputs=[batch, batch.console, plans.todo], device=device)


def unpack(batch: Batch, shades: wp.array) -> None:
    """Write the pictures that the first n envs show to `shades`, uint8 [n, 144, 160]."""
    dim = (len(shades), SCREEN_HEIGHT, SCREEN_WIDTH // 8)
    inputs = [batch, batch.console, shades]
    wp.launch(unpack_screens, dim=dim, inputs=inputs, device=shades.device)


def observe(batch: Batch, observation: wp.array, launch: Callable = wp.launch) -> None:
    """Write the pictures that the envs show, downsampled, to `observation`, uint8 [N, 72, 80]."""
    n = int(batch.num_envs)
    stride = observation.strides[0]
    whole = observation.strides[1:] == (OBSERVATION_WIDTH, 1)
    inputs = [batch, batch.console, observation]
    if whole and stride % 16 == 0 and observation.ptr % 16 == 0:
        dim = (n, OBSERVATION_HEIGHT, OBSERVATION_WIDTH // 16)
        inputs[2:] = [observation.ptr, stride]
        launch(downsample_words, dim=dim, inputs=inputs, device=observation.device)
    else:
        dim = (n, OBSERVATION_HEIGHT, OBSERVATION_WIDTH // 4)
        launch(downsample, dim=dim, inputs=inputs, device=observation.device)
