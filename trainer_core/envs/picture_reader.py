"""Distances to the goal templates and hashes of a batch of pictures in one pass, as Warp kernels.

A shade is written in unary (0, 1, 3, 7), so that the difference of two shades is the number of bits in which they
differ: four pixels of a word are compared at once, and sums are integers.
"""

import torch
import warp as wp
from torch import Tensor

from emulator.launch.warp_start import start_warp
from trainer_core.envs.episodes import GoalTemplates
from trainer_core.envs.novelty import SPREAD, hash_weights

SPREAD_WORD = wp.constant(wp.uint32(SPREAD & 0xFFFFFFFF))
CHUNKS = wp.constant(32)  # a warp's lanes share one picture and read neighbouring words


@wp.func_native("""
#if defined(__CUDA_ARCH__)
return __popc(x);
#else
return __builtin_popcount(x);
#endif
""")
def count_bits(x: wp.uint32) -> wp.int32: ...


@wp.func
def unary(shades: wp.uint32) -> wp.uint32:
    """Return four shades 0 to 3, one a byte, in unary code: a shade s as a byte with s low bits set."""
    low = shades & wp.uint32(0x01010101)
    high = (shades >> wp.uint32(1)) & wp.uint32(0x01010101)
    return low | high | (high << wp.uint32(1)) | ((low & high) << wp.uint32(2))


@wp.func
def count_square(x: wp.uint32) -> wp.int32:
    """Return the sum over the four bytes of `x` of the squared number of set bits in each, at most 3."""
    neighbours = count_bits(x & (x >> wp.uint32(1)))
    outer = count_bits(x & (x >> wp.uint32(2)))
    return count_bits(x) + 2 * (neighbours + outer)


@wp.kernel(enable_backward=False)
def read_pictures(
    pictures: wp.array2d[wp.uint32],
    goals: wp.array2d[wp.uint32],
    masks: wp.array2d[wp.uint32],
    weights: wp.array[wp.uint32],
    squared: wp.int32,
    sums: wp.array2d[wp.int32],
    hashes: wp.array[wp.uint32],
):
    """Add the contribution of a picture's words chunk, chunk + 32, ... to `sums` and `hashes`; thread (env, chunk).

    `pictures`, `goals` and `masks` have four pixels a word; `goals` are in unary code. `sums` [N, G] are of |shade
    difference|, or with `squared` of its square, to each goal; `hashes` [N] as in `novelty.hash_pictures`.
    """
    env, chunk = wp.tid()
    words = pictures.shape[1]
    mixed = wp.uint32(0)
    for word in range(chunk, words, CHUNKS):
        spread = pictures[env, word] * SPREAD_WORD
        mixed += (spread ^ (spread >> wp.uint32(16))) * weights[word]
    wp.atomic_add(hashes, env, mixed)
    for goal in range(goals.shape[0]):
        total = wp.int32(0)
        for word in range(chunk, words, CHUNKS):
            differing = (unary(pictures[env, word]) ^ goals[goal, word]) & masks[goal, word]
            if squared != 0:
                total += count_square(differing)
            else:
                total += count_bits(differing)
        wp.atomic_add(sums, env, goal, total)


class WarpReader:
    """Reader of distances and hashes as `episodes.TorchReader` defines them, bit for bit.

    For GPUs. On a CPU, where `picture_reader_serial.SerialReader` is faster, tests compare this code with the
    reference.
    """

    def __init__(self, goal: GoalTemplates, num_envs: int, device: torch.device) -> None:
        self._goal = goal
        self._squared = int(goal.distance == "mse")
        self._device = "cpu" if device.type == "cpu" else f"cuda:{device.index or 0}"
        goals, masks, weights = unary_goals(goal)
        self._sums = torch.zeros(num_envs, len(goals), dtype=torch.int32, device=device)
        self._hashes = torch.zeros(num_envs, dtype=torch.int32, device=device)
        self._inputs = [
            as_words(goals),
            as_words(masks),
            wp.from_torch(weights, dtype=wp.uint32),
            self._squared,
            wp.from_torch(self._sums),
            wp.from_torch(self._hashes, dtype=wp.uint32),
        ]
        self._kept = (goals, masks, weights)  # Warp's arrays are views of these

    def read(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """Return distances f32[N] and hashes i64[N] of `pictures` u8[N, H, W]."""
        self._sums.zero_()
        self._hashes.zero_()
        wp.launch(
            read_pictures,
            dim=(len(pictures), CHUNKS),
            inputs=[as_words(pictures.flatten(1)), *self._inputs],
            device=self._device,
        )
        return self._goal.nearest(self._sums.float()), self._hashes.long() & 0xFFFFFFFF


class WarpHasher:
    """Function object that computes `novelty.hash_pictures` by one Warp kernel: one pass over the pictures, torch takes
    seven."""

    def __init__(self, shape: tuple[int, int], num_envs: int, device: torch.device) -> None:
        """Allocate the memory for hashing `num_envs` pictures of `shape` (H, W)."""
        start_warp()
        height, width = shape
        self._device = "cpu" if device.type == "cpu" else f"cuda:{device.index or 0}"
        self._weights = hash_weights(height * width // 4).to(device)
        self._hashes = torch.zeros(num_envs, dtype=torch.int32, device=device)
        no_goals = torch.zeros(0, height * width, dtype=torch.uint8, device=device)
        no_sums = torch.zeros(num_envs, 0, dtype=torch.int32, device=device)
        self._inputs = [
            as_words(no_goals),
            as_words(no_goals),
            wp.from_torch(self._weights, dtype=wp.uint32),
            0,
            wp.from_torch(no_sums),
            wp.from_torch(self._hashes, dtype=wp.uint32),
        ]
        self._kept = (no_goals, no_sums)  # Warp's arrays are views of these

    def __call__(self, pictures: Tensor) -> Tensor:
        """Return the hashes i64[N] of `pictures` u8[N, H, W], contiguous."""
        self._hashes.zero_()
        inputs = [as_words(pictures.flatten(1)), *self._inputs]
        wp.launch(read_pictures, (len(pictures), CHUNKS), inputs, device=self._device)
        return self._hashes.long() & 0xFFFFFFFF


def unary_goals(goal: GoalTemplates) -> tuple[Tensor, Tensor, Tensor]:
    """Return the constant inputs of `read_pictures`: templates, masks, and weights of the hash.

    Templates are u8[G, H * W] in unary code (0, 1, 3, 7 for shades 0 to 3), masks u8[G, H * W] 7 where a pixel counts,
    weights i32[H * W / 4] as in `novelty.hash_weights`.
    """
    device = goal.pictures.device
    as_unary = torch.tensor([0, 1, 3, 7], dtype=torch.uint8, device=device)
    goals = as_unary[goal.pictures.flatten(1).long()]
    masks = goal.mask.flatten(1).to(torch.uint8) * 7
    return goals, masks, hash_weights(goals.shape[1] // 4).to(device)


def as_words(pictures: Tensor) -> wp.array:
    """Return `pictures` u8[N, 4 * W] as a Warp array u32[N, W] on the same memory."""
    return wp.from_torch(pictures.view(torch.int32), dtype=wp.uint32)
