"""Launch on a GPU: warps that run consoles along one data path, and warps that serve them.

On a CPU `uniform_cpu.run_alone` does the same in one thread a console.
"""

from collections.abc import Callable

import warp as wp

from emulator.constants import MAX_BLOCK
from emulator.kernels.intrinsics import I, Q, U, both, converge, either, gather, gathered, meet, prmt
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
    request_kind,
    take_back,
    wait_if_asked,
)
from emulator.kernels.sm83.data_path import Operands, execute, finish
from emulator.kernels.sm83.service_requests import ASK_LEAVE, DONE, KIND_LEAVE, KIND_SHIFT
from emulator.launch import reset_kernels
from emulator.launch.launch_boundary import launch_begin, launch_end
from emulator.launch.launch_shapes import Shape
from emulator.launch.launch_tail import NEVER, count_done, few_seem_left, serve_or_pass_on
from emulator.launch.service_board import (
    accept,
    answer,
    await_requests,
    env_of,
    hang_up,
    leave,
    mail,
    mailbox,
    open_board,
    post,
    rest,
    take,
)
from emulator.state.batch import Batch, Console

TRIPS_TO_LOOK = 511  # bits of a trip count: a lane checks whether to leave when they are clear
TRIPS_APART = 7  # bits of a trip count: the warp meets when they are all clear
LOW_BYTE = 0x4440  # of `prmt`: hides from the compiler that the same condition is tested twice
SERVICE_TIME = 50  # nanoseconds that a warp rests when all its lanes wait to be served


@wp.kernel(enable_backward=False, launch_bounds=(MAX_BLOCK, 1))
def begin_frames(
    batch: Batch, console: wp.array[Console], buttons: wp.array[wp.uint8], frames: wp.uint32, release_after: wp.uint32
):
    """Begin the launch of a console in thread env by `launch_begin`, unless it is frozen."""
    env = wp.tid()
    if env < I(batch.num_envs):
        if console[env].stopped == U(0):
            mem = batch.ram_base + Q(env) * Q(batch.row_stride)
            launch_begin(console[env], mem, U(buttons[env]), frames, release_after)
        else:
            count_done(batch.tail_base)


@wp.func(inline=True)
def exchange(r: wp.ref[Registers], c: wp.ref[Console], b: wp.ref[Bases], box: U):
    """Post the new request of a waiting console to the board, or load the answer to its last one."""
    if not goes_on(r):
        if r.posted == U(0):
            if not close_io(r) and not close_vram(r):
                hand_over(r, c, b)
                post(box, request_kind(r))
                r.posted = U(1)
        else:
            accept()
            take_back(r, c, b)
            open_io(r)
            r.posted = U(0)
            if r.asked != U(0):
                hang_up(box)  # the launch is over, for this lane


@wp.func(inline=True)
def ask_to_leave(r: wp.ref[Registers], b: wp.ref[Bases], tail: Q, enough: U):
    """Request to leave the data path if few consoles are left and this one has no other request."""
    if (r.trip & U(TRIPS_TO_LOOK)) == U(0) and goes_on(r):
        if few_seem_left(tail, enough) != U(0):
            r.asked = U(ASK_LEAVE | (KIND_LEAVE << KIND_SHIFT))
            wait_if_asked(r)
            load_row(r, b)


@wp.func(inline=True)
def run_console(r: wp.ref[Registers], c: wp.ref[Console], b: wp.ref[Bases], box: U, tail: Q, enough: U):
    """Run the console of this lane to the end of the launch, along with the other consoles of the warp.

    An iteration of the inner loop is one instruction of each console that does not wait, with one branch for all rare
    work. Every few iterations it is checked that any console still runs.
    """
    o = Operands()
    r.running = U(1)
    while r.running != U(0):
        r.together = U(1)
        while r.together != U(0):
            waits = mail(box)  # read before the instruction, which hides the load's latency
            execute(r, b, o)
            r.trip = r.trip + U(1)
            turn = both(waits == U(0), I(r.deadline - r.now) <= I(0))
            meets = (r.trip & U(TRIPS_APART)) == U(0)
            load_row(r, b)
            if either(meets, either(o.unfinished, turn)):
                if either(o.unfinished, turn):
                    if o.unfinished:
                        finish(r, c, b, o)
                    if waits == U(0):
                        exchange(r, c, b, box)
                    load_row(r, b)
                else:
                    ask_to_leave(r, b, tail, enough)
                if (prmt(r.trip, U(0), U(LOW_BYTE)) & U(TRIPS_APART)) == U(0):  # meets
                    r.together = meet(wp.where(goes_on(r), U(1), U(0)))
        r.running = meet(wp.where(r.asked < DONE, U(1), U(0)))
        r.trip = U(TRIPS_APART)
        rest(U(SERVICE_TIME))


@wp.struct
class ServerLocals:
    turn: wp.uint32


@wp.func(inline=True)
def serve_consoles(batch: wp.ref[Batch], b: wp.ref[Bases], board: Q, server: U, running: U, enough: U, unknown: U):
    """Serve the requests of the block's running warps until all of them are done.

    Once `enough` consoles of the whole batch are done, the others are passed on to threaded code.
    """
    o = ServerLocals()
    o.turn = server
    while await_requests(board, running) != U(0):
        item = take(board, server, running, o.turn)
        o.turn = o.turn + U(1)
        if item != U(0):
            env = env_of(board, item)
            mem = batch.ram_base + Q(env) * Q(batch.row_stride)
            gather(batch.console[env].lo, mem, mem + Q(b.scratch))
            serve_or_pass_on(batch.console[env], mem, b, batch.tail_base, env, enough)
        converge(unknown)
        if item != U(0):
            answer(board, item)
    gathered()


@wp.kernel(enable_backward=False, grid_stride=False, launch_bounds=(MAX_BLOCK, 1))
def run_frames(
    batch: Batch,
    console: wp.array[Console],
    lanes: wp.uint32,
    running: wp.uint32,
    block: wp.uint32,
    blocks: wp.uint32,
    idle_skip: wp.uint32,
    enough: wp.uint32,
    unknown: wp.uint32,
):
    """Run consoles in the first `running` warps of each block, in the first `lanes` lanes of each; the others serve.

    Every block gets warps from all over the order by work, so that no SM has the longest consoles alone.
    """
    t = U(wp.tid())
    warp = (t % block) >> U(5)
    slot = (warp * blocks + t / block) * lanes + (t & U(31))
    has_console = warp < running and (t & U(31)) < lanes and slot < batch.num_envs
    env = U(batch.order[I(wp.where(has_console, slot, U(0)))])
    b = Bases()
    find_bases(b, batch, idle_skip)
    board = open_board(env)
    if warp < running:
        box = mailbox(board)
        r = Registers()
        r.mem = batch.ram_base + Q(env) * Q(batch.row_stride)
        begin(r, console[env], b)
        if not has_console or console[env].launch_end == U(0):
            r.asked = DONE
            hang_up(box)
        run_console(r, console[env], b, box, batch.tail_base, enough)
        leave(board)
    else:
        serve_consoles(batch, b, board, warp - running, running, enough, unknown)


@wp.kernel(enable_backward=False, launch_bounds=(MAX_BLOCK, 1))
def end_frames(batch: Batch, console: wp.array[Console], frames: wp.uint32):
    """Call `launch_end` for the console of thread env, unless it is frozen."""
    env = wp.tid()
    if env < 2:
        batch.tail[env] = U(0)
    if env < I(batch.num_envs):
        if console[env].launch_end != U(0):
            mem = batch.ram_base + Q(env) * Q(batch.row_stride)
            launch_end(console[env], mem, batch.rom_base, frames)


def launch(
    batch: Batch,
    buttons: wp.array,
    frames: int,
    release_after: int,
    shape: Shape,
    idle_skip: bool,
    run_tail: Callable[[], None] | None = None,
) -> None:
    """Run every console for `frames` frames.

    `run_tail` runs the last `shape.tail` consoles in threaded code, which may be all; None: all stay on the data path.
    """
    assert buttons.device.is_cuda
    n = int(batch.num_envs)
    enough = n - shape.tail if run_tail else NEVER
    console = batch.console
    device = buttons.device
    block = shape.block
    wp.launch(
        begin_frames, dim=n, inputs=[batch, console, buttons, frames, release_after], device=device, block_dim=block
    )
    if enough > 0:
        blocks = -(-n // (shape.lanes * shape.running))
        wp.launch(
            run_frames,
            dim=blocks * block,
            inputs=[batch, console, shape.lanes, shape.running, block, blocks, int(idle_skip), enough, 0xFFFFFFFF],
            device=device,
            block_dim=block,
        )
    if run_tail:
        run_tail()
    wp.launch(end_frames, dim=n, inputs=[batch, console, frames], device=device, block_dim=block)


power_on, reset_envs, peek, store = reset_kernels.of_module(__name__, launch_bounds=(MAX_BLOCK, 1))
