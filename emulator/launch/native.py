"""Launch on a CPU core: one kernel, and instructions as C++ (sm83/cpp_instructions.py).

The data path of sm83/data_path.py keeps the lanes of a warp together; one CPU core has no lanes, and a jump
per instruction costs it a tenth of the byte permutes (docs/adr/0031). Everything but plain instructions is
shared: requests and answers are those of sm83/service_requests.py.
"""

from collections.abc import Callable
from typing import NamedTuple

import warp as wp

from emulator.kernels.intrinsics import ALL_ONES, FAR, I, Q, U, ld32, st32
from emulator.kernels.io.joypad import SETTLED, joypad_select
from emulator.kernels.memory.mapper import FLAT, MBC1, MBC3, MBC5
from emulator.kernels.ppu.vram_oam_access import PICTURE_PLAIN, STATUS_MARGIN, STATUS_PLAIN, ppu_vram_window
from emulator.kernels.sm83.cpp_instructions import source
from emulator.kernels.sm83.interrupts import switch_interrupts, switches_interrupts
from emulator.kernels.sm83.ptx_instructions import ALWAYS_SLOW
from emulator.kernels.sm83.ptx_operand_pages import MUST_BE_PLAIN
from emulator.kernels.sm83.service import answer_read, answer_write, attend
from emulator.kernels.sm83.service_inline import LONGEST, PLAIN_IO, PLAIN_PICTURE
from emulator.kernels.sm83.service_quick import answer_quickly
from emulator.kernels.sm83.service_requests import (
    ASK_CONTROL,
    ASK_FETCH,
    ASK_OAM_BUG,
    ASK_READ,
    ASK_WRITE,
    CONTROL_AT,
    DONE,
    HAS_MEMORY,
    MEMORY_AT,
    NO_ANSWER,
    SEEN,
    WINDOW_AT,
    WORD_AT,
    slow_kind,
)
from emulator.launch import reset_kernels
from emulator.launch.launch_boundary import launch_begin, launch_end
from emulator.rom import control_rows
from emulator.state.batch import Batch, Console


class CpuHotCode(NamedTuple):
    """Tables of the superblocks of a batch's ROMs, arrays on the CPU (hot_code/compile_cpu.py)."""

    table: wp.array
    """Addresses of the functions of all instructions and superblocks, uint64[TABLE_SIZE]."""
    words: wp.array
    """Predecoded words, uint32[bytes of all ROMs]; where a superblock begins, with its number."""


NOWHERE = wp.constant(wp.uint32(0xFFFFFFFF))
Pages = wp.types.vector(length=9, dtype=wp.uint64)
Bases = wp.types.vector(length=2, dtype=wp.uint64)


@wp.struct
class NativeState:
    """State of the generated C++ that is not in machine registers."""

    # Times as `t` of cpp_runtime.py: M-cycles << 24
    limit: wp.int64  # an instruction at or after this time must be checked before it is taken from `ip`
    due: wp.int64  # when `run` returns: the deadline, or sooner if the instruction count would overflow
    stable_t: wp.int64  # time until which the values that a loop has read stay the same
    deadline_t: wp.int64  # of the console's next event
    base: wp.uint64  # ip of PC 0 in the present bank
    soon: wp.int64  # the earlier of `due` and `close_t`
    close_t: wp.int64  # VRAM's page, found open, may close
    bases: Bases  # ip of PC 0 as seen from code at 0000, and at 4000
    reads: Pages  # address of each 8 KiB page less its first address, 0 if an access asks; HRAM
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
    # The address map from which `reads` and `writes` are derived
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
    # Superblocks (cpp_superblocks.py)
    table: wp.uint64  # of the functions; 0: the built-in one
    hot_words: wp.uint64  # `words`, but superblocks where they begin
    walked: wp.uint64  # the one of the two that `bases` lead to
    stack: wp.uint32  # beginning of WRAM or HRAM, where SP was
    stacks: wp.uint32  # values that SP has there with both bytes of an operand below the end


COPY_TABLE = 1 << 30
"""Argument `given` of `run` with which it only writes its functions' addresses to `h.table`."""
CONSTANTS = {
    "ASK_FETCH": ASK_FETCH, "ASK_READ": ASK_READ, "ASK_WRITE": ASK_WRITE,
    "ASK_OAM_BUG": ASK_OAM_BUG, "ASK_CONTROL": ASK_CONTROL, "HAS_MEMORY": HAS_MEMORY,
    "WORD_AT": WORD_AT, "MEMORY_AT": MEMORY_AT, "LONGEST": LONGEST, "PLAIN_IO": PLAIN_IO,
    "SETTLED": SETTLED, "FAR": int(FAR), "PLAIN_PICTURE": PLAIN_PICTURE,
    "PICTURE_PLAIN": int(PICTURE_PLAIN), "STATUS_PLAIN": int(STATUS_PLAIN),
    "STATUS_MARGIN": STATUS_MARGIN, "MBC1": MBC1, "MBC3": MBC3, "MBC5": MBC5,
    "SELECT_BUTTONS": joypad_select.native_func, "ANSWER_QUICKLY": answer_quickly.native_func,
    "ANSWER_READ": answer_read.native_func, "ANSWER_WRITE": answer_write.native_func,
    "NO_ANSWER": int(NO_ANSWER), "VRAM_WINDOW": ppu_vram_window.native_func,
    "FLAT": FLAT, "WINDOW_AT": WINDOW_AT,
    "WRITE_CYCLE_SHIFT": control_rows.WRITE_CYCLE_SHIFT,
    "ALWAYS_SLOW": ALWAYS_SLOW, "MUST_BE_PLAIN": MUST_BE_PLAIN, "COPY_TABLE": COPY_TABLE,
}  # fmt: skip
"""Constants that the C++ text uses by name, and functions: `look_up` calls them, so they stand in front of `run`."""


@wp.func_native(source(CONSTANTS))
def run(h: wp.ref[NativeState], c: wp.ref[Console], given: U) -> U:
    """Run instructions until the deadline or one that needs the service; return its request, an ASK_* number.

    `given`: the answer to the last request.
    """
    ...


@wp.struct
class NativeLocals:
    answer: wp.uint32
    asked: wp.uint32
    due: wp.bool
    running: wp.bool


@wp.func(inline=False)
def forget(h: wp.ref[NativeState], c: wp.ref[Console]):
    """Clear the state stored at the last backward branch, so that no waiting loop is skipped before two new visits."""
    h.seen_pc = NOWHERE
    h.seen_time = c.now
    st32(h.scratch + Q(U(SEEN)), U(1))  # `attend` clears it when it wants `forget` called again


@wp.func(inline=False)
def begin_native(
    h: wp.ref[NativeState], c: wp.ref[Console], batch: Batch, mem: Q, idle_skip: U, table: Q, hot_words: Q
):
    h.mem = mem
    h.rom = batch.rom_base
    h.words = batch.words_base
    h.control = batch.control_base
    h.scratch = mem + Q(batch.scratch)
    h.table = table
    h.hot_words = wp.where(table != Q(0), hot_words, batch.words_base)
    h.idle_skip = idle_skip
    h.fast = ALL_ONES  # no map yet
    h.stable = c.now
    h.vram_until = c.now
    h.asked = U(0)
    forget(h, c)


@wp.func
def do_at_once(h: wp.ref[NativeState], c: wp.ref[Console], asked: U) -> U:
    """Serve the request `asked` if it is EI, DI or RETI; return 0 then, else `asked`."""
    kind = slow_kind(ld32(h.scratch + Q(U(CONTROL_AT))))
    done = asked == U(ASK_CONTROL) and switches_interrupts(kind)
    if done:
        switch_interrupts(c, h.mem, kind, c.now)
    return wp.where(done, U(0), asked)


@wp.func
def look_up(h: wp.ref[NativeState], c: wp.ref[Console]) -> U:
    """Serve the request in the mailbox, by `answer_quickly` if it can, else by `attend`; return the answer."""
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
def run_frames_native(
    batch: Batch,
    console: wp.array[Console],
    buttons: wp.array[wp.uint8],
    frames: wp.uint32,
    release_after: wp.uint32,
    idle_skip: wp.uint32,
    table: wp.uint64,
    hot_words: wp.uint64,
):
    """Run one console in each thread from the beginning of the launch to its end.

    `table` and `hot_words`: addresses of the arrays of `CpuHotCode`, 0 without superblocks.
    """
    env = wp.tid()
    mem = batch.ram_base + Q(env) * Q(batch.row_stride)
    if console[env].stopped == U(0):
        launch_begin(console[env], mem, U(buttons[env]), frames, release_after)
    if console[env].launch_end != U(0):
        h = NativeState()
        o = NativeLocals()
        begin_native(h, console[env], batch, mem, idle_skip, table, hot_words)
        st32(h.scratch + Q(U(WINDOW_AT)), h.vram_until)
        o.running = wp.bool(True)
        while o.running:
            o.answer = U(0)
            o.due = I(console[env].now - console[env].deadline) >= I(0)
            if h.asked != U(0) or o.due or (console[env].fast >> U(31)) != U(0):
                o.answer = look_up(h, console[env])
                o.running = o.answer != DONE
            if o.running:
                asked = run(h, console[env], o.answer)
                h.asked = do_at_once(h, console[env], asked)
        launch_end(console[env], mem, batch.rom_base, frames)


@wp.kernel(enable_backward=False)
def copy_table(console: wp.array[Console], table: wp.uint64):
    """Write the TABLE_SIZE 64-bit addresses of the functions of `run` to the memory at `table`."""
    h = NativeState()
    h.table = table
    if table == Q(0):
        look_up(h, console[0])  # never: it puts the functions that `run` calls in front of it
    run(h, console[0], U(COPY_TABLE))


power_on, reset_envs, peek, store = reset_kernels.of_module(__name__)


def launch(
    batch: Batch,
    buttons: wp.array,
    frames: int,
    release_after: int,
    idle_skip: bool,
    launch: Callable = wp.launch,
    hot: CpuHotCode | None = None,
) -> None:
    """Run every console for `frames` frames on the CPU; `hot`: superblocks of the ROMs, or None."""
    given = (hot.table.ptr, hot.words.ptr) if hot else (0, 0)
    inputs = [batch, batch.console, buttons, frames, release_after, int(idle_skip), *given]
    launch(run_frames_native, dim=int(batch.num_envs), inputs=inputs, device=buttons.device)
