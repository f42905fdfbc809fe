"""Board of a block: some of its warps run consoles, others serve their requests.

The board lies in the block's shared memory. A lane that comes to something rare posts its request under the
request's kind and waits; its warp goes on with the other lanes. A serving warp takes up to 32 requests of one
kind from all over the block, so that its lanes take the same way through code that is far from the
instruction caches, and marks them answered. No warp waits at a block barrier.

Words of the board: a byte for each thread that may run a console, running warps that are done, the servers'
lock, picked requests of each serving warp, the env of each thread.

A thread's byte is 0 while its console runs or has been answered, the kind of its request from `post` on,
TAKEN from `take` to `answer`, and GONE when its launch is over. Servers take turns by a lock, lanes just
store: an atomic operation or a volatile store inside the hot loop would have the compiler yield the warp at
every trip, which costs 50 cycles.

The fences in `post` and `take` order the lane's writes before the server's reads; the fences in `answer` and
`accept`, the other way round: a message is passed each time, for which fences that acquire and release
suffice. So a lane may read its byte as early as it likes: a 0 stays true until it posts.
"""

import re

import warp as wp

from emulator.constants import MAX_BLOCK
from emulator.kernels.intrinsics import Q, U
from emulator.launch.launch_shapes import MOST_RUNNING, MOST_SERVING

# Offset of each part of the board, in words, and two values of a byte.
PLACES = {"REQUESTS": 0, "LEFT": 8 * MOST_RUNNING, "LOCK": 8 * MOST_RUNNING + 1}
PLACES["PICKED"] = PLACES["LOCK"] + 1
PLACES["ENVS"] = PLACES["PICKED"] + 32 * MOST_SERVING
PLACES["WORDS"] = PLACES["ENVS"] + MAX_BLOCK
PLACES["TAKEN"] = 0x40
PLACES["GONE"] = 0x80


def placed(code: str) -> str:
    """Return C++ text with the names of the board's parts replaced by their offsets."""
    return re.sub("[A-Z]{4,}", lambda name: str(PLACES.get(name[0], name[0])), code)


@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
__shared__ __align__(16) unsigned int words[WORDS];
for (unsigned int i = threadIdx.x; i < PICKED; i += blockDim.x) words[i] = 0;
words[ENVS + threadIdx.x] = env;
__syncthreads();
return (unsigned long long)words;
#else
return 0;
#endif
""")
)
def open_board(env: U) -> Q:
    """Initialise the board in shared memory and return its address; `env` is this thread's console.

    All threads of the block must call it.
    """
    ...


# A shared address that the compiler has to keep, instead of computing it anew for every read.
@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
unsigned int box;
asm volatile("mov.b32 %0, %1;" : "=r"(box)
    : "r"((unsigned int)__cvta_generic_to_shared((unsigned char*)board + threadIdx.x)));
return box;
#else
return 0;
#endif
""")
)
def mailbox(board: Q) -> U:
    """Return the address of this lane's byte on the board."""
    ...


@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
unsigned int v; asm volatile("ld.shared.u8 %0, [%1];" : "=r"(v) : "r"(box) : "memory");
return v;
#else
return 0;
#endif
""")
)
def mail(box: U) -> U:
    """Return 0 if this lane may post, or if its request has been answered; other values: it must wait."""
    ...


@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
asm volatile("fence.acq_rel.cta; st.shared.u8 [%0], %1;" :: "r"(box), "r"(kind) : "memory");
#endif
""")
)
def post(box: U, kind: U):
    """Post a request of `kind` 1 to 15 at this lane's byte; the request's data must have been written before."""
    ...


# Data that `serve` has written is read after this.
@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
asm volatile("fence.acq_rel.cta;" ::: "memory");
#endif
""")
)
def accept():
    """Order the reads of an answer after `mail` has returned 0 (memory fence)."""
    ...


@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
asm volatile("st.shared.u8 [%0], %1;" :: "r"(box), "r"(GONE) : "memory");
#endif
""")
)
def hang_up(box: U):
    """Mark this lane's launch as over: `mail` is not 0 from then on."""
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
    """Count this running warp as done: none of its consoles is left to run."""
    ...


# Most serving warps are idle most of the time, and share a scheduler with running ones: an idle check is a dozen
# machine instructions.
@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
unsigned int lane = threadIdx.x & 31, mine = (unsigned int)__cvta_generic_to_shared((void*)board);
unsigned int left = mine + 4 * LEFT;
mine += 16 * min(lane, 2 * running - 1);
for (;;) {
    unsigned int a, b, c, d, over;
    asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
        : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(mine) : "memory");
    asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(over) : "r"(left) : "memory");
    if (__any_sync(0xffffffffu, ((a | b | c | d) & 0x0f0f0f0fu) != 0)) return 1;
    if (over >= running) return 0;
    __nanosleep(200);
}
#else
return 0;
#endif
""")
)
def await_requests(board: Q, running: U) -> U:
    """Wait until the block has requests; return 0 once all `running` warps are done. For whole warps only."""
    ...


# One server at a time reads and takes: a lane's byte is then written by the lane while it is 0, and by the server
# that holds the lock while it is not. The lock is held for some 200 instructions, a batch takes ten thousand cycles.
@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
unsigned int* words = (unsigned int*)board;
unsigned int* picked = words + PICKED + 32 * server;
unsigned int lane = threadIdx.x & 31, some = 0, seen[4] = {0, 0, 0, 0};
if (lane == 0) while (atomicExch(&words[LOCK], 1u)) __nanosleep(40);
__syncwarp();
if (lane < 2 * running)
    asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
        : "=r"(seen[0]), "=r"(seen[1]), "=r"(seen[2]), "=r"(seen[3])
        : "r"((unsigned int)__cvta_generic_to_shared(words + 4 * lane)) : "memory");
#pragma unroll
for (int i = 0; i < 4; i++) some = some ? some : seen[i] & 0x0f0f0f0fu;
unsigned int kind = some ? (some >> (__ffs(some) - 1 & 24)) & 15 : 0;
unsigned int alike = __popc(__match_any_sync(0xffffffffu, kind));
unsigned int rank = (turn & 3) ? alike : 16 - ((kind - (turn >> 2)) & 15);
kind = __reduce_max_sync(0xffffffffu, kind ? rank << 4 | kind : 0u) & 15;
unsigned int mine = 0;  // a bit for each of this lane's 16 bytes
#pragma unroll
for (int i = 0; i < 4; i++) {
    unsigned int bytes = __vcmpeq4(seen[i], kind * 0x01010101u);
    mine |= ((bytes & 0x08040201u) * 0x01010101u >> 24) << 4 * i;
}
if (!kind) mine = 0;
unsigned int count = __popc(mine), end = count;
for (unsigned int step = 1; step < 32; step <<= 1) {
    unsigned int below = __shfl_up_sync(0xffffffffu, end, step);
    if (lane >= step) end += below;
}
unsigned int total = min(__shfl_sync(0xffffffffu, end, 31), 32u);
for (unsigned int i = end - count; i < min(end, 32u); i++, mine &= mine - 1) {
    unsigned int thread = 16 * lane + __ffs(mine) - 1;
    picked[i] = 1 + thread;
    ((volatile unsigned char*)words)[thread] = TAKEN;
}
__syncwarp();
unsigned int item = lane < total ? picked[lane] : 0;
asm volatile("fence.acq_rel.cta;" ::: "memory");
__syncwarp();
if (lane == 0) *(volatile unsigned int*)&words[LOCK] = 0;
return item;
#else
return 0;
#endif
""")
)
def take(board: Q, server: U, running: U, turn: U) -> U:
    """Assign one request to each lane, all of one kind; return 1 + the requesting thread, or 0 for a lane without.

    The kind is the most frequent one; at every fourth turn the kinds take turns, so that none starves. For whole warps
    only.
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
    """Return the env of the console that posted request `item`."""
    ...


@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
asm volatile("fence.acq_rel.cta;" ::: "memory");
((volatile unsigned char*)board)[item - 1] = 0;
#endif
""")
)
def answer(board: Q, item: U):
    """Mark request `item` as answered; its result must have been written before."""
    ...


@wp.func_native(
    placed("""
#if defined(__CUDA_ARCH__)
__nanosleep(nanoseconds);
#endif
""")
)
def rest(nanoseconds: U):
    """Pause this warp, so that other warps get its issue slots."""
    ...
