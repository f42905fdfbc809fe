"""Threaded code on a GPU, for the last consoles of a launch or for all: each is alone in its warp.

Where consoles are few the longest one sets the time, and lanes that share a warp gain nothing. So the first
lane of each warp executes threaded code (sm83/ptx_threaded_code.py). Other instructions run on the data path
of sm83/data_path.py, one at a time, and rare requests are served in the same lane, since no other lane waits
for it: no board, no serving warps. The data path's module begins and ends the launch. A CPU runs it for tests.
"""

from typing import Any, NamedTuple

import warp as wp

from emulator.constants import HRAM, P1, ROW_ORIGIN, STAT, VRAM, WRAM
from emulator.kernels.intrinsics import I, Q, U, ld8, ld32, row_address, st8
from emulator.kernels.sm83.cpu_registers import (
    UNREADY,
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
    wait_if_asked,
)
from emulator.kernels.sm83.data_path import C_BIT, Z_BIT, Operands, execute, fetch, finish, watch_for_loop
from emulator.kernels.sm83.interrupts import DI, EI, RETI
from emulator.kernels.sm83.ptx_threaded_code import NOTHING_MORE, More, source
from emulator.kernels.sm83.service_entry import READ_CYCLE, read_status_here, serve
from emulator.kernels.sm83.service_inline import (
    LONGEST,
    read_buttons,
    reads_plainly,
    select_buttons,
    set_bank,
    set_ime,
    stores_plainly,
    write_sound,
)
from emulator.kernels.sm83.service_requests import (
    ASK_READ,
    ASK_WRITE,
    ASKED_AT,
    DONE,
    HAS_WORD,
    leave_request,
    with_kind,
)
from emulator.launch.launch_shapes import TAIL_BLOCK
from emulator.launch.launch_tail import ENV_MASK, still_asks
from emulator.rom import control_rows
from emulator.state.batch import Batch, Console

WAITS = control_rows.WAITS
BRANCH_MASK, JR_WAITS, JP_WAITS = (0x7E7, 0x20 | WAITS, 0xC2 | WAITS)  # of a word: by condition, marked
LDH_MASK, LDH_A_N8, LDH_N8_A = 0x8003FF, 0xF0, 0xE0  # LDH A,(n8) and LDH (n8),A below FF80
RETI_MASK, RETI_OPCODE = 0x3FF, 0xD9
BANK_MASK, LD_BANK_A = 0xE00003FF, 0x200000EA  # LD (n16),A at 2000-3FFF
IME_MASK, DI_OR_EI = 0x3F7, 0xF3  # DI and EI
ALWAYS_SLOW = 0x80000080  # of `fast`: no code is plain, or FF00-FF7F is memory (flat)


@wp.func(inline=True)
def waits_at_end(word: U) -> wp.bool:
    kind = word & U(BRANCH_MASK)
    return kind == U(JR_WAITS) or kind == U(JP_WAITS)


@wp.func(inline=True)
def branch_back(r: wp.ref[Registers], b: wp.ref[Bases]):
    """Execute a conditional JR or JP that may close a waiting loop, and skip turns of the loop where allowed."""
    word = r.word
    flag = wp.where((word & U(0x10)) != U(0), r.hi & U(C_BIT), r.hi & U(Z_BIT))
    taken = (flag != U(0)) == ((word & U(8)) != U(0))
    far = wp.where((word & U(0x80)) != U(0), U(1), U(0))  # JP
    r.pc = r.pc + U(2) + far
    r.now = r.now + U(2) + far
    r.work = r.work + U(1)
    if taken:
        r.now = r.now + U(1)
        near = (r.pc + U(I(word << U(8)) >> I(24))) & U(0xFFFF)
        r.pc = wp.where(far != U(0), word >> U(16), near)
        if b.idle_skip != U(0):
            watch_for_loop(r, word)


@wp.func(inline=True)
def read_register(r: wp.ref[Registers], c: wp.ref[Console], b: wp.ref[Bases]):
    """Execute LDH A,(n8) of an I/O register, or leave a request for the service."""
    word = r.word
    a = U(0xFF00) | ((word >> U(16)) & U(0xFF))
    if r.given == U(0):
        r.memory = ld8(r.mem + Q(a - U(ROW_ORIGIN)))
        here = reads_plainly(r, a, r.now)
        if not here and a == U(STAT):
            here = read_status_here(r, c, b)
        elif not here and a == U(P1):
            here = read_buttons(r, c, r.now, U(READ_CYCLE))
        if not here:
            r.held = word
            ctl = ld32(row_address(b.control, U(LDH_A_N8)) + Q(24))
            leave_request(r.mem + Q(b.scratch), a, U(0), ctl, r.now)
            r.asked = with_kind(U(ASK_READ), a)
            wait_if_asked(r)
    if r.asked == U(0):
        r.given = U(0)
        r.hi = (r.hi & U(0x00FFFFFF)) | (r.memory << U(24))
        r.pc = r.pc + U(2)
        r.now = r.now + U(3)
        r.work = r.work + U(1)


@wp.func(inline=True)
def write_register(r: wp.ref[Registers], c: wp.ref[Console], b: wp.ref[Bases]):
    """Execute LDH (n8),A of an I/O register, or leave a request for the service."""
    a = U(0xFF00) | ((r.word >> U(16)) & U(0xFF))
    value = r.hi >> U(24)
    start = r.now
    p = r.mem + Q(a - U(ROW_ORIGIN))
    r.pc = r.pc + U(2)
    r.now = r.now + U(3)
    r.work = r.work + U(1)
    r.stable = r.now
    if stores_plainly(r, a, p, value, wp.bool(False), start):
        st8(p, value)
    elif not write_sound(r, c, a, value, start):
        ctl = ld32(row_address(b.control, U(LDH_N8_A)) + Q(24))
        if a == U(P1) and I(r.due - start) >= I(LONGEST):
            select_buttons(r, c, value, ctl, start)
        else:
            leave_request(r.mem + Q(b.scratch), a, value, ctl, start)
            r.asked = with_kind(U(ASK_WRITE), a)
            wait_if_asked(r)


@wp.func(inline=True)
def return_here(r: wp.ref[Registers], c: wp.ref[Console]) -> wp.bool:
    """Execute RETI with the stack in WRAM or HRAM; return False, with nothing done, if the stack is elsewhere."""
    sp = r.sp
    done = sp - U(WRAM) < U(0x1FFF) or sp - U(HRAM) < U(0x7E)
    if done:
        p = r.mem + Q(sp - U(ROW_ORIGIN))
        r.pc = ld8(p) | (ld8(p + Q(1)) << U(8))
        r.sp = (sp + U(2)) & U(0xFFFF)
        r.now = r.now + U(4)
        r.stable = r.now
        r.work = r.work + U(1)
        set_ime(r, c, U(RETI))
    return done


@wp.func(inline=True)
def write_mapper(r: wp.ref[Registers], c: wp.ref[Console]) -> wp.bool:
    """Execute LD (n16),A that only changes the ROM bank at 4000.

    Returns False, with nothing done, if the write may have other effects.
    """
    done = set_bank(r, c, r.word >> U(16), r.hi >> U(24))
    if done:
        r.pc = r.pc + U(3)
        r.now = r.now + U(4)
        r.stable = r.now
        r.work = r.work + U(1)
    return done


@wp.func(inline=True)
def switch_here(r: wp.ref[Registers], c: wp.ref[Console]):
    """Execute EI or DI."""
    kind = wp.where((r.word & U(8)) != U(0), U(EI), U(DI))
    r.pc = (r.pc + U(1)) & U(0xFFFF)
    r.now = r.now + U(1)
    r.stable = r.now
    r.work = r.work + U(1)
    set_ime(r, c, kind)


@wp.func(inline=True)
def is_mapped(r: wp.ref[Registers], c: wp.ref[Console]) -> wp.bool:
    """Return whether ROM bank 0 lies at 0000 and another bank at 4000, as the code table's branch targets require."""
    return r.rom_low == c.rom_base and r.rom_high + U(0x4000) != c.rom_base


@wp.struct
class Handed:
    """State of a console that threaded code takes over from the data path, used in its first turn."""

    over: wp.uint32  # 1: its registers lie in the mailbox already
    asks: wp.bool  # it waits for an answer
    fresh: wp.bool  # the instruction at PC may be plain: it is neither checked nor in `Registers.word`


class Kernels(NamedTuple):
    """Kernel of threaded code for one set of blocks, and the native function inside it."""

    run: Any
    """Native function that executes blocks; takes `Registers`, `Bases` and the code table's address."""
    frames: wp.Kernel


def _instruction_runner(run_threads: Any) -> Any:
    """Return the Warp function `run_on`, which executes plain instructions by `run_threads`."""

    @wp.func(inline=True)
    def run_on(
        r: wp.ref[Registers], c: wp.ref[Console], b: wp.ref[Bases], o: wp.ref[Operands], code: Q, fresh: wp.bool
    ):
        """Execute one instruction that is not plain, unless the console must wait, and plain ones up to the next.

        The first may be one that the service has fetched, so it comes from `r.word`; with `fresh` it may be plain. The
        commonest ones have a short path. Branch targets in the code table at `code` hold while bank 0 lies at 0000 and
        another one at 4000.
        """
        quick = goes_on(r) and (r.fast & U(ALWAYS_SLOW)) == U(0)
        if quick and fresh and r.given == U(0) and is_mapped(r, c) and r.pc < U(VRAM):
            r.asked = U(0)  # a plain instruction: `run_threads` below executes all
        elif quick and waits_at_end(r.word) and r.given == U(0):
            branch_back(r, b)
            load_word(r, b)
        elif quick and (r.word & U(LDH_MASK)) == U(LDH_A_N8):
            read_register(r, c, b)
            if r.asked == U(0):
                load_word(r, b)
        elif quick and (r.word & U(IME_MASK)) == U(DI_OR_EI) and r.given == U(0):
            switch_here(r, c)
            load_word(r, b)
        elif quick and (r.word & U(BANK_MASK)) == U(LD_BANK_A) and write_mapper(r, c):
            load_word(r, b)
        elif quick and (r.word & U(LDH_MASK)) == U(LDH_N8_A) and r.given == U(0):
            write_register(r, c, b)
            load_word(r, b)
        elif quick and (r.word & U(RETI_MASK)) == U(RETI_OPCODE) and return_here(r, c):
            load_word(r, b)
        else:
            if goes_on(r) and (r.word & U(UNREADY)) != U(0):
                fetch(r, b)  # in RAM: fetched in this same turn
            load_row(r, b)
            execute(r, b, o)
            if o.unfinished:
                finish(r, c, b, o)
        if goes_on(r) and r.given == U(0) and is_mapped(r, c) and r.pc < U(VRAM):
            run_threads(r, b, code)
            load_word(r, b)

    return run_on


def _console_runner(run_on: Any) -> Any:
    """Return the Warp function `run_console`, which calls `run_on` repeatedly."""

    @wp.func(inline=True)
    def run_console(batch: wp.ref[Batch], c: wp.ref[Console], entry: U, in_tail: U, code: Q, idle_skip: U):
        """Run the console of this thread, which is alone in its warp, to the end of the launch.

        `entry`: its env; with `in_tail` an entry of the list of `launch_tail.py`, whose console continues where the
        data path stopped. Requests are served in this thread, since no other lane waits meanwhile.
        """
        b = Bases()
        find_bases(b, batch, idle_skip)
        r = Registers()
        r.mem = batch.ram_base + Q(entry & U(ENV_MASK)) * Q(batch.row_stride)
        begin(r, c, b)
        if c.launch_end == U(0):
            r.asked = DONE
        h = Handed()
        h.over = in_tail
        h.asks = True
        if in_tail != U(0):
            r.work = c.work
            h.asks = still_asks(r.mem, b, entry)
        o = Operands()
        while r.asked < DONE:
            h.fresh = not goes_on(r)
            if not goes_on(r) and not close_vram(r):
                if h.over == U(0):
                    hand_over(r, c, b)
                if h.asks:
                    serve(c, r.mem, b)
                h.over = U(0)
                h.asks = True
                h.fresh = (ld32(r.mem + Q(b.scratch) + Q(U(ASKED_AT))) & U(HAS_WORD)) == U(0)
                take_back(r, c, b)
            run_on(r, c, b, o, code, h.fresh)

    return run_console


def make_kernels(more: More, module: str) -> Kernels:
    """Return the kernel that runs frames with the blocks of `more` added, in a Warp module called `module`."""

    @wp.func_native(source(more))
    def run_threads(r: wp.ref[Registers], b: wp.ref[Bases], code: Q):
        """Run plain instructions from `r.pc`, which is in ROM, until one is not plain or the deadline has come.

        `code`: address of the table of `ptx_threaded_code.code_table`.
        """
        ...

    run_console = _console_runner(_instruction_runner(run_threads))

    @wp.kernel(enable_backward=False, grid_stride=False, launch_bounds=(TAIL_BLOCK, 1), module=module)
    def run_frames_threaded(
        batch: Batch,
        console: wp.array[Console],
        code: wp.uint64,
        threads: wp.uint32,
        idle_skip: wp.uint32,
        in_tail: wp.uint32,
    ):
        """Run a console in every `threads`-th thread: the first of its warp, or each on a CPU.

        `in_tail`: run the consoles on the list of `launch_tail.py` instead of all.
        """
        t = U(wp.tid())
        slot = t / threads
        count = wp.where(in_tail != U(0), batch.tail[1], batch.num_envs)
        if t == slot * threads and slot < count:
            entry = wp.where(in_tail != U(0), batch.tail[I(slot) + 2], U(batch.order[I(slot)]))
            run_console(batch, console[entry & U(ENV_MASK)], entry, in_tail, code, idle_skip)

    return Kernels(run_threads, run_frames_threaded)


# Not the module of this file: there every call of `make_kernels` registers functions, and Warp would compile it anew.
run_threads, run_frames_threaded = make_kernels(NOTHING_MORE, f"{__name__}_plain")


def launch(
    batch: Batch, code: wp.array, most: int, whole: bool, idle_skip: bool, run_frames: wp.Kernel = run_frames_threaded
) -> None:
    """Run consoles to the end of a launch that has begun: all of the batch, or those on the list of `launch_tail.py`.

    `most`: the most consoles that there may be. `code`: table of `ptx_threaded_code.code_table` with block numbers of
    the kernel `run_frames`.
    """
    device = batch.console.device
    threads = 32 if device.is_cuda else 1
    wp.launch(
        run_frames,
        dim=-(-most * threads // TAIL_BLOCK) * TAIL_BLOCK,
        inputs=[batch, batch.console, code.ptr, threads, int(idle_skip), int(not whole)],
        device=device,
        block_dim=TAIL_BLOCK,
    )
