"""Where training episodes begin: along the demonstrations where it can be learned next, at the
task's own starts, the more often the more of them are solved, and a few random presses after them.

Reverse curricula: Salimans and Chen 2018 (arXiv:1812.03381) move the start back along a
demonstration as success rises; Florensa et al. 2017 (arXiv:1707.05300) keep starts that are neither
solved nor hopeless. Here each start state keeps an estimate of success from it, and a state is
drawn the more often, the surer the states just after it are and the less sure it is itself. The
random walks make many starts of few, so that what is learned from them holds on others too. Device
tensors only, nothing is read by the host.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

MEMORY = 0.1
"""Weight of the newest episode in the estimate of its start state."""
AHEAD = 4
"""States nearer to the goal whose estimates say whether a state is within reach."""
ANYWHERE = 0.02
"""Weight that a state has while nothing after it succeeds, or when it always succeeds."""
SOLVED_OWN = 0.25
"""Weight of an own start that always succeeds, where one that always fails has 1 + this."""
WALKED = 0.1
"""Weight of a walked start that always or never succeeds: the walk may have led to a dead end."""
MOST_WALKED = 8
"""Walked starts for each own one that weigh as said; of more, all together weigh no more."""
LIMIT_TIMES, LIMIT_LEAST = 4, 32
"""An episode along a demonstration is cut off after so many times the steps that the demonstration
takes from there, and not before so many: what comes later says little about the way back."""


class Along(NamedTuple):
    """The states along the demonstrations that episodes may begin at."""

    start: Tensor
    """i64[D] start indices, each demonstration's in its order."""
    demo: Tensor
    """i64[D] the demonstration's number."""
    togo: Tensor
    """i64[D] steps that the demonstration takes from there to the goal, 1 or more."""

    def where(self, wanted: Tensor) -> Along:
        """Those of `wanted` bool[D]."""
        return Along(self.start[wanted], self.demo[wanted], self.togo[wanted])


def states_to_go(steps: list[int], first: int, device: torch.device) -> Along:
    """The states before and after each step of demonstrations of `steps` steps, from index `first`
    on."""
    togo = [left for count in steps for left in range(count, -1, -1)]
    numbers = [number for number, count in enumerate(steps) for _ in range(count + 1)]
    index = torch.arange(first, first + len(togo), device=device)
    return Along(index, *(torch.tensor(x, dtype=torch.int64, device=device) for x in (numbers, togo)))


def successors(along: Along) -> Tensor:
    """i64[D, AHEAD] positions of the next states of the same demonstration; D stands for the goal.

    Near the end the goal fills the rows up.
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
    """Draws start states; `fold` tells it how the episodes from them ended."""

    def __init__(self, own: Tensor, walked: Tensor, along: Along, share: float, count: int, horizon: int) -> None:
        """`own` i64[S'] the task's own starts, `walked` i64[W] those a random walk after them,
        `share` of the episodes that begin along the demonstrations while no own start is solved,
        `count` of all start states there are."""
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
        """Episodes that began at `starts` i64[N] and ended now where `ended` bool[N]."""
        zeros = torch.zeros_like(self.success)
        tried = zeros.index_add(0, starts, ended.float())
        won = zeros.index_add(0, starts, (ended & success).float())
        kept = (1 - MEMORY) ** tried
        found = won / tried.clamp(min=1)
        self.success.mul_(kept).add_(found * (1 - kept))

    def weights(self) -> Tensor:
        """f32[S' + W + D] what `draw` draws in proportion to."""
        known = self.success[self.along.start]
        reach = torch.cat([known, self._goal])[self._after].mean(1)
        along = reach * (1 - known) + ANYWHERE
        solved, after = self.success[self.own], self.success[self.walked]
        fair = min(1.0, MOST_WALKED * len(self.own) / max(1, len(self.walked)))
        own = torch.cat([1 - solved + SOLVED_OWN, fair * (2 * after * (1 - after) + WALKED)])
        share = self.share * (1 - solved.mean())
        return torch.cat([own / own.sum() * (1 - share), along / along.sum() * share])

    def draw(self, count: int, rng: torch.Generator) -> Tensor:
        """i64[count] start indices."""
        sums = self.weights().cumsum(0)
        at = torch.rand(count, generator=rng, device=sums.device) * sums[-1]
        drawn = torch.searchsorted(sums, at, right=True).clamp(max=len(sums) - 1)
        return self._candidates[drawn]
