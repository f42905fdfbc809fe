"""Data path on a CPU: each console runs in a thread of its own, which also serves its requests.

So tests without a GPU cover the code of sm83/data_path.py, and it counts the executed places of a ROM (ADR 30). It is a
Warp module of its own: a CPU need not compile the kernel of a GPU's launch.
"""

from collections.abc import Callable

import warp as wp

from emulator.constants import VRAM
from emulator.kernels.intrinsics import ALL_ONES, I, Q, U
from emulator.kernels.sm83.cpu_registers import (
    Bases,
    Registers,
    begin,
    close_io,
    close_vram,
    find_bases,
    goes_on,
    hand_over,
    load_row,
    open_io,
    take_back,
)
from emulator.kernels.sm83.data_path import Operands, execute, finish
from emulator.kernels.sm83.service_requests import DONE
from emulator.launch import reset_kernels, uniform
from emulator.launch.launch_shapes import Shape
from emulator.launch.launch_tail import NEVER, serve_or_pass_on
from emulator.state.batch import Batch, Console


@wp.struct
class Place:
    """ROM offset that a console executes, for counting."""

    at: wp.uint32
    behind: wp.uint32  # place of the instruction behind the last one


@wp.func(inline=True)
def count_place(s: wp.ref[Place], r: wp.ref[Registers], rom_base: U, counts: wp.array2d[wp.uint32]):
    """Count the instruction at PC as executed, and also as arrived at unless the one before it was executed last.

    An instruction that is restarted with its memory operand counts once.
    """
    if goes_on(r) and r.given == U(0):
        s.at = r.pc + wp.where(r.pc >= U(0x4000), r.rom_high, r.rom_low) - rom_base
        if r.pc < U(VRAM) and I(s.at) < counts.shape[1]:
            counts[0, I(s.at)] = counts[0, I(s.at)] + U(1)
            if s.at != s.behind:
                counts[1, I(s.at)] = counts[1, I(s.at)] + U(1)
            s.behind = s.at + ((r.w7 >> U(8)) & U(255))
        else:
            s.behind = ALL_ONES


@wp.kernel(enable_backward=False, grid_stride=False)
def run_alone(
    batch: Batch, console: wp.array[Console], idle_skip: wp.uint32, enough: wp.uint32, counts: wp.array2d[wp.uint32]
):
    """Run the console of thread env and serve its requests, to the end of the launch.

    `counts`: row 0, how often each byte of the first ROM was executed; row 1, how often it was arrived at by anything
    but the instruction before; may be empty.
    """
    env = U(wp.tid())
    s = Place()
    s.behind = ALL_ONES
    b = Bases()
    find_bases(b, batch, idle_skip)
    r = Registers()
    r.mem = batch.ram_base + Q(env) * Q(batch.row_stride)
    begin(r, console[env], b)
    if console[env].launch_end == U(0):
        r.asked = DONE
    o = Operands()
    while r.asked < DONE:
        if not goes_on(r) and not close_io(r) and not close_vram(r):
            hand_over(r, console[env], b)
            serve_or_pass_on(console[env], r.mem, b, batch.tail_base, env, enough)
            take_back(r, console[env], b)
            open_io(r)
        load_row(r, b)
        if counts.shape[1] > 0:
            count_place(s, r, console[env].rom_base, counts)
        execute(r, b, o)
        if o.unfinished:
            finish(r, console[env], b, o)


begin_frames = wp.kernel(uniform.begin_frames.func, enable_backward=False, module=__name__)
end_frames = wp.kernel(uniform.end_frames.func, enable_backward=False, module=__name__)
power_on, reset_envs, peek, store = reset_kernels.of_module(__name__)


def launch(
    batch: Batch,
    buttons: wp.array,
    frames: int,
    release_after: int,
    shape: Shape,
    idle_skip: bool,
    run_tail: Callable[[], None] | None = None,
    counts: wp.array | None = None,
) -> None:
    """Run every console for `frames` frames, as `uniform.launch`; `counts`: as in `run_alone`."""
    n = int(batch.num_envs)
    console, device = batch.console, buttons.device
    enough = n - shape.tail if run_tail else NEVER
    held = [batch, console, buttons, frames, release_after]
    wp.launch(begin_frames, dim=n, inputs=held, device=device)
    inputs = [batch, console, int(idle_skip), enough, counts]
    if enough > 0:
        wp.launch(run_alone, dim=n, inputs=inputs, device=device)
    if run_tail:
        run_tail()
    wp.launch(end_frames, dim=n, inputs=[batch, console, frames], device=device)
