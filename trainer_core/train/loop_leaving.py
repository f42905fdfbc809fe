"""Greedy play that leaves loops: it draws where it meets a picture a second time in an episode.

A deterministic policy on a deterministic console repeats itself for ever once a picture comes
back; the policy that was trained draws its actions and gets out (docs/tasks.md has figures).
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from trainer_core.envs.novelty import hash_pictures, hash_weights
from trainer_core.train.evaluate import Act


def leaving_loops(
    forward: Callable[[Tensor], tuple[Tensor, Tensor]],
    steps_of: Callable[[], Tensor],
    horizon: int,
    rng: torch.Generator,
) -> Act:
    """Act by the most likely action, and by the probabilities on pictures seen before.

    `steps_of` gives the steps i32[N] of each env's episode so far: one that begins anew has seen
    nothing.
    """
    first = steps_of()
    count = len(first)
    seen = torch.full((count, horizon + 1), -1, dtype=torch.int64, device=first.device)
    everyone = torch.arange(count, device=seen.device)
    weights = hash_weights(0)

    def act(obs: Tensor) -> Tensor:
        nonlocal weights
        if not len(weights):
            weights = hash_weights(obs[0, -1].numel() // 4).to(obs.device)
        hashes = hash_pictures(obs[:, -1].contiguous(), weights)
        steps = steps_of().long()
        seen[steps == 0] = -1
        again = (seen == hashes[:, None]).any(1)
        seen[everyone, steps.clamp(max=horizon)] = hashes
        logits = forward(obs)[0]
        drawn = torch.multinomial(torch.softmax(logits.float(), -1), 1, generator=rng).squeeze(-1)
        return torch.where(again, drawn, logits.argmax(-1))

    return act
