"""Plan of each line of a finished picture, so that all lines can be drawn side by side.

Behind the plans of an env lies the map of the changes in its VRAM. `todo` lists the lines that a thread for
each line would handle badly, as env * 144 + line: exact ones, of which there is one a picture in a game that
writes LCDC within a line, and plain ones with VRAM that changes below them. Listed, 32 of a kind share a
warp. Of a picture during which VRAM changed only the first exact line is listed.
"""

from typing import NamedTuple

import warp as wp

from emulator.constants import SCREEN_HEIGHT
from emulator.kernels.intrinsics import I, Q, U, ld128, st32, st128
from emulator.kernels.ppu.frame_log import BASE_LINE, FINISHED_BASE, FINISHED_OAM, get8, undo_line
from emulator.kernels.ppu.frame_log_reader import KIND_DRAWN, KIND_EXACT, Walk, begin_walk, entry_dot, log_at, next_line
from emulator.kernels.ppu.mode_timing import LINE_DOTS, VBLANK_LINE, has_window
from emulator.kernels.ppu.vram_changes import MAP_BYTES, entries_below
from emulator.state.batch import Console

PLAN_BYTES = wp.constant(16)
PLANS_BYTES = wp.constant(SCREEN_HEIGHT * 16)  # bytes of an env's plans
DMA_FROZEN = wp.constant(0x3FF)
DMA_BIAS = wp.constant(256)  # a plan holds the start of a DMA as M-cycles of the line plus this
EXACT_COUNT = wp.constant(0)  # places in `todo`; exact lines follow, the others come from its end
CHANGING_COUNT = wp.constant(1)
FIRST_TODO = wp.constant(2)


class Plans(NamedTuple):
    """Scratch arrays for drawing a batch's pictures."""

    lines: wp.array
    """For each env the plans of its lines and the map of its VRAM changes, uint8 [N * (144 * 16 + 32)]."""
    todo: wp.array
    """Two counts, then two lists of lines to draw, int32 [2 + N * 144]."""


def allocate_plans(num_envs: int, device: str) -> Plans:
    """Return scratch arrays on `device` for drawing the pictures of `num_envs` consoles."""
    return Plans(
        wp.zeros(num_envs * (SCREEN_HEIGHT * 16 + 32), dtype=wp.uint8, device=device),
        wp.zeros(FIRST_TODO + num_envs * SCREEN_HEIGHT, dtype=wp.int32, device=device),
    )


@wp.struct
class Plan:
    """Plan of how to draw one line, 16 bytes."""

    lower: wp.uint32  # registers, as scanline.py packs them
    upper: wp.uint32
    flags: wp.uint32  # kind, window seen, carry, window line + 1, value on the OAM bus
    rest: wp.uint32  # exact: register entries, start of an OAM DMA; plain: `later`


@wp.func
def plans_of(plans: Q, env: int) -> Q:
    """Return the machine address of an env's plans."""
    return plans + Q(env) * Q(PLANS_BYTES + MAP_BYTES)


@wp.func
def load_plan(plans: Q, env: int, line: int) -> Plan:
    """Return the plan of an env's line."""
    p = Plan()
    ld128(plans_of(plans, env) + Q(line * PLAN_BYTES), p.lower, p.upper, p.flags, p.rest)
    return p


@wp.func
def window_of(p: Plan) -> int:
    """Return 1 if LY has equalled WY with the window enabled by this line, else 0."""
    return I((p.flags >> U(2)) & U(1))


@wp.func
def window_line(p: Plan) -> int:
    """Return the window line counter, -1 before the window's first line."""
    return I((p.flags >> U(8)) & U(0xFF)) - 1


@wp.func
def flags_of(w: wp.ref[Walk]) -> int:
    """Return `Plan.flags` for the line that `next_line` has found."""
    bus = wp.max(w.line_bus, 0) << 16
    window = (w.line_window << 2) | ((w.line_window_y + 1) << 8)
    return w.kind | window | (w.line_carry << 3) | bus


@wp.func
def end_of_run(w: wp.ref[Walk], mem: Q, line: int) -> int:
    """Return the first line after the plain line `line` whose registers may differ from its own."""
    end = I(VBLANK_LINE)
    if w.next < w.last:
        end = wp.min(end, entry_dot(log_at(mem, w.next)) / LINE_DOTS)
    wy = I((w.upper >> U(16)) & U(0xFF))
    if (w.lower & U(0x20)) != U(0) and wy > line:
        end = wp.min(end, wy)
    return wp.max(end, line + 1)


@wp.func(inline=False)
def plan_lines(c: wp.ref[Console], mem: Q, plans: Q, env: int, todo: wp.array[wp.int32]):
    """Write the plans of the 144 lines of a finished picture during which OAM did not change."""
    done = I(c.ppu_undo_done)
    count = wp.where(done > 0, I(c.ppu_undo_count), 0)
    first = I(0)  # undo entry that this line does not see
    stop = I(0)  # first line that sees all entries
    if count > 0:
        stop = wp.where(count > done, VBLANK_LINE, undo_line(mem, done - 1))
    exact = I(0)
    w = Walk()
    begin_walk(w, mem, FINISHED_BASE, 0, I(c.ppu_draft_log))
    top = get8(mem, FINISHED_BASE + BASE_LINE)
    line = I(0)
    while line < top:
        st32(plans + Q(line * PLAN_BYTES + 8), U(KIND_DRAWN))
        line = line + 1
    while line < VBLANK_LINE:
        next_line(w, mem, mem + Q(U(FINISHED_OAM)), line)
        flags = flags_of(w)
        if w.kind == KIND_EXACT:
            dma = wp.clamp((w.line_dma >> 2) + DMA_BIAS, 0, DMA_FROZEN)
            entries = w.first_entry | (w.last << 11) | (dma << 22)
            plan = plans + Q(line * PLAN_BYTES)
            st128(plan, w.line_lower, w.line_upper, U(flags), U(entries))
            if count == 0 or exact == 0:
                todo[FIRST_TODO + wp.atomic_add(todo, EXACT_COUNT, 1)] = env * SCREEN_HEIGHT + line
            exact = exact + 1
            line = line + 1
        else:
            end = end_of_run(w, mem, line)
            step = I(0)
            if has_window(I(w.lower & U(0xFF)), I(w.upper >> U(24)), w.window):
                step = I(1)
            w.window_y = w.window_y + step * (end - line - 1)
            place = todo.shape[0] - 1
            if line < stop:
                taken = wp.min(end, stop) - line
                place = place - wp.atomic_add(todo, CHANGING_COUNT, taken)
            lower = w.lower
            upper = w.upper
            while line < end:
                while first < done and undo_line(mem, first) <= line:
                    first = first + 1
                later = entries_below(first, count)
                st128(plans + Q(line * PLAN_BYTES), lower, upper, U(flags), U(later))
                if line < stop:
                    todo[place] = env * SCREEN_HEIGHT + line
                    place = place - 1
                flags = flags + (step << 8)
                line = line + 1
