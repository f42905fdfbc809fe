"""The launch on a GPU for few consoles: each alone in its warp, every instruction code of its own.

Where consoles are few the longest one sets the time, and lanes that share a warp gain nothing. So
the first lane of a running warp executes threaded code (sm83/threaded_code.py); what that leaves to
others is done by the data path of sm83/uniform.py, one instruction at a time, and what is rare by
the serving warps of the same block, as in launch/uniform.py. On a CPU `run_alone` does the same in
one thread a console, for tests.
"""

import warp as wp

from emulator.constants import VRAM
from emulator.kernels.intrinsics import I, Q, U
from emulator.kernels.launch import state_kernels, uniform
from emulator.kernels.sm83.contract import DONE
from emulator.kernels.sm83.registers import (
    Bases,
    Registers,
    begin,
    close_vram,
    find_bases,
    goes_on,
    hand_over,
    load_row,
    load_word,
    take_back,
)
from emulator.kernels.sm83.service import serve
from emulator.kernels.sm83.threaded_code import source
from emulator.kernels.sm83.uniform import Operands, execute, finish
from emulator.launch.shapes import Shape
from emulator.state.batch import Batch, Console

BLOCK = 256
"""Threads a block at most: as many machine registers for each as the service wants."""


@wp.func_native(source())
def run_threads(r: wp.ref[Registers], b: wp.ref[Bases], code: Q):
    """Run plain instructions from `r.pc`, which is in ROM, to the first that is not, or to the
    deadline. `code`: address of the table of `threaded_code.threads`."""
    ...


@wp.func(inline=True)
def run_on(r: wp.ref[Registers], c: wp.ref[Console], b: wp.ref[Bases], o: wp.ref[Operands], code: Q):
    """One instruction by the data path, if the console goes on, and all that follow it plainly.

    The first may be one that the service has fetched. Branch targets in the table hold for bank 0
    below another one (`threads`).
    """
    load_row(r, b)
    execute(r, b, o)
    if o.unfinished:
        finish(r, c, b, o)
    mapped = r.rom_low == c.rom_base and r.rom_high + U(0x4000) != c.rom_base
    if goes_on(r) and mapped and r.pc < U(VRAM):
        run_threads(r, b, code)
        load_word(r, b)


@wp.func(inline=True)
def run_console(batch: wp.ref[Batch], c: wp.ref[Console], env: U, code: Q, idle_skip: U):
    """Run the console of this thread, which is alone in its warp, to the end of the launch.

    It is served where it stands: nobody else has to wait meanwhile.
    """
    b = Bases()
    find_bases(b, batch, idle_skip)
    r = Registers()
    r.mem = batch.ram_base + Q(env) * Q(batch.row_stride)
    begin(r, c, b)
    if c.launch_end == U(0):
        r.asked = DONE
    o = Operands()
    while r.asked < DONE:
        if not goes_on(r) and not close_vram(r):
            hand_over(r, c, b)
            serve(c, r.mem, b)
            take_back(r, c, b)
        run_on(r, c, b, o, code)


@wp.kernel(enable_backward=False, grid_stride=False, launch_bounds=(BLOCK, 1))
def run_frames_threaded(
    batch: Batch, console: wp.array[Console], code: wp.uint64, idle_skip: wp.uint32
):
    """The first lane of warp w runs the console w of the order."""
    t = U(wp.tid())
    if (t & U(31)) == U(0) and (t >> U(5)) < batch.num_envs:
        env = U(batch.order[I(t >> U(5))])
        run_console(batch, console[env], env, code, idle_skip)


@wp.kernel(enable_backward=False, grid_stride=False, module="unique")  # a GPU never compiles it
def run_alone(batch: Batch, console: wp.array[Console], code: wp.uint64, idle_skip: wp.uint32):
    """Thread env runs its console: threaded code on a CPU."""
    env = U(wp.tid())
    run_console(batch, console[env], env, code, idle_skip)


# The same kernels once more, so that whoever launches threaded code compiles this module only.
_options = {"enable_backward": False, "module": __name__, "launch_bounds": (BLOCK, 1)}
begin_frames = wp.kernel(uniform.begin_frames.func, **_options)
end_frames = wp.kernel(uniform.end_frames.func, **_options)
power_on, reset_envs, peek = state_kernels.of_module(__name__, launch_bounds=(BLOCK, 1))


def launch(
    batch: Batch,
    code: wp.array,
    buttons: wp.array,
    frames: int,
    release_after: int,
    shape: Shape,
    idle_skip: bool,
) -> None:
    """Run every console for `frames` frames. `code`: as `threaded_code.threads` makes it."""
    n = int(batch.num_envs)
    console = batch.console
    device = buttons.device
    block = min(shape.block, BLOCK)
    wp.launch(
        begin_frames, dim=n, inputs=[batch, console, buttons, frames, release_after],
        device=device, block_dim=block,
    )  # fmt: skip
    alone = device.is_cuda
    wp.launch(
        run_frames_threaded if alone else run_alone,
        dim=-(-n * 32 // block) * block if alone else n,
        inputs=[batch, console, code.ptr, int(idle_skip)],
        device=device, block_dim=block,
    )  # fmt: skip
    wp.launch(end_frames, dim=n, inputs=[batch, console, frames], device=device, block_dim=block)
