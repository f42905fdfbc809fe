"""Kernels around finished pictures: draw them all in parallel, unpack, downsample.

Drawing takes four launches over the batch: `prepare_pictures` undoes what happened to VRAM after
each picture and plans its lines, `draw_plain_lines` and `draw_other_lines` draw one line a thread,
`release_pictures` redoes the VRAM and shows the picture. Where VRAM changed while the picture was
on its way down the screen, a line searches the log for bytes that changed below it
(picture_changes.py). Consoles whose OAM changed meanwhile are drawn by one thread each, in the
first launch.
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
from emulator.kernels.intrinsics import I, Q, U, ld8, ld32, st32, st128
from emulator.kernels.ppu.picture_changes import (
    MAP_BYTES,
    NOTHING,
    entries_below,
    map_changes,
)
from emulator.kernels.ppu.picture_draft import (
    back_screen,
    draw_finished,
    redo_up,
    release_finished,
    undo_down,
)
from emulator.kernels.ppu.picture_line import draw_changing, draw_in_words, left_of_window
from emulator.kernels.ppu.picture_log import (
    BASE_LINE,
    FINISHED_BASE,
    FINISHED_OAM,
    FROZEN_DMA,
    get8,
    undo_line,
)
from emulator.kernels.ppu.picture_means import means_of_blocks, spread
from emulator.kernels.ppu.picture_walk import (
    KIND_DRAWN,
    KIND_EXACT,
    KIND_PLAIN,
    SCREEN_LINE_BYTES,
    Walk,
    begin_walk,
    draw_exact,
    next_line,
)
from emulator.kernels.ppu.timing import VBLANK_LINE
from emulator.state.batch import STOPPED, Batch, Console

PLAN_BYTES = wp.constant(16)  # a line's plan: lower, upper, kind and window, log entries
DMA_FROZEN = wp.constant(0x3FF)
DMA_BIAS = wp.constant(256)  # a plan holds the start of a DMA as M-cycles of the line plus this


@wp.func
def row_of(batch: Batch, env: int) -> Q:
    """Address of an env's memory row."""
    return batch.ram_base + Q(env) * Q(batch.row_stride)


@wp.func
def plans_of(plans: Q, env: int) -> Q:
    """Address of an env's plans; the map of what changed in its VRAM lies behind them."""
    return plans + Q(env) * Q(SCREEN_HEIGHT * PLAN_BYTES + MAP_BYTES)


@wp.func
def line_of(c: wp.ref[Console], mem: Q, line: int) -> Q:
    """Address of a line of the picture that is drawn."""
    return back_screen(c, mem) + Q(U(line * SCREEN_LINE_BYTES))


@wp.func
def store_plan(w: wp.ref[Walk], plan: Q, later: int):
    """Store how to draw the line that `next_line` found. Of a plain line `later` stands where
    another one has its register entries and the start of an OAM DMA."""
    st32(plan, w.line_lower)
    st32(plan + Q(4), w.line_upper)
    flags = w.kind | (w.line_window << 2) | (w.line_carry << 3)
    bus = wp.max(w.line_bus, 0) << 16
    st32(plan + Q(8), U(flags | ((w.line_window_y + 1) << 8) | bus))
    dma = wp.clamp((w.line_dma >> 2) + DMA_BIAS, 0, DMA_FROZEN)
    entries = w.first_entry | (w.last << 11) | (dma << 22)
    st32(plan + Q(12), U(wp.where(w.kind == KIND_PLAIN, later, entries)))


@wp.func(inline=False)
def plan_lines(c: wp.ref[Console], mem: Q, plans: Q):
    """Plan the 144 lines of a picture during which OAM stood still, its own writes to VRAM redone.

    An exact line above the last of them is drawn here, with VRAM put back to where it was.
    """
    oam = mem + Q(U(FINISHED_OAM))
    done = I(c.ppu_undo_done)
    first = I(0)  # undo entry that this line does not see
    at = done  # so many entries are redone
    w = Walk()
    begin_walk(w, mem, FINISHED_BASE, 0, I(c.ppu_draft_log))
    top = get8(mem, FINISHED_BASE + BASE_LINE)
    for line in range(VBLANK_LINE):
        plan = plans + Q(line * PLAN_BYTES)
        if line < top:
            st32(plan + Q(8), U(KIND_DRAWN))
        else:
            while first < done and undo_line(mem, first) <= line:
                first = first + 1
            next_line(w, mem, oam, line)
            if w.kind == KIND_EXACT and first < done:
                undo_down(mem, at, first, ROW_OAM)
                redo_up(mem, at, first, ROW_OAM)
                at = first
                draw_exact(w, mem, oam, line, line_of(c, mem, line))
                w.kind = KIND_DRAWN
            store_plan(w, plan, entries_below(first, done))
    redo_up(mem, at, done, ROW_OAM)


@wp.kernel(enable_backward=False)
def prepare_pictures(batch: Batch, console: wp.array[Console], plans: wp.uint64):
    """Thread env: undo later VRAM writes and plan the 144 lines, or draw a picture during which
    OAM changed."""
    env = wp.tid()
    if console[env].ppu_finished != U(0):
        mem = row_of(batch, env)
        own = plans_of(plans, env)
        done = I(console[env].ppu_undo_done)
        if map_changes(mem, done, own + Q(SCREEN_HEIGHT * PLAN_BYTES)):
            undo_down(mem, I(console[env].ppu_undo_count), done, ROW_OAM)
            plan_lines(console[env], mem, own)
        else:
            draw_finished(console[env], mem)


@wp.kernel(enable_backward=False)
def draw_plain_lines(batch: Batch, console: wp.array[Console], plans: wp.uint64):
    """Thread (env, line): draw a planned line if it is plain and nothing changed below it.

    Without a call to anything, so with few machine registers and many threads side by side.
    """
    env, line = wp.tid()
    if console[env].ppu_finished != U(0):
        plan = plans_of(plans, env) + Q(line * PLAN_BYTES)
        flags = I(ld32(plan + Q(8)))
        if (flags & 3) == KIND_PLAIN and I(ld32(plan + Q(12))) == NOTHING:
            mem = row_of(batch, env)
            lower = ld32(plan)
            upper = ld32(plan + Q(4))
            left = left_of_window(lower, upper, (flags >> 2) & 1)
            draw_in_words(
                mem, mem + Q(U(FINISHED_OAM)), line, lower, upper, left,
                ((flags >> 8) & 0xFF) - 1, line_of(console[env], mem, line), NOTHING, Q(0),
            )  # fmt: skip


@wp.kernel(enable_backward=False)
def draw_other_lines(batch: Batch, console: wp.array[Console], plans: wp.uint64):
    """Thread (env, line): draw any other planned line. They take many more machine registers."""
    env, line = wp.tid()
    if console[env].ppu_finished != U(0):
        own = plans_of(plans, env)
        plan = own + Q(line * PLAN_BYTES)
        w = Walk()
        flags = I(ld32(plan + Q(8)))
        entries = I(ld32(plan + Q(12)))
        w.kind = flags & 3
        w.line_lower = ld32(plan)
        w.line_upper = ld32(plan + Q(4))
        w.line_window = (flags >> 2) & 1
        w.line_window_y = ((flags >> 8) & 0xFF) - 1
        mem = row_of(batch, env)
        oam = mem + Q(U(FINISHED_OAM))
        dest = line_of(console[env], mem, line)
        if w.kind == KIND_EXACT:
            w.line_carry = (flags >> 3) & 1
            w.line_bus = (flags >> 16) & 0xFFFF
            w.first_entry = entries & 0x7FF
            w.last = (entries >> 11) & 0x7FF
            w.line_dma = (((entries >> 22) & 0x3FF) - DMA_BIAS) * 4
            if ((entries >> 22) & 0x3FF) == DMA_FROZEN:
                w.line_dma = FROZEN_DMA
            draw_exact(w, mem, oam, line, dest)
        elif w.kind == KIND_PLAIN and entries != NOTHING:
            draw_changing(
                mem, oam, line, w.line_lower, w.line_upper, w.line_window, w.line_window_y, dest,
                entries, own + Q(SCREEN_HEIGHT * PLAN_BYTES),
            )  # fmt: skip


@wp.kernel(enable_backward=False)
def release_pictures(batch: Batch, console: wp.array[Console]):
    """Thread env: redo what was undone and show the new picture."""
    env = wp.tid()
    if console[env].ppu_finished != U(0):
        mem = row_of(batch, env)
        redo_up(mem, I(console[env].ppu_undo_done), I(console[env].ppu_undo_count), ROW_OAM)
        release_finished(console[env], mem)


@wp.func
def screen_byte(batch: Batch, console: wp.array[Console], env: int, offset: int) -> int:
    """Byte of the shown packed picture; 0 (the lightest shade) everywhere if it is blank.

    A DMG in STOP stops its PPU as well, which leaves the LCD blank.
    """
    value = I(0)
    if console[env].ppu_blank == U(0) and console[env].run_state != U(STOPPED):
        front = console[env].ppu_front * U(SCREEN_BYTES)
        value = I(ld8(row_of(batch, env) + Q(U(ROW_SCREENS + offset) + front)))
    return value


@wp.kernel(enable_backward=False)
def unpack_screens(batch: Batch, console: wp.array[Console], shades: wp.array3d[wp.uint8]):
    """Thread (env, y, x / 8): eight pixels of `shades` [N, 144, 160], 0 (lightest) to 3."""
    env, y, column = wp.tid()
    low = screen_byte(batch, console, env, y * SCREEN_LINE_BYTES + column)
    high = screen_byte(batch, console, env, y * SCREEN_LINE_BYTES + 20 + column)
    for i in range(8):
        shade = ((low >> (7 - i)) & 1) | (((high >> (7 - i)) & 1) << 1)
        shades[env, y, column * 8 + i] = wp.uint8(shade)


@wp.func
def spread_sum(byte: int) -> int:
    """The four sums of neighbouring bits of a byte, leftmost in the top two bits."""
    return (byte & 0x55) + ((byte >> 1) & 0x55)


@wp.kernel(enable_backward=False)
def downsample(batch: Batch, console: wp.array[Console], observation: wp.array3d[wp.uint8]):
    """Thread (env, y, x / 4): four pixels of `observation` [N, 72, 80].

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
def downsample_words(
    batch: Batch, console: wp.array[Console], observation: wp.uint64, stride: wp.uint64
):
    """Thread (env, y, x / 16): 16 pixels of an observation at `observation` + env * `stride`, 72
    rows of 80 bytes, everything a multiple of 16."""
    env, y, word = wp.tid()
    shades = U(0)
    if console[env].ppu_blank == U(0) and console[env].run_state != U(STOPPED):
        screen = row_of(batch, env) + Q(U(ROW_SCREENS) + console[env].ppu_front * U(SCREEN_BYTES))
        shades = means_of_blocks(screen + Q(U(2 * y * SCREEN_LINE_BYTES + 4 * word)))
    st128(
        observation + Q(env) * stride + Q(U(y * OBSERVATION_WIDTH + 16 * word)),
        spread(shades & U(255)),
        spread((shades >> U(8)) & U(255)),
        spread((shades >> U(16)) & U(255)),
        spread(shades >> U(24)),
    )


def allocate_plans(num_envs: int, device: str) -> wp.array:
    """Scratch for `render_pictures`: an env has 144 plans of 16 bytes, and 32 bytes that
    say where its VRAM changed: uint8 [N * (144 * 16 + 32)]."""
    size = num_envs * (SCREEN_HEIGHT * PLAN_BYTES + MAP_BYTES)
    return wp.zeros(size, dtype=wp.uint8, device=device)


def render_pictures(batch: Batch, plans: wp.array, launch: Callable = wp.launch) -> None:
    """Draw every finished picture that waits in `batch`; needs `allocate_plans`."""
    n = int(batch.num_envs)
    device = plans.device
    inputs = [batch, batch.console]
    launch(prepare_pictures, dim=n, inputs=[*inputs, plans.ptr], device=device)
    for draw in (draw_plain_lines, draw_other_lines):
        launch(draw, dim=(n, SCREEN_HEIGHT), inputs=[*inputs, plans.ptr], device=device)
    launch(release_pictures, dim=n, inputs=inputs, device=device)


def unpack(batch: Batch, shades: wp.array) -> None:
    """Write the shown pictures of the first n envs to `shades`, uint8 [n, 144, 160]."""
    dim = (len(shades), SCREEN_HEIGHT, SCREEN_WIDTH // 8)
    inputs = [batch, batch.console, shades]
    wp.launch(unpack_screens, dim=dim, inputs=inputs, device=shades.device)


def observe(batch: Batch, observation: wp.array, launch: Callable = wp.launch) -> None:
    """Write the downsampled pictures to `observation`, uint8 [N, 72, 80]."""
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
