"""Evaluation of equal pictures only once: a waiting Game Boy repeats its picture, and consoles in the same room share
one.

In a rollout of `leave_bedroom` 100 of 1,024 pictures differ, in a minibatch 50 of 128. The output of a network for a
picture need not be computed twice while its weights stay; in a gradient, the parts of equal pictures are added before
the network instead of after it. Only on a CPU, as the host has to read the pictures.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from trainer_core.learn.rollout import Forward

MOST_REMEMBERED = 24 << 20
"""Bytes of stored pictures beyond which all stored results are dropped."""
_IN_CACHE = 1 << 14
"""Number of words that are hashed at a time, to stay in the CPU's cache."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
"""2^64 over the golden ratio, odd (Knuth, volume 3, section 6.4)."""


def distinct_rows(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return i64[D], the positions of D distinct rows, and i64[R], for each row the number of the distinct row equal to
    it.

    `rows` u8[R, B], on the CPU. The order of the result depends only on the rows.
    """
    words = _as_words(rows.numpy())
    step = _IN_CACHE // words.shape[1] + 1
    some = [slice(n, n + step) for n in range(0, len(words), step)]
    hashes = np.concatenate([_mixed(words[part]) for part in some])
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    if not all(np.array_equal(words[first[inverse[part]]], words[part]) for part in some):
        # Two rows of one hash, which is very rare.
        _, first, inverse = np.unique(words, axis=0, return_index=True, return_inverse=True)
    return torch.from_numpy(first), torch.from_numpy(inverse.reshape(-1))


def _as_words(rows: np.ndarray) -> np.ndarray:
    """Return `rows` u8[R, B], padded by zeros to whole words, as u64[R, W]."""
    spare = -rows.shape[1] % 8
    padded = np.pad(rows, ((0, 0), (0, spare))) if spare else np.ascontiguousarray(rows)
    return padded.view(np.uint64)


def _mixed(words: np.ndarray) -> np.ndarray:
    """Return u64[R], a hash of each row of `words` u64[R, W]: a sum of its words, mixed and weighted by their
    positions."""
    places = np.arange(1, words.shape[1] + 1, dtype=np.uint64)
    weights = (places * _MULTIPLIER) ^ (places << np.uint64(32)) | np.uint64(1)
    mixed = words * _MULTIPLIER
    mixed ^= mixed >> np.uint64(29)
    mixed *= weights
    mixed ^= mixed >> np.uint64(32)
    return mixed.sum(1, dtype=np.uint64)


class Remembering:
    """Forward pass that stores its results and evaluates each picture only once; valid while the weights are
    unchanged."""

    def __init__(self, forward: Forward) -> None:
        self._forward = forward
        self._numbers: dict[bytes, int] = {}
        self._logits, self._values = torch.empty(0), torch.empty(0)

    def __call__(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits f32[B, A] and values f32[B] of `obs` u8[B, K, H, W], stored ones where a picture was seen
        before."""
        rows = np.ascontiguousarray(obs.numpy()).reshape(obs.shape[0], -1)
        seen = self._numbers
        if len(seen) * rows.shape[1] > MOST_REMEMBERED:
            seen.clear()
        known = len(seen)
        numbers, new = [], []
        for position, row in enumerate(rows):
            picture = row.tobytes()
            number = seen.get(picture)
            if number is None:
                number = seen[picture] = known + len(new)
                new.append(position)
            numbers.append(number)
        if new:
            logits, values = self._forward(obs[new] if len(new) < len(rows) else obs)
            self._logits = torch.cat([self._logits[:known], logits]) if known else logits
            self._values = torch.cat([self._values[:known], values]) if known else values
        index = torch.tensor(numbers)
        return self._logits[index], self._values[index]
