"""Rules of ARC-AGI-3 games for an agent: observation, reward, end of an episode. numpy only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from trainer_core.lab.arc_games import SIDE

if TYPE_CHECKING:
    from trainer_core.envs.arc.session import Shown

OBS_SHAPE = (SIDE, 2 * SIDE)
STEP_COST = 0.01
LEVEL_REWARD = 1.0
MIN_HORIZON, HORIZON_FACTOR = 64, 5
"""Limit of an episode's actions: the factor times the number that the game's authors needed."""


def encode(grids: np.ndarray) -> np.ndarray:
    """Encode colours u8[..., 64, 64] as shades u8[..., 64, 128] from 0 to 3, a network's input.

    A colour is two base-4 digits side by side, so that a patch of pixels holds both digits of each cell.
    """
    shades = np.empty((*grids.shape[:-1], 2 * grids.shape[-1]), np.uint8)
    shades[..., 0::2], shades[..., 1::2] = grids >> 2, grids & 3
    return shades


def horizon_of(baseline_actions: Sequence[int]) -> int:
    """Return the number of actions after which an agent's episode ends."""
    return max(MIN_HORIZON, HORIZON_FACTOR * sum(baseline_actions))


class Judged(Protocol):
    """Part of a game that ArcJudge reads, as in `arc.game.ArcGame`."""

    shown: Shown
    """State of the game after its last action."""

    @property
    def is_over(self) -> bool: ...


class ArcStanding(NamedTuple):
    steps: int
    levels: int
    dist: float


class ArcJudge:
    """Scorer of an ARC game with the interface of `envs.judge.Judge`: a level gives LEVEL_REWARD, an action costs
    STEP_COST.

    The distance is the share of levels still to complete.
    """

    def __init__(self, game: Judged, horizon: int) -> None:
        self._game, self._horizon = game, horizon
        self.terms: dict[str, float] = {}
        """Terms of the last reward, which is their sum."""
        self.standing = ArcStanding(0, 0, 1.0)

    @property
    def dist(self) -> float:
        return self.standing.dist

    def begin(self, observation: np.ndarray) -> None:
        self.standing = self._stands(0)

    def judge(self, observation: np.ndarray) -> tuple[float, bool, bool]:
        """Return (reward, success, trunc) of the last agent step; trunc means that the horizon ended the episode."""
        before = self.standing
        self.standing = self._stands(before.steps + 1)
        levels = LEVEL_REWARD * max(0, self.standing.levels - before.levels)
        self.terms = {"step_cost": -STEP_COST, "levels": levels}
        success = self._game.shown.state == "WIN"
        over = self._game.is_over or self.standing.steps >= self._horizon
        return levels - STEP_COST, success, over and not success

    def _stands(self, steps: int) -> ArcStanding:
        shown = self._game.shown
        return ArcStanding(steps, shown.levels, 1 - shown.levels / max(1, shown.win_levels))
