"""The launch on a CPU core: one kernel, and instructions as generated C++ (kernels/host_code.py).

The data path of kernels/cpu.py keeps the lanes of a warp together; one CPU core has no lanes, and
a jump per instruction costs it a tenth of the byte permutes (docs/adr/0007). Everything but plain
instructions is shared: requests and answers of `attend` (kernels/cpu_slow.py) are the same.
"""

from collections.abc import Callable

import warp as wp

from emulator import isa
from emulator.kernels import frame
from emulator.kernels.cpu_slow import (
    ANSWER,
    ASK_CONTROL,
    ASK_FETCH,
    ASK_OAM_BUG,
    ASK_READ,
    ASK_WRITE,
    ASKED,
    DONE,
    HAS_MEMORY,
    MEMORY_AT,
    SEEN,
    WINDOW_AT,
    WORD_AT,
    attend,
    slow_kind,
)
from emulator.kernels.frame import launch_begin, launch_end
from emulator.kernels.host_code import source
from emulator.kernels.in_place import LONGEST, PLAIN_IO, PLAIN_PICTURE
from emulator.kernels.interrupts import switch_interrupts, switches_interrupts
from emulator.kernels.intrinsics import ALL_ONES, FAR, I, Q, U, ld32, st32
from emulator.kernels.joypad import SETTLED
from emulator.kernels.mapper import switch_bank, switches_bank
from emulator.kernels.ppu_access import PICTURE_PLAIN, STATUS_MARGIN, STATUS_PLAIN
from emulator.kernels.quick_service import NO_ANSWER, answer_quickly
from emulator.machine import Console, Machine

WRITE16 = isa.WRITE16
NOWHERE = wp.constant(wp.uint32(0xFFFFFFFF))
Pages = wp.types.vector(length=8, dtype=wp.uint64)


@wp.struct
class Host:
    """What the generated code keeps beside its machine registers."""

    # The next instruction may be taken from `ip` before this time; the deadline; writes, ...
    limit: wp.int64
    due: wp.int64
    stable_t: wp.int64
    deadline_t: wp.int64
    base: wp.uint64  # ip of PC 0 in the present bank
    reads: Pages  # address of each 8 KiB page less its first address, 0 if an access asks
    writes: Pages
    window: wp.uint32  # PC bits 14-15 of the present bank
    sp: wp.uint32
    # Between a function and the next
    address: wp.uint32
    value: wp.uint32
    memory: wp.uint32
    asked: wp.uint32
    # Idle-loop skipping: the state at the last backward branch
    seen_first: wp.uint64
    seen_second: wp.uint64
    seen_pc: wp.uint32
    seen_time: wp.uint32
    stable: wp.uint32
    vram_until: wp.uint32
    idle_skip: wp.uint32
    # The map that `reads` and `writes` are made of
    fast: wp.uint32
    rom_low: wp.uint32
    rom_high: wp.uint32
    ram_offset: wp.uint32
    console: wp.uint64
    mem: wp.uint64
    rom: wp.uint64
    words: wp.uint64
    control: wp.uint64
    scratch: wp.uint64


TEXT = source(
    {
        "ASK_FETCH": ASK_FETCH, "ASK_READ": ASK_READ, "ASK_WRITE": ASK_WRITE,
        "ASK_OAM_BUG": ASK_OAM_BUG, "ASK_CONTROL": ASK_CONTROL, "HAS_MEMORY": HAS_MEMORY,
        "WORD_AT": WORD_AT, "MEMORY_AT": MEMORY_AT, "LONGEST": LONGEST, "PLAIN_IO": PLAIN_IO,
        "SETTLED": SETTLED, "FAR": int(FAR), "PLAIN_PICTURE": PLAIN_PICTURE,
        "PICTURE_PLAIN": int(PICTURE_PLAIN), "STATUS_PLAIN": int(STATUS_PLAIN),
        "STATUS_MARGIN": STATUS_MARGIN,
    }
)  # fmt: skip


@wp.func_native(TEXT)
def run(h: wp.ref[Host], c: wp.ref[Console], given: U) -> U:
    """Run plain instructions until the deadline has come or `attend` is wanted; what is asked."""
    ...


@wp.struct
class HostLocals:
    answer: wp.uint32
    asked: wp.uint32
    due: wp.bool
    running: wp.bool


@wp.func(inline=False)
def forget(h: wp.ref[Host], c: wp.ref[Console]):
    """Nothing seen: a skip needs two equal visits with stable reads between."""
    h.seen_pc = NOWHERE
    h.seen_time = c.now
    st32(h.scratch + Q(U(SEEN)), U(1))  # `attend` clears it when it wants this again


@wp.func(inline=False)
def begin_host(h: wp.ref[Host], c: wp.ref[Console], machine: Machine, mem: Q, idle_skip: U):
    h.mem = mem
    h.rom = machine.rom_base
    h.words = machine.words_base
    h.control = machine.control_base
    h.scratch = mem + Q(machine.scratch)
    h.idle_skip = idle_skip
    h.fast = ALL_ONES  # no map yet
    h.stable = c.now
    h.vram_until = c.now
    h.asked = U(0)
    forget(h, c)


@wp.func
def serve(h: wp.ref[Host], c: wp.ref[Console], asked: U) -> U:
    """Do what is asked if that is quick; what is still asked."""
    o = HostLocals()
    o.asked = asked
    a = ld32(h.scratch + Q(U(ASKED)))
    ctl = ld32(h.scratch + Q(U(ASKED + 8)))
    if asked == U(ASK_CONTROL):
        if switches_interrupts(slow_kind(ctl)):
            switch_interrupts(c, h.mem, slow_kind(ctl), c.now)
            o.asked = U(0)
    elif asked == U(ASK_WRITE) and (a & U(0xE000)) == U(0x2000) and (ctl & U(WRITE16)) == U(0):
        if c.dma_state == U(0) and switches_bank(c):
            switch_bank(c, a, ld32(h.scratch + Q(U(ASKED + 4))) & U(0xFF))
            o.asked = U(0)
    return o.asked


@wp.func
def look_up(h: wp.ref[Host], c: wp.ref[Console]) -> U:
    """`attend` with what is asked, unless the answer is quickly given; the answer."""
    c.stable = h.stable
    answer = answer_quickly(c, h.mem, h.scratch, h.words, h.asked, h.idle_skip)
    if answer == NO_ANSWER:
        answer = attend(c, h.mem, h.rom, h.control, h.scratch, h.asked, h.stable, h.idle_skip)
    h.stable = c.stable
    h.vram_until = ld32(h.scratch + Q(U(WINDOW_AT)))
    if ld32(h.scratch + Q(U(SEEN))) == U(0):
        forget(h, c)
    return answer


@wp.kernel(enable_backward=False)
def run_frames_host(
    machine: Machine,
    console: wp.array[Console],
    buttons: wp.array[wp.uint8],
    frames: wp.uint32,
    release_after: wp.uint32,
    idle_skip: wp.uint32,
):
    """Thread env runs one console from the beginning of the launch to its end."""
    env = wp.tid()
    mem = machine.ram_base + Q(env) * Q(machine.row_stride)
    if console[env].stopped == U(0):
        launch_begin(console[env], mem, U(buttons[env]), frames, release_after)
    if console[env].launch_end != U(0):
        h = Host()
        o = HostLocals()
        begin_host(h, console[env], machine, mem, idle_skip)
        st32(h.scratch + Q(U(ANSWER + 8)), h.vram_until)
        o.running = wp.bool(True)
        while o.running:
            o.answer = U(0)
            o.due = I(console[env].now - console[env].deadline) >= I(0)
            if h.asked != U(0) or o.due or (console[env].fast >> U(31)) != U(0):
                o.answer = look_up(h, console[env])
                o.running = o.answer != DONE
            if o.running:
                asked = run(h, console[env], o.answer)
                h.asked = serve(h, console[env], asked)
        launch_end(console[env], mem, machine.rom_base, frames)


# The same kernels once more: compiled with this module, on a CPU nobody compiles `frame`.
power_on = wp.kernel(frame.power_on.func, enable_backward=False, module=__name__)
reset_envs = wp.kernel(frame.reset_envs.func, enable_backward=False, module=__name__)
peek = wp.kernel(frame.peek.func, enable_backward=False, module=__name__)


def launch(
    machine: Machine,
    buttons: wp.array,
    frames: int,
    release_after: int,
    idle_skip: bool,
    launch: Callable = wp.launch,
) -> None:
    """Run every console for `frames` frames."""
    inputs = [machine, machine.console, buttons, frames, release_after, int(idle_skip)]
    launch(run_frames_host, dim=int(machine.num_envs), inputs=inputs, device=buttons.device)
