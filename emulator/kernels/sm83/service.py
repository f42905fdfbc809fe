"""The service of a console that waits: the short way if there is one, else `attend`."""

import warp as wp

from emulator.kernels.intrinsics import Q, U, ld32, st32
from emulator.kernels.sm83.attend import attend
from emulator.kernels.sm83.contract import ASKED_AT, NO_ANSWER
from emulator.kernels.sm83.quick_service import answer_quickly
from emulator.kernels.sm83.registers import Bases
from emulator.state.batch import Console


@wp.func(inline=True)
def serve(c: wp.ref[Console], mem: Q, b: wp.ref[Bases]):
    """Do what the mailbox of one console asks and leave the answer there."""
    p = mem + Q(b.scratch)
    asked = ld32(p + Q(U(ASKED_AT)))
    answer = answer_quickly(c, mem, p, b.words, asked, b.idle_skip)
    if answer == NO_ANSWER:
        answer = attend(c, mem, b.rom, b.control, p, asked, c.stable, b.idle_skip)
    st32(p + Q(U(ASKED_AT)), answer)
