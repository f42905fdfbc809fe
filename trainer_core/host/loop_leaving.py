"""Greedy play that leaves loops: where a picture recurs, it takes the next likeliest button.

A deterministic policy on a deterministic console repeats itself for ever once a picture recurs: it walks into a wall
and sees the same picture. Here each picture of an episode is answered by the buttons in turn, the likeliest first, each
as often as the others. That is a rotor-router walk (Priezzhev, Dhar, Dhar and Krishnamurthy 1996): without random
numbers it visits everything that can be reached and left again. docs/notebook/tasks.md has figures.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from trainer_core.envs.novelty import hash_pictures, hash_weights
from trainer_core.envs.pressed import oftener
from trainer_core.host.evaluate import Act


def leaving_loops(
    forward: Callable[[Tensor], tuple[Tensor, Tensor]], steps_of: Callable[[], Tensor], horizon: int
) -> Act:
    """Return a function that takes the likeliest of the actions least often taken at this picture.

    `steps_of` returns the steps i32[N] of each env's episode so far; a new episode starts with empty counts.
    """
    first = steps_of()
    count = len(first)
    seen = torch.full((count, horizon + 1), -1, dtype=torch.int64, device=first.device)
    taken = torch.zeros_like(seen)
    everyone = torch.arange(count, device=seen.device)
    weights = hash_weights(0)

    def act(obs: Tensor) -> Tensor:
        nonlocal weights
        if not len(weights):
            weights = hash_weights(obs[0, -1].numel() // 4).to(obs.device)
        hashes = hash_pictures(obs[:, -1].contiguous(), weights)
        steps = steps_of().long().clamp(max=horizon)
        seen[steps == 0] = -1
        logits = forward(obs)[0].float()
        tried = oftener(seen, taken, hashes, logits.shape[1]) > 0
        actions = logits.masked_fill(tried, -torch.inf).argmax(-1)
        seen[everyone, steps], taken[everyone, steps] = hashes, actions
        return actions

    return act
