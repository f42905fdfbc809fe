"""Tail of a launch: the last running consoles leave the data path for threaded code.

With thousands of consoles the data path is fastest, but the launch lasts as long as its longest console, which runs
alone in the end, at the data path's pace. So once few are left they are passed on (ADR 30): a console's last request
and its registers are in its mailbox already; threaded code answers the request first. Only the count of executed
instructions may differ: threaded code skips other turns of loops that wait.

`Batch.tail` holds 32-bit words: the number of consoles that have finished or never began, the number of listed ones,
and the list, each entry an env with its request in the upper bits. The serving warps write it; a running lane only
reads the first word, now and then, to request to leave if it has no other request.
"""

import warp as wp

from emulator.kernels.intrinsics import Q, U, ld32, st32
from emulator.kernels.sm83.cpu_registers import Bases
from emulator.kernels.sm83.service_entry import serve
from emulator.kernels.sm83.service_requests import ASK_LEAVE, ASKED_AT, DONE
from emulator.state.batch import Console

ASKED_SHIFT = 24  # shift of the request in an entry of the list; below it lies the env
ENV_MASK = 0x3FFFFF
NEVER = 0xFFFFFFFF  # consoles that must be done before others leave


@wp.func_native("""
#if defined(__CUDA_ARCH__)
unsigned int done; asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(done) : "l"(tail));
return done >= enough ? 1u : 0u;
#else
return *(const unsigned int*)tail >= enough ? 1u : 0u;
#endif
""")
def few_left(tail: Q, enough: U) -> U:
    """Return 1 if at least `enough` consoles have finished the launch, so that only few are left."""
    ...


# Not `relaxed`: for a strong load in a loop, however rare, the compiler yields the warp at every trip. A load that
# takes no place in L1 reads the same L2 that all consoles count in.
@wp.func_native("""
#if defined(__CUDA_ARCH__)
unsigned int done;
asm volatile("ld.global.L1::no_allocate.u32 %0, [%1];" : "=r"(done) : "l"(tail));
return done >= enough ? 1u : 0u;
#else
return *(const unsigned int*)tail >= enough ? 1u : 0u;
#endif
""")
def few_seem_left(tail: Q, enough: U) -> U:
    """Return `few_left` from a cheaper load, whose result may be out of date."""
    ...


@wp.func_native("""
#if defined(__CUDA_ARCH__)
atomicAdd((unsigned int*)tail, 1u);
#else
++*(unsigned int*)tail;
#endif
""")
def count_done(tail: Q):
    """Add one console to those that have finished the launch, or do not take part in it."""
    ...


@wp.func_native("""
unsigned int* words = (unsigned int*)tail;
#if defined(__CUDA_ARCH__)
unsigned int place = atomicAdd(&words[1], 1u);
#else
unsigned int place = words[1]++;
#endif
words[2 + place] = entry;
""")
def list_console(tail: Q, entry: U):
    """Append `entry`, an env with its request, to the list of consoles to continue in threaded code."""
    ...


@wp.func(inline=True)
def serve_or_pass_on(c: wp.ref[Console], mem: Q, b: wp.ref[Bases], tail: Q, env: U, enough: U):
    """Serve the request of console `env`, or list it for threaded code if few consoles are left.

    A listed console is marked as done, which ends the launch for its lane.
    """
    p = mem + Q(b.scratch) + Q(U(ASKED_AT))
    if few_left(tail, enough) != U(0):
        list_console(tail, env | (ld32(p) << U(ASKED_SHIFT)))
        st32(p, DONE)
    else:
        serve(c, mem, b)
        if (ld32(p) & DONE) != U(0):
            count_done(tail)


@wp.func(inline=True)
def still_asks(mem: Q, b: wp.ref[Bases], entry: U) -> wp.bool:
    """Restore the request of a listed console in its mailbox; return False if it only asked to leave the data path."""
    asked = (entry >> U(ASKED_SHIFT)) & U(ASK_LEAVE - 1)
    st32(mem + Q(b.scratch) + Q(U(ASKED_AT)), asked)
    return (entry >> U(ASKED_SHIFT)) != U(ASK_LEAVE)
