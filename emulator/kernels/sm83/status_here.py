"""STAT as a lone lane reads it (launch/threaded.py): the answer of sm83/quick_service.py without
the question, so that registers stay where they are. Programs poll it before every byte for VRAM.
"""

import warp as wp

from emulator.kernels.intrinsics import I, U
from emulator.kernels.ppu.stat import FAST_VRAM
from emulator.kernels.sm83.quick_service import (
    Status,
    after_turns,
    find_loop,
    read_in_loop,
    window_after,
)
from emulator.kernels.sm83.registers import Bases, Registers, open_vram
from emulator.rom import isa
from emulator.state.batch import Console

LONGEST = isa.LONGEST
READ_CYCLE = 3  # of LDH A,(n8): the M-cycle in which it reads


@wp.func(inline=True)
def read_status_here(r: wp.ref[Registers], c: wp.ref[Console], b: wp.ref[Bases]) -> wp.bool:
    """LDH A,(41) at PC, up to the read: STAT is in `r.memory`, turns of a loop that waits for
    HBlank have passed, and it is known how long VRAM is open. False, with nothing done, if that
    takes a closer look."""
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
