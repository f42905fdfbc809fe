"""How the warps of a block split their work: some run consoles, others serve what those ask for.

The board lies in the block's shared memory. A lane that comes to something rare posts its request
under the request's kind and waits; its warp goes on with the other lanes. A serving warp takes up
to 32 requests of one kind from all over the block, so that its lanes take the same way through
code that is far from the instruction caches, and marks them answered. Nobody waits at a block
barrier.

Words of the board: requests of each kind, the requests themselves (kind by warp, a bit per lane),
running warps that are done, picked requests of each serving warp, the env and the mailbox of each
lane.

A mailbox is 1 while its lane has to wait. Its lane sets it before it posts, and the serving warp
clears it behind all that it has done. In between, the fences in `post` and `take` put what the lane
has written before what the server reads; those in `answer` and `accept`, the other way round: a
message is passed each time, for which fences that acquire and release suffice. So a lane may look
at its mailbox as early as it likes: a 0 that it has seen stays true until it posts.
"""

import re

import warp as wp

from emulator.constants import MAX_BLOCK
from emulator.kernels.intrinsics import Q, U
from emulator.shapes import MOST_SERVING

# Where each part of the board begins, in words.
PLACES = {"COUNTS": 0, "REQUESTS": 16, "LEFT": 528, "PICKED": 529}
PLACES["ENVS"] = PLACES["PICKED"] + 32 * MOST_SERVING
PLACES["MAILBOXES"] = PLACES["ENVS"] + MAX_BLOCK
PLACES["WORDS"] = PLACES["MAILBOXES"] + MAX_BLOCK


def placed(code: str) -> str:
    """Native code in which the parts of the board, there named, are numbers."""
    return re.sub("[A-Z]{4,}", lambda name: str(PLACES.get(name[0], name[0])), code)


@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
__shared__ unsigned int words[WORDS];
for (unsigned int i = threadIdx.x; i < PICKED; i += blockDim.x) words[i] = 0;
words[ENVS + threadIdx.x] = env;
words[MAILBOXES + threadIdx.x] = 0;
__syncthreads();
return (unsigned long long)words;
#else
return 0;
#endif
""")
)
def open_board(env: U) -> Q:
    """An empty board, with the console `env` of each thread. All threads of the block must come."""
    ...


@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
unsigned int* words = (unsigned int*)board;
((volatile unsigned int*)words)[MAILBOXES + threadIdx.x] = 1;
asm volatile("fence.acq_rel.cta;" ::: "memory");
atomicOr(&words[REQUESTS + kind * 32 + (threadIdx.x >> 5)], 1u << (threadIdx.x & 31));
atomicAdd(&words[kind], 1u);
#endif
""")
)
def post(board: Q, kind: U):
    """Ask for service; what `serve` needs must have been written before. `kind`: 0 to 15."""
    ...


# A shared address that the compiler has to keep, instead of finding it anew for every look.
@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
unsigned int box;
asm volatile("mov.b32 %0, %1;" : "=r"(box)
    : "r"((unsigned int)__cvta_generic_to_shared((unsigned int*)board + MAILBOXES + threadIdx.x)));
return box;
#else
return 0;
#endif
""")
)
def mailbox(board: Q) -> U:
    """Where `mail` looks."""
    ...


@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
unsigned int v; asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(v) : "r"(box) : "memory");
return v;
#else
return 0;
#endif
""")
)
def mail(box: U) -> U:
    """0 if this lane may post, or if it has posted and been answered; 1 while it must wait."""
    ...


# What `serve` has written is read behind this.
@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
asm volatile("fence.acq_rel.cta;" ::: "memory");
#endif
""")
)
def accept(board: Q):
    """Take the answer that `mail` has shown."""
    ...


@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
((volatile unsigned int*)board)[MAILBOXES + threadIdx.x] = 1;
#endif
""")
)
def hang_up(board: Q):
    """This lane has nothing to ask any more: `mail` is 1 from now on."""
    ...


@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
unsigned int* words = (unsigned int*)board;
asm volatile("fence.acq_rel.cta;" ::: "memory");
if ((threadIdx.x & 31) == 0) atomicAdd(&words[LEFT], 1u);
#endif
""")
)
def leave(board: Q):
    """A running warp has no console left to run."""
    ...


# Most serving warps have nothing to do most of the time, and share a scheduler with running ones:
# an idle look is a dozen machine instructions.
@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
unsigned int lane = threadIdx.x & 31, found;
for (;;) {
    int word = lane <= 16 ? *(volatile int*)((int*)board + (lane < 16 ? lane : LEFT)) : 0;
    found = __ballot_sync(0xffffffffu, word >= (lane < 16 ? 1 : lane == 16 ? (int)running : 1));
    if (found) break;
    __nanosleep(100);
}
return found & 0xffffu;
#else
return 0;
#endif
""")
)
def await_requests(board: Q, running: U) -> U:
    """Wait for requests; 0 once all `running` warps have left. For whole warps only."""
    ...


# Counts are hints (a request is posted before it is counted); the request bits decide.
@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
unsigned int* words = (unsigned int*)board;
unsigned int* picked = words + PICKED + 32 * server;
unsigned int lane = threadIdx.x & 31;
int waiting = lane < 16 ? *(volatile int*)&words[lane] : 0;
unsigned int rank = (turn & 3) ? (unsigned int)waiting : 16 - ((lane - (turn >> 2)) & 15);
unsigned int best = __reduce_max_sync(0xffffffffu, waiting > 0 ? rank << 4 | lane : 0u);
if (!best) return 0;
unsigned int kind = best & 15, bits = atomicExch(&words[REQUESTS + kind * 32 + lane], 0u);
unsigned int count = __popc(bits), end = count;
for (unsigned int step = 1; step < 32; step <<= 1) {
    unsigned int below = __shfl_up_sync(0xffffffffu, end, step);
    if (lane >= step) end += below;
}
unsigned int total = min(__shfl_sync(0xffffffffu, end, 31), 32u);
for (unsigned int i = end - count; i < min(end, 32u); i++, bits &= bits - 1)
    picked[i] = (lane << 5) + __ffs(bits);
if (bits) atomicOr(&words[REQUESTS + kind * 32 + lane], bits);
if (lane == 0 && total) atomicSub(&words[kind], total);
__syncwarp();
unsigned int item = lane < total ? picked[lane] : 0;
__syncwarp();
asm volatile("fence.acq_rel.cta;" ::: "memory");
return item;
#else
return 0;
#endif
""")
)
def take(board: Q, server: U, turn: U) -> U:
    """A request for each lane, all of one kind: 1 + its thread, or 0. For whole warps only.

    The kind with most requests, at every fourth turn each in its turn, so that none starves.
    """
    ...


@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
return ((unsigned int*)board)[ENVS + item - 1];
#else
return 0;
#endif
""")
)
def env_of(board: Q, item: U) -> U:
    """The console behind a request."""
    ...


@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
asm volatile("fence.acq_rel.cta;" ::: "memory");
((volatile unsigned int*)board)[MAILBOXES + item - 1] = 0;
#endif
""")
)
def answer(board: Q, item: U):
    """What was asked is done and written."""
    ...


@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
__nanosleep(nanoseconds);
#endif
""")
)
def rest(nanoseconds: U):
    """Leave the issue slots to others for a while."""
    ...
