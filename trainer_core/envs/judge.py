"""Score of one console for the player and for rollouts, with numpy instead of torch."""

from __future__ import annotations

import numpy as np

from trainer_core.envs.ram_judge import Episode, RamJudge
from trainer_core.envs.scoring import Rules, Standing, score_step
from trainer_core.wire.shades import MAX_SHADE


def goal_distance(observation: np.ndarray, templates: np.ndarray, mask: np.ndarray, distance: str) -> np.float32:
    """Return the distance of `observation` u8[H, W] to the nearest of `templates` u8[G, H, W], 0 to 1.

    `mask` bool[G, H, W] are the pixels that count. Integer sums and one float32 division, as in
    `episodes.GoalTemplates`, give the same number on every device.
    """
    apart = np.abs(observation.astype(np.int16) - templates.astype(np.int16)) * mask
    scale = MAX_SHADE
    if distance == "mse":
        apart, scale = apart**2, MAX_SHADE**2
    sums = apart.sum((1, 2), dtype=np.int32).astype(np.float32)
    return (sums / (scale * mask.sum((1, 2))).astype(np.float32)).min()


class Judge:
    """Scorer of one console's episode by the rules of `envs.scoring`.

    It pays no novelty, as in validation: the bonus counts the pictures of a whole batch in its run, which are unknown
    here.
    """

    def __init__(self, templates: np.ndarray, mask: np.ndarray, distance: str, rules: Rules) -> None:
        """Make a judge for `templates` u8[G, H, W], `mask` bool[G, H, W], `distance` l1 or mse."""
        self._goal = (templates, mask, distance)
        self._rules = rules.cast(np.float32)
        self.terms: dict[str, float] = {}
        """Terms of the last reward, which is their sum."""
        self.ram: RamJudge | None = None
        """Scorer of the console's memory, in a task that reads it."""
        self.begin(np.zeros(templates.shape[1:], np.uint8))

    @property
    def dist(self) -> float:
        return float(self._standing.dist)

    @property
    def standing(self) -> tuple[Standing, Episode | None]:
        """State of the episode, and of its RAM terms; assign an earlier value to return to it."""
        return self._standing, self.ram.episode.copy() if self.ram else None

    @standing.setter
    def standing(self, standing: tuple[Standing, Episode | None]) -> None:
        self._standing, episode = standing
        if self.ram and episode:
            self.ram.episode = episode.copy()

    def begin(self, observation: np.ndarray) -> None:
        """Begin an episode at `observation` u8[H, W]; rows below a goal's picture show memory."""
        dist = self._distance(observation)
        self._standing = Standing(dist, np.int32(0), np.int32(0), dist)
        if self.ram:
            self.ram.begin()

    def _distance(self, observation: np.ndarray) -> np.float32:
        return goal_distance(observation[: self._goal[0].shape[1]], *self._goal)

    def judge(self, observation: np.ndarray) -> tuple[float, bool, bool]:
        """Return (reward, success, trunc) of one agent step that led to `observation`."""
        read = self.ram.step() if self.ram else None
        ram = (read.reward, np.bool_(read.done)) if read else None
        score = score_step(self._rules, self._standing, self._distance(observation), ram=ram)
        self._standing = score.standing
        bonus = float(self._rules.goal_bonus) * bool(score.done)
        cost = -float(self._rules.step_cost)
        shaping = float(score.reward) - cost - bonus - (float(read.reward) if read else 0.0)
        self.terms = {"step_cost": cost, "shaping": shaping, "bonus": bonus}
        if read:
            self.terms |= {name: float(part) for name, part in read.parts.items()}
        return float(score.reward), bool(score.done), bool(score.trunc)
