"""Functions by which a GPU's executors call the service: `serve`, and a short path for reads of STAT.

`serve` answers by `service_quick` if that can, else by `attend`.
"""

import warp as wp

from emulator.kernels.intrinsics import I, Q, U, ld32, st32
from emulator.kernels.ppu.stat_interrupt import FAST_VRAM
from emulator.kernels.sm83.cpu_registers import Bases, Registers, open_vram
from emulator.kernels.sm83.service import attend
from emulator.kernels.sm83.service_quick import (
    Status,
    after_turns,
    answer_quickly,
    find_loop,
    read_in_loop,
    window_after,
)
from emulator.kernels.sm83.service_requests import ASKED_AT, NO_ANSWER
from emulator.rom import isa
from emulator.state.batch import Console


@wp.func(inline=True)
def serve(c: wp.ref[Console], mem: Q, b: wp.ref[Bases]):
    """Serve the request in a console's mailbox and store the answer there."""
    p = mem + Q(b.scratch)
    asked = ld32(p + Q(U(ASKED_AT)))
    answer = answer_quickly(c, mem, p, b.words, asked, b.idle_skip)
    if answer == NO_ANSWER:
        answer = attend(c, mem, b.rom, b.control, p, asked, c.stable, b.idle_skip)
    st32(p + Q(U(ASKED_AT)), answer)


LONGEST = isa.LONGEST
READ_CYCLE = 3  # of LDH A,(n8): the M-cycle in which it reads


@wp.func(inline=True)
def read_status_here(r: wp.ref[Registers], c: wp.ref[Console], b: wp.ref[Bases]) -> wp.bool:
    """Read STAT for LDH A,(41) at PC into `r.memory`, after skipping turns of a loop that waits for HBlank.

    It also updates until when VRAM is accessible. Returns False, with nothing done, if only the service can do it.
    """
    s = Status()
    s.loop = U(0)
    s.hblank = wp.bool(False)
    s.value = U(0)
    if I(r.due - r.now) > I(LONGEST):
        if b.idle_skip != U(0):
            find_loop(s, b.words, r.word, r.pc, r.rom_low, r.rom_high)
        stable = read_in_loop(s, c, r.mem, r.now + U(READ_CYCLE), r.now, r.due, r.stable)
        if s.value != U(0):
            r.stable = stable
            r.now = r.now + s.passed
            r.hi = after_turns(s, r.hi)
            r.memory = s.value
            r.vram_until = window_after(c, r.mem, r.now, s.value)
            r.fast = c.fast
            r.deadline = r.due
            if (r.fast & FAST_VRAM) == U(0):
                open_vram(r)
    return s.value != U(0)
