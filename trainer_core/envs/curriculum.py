"""Choice of the start states of training episodes.

They lie along the demonstrations where the policy can learn next; at the task's own starts, the more often the more of
them are solved; and a few random presses after own starts.

Reverse curricula: Salimans and Chen 2018 (arXiv:1812.03381) move the start back along a demonstration as success rises;
Florensa et al. 2017 (arXiv:1707.05300) keep starts that are neither solved nor hopeless. Here each start state keeps an
estimate of success from it, and is drawn the more often, the higher the estimates of the states just after it are and
the lower its own is. The random walks make many starts of few, so that the policy generalises. All data is in device
tensors, and none is read by the host.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

MEMORY = 0.1
"""Weight of the newest episode in the estimate of its start state."""
AHEAD = 4
"""Number of states nearer to the goal whose estimates tell whether a state is within reach."""
ANYWHERE = 0.02
"""Weight of a state while no state after it succeeds, or when it always succeeds."""
SOLVED_OWN = 0.25
"""Weight of an own start that always succeeds; one that always fails has 1 + this."""
WALKED = 0.1
"""Weight of a walked start that always or never succeeds: the walk may have led to a dead end."""
MOST_WALKED = 8
"""Number of walked starts for each own one with full weights; the weights of more are scaled down to this total."""
LIMIT_TIMES, LIMIT_LEAST = 4, 32
"""Limit of an episode along a demonstration: a factor of the remaining steps of the demonstration, and the least limit.
Later steps tell little about the way back."""


class Along(NamedTuple):
    """States along the demonstrations at which episodes may begin."""

    start: Tensor
    """i64[D] start indices, each demonstration's in its order."""
    demo: Tensor
    """i64[D] number of the demonstration."""
    togo: Tensor
    """i64[D] steps of the demonstration from there to the goal, 1 or more."""

    def where(self, wanted: Tensor) -> Along:
        """Return the states where `wanted`, bool[D], is true."""
        return Along(self.start[wanted], self.demo[wanted], self.togo[wanted])


def states_to_go(steps: list[int], first: int, device: torch.device) -> Along:
    """Return the states before and after each step of demonstrations of `steps` steps, numbered from `first`."""
    togo = [left for count in steps for left in range(count, -1, -1)]
    numbers = [number for number, count in enumerate(steps) for _ in range(count + 1)]
    index = torch.arange(first, first + len(togo), device=device)
    return Along(index, *(torch.tensor(x, dtype=torch.int64, device=device) for x in (numbers, togo)))


def successors(along: Along) -> Tensor:
    """Return i64[D, AHEAD], positions of the next states of the same demonstration; D is the goal.

    Near the end the rows are filled with the goal.
    """
    count = len(along.start)
    rows = torch.full((count, AHEAD), count, dtype=torch.int64)
    demo = along.demo.tolist()
    for position in range(count):
        for step in range(AHEAD):
            after = position + 1 + step
            if after < count and demo[after] == demo[position]:
                rows[position, step] = after
    return rows.to(along.start.device)


class StartCurriculum:
    """Sampler of start states; `fold` tells it how the episodes from them ended."""

    def __init__(self, own: Tensor, walked: Tensor, along: Along, share: float, count: int, horizon: int) -> None:
        """Make the sampler.

        `own` i64[S'] are the task's own starts, `walked` i64[W] those a random walk after them, `share` of the episodes
        begin along the demonstrations while no own start is solved, `count` is the number of all start states.
        """
        device = own.device
        self.own, self.walked, self.along, self.share = own, walked, along, share
        self.success = torch.zeros(count, device=device)
        """f32[S] estimated success of episodes from each start state."""
        self.limit = torch.full((count,), horizon, dtype=torch.int32, device=device)
        """i32[S] steps after which an episode from each start state is cut off."""
        cut = (LIMIT_TIMES * along.togo).clamp(min=LIMIT_LEAST, max=max(horizon, 1))
        self.limit[along.start] = cut.clamp(max=horizon).to(torch.int32)
        self._after = successors(along)
        self._candidates = torch.cat([own, walked, along.start])
        self._goal = torch.ones(1, device=device)

    def fold(self, starts: Tensor, ended: Tensor, success: Tensor) -> None:
        """Update the estimates by the episodes begun at `starts` i64[N] that ended now, where `ended` bool[N]."""
        zeros = torch.zeros_like(self.success)
        tried = zeros.index_add(0, starts, ended.float())
        won = zeros.index_add(0, starts, (ended & success).float())
        kept = (1 - MEMORY) ** tried
        found = won / tried.clamp(min=1)
        self.success.mul_(kept).add_(found * (1 - kept))

    def weights(self) -> Tensor:
        """Return f32[S' + W + D], the weights of `draw`."""
        known = self.success[self.along.start]
        reach = torch.cat([known, self._goal])[self._after].mean(1)
        along = reach * (1 - known) + ANYWHERE
        solved, after = self.success[self.own], self.success[self.walked]
        fair = min(1.0, MOST_WALKED * len(self.own) / max(1, len(self.walked)))
        own = torch.cat([1 - solved + SOLVED_OWN, fair * (2 * after * (1 - after) + WALKED)])
        share = self.share * (1 - solved.mean())
        return torch.cat([own / own.sum() * (1 - share), along / along.sum() * share])

    def draw(self, count: int, rng: torch.Generator) -> Tensor:
        """Return i64[count] start indices, drawn at random."""
        sums = self.weights().cumsum(0)
        at = torch.rand(count, generator=rng, device=sums.device) * sums[-1]
        drawn = torch.searchsorted(sums, at, right=True).clamp(max=len(sums) - 1)
        return self._candidates[drawn]
