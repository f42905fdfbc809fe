"""Choice of the start states of training episodes.

Episodes begin at states along the demonstrations from which the policy can learn next, at the task's own start states,
which are chosen more often as more of them are solved, and at states that random walks from own starts reached.

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
"""Weight of an own start from which every episode succeeds; one from which every episode fails has 1 + this."""
WALKED = 0.1
"""Weight of a start reached by a random walk from which episodes always or never succeed; it may be a dead end."""
MOST_WALKED = 8
"""Number of walked starts per own start that keep their full weights; with more, all their weights are scaled down."""
LIMIT_TIMES, LIMIT_LEAST = 4, 32
"""Limit of an episode along a demonstration: a factor of the remaining steps of the demonstration, and the least limit.
Later steps tell little about the way back."""


class Along(NamedTuple):
    """States along the demonstrations, D in all, at which episodes may begin."""

    start: Tensor
    """i64[D] start index of each state; the states of one demonstration follow one another."""
    demo: Tensor
    """i64[D] number of the demonstration."""
    togo: Tensor
    """i64[D] steps of the demonstration from there to the goal, 1 or more."""

    def where(self, wanted: Tensor) -> Along:
        """Return only those states for which `wanted`, bool[D], is true."""
        return Along(self.start[wanted], self.demo[wanted], self.togo[wanted])


def states_to_go(steps: list[int], first: int, device: torch.device) -> Along:
    """Return the states along demonstrations: each one's beginning and the state after each of its steps.

    `steps` has the number of steps of each demonstration; start indices count from `first`.
    """
    togo = [left for count in steps for left in range(count, -1, -1)]
    numbers = [number for number, count in enumerate(steps) for _ in range(count + 1)]
    index = torch.arange(first, first + len(togo), device=device)
    return Along(index, *(torch.tensor(x, dtype=torch.int64, device=device) for x in (numbers, togo)))


def successors(along: Along) -> Tensor:
    """Return i64[D, AHEAD]: for each state the positions in `along` of the next states of the same demonstration.

    Near a demonstration's end the number D, which stands for the goal, fills the row.
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
    """Sampler of the start states of episodes; `fold` updates it with the results of ended episodes."""

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
        """Update the estimates by the episodes that ended in this step.

        Of N envs, `starts` i64[N] are the start states of their episodes, `ended` bool[N] tells which ended, `success`
        bool[N] which reached the goal.
        """
        zeros = torch.zeros_like(self.success)
        tried = zeros.index_add(0, starts, ended.float())
        won = zeros.index_add(0, starts, (ended & success).float())
        kept = (1 - MEMORY) ** tried
        found = won / tried.clamp(min=1)
        self.success.mul_(kept).add_(found * (1 - kept))

    def weights(self) -> Tensor:
        """Return f32[S' + W + D], the probability with which `draw` chooses each own, each walked and each demonstrated
        start."""
        known = self.success[self.along.start]
        reach = torch.cat([known, self._goal])[self._after].mean(1)
        along = reach * (1 - known) + ANYWHERE
        solved, after = self.success[self.own], self.success[self.walked]
        fair = min(1.0, MOST_WALKED * len(self.own) / max(1, len(self.walked)))
        own = torch.cat([1 - solved + SOLVED_OWN, fair * (2 * after * (1 - after) + WALKED)])
        share = self.share * (1 - solved.mean())
        return torch.cat([own / own.sum() * (1 - share), along / along.sum() * share])

    def draw(self, count: int, rng: torch.Generator) -> Tensor:
        """Return i64[count] start indices, drawn at random by `weights`."""
        sums = self.weights().cumsum(0)
        at = torch.rand(count, generator=rng, device=sums.device) * sums[-1]
        drawn = torch.searchsorted(sums, at, right=True).clamp(max=len(sums) - 1)
        return self._candidates[drawn]
