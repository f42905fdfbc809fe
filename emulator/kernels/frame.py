"""The launch: run every console for whole frames, reset consoles, order them by work.

A launch of F frames ends at the first instruction boundary at or after F * 17556 M-cycles; the
overshoot stays in `now`. Everything lazy is brought to that boundary and all times are re-based,
so that the state does not depend on how a run is cut into launches.
"""

import warp as wp

from emulator.constants import M_CYCLES_PER_FRAME, MAX_BLOCK
from emulator.kernels.apu import apu_sync
from emulator.kernels.bus import peek_bus
from emulator.kernels.cpu import Operands, execute, finish
from emulator.kernels.cpu_slow import DONE
from emulator.kernels.dma import dma_sync
from emulator.kernels.events import RUNNING, STOPPED, TRAP_STEP, TRAP_STEPPED
from emulator.kernels.intrinsics import (
    FAR,
    I,
    Q,
    U,
    both,
    converge,
    either,
    gather,
    gathered,
    ld32,
    meet,
    st32,
)
from emulator.kernels.joypad import joypad_hold, joypad_rest, joypad_settle
from emulator.kernels.mapper import FLAT, MBC3, update_map
from emulator.kernels.ppu import ppu_launch_begin, ppu_launch_end, ppu_power_on
from emulator.kernels.registers import (
    Bases,
    Registers,
    begin,
    close_vram,
    find_bases,
    goes_on,
    hand_over,
    load_row,
    request_kind,
    serve,
    take_back,
)
from emulator.kernels.rtc import RTC_HALT, rtc_sync
from emulator.kernels.service_board import (
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
from emulator.kernels.timer import timer_sync
from emulator.machine import Console, Machine
from emulator.shapes import Shape

TRIPS_APART = 7  # bits of a number of trips: the warp meets when they are all clear
SERVICE_TIME = 50  # nanoseconds that a warp rests when all its lanes wait to be served
DIVIDER_MASK = 0x3FFF  # the 16-bit divider in M-cycles


@wp.struct
class FrameLocals:
    end: wp.uint32
    release: wp.uint32


@wp.func(inline=False)
def launch_begin(c: wp.ref[Console], mem: Q, buttons: U, frames: U, release_after: U):
    """Hold `buttons` for `release_after` frames (0 or at least `frames`: to the end)."""
    o = FrameLocals()
    if c.trap == U(TRAP_STEPPED):
        c.trap = U(TRAP_STEP)
    o.end = frames * U(M_CYCLES_PER_FRAME)
    o.release = FAR
    if release_after > U(0) and release_after < frames:
        o.release = release_after * U(M_CYCLES_PER_FRAME)
    if c.mapper != U(FLAT):
        joypad_hold(c, mem, buttons, c.now)
    if c.trap == U(TRAP_STEP):
        o.end = c.now + FAR
    c.launch_end = o.end
    c.release_at = o.release
    c.work = U(0)
    c.deadline = c.now
    ppu_launch_begin(c, mem, frames)


@wp.func(inline=False)
def launch_end(c: wp.ref[Console], mem: Q, rom: Q, frames: U):
    """Bring the lazy parts to `c.now` and re-base every time by the launch's length."""
    now = c.now
    timer_sync(c, mem, now)
    apu_sync(c, mem, now)
    if c.mapper == U(MBC3):
        rtc_sync(c, now)
    if c.dma_state != U(0):
        dma_sync(c, mem, rom, now)
    length = wp.where(c.trap == U(TRAP_STEPPED), U(0), frames * U(M_CYCLES_PER_FRAME))
    c.now = now - length
    still = c.run_state != U(RUNNING) and (c.dma_state != U(0) or c.run_state == U(STOPPED))
    c.stop_time = wp.where(still, c.now, U(0))
    c.ei_time = wp.where(c.ime == U(2), c.ei_time - length, U(0))
    c.div_zero = c.now - ((now - c.div_zero) & U(DIVIDER_MASK))
    c.tima_mark = c.tima_mark - length
    c.timer_next = c.timer_next - length
    serial = c.serial_active != U(0)
    c.serial_start = wp.where(serial, c.serial_start - length, U(0))
    c.serial_edges = wp.where(serial, c.serial_edges, U(0))
    c.serial_end = wp.where(serial, c.serial_end - length, FAR)
    if c.dma_state != U(0):
        c.dma_start = c.dma_start - length
    if c.mapper == U(MBC3) and (c.rtc_days & U(RTC_HALT)) == U(0):
        c.rtc_zero = c.rtc_zero - length
    joypad_settle(c, mem, now)
    if c.joypad_target != U(0):
        c.joypad_settles = c.joypad_settles - length
    c.apu_mark = c.apu_mark - length
    if (c.apu_status & U(4)) != U(0):
        c.apu_wave_next = c.apu_wave_next - length * U(2)
    if c.mapper != U(FLAT):
        joypad_rest(mem)
    c.release_at = FAR
    c.launch_end = U(0)
    c.deadline = U(0)
    c.stable = U(0)
    ppu_launch_end(c, mem, length)


@wp.kernel(enable_backward=False, launch_bounds=(MAX_BLOCK, 1))
def begin_frames(
    machine: Machine,
    console: wp.array[Console],
    buttons: wp.array[wp.uint8],
    frames: wp.uint32,
    release_after: wp.uint32,
):
    """Thread env: `launch_begin`, unless the console is frozen."""
    env = wp.tid()
    if env < I(machine.num_envs):
        if console[env].stopped == U(0):
            mem = machine.ram_base + Q(env) * Q(machine.row_stride)
            launch_begin(console[env], mem, U(buttons[env]), frames, release_after)


@wp.func(inline=True)
def exchange(r: wp.ref[Registers], c: wp.ref[Console], b: wp.ref[Bases], box: U):
    """Post what a console that waits newly asks for, or take back what has been served."""
    if not goes_on(r):
        if r.posted == U(0):
            if not close_vram(r):
                hand_over(r, c, b)
                post(box, request_kind(r))
                r.posted = U(1)
        else:
            accept()
            take_back(r, c, b)
            r.posted = U(0)
            if r.asked != U(0):
                hang_up(box)  # the launch is over


@wp.func(inline=True)
def run_console(r: wp.ref[Registers], c: wp.ref[Console], b: wp.ref[Bases], box: U):
    """Run the console of this lane to the end of the launch, along with those of the warp.

    A trip of the inner loop is one instruction of each console that does not wait. It has one
    branch, for all that is rare. Whether any console goes on at all is looked at every few trips.
    """
    o = Operands()
    r.running = U(1)
    while r.running != U(0):
        r.together = U(1)
        while r.together != U(0):
            waits = mail(box)  # looked at behind the instruction, which hides how long it takes
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
                if meets:
                    r.together = meet(wp.where(goes_on(r), U(1), U(0)))
        r.running = meet(wp.where(r.asked < DONE, U(1), U(0)))
        r.trip = U(TRIPS_APART)
        rest(U(SERVICE_TIME))


@wp.struct
class ServerLocals:
    turn: wp.uint32


@wp.func(inline=True)
def serve_consoles(
    machine: wp.ref[Machine], b: wp.ref[Bases], board: Q, server: U, running: U, unknown: U
):
    """Serve what the running warps of the block post until all of them are done."""
    o = ServerLocals()
    o.turn = server
    while await_requests(board, running) != U(0):
        item = take(board, server, running, o.turn)
        o.turn = o.turn + U(1)
        if item != U(0):
            env = env_of(board, item)
            mem = machine.ram_base + Q(env) * Q(machine.row_stride)
            gather(machine.console[env].lo, mem, mem + Q(b.scratch))
            serve(machine.console[env], mem, b)
        converge(unknown)
        if item != U(0):
            answer(board, item)
    gathered()


@wp.kernel(enable_backward=False, grid_stride=False, launch_bounds=(MAX_BLOCK, 1))
def run_frames(
    machine: Machine,
    console: wp.array[Console],
    lanes: wp.uint32,
    running: wp.uint32,
    block: wp.uint32,
    blocks: wp.uint32,
    idle_skip: wp.uint32,
    unknown: wp.uint32,
):
    """The first `running` warps of each block run consoles, one a lane in their first `lanes`
    lanes; the others serve them. Every block gets warps from all along the order: no SM is left
    with the longest consoles alone.
    """
    t = U(wp.tid())
    warp = (t % block) >> U(5)
    slot = (warp * blocks + t / block) * lanes + (t & U(31))
    has_console = warp < running and (t & U(31)) < lanes and slot < machine.num_envs
    env = U(machine.order[I(wp.where(has_console, slot, U(0)))])
    b = Bases()
    find_bases(b, machine, idle_skip)
    board = open_board(env)
    if warp < running:
        box = mailbox(board)
        r = Registers()
        r.mem = machine.ram_base + Q(env) * Q(machine.row_stride)
        begin(r, console[env], b)
        if not has_console or console[env].launch_end == U(0):
            r.asked = DONE
            hang_up(box)
        run_console(r, console[env], b, box)
        leave(board)
    else:
        serve_consoles(machine, b, board, warp - running, running, unknown)


@wp.kernel(enable_backward=False, grid_stride=False, module="unique")  # a GPU never compiles it
def run_alone(machine: Machine, console: wp.array[Console], idle_skip: wp.uint32):
    """Thread env runs its console and serves it itself: the data path on a CPU."""
    env = U(wp.tid())
    b = Bases()
    find_bases(b, machine, idle_skip)
    r = Registers()
    r.mem = machine.ram_base + Q(env) * Q(machine.row_stride)
    begin(r, console[env], b)
    if console[env].launch_end == U(0):
        r.asked = DONE
    o = Operands()
    while r.asked < DONE:
        if not goes_on(r) and not close_vram(r):
            hand_over(r, console[env], b)
            serve(console[env], r.mem, b)
            take_back(r, console[env], b)
        load_row(r, b)
        execute(r, b, o)
        if o.unfinished:
            finish(r, console[env], b, o)


@wp.kernel(enable_backward=False, launch_bounds=(MAX_BLOCK, 1))
def end_frames(machine: Machine, console: wp.array[Console], frames: wp.uint32):
    """Thread env: `launch_end` of every console that has run."""
    env = wp.tid()
    if env < I(machine.num_envs):
        if console[env].launch_end != U(0):
            mem = machine.ram_base + Q(env) * Q(machine.row_stride)
            launch_end(console[env], mem, machine.rom_base, frames)


def launch(
    machine: Machine,
    buttons: wp.array,
    frames: int,
    release_after: int,
    shape: Shape,
    idle_skip: bool,
) -> None:
    """Run every console for `frames` frames."""
    n = int(machine.num_envs)
    console = machine.console
    device = buttons.device
    block = shape.block
    wp.launch(
        begin_frames, dim=n, inputs=[machine, console, buttons, frames, release_after],
        device=device, block_dim=block,
    )  # fmt: skip
    if device.is_cuda:
        blocks = -(-n // (shape.lanes * shape.running))
        wp.launch(
            run_frames, dim=blocks * block,
            inputs=[machine, console, shape.lanes,  shape.running, block, blocks,
                    int(idle_skip), 0xFFFFFFFF],
            device=device, block_dim=block,
        )  # fmt: skip
    else:
        wp.launch(run_alone, dim=n, inputs=[machine, console, int(idle_skip)], device=device)
    wp.launch(end_frames, dim=n, inputs=[machine, console, frames], device=device, block_dim=block)


@wp.kernel(enable_backward=False, launch_bounds=(MAX_BLOCK, 1))
def power_on(console: wp.array[Console], rows: wp.uint64, row_stride: wp.uint32):
    """Thread i completes the power-on state of console i: its address map and its PPU."""
    i = wp.tid()
    mem = rows + Q(i) * Q(row_stride)
    update_map(console[i])
    ppu_power_on(console[i], mem)


@wp.struct
class ResetLocals:
    place: wp.uint32


@wp.kernel(enable_backward=False, launch_bounds=(MAX_BLOCK, 1))
def reset_envs(
    machine: Machine,
    console: wp.array[Console],
    mask: wp.array[wp.uint8],
    source: wp.array[wp.int32],
    cached: wp.array[Console],
    cached_rows: wp.uint64,
    cached_stride: wp.uint32,
    row_bytes: wp.uint32,
    threads: wp.uint32,
):
    """Thread (env, i of `threads`): copy every i-th word of cached row `source[env]` into each
    masked env.

    The console record follows with thread 0; what belongs to the batch, not to the state (the trap,
    the serial log, the place of the ROM in the blob), stays.
    """
    env, thread = wp.tid()
    if mask[env] != wp.uint8(0):
        from_row = cached_rows + Q(source[env]) * Q(cached_stride)
        to_row = machine.ram_base + Q(env) * Q(machine.row_stride)
        o = ResetLocals()
        o.place = U(thread) * U(4)
        while o.place < row_bytes:
            st32(to_row + Q(o.place), ld32(from_row + Q(o.place)))
            o.place = o.place + threads * U(4)
        if thread == 0:
            trap = console[env].trap
            capacity = console[env].serial_capacity
            log = console[env].serial_log
            base = console[env].rom_base
            console[env] = cached[source[env]]
            console[env].trap = trap
            console[env].serial_capacity = capacity
            console[env].serial_log = log
            console[env].rom_base = base
            console[env].env = U(env)
            update_map(console[env])


@wp.kernel(enable_backward=False, launch_bounds=(MAX_BLOCK, 1))
def peek(
    machine: Machine,
    console: wp.array[Console],
    env: wp.int32,
    address: wp.uint32,
    n: wp.int32,
    out: wp.array[wp.uint8],
):
    """One thread reads n bytes as the CPU would, ignoring who owns VRAM and OAM just now."""
    mem = machine.ram_base + Q(env) * Q(machine.row_stride)
    for i in range(n):
        a = (address + U(i)) & U(0xFFFF)
        out[i] = wp.uint8(peek_bus(console[env], mem, machine.rom_base, a, console[env].now + U(1)))
