"""Variant of `picture_reader.WarpReader` for a CPU: one picture after another, by one thread.

torch makes four passes over all pictures, and takes as long as a third of emulating a step. A CPU may lack an
instruction that counts bits, so they are added up byte by byte, four bytes a word, in loops that a compiler vectorises.
"""

from __future__ import annotations

import torch
import warp as wp
from torch import Tensor

from emulator.launch.recorded_launches import RecordedLaunches
from trainer_core.envs.episodes import GoalTemplates, Reader
from trainer_core.envs.picture_reader import SPREAD_WORD, WarpReader, as_words, unary_goals


@wp.func_native("""
const uint32_t* words = (const uint32_t*)picture;
const uint32_t* weight = (const uint32_t*)weights;
uint32_t mixed = 0;
for (int i = 0; i < count; ++i) {
    const uint32_t spread = words[i] * multiplier;
    mixed += (spread ^ (spread >> 16)) * weight[i];
}
return mixed;
""")
def hash_of(picture: wp.uint64, weights: wp.uint64, count: wp.int32, multiplier: wp.uint32) -> wp.uint32: ...


@wp.func_native("""
const uint32_t* words = (const uint32_t*)picture;
const uint32_t* unary = (const uint32_t*)goal;
const uint32_t* seen = (const uint32_t*)mask;
const uint32_t ones = 0x01010101u;
int total = 0;
for (int first = 0; first < count; first += 24) {  // 24 times 9, the most of a byte, fit a byte
    const int last = first + 24 < count ? first + 24 : count;
    uint32_t bytes = 0;
    for (int i = first; i < last; ++i) {
        const uint32_t low = words[i] & ones, high = (words[i] >> 1) & ones;
        const uint32_t here = low | high | (high << 1) | ((low & high) << 2);
        const uint32_t x = (here ^ unary[i]) & seen[i];
        const uint32_t zero = x & ones, one = (x >> 1) & ones, two = (x >> 2) & ones;
        bytes += zero + one + two;
        // The square of n bits is n and twice the pairs of them.
        bytes += squared ? 2 * ((zero & one) + (one & two) + (zero & two)) : 0;
    }
    total += (bytes & 255) + ((bytes >> 8) & 255) + ((bytes >> 16) & 255) + (bytes >> 24);
}
return total;
""")
def distance_of(
    picture: wp.uint64, goal: wp.uint64, mask: wp.uint64, count: wp.int32, squared: wp.int32
) -> wp.int32: ...


@wp.kernel(enable_backward=False)
def read_serially(
    pictures: wp.uint64,
    stride: wp.uint64,
    goals: wp.array2d[wp.uint32],
    masks: wp.array2d[wp.uint32],
    weights: wp.array[wp.uint32],
    squared: wp.int32,
    sums: wp.array2d[wp.int32],
    hashes: wp.array[wp.uint32],
):
    """Write `sums` [N, G] and `hashes` [N] of one env's picture, at the address `pictures` + env * `stride`; thread
    env.

    Both are defined as in `picture_reader.read_pictures`.
    """
    env = wp.tid()
    count = goals.shape[1]
    row = wp.uint64(4 * count)
    picture = pictures + wp.uint64(env) * stride
    hashes[env] = hash_of(picture, wp.uint64(weights.ptr), count, SPREAD_WORD)
    for goal in range(goals.shape[0]):
        before = wp.uint64(goal) * row
        sums[env, goal] = distance_of(
            picture, wp.uint64(goals.ptr) + before, wp.uint64(masks.ptr) + before, count, squared
        )


class SerialReader:
    """Reader of distances and hashes as `episodes.TorchReader` defines them, bit for bit."""

    def __init__(self, goal: GoalTemplates, num_envs: int) -> None:
        self._goal = goal
        self._sums = torch.zeros(num_envs, len(goal.pictures), dtype=torch.int32)
        self._hashes = torch.zeros(num_envs, dtype=torch.int32)
        words = unary_goals(goal)
        self._kept = words  # Warp's arrays are views of these
        self._inputs = [
            *map(as_words, words[:2]),
            wp.from_torch(words[2], dtype=wp.uint32),
            int(goal.distance == "mse"),
            wp.from_torch(self._sums),
            wp.from_torch(self._hashes, dtype=wp.uint32),
        ]
        self._launch = RecordedLaunches().launch

    def read(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """Return distances f32[N] and hashes i64[N] of `pictures` u8[N, H, W], each picture contiguous."""
        assert len(pictures) == len(self._sums)
        inputs = [pictures.data_ptr(), pictures.stride(0), *self._inputs]
        self._launch(read_serially, dim=len(self._sums), inputs=inputs, device="cpu")
        return self._goal.nearest(self._sums.float()), self._hashes.long() & 0xFFFFFFFF


def fast_reader(goal: GoalTemplates, num_envs: int, device: torch.device) -> Reader:
    """Return the reader that is fastest on a device; on a CPU torch takes a third of the time of emulating a step."""
    return SerialReader(goal, num_envs) if device.type == "cpu" else WarpReader(goal, num_envs, device)
