"""Suggested numbers of a task, derived from a demonstration, each with its reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from trainer_core.lab.tasks import Reward

STEP_COST = 0.005
NOVELTY = 0.004
"""Suggested novelty bonus, less than STEP_COST.

Where sprites or menus move, every picture is new, and a bonus above the cost of a step would pay for staying there
(docs/notebook/tasks.md).
"""
LEAST_CORRELATION = -0.3
"""Correlation of time and goal distance below which the distance is no useful reward.

The distance then clearly rises on the way to the goal. Only new minima are paid and a detour costs nothing, so an
uninformative distance does no harm, and a slightly informative one helps.
"""
SHORTEST_HORIZON, HORIZON_PER_STEP = 128, 4
SHORT_STEP, AMBIGUOUS = 8, 0.2
"""Steps of at most so many frames, or a larger share of ambiguous pictures, call for two stacked pictures: one does not
show what rises and what falls. A platformer of 8-frame steps and 34 % was learned in 0.4 times the steps with two
(docs/notebook/learning.md)."""
LEAST_TAU = 0.002
"""Least useful tau: below it one more letter on a page, or a pixel of scrolling, separates goal and other pictures."""
LEAST_GAMMA, MOST_GAMMA = 0.97, 0.998


def suggest_horizon(steps: int) -> tuple[int, str]:
    """Return (steps of an episode, reason) for a demonstration of `steps`."""
    found = max(SHORTEST_HORIZON, -(-HORIZON_PER_STEP * steps // 16) * 16)
    return found, f"{HORIZON_PER_STEP} times the demonstration's {steps} steps, at least 128"


def suggest_gamma(steps: int) -> tuple[float, str]:
    """Return (discount, reason), so that a goal `steps` away still counts more than a third."""
    gamma = round(min(MOST_GAMMA, max(LEAST_GAMMA, 1 - 1 / max(1, steps))), 4)
    return gamma, f"1 - 1 / {steps} steps, within {LEAST_GAMMA:g} to {MOST_GAMMA:g}"


def ambiguous_share(pictures: Sequence[np.ndarray], actions: Sequence[int]) -> float | None:
    """Return the share of `pictures` that occur more than once with different `actions`; None without pictures."""
    asked: defaultdict[bytes, list[int]] = defaultdict(list)
    for picture, action in zip(pictures, actions, strict=True):
        asked[picture.tobytes()].append(int(action))
    unclear = sum(len(each) for each in asked.values() if len(set(each)) > 1)
    return unclear / len(pictures) if len(pictures) else None


def suggest_stack(frames_per_step: int, ambiguous: float | None) -> tuple[int, str]:
    """Return (number of stacked pictures, reason) for the step's length and the share of ambiguous pictures."""
    if frames_per_step <= SHORT_STEP:
        return 2, f"steps of {frames_per_step} frames: one picture does not tell what moves where"
    if ambiguous is not None and ambiguous > AMBIGUOUS:
        return 2, f"{ambiguous:.0%} of the way's pictures ask for different buttons though equal"
    return 1, "one picture tells enough"


def rank_correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Return Spearman's rho of `a` and `b` f64[K], ties sharing their mean rank; 0 if one is constant."""
    ranks = []
    for values in (a, b):
        _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
        ranks.append((np.cumsum(counts) - (counts - 1) / 2)[place])
    if any(np.ptp(rank) == 0 for rank in ranks):
        return 0.0
    return float(np.corrcoef(ranks)[0, 1])


def suggest_reward(distances: np.ndarray | None) -> tuple[Reward, str]:
    """Return (reward, reason) from goal distances f32[S + 1] along a demonstration, the goal last.

    The goal's own distance is always small and is left out.
    """
    reward = Reward(step_cost=STEP_COST, alpha=1.0, shaping="new_minimum", goal_bonus=1.0, novelty_bonus=NOVELTY)
    if distances is None or len(distances) < 4:
        return reward, "no way to the goal was measured: only new minima of the distance are paid"
    before = distances[:-1]
    rho = rank_correlation(before, np.arange(len(before), 0, -1))
    if rho >= LEAST_CORRELATION:
        return (reward, f"new minima are paid (rank correlation with the way left {rho:.2f})")
    reward = Reward(step_cost=STEP_COST, alpha=0.0, shaping="new_minimum", goal_bonus=1.0, novelty_bonus=NOVELTY)
    return reward, f"the distance rises on the way (rank correlation {rho:.2f}): it is not paid"
