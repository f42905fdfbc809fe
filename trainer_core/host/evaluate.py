"""Evaluation: whole episodes from chosen start states, greedy or sampled, no learning."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from trainer_core.envs.vec_env import VecEnv

Act = Callable[[Tensor], Tensor]
"""Function from obs u8[N, K, H, W] to actions i64[N]."""
_STEPS_PER_CHECK = 8


class Course(NamedTuple):
    """Progress of an evaluation, passed to the callback before each of its steps."""

    episodes: int
    """Total number of episodes."""
    over: Callable[[], int]
    """Function that returns the number of ended episodes; synchronises with the device."""
    share: float
    """Share of all steps, 0 to 1."""


Attend = Callable[[Course], None]
"""Callback before every step of an evaluation; its exceptions end the evaluation."""


class EvaluationStopped(Exception):  # noqa: N818 - an end, not an error
    """Exception that ends an evaluation at a stop; its results are discarded."""


def go_on(course: Course) -> None:
    """Do nothing: the default callback never interrupts an evaluation."""


MOST_STARTS = 1 << 16
"""Maximum number of starts of one task (lab.manifest_checks.RANGES)."""


@dataclass(frozen=True, slots=True)
class Episode:
    """Result of one episode from start state `start`."""

    start: int
    success: bool
    steps: int
    episode_return: float
    actions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Episodes of one policy in one mode, `n` from each start."""

    mode: str
    episodes: tuple[Episode, ...]
    wall_time_s: float
    screens: tuple[Tensor, ...] = ()
    """u8[W, 144, 160] of the first W envs, from the start on at every step; empty unless requested."""

    @property
    def distinct_starts(self) -> int:
        return len({episode.start for episode in self.episodes})

    @property
    def n(self) -> int:
        return max(1, len(self.episodes) // max(1, self.distinct_starts))

    @property
    def success_rate(self) -> float:
        return sum(episode.success for episode in self.episodes) / len(self.episodes)

    @property
    def pass_at_n(self) -> float:
        """Share of starts with at least one success among their n episodes."""
        solved = {episode.start for episode in self.episodes if episode.success}
        return len(solved) / self.distinct_starts

    @property
    def median_steps_to_goal(self) -> float:
        steps = sorted(episode.steps for episode in self.episodes if episode.success)
        if not steps:
            return 0.0
        return (steps[(len(steps) - 1) // 2] + steps[len(steps) // 2]) / 2

    @property
    def mean_return(self) -> float:
        return sum(episode.episode_return for episode in self.episodes) / len(self.episodes)

    def summary(self) -> dict[str, float | int | str]:
        """Return this evaluation's fields of an EvalRecord."""
        return {
            "mode": self.mode,
            "episodes": len(self.episodes),
            "distinct_starts": self.distinct_starts,
            "success_rate": self.success_rate,
            "pass_at_1": self.success_rate,
            "pass_at_n": self.pass_at_n,
            "n": self.n,
            "median_steps_to_goal": self.median_steps_to_goal,
            "mean_return": self.mean_return,
            "wall_time_s": self.wall_time_s,
        }


def joined(parts: Sequence[Evaluation]) -> Evaluation:
    """Merge the evaluations of several tasks in one mode; start numbers of different tasks stay distinct."""
    episodes = tuple(
        dataclasses.replace(episode, start=episode.start + MOST_STARTS * number)
        for number, part in enumerate(parts)
        for episode in part.episodes
    )
    return Evaluation(parts[0].mode, episodes, sum(part.wall_time_s for part in parts))


@torch.no_grad()
def run_episodes(
    env: VecEnv, act: Act, starts: Tensor, mode: str, *, watched: int = 0, attend: Attend = go_on
) -> Evaluation:
    """Play one episode from each of `starts` (i64[E]), `env.num_envs` at a time, with the actions of `act`.

    Keeps the screens of the first `watched` episodes. `attend` is called before every step.
    """
    began = time.monotonic()
    episodes: list[Episode] = []
    screens: list[Tensor] = []
    for batch in starts.split(env.num_envs):
        before, count = len(episodes), len(batch)

        def look(course: Course, before: int = before, count: int = count) -> None:
            share = (before + course.share * count) / len(starts)
            attend(Course(len(starts), lambda: before + course.over(), share))

        episodes += _run_batch(env, act, batch, watched, screens, look)
        watched = 0
    return Evaluation(mode, tuple(episodes), time.monotonic() - began, tuple(screens))


def _run_batch(
    env: VecEnv, act: Act, starts: Tensor, watched: int, screens: list[Tensor], attend: Attend
) -> list[Episode]:
    count = len(starts)
    filled = torch.cat([starts, starts.new_zeros(env.num_envs - count)])
    filled[count:] = starts[0]
    obs = env.reset_to(filled)
    alive = torch.ones(env.num_envs, dtype=torch.bool, device=env.device)
    alive[count:] = False
    success = torch.zeros_like(alive)
    steps = torch.zeros(env.num_envs, dtype=torch.int64, device=env.device)
    total = torch.zeros(env.num_envs, dtype=torch.float64, device=env.device)
    history = []

    def over() -> int:
        return count - int(alive.sum())

    for t in range(env.horizon):
        attend(Course(count, over, t / env.horizon))
        if watched:
            screens.append(env.screens(watched).clone())
        actions = act(obs)
        history.append(actions)
        result = env.step(actions)
        obs = result.obs
        steps += alive
        total += torch.where(alive, result.reward, 0.0)
        success |= alive & result.info.success
        alive = alive & ~(result.done | result.trunc)
        if t % _STEPS_PER_CHECK == _STEPS_PER_CHECK - 1 and not bool(alive.any()):
            break
    taken = torch.stack(history, dim=1).tolist()
    fields = zip(starts.tolist(), success.tolist(), steps.tolist(), total.tolist(), taken, strict=False)
    return [
        Episode(start, bool(won), count, total, tuple(actions[:count])) for start, won, count, total, actions in fields
    ]


def spread_starts(start_set: Tensor, episodes: int, mode: str) -> Tensor:
    """Return the start of each of `episodes` episodes, i64[E], every start equally often.

    In deterministic modes every start occurs once, since repeated episodes would be identical.
    """
    distinct = start_set[:episodes]
    if mode in ("greedy", "leave_loops"):
        return distinct
    return distinct.repeat(max(1, episodes // len(distinct)))


def greedy(forward: Callable[[Tensor], tuple[Tensor, Tensor]]) -> Act:
    """Return a function that acts by the most likely action."""
    return lambda obs: forward(obs)[0].argmax(-1)


def sampled(forward: Callable[[Tensor], tuple[Tensor, Tensor]], rng: torch.Generator) -> Act:
    """Return a function that samples actions from the policy's probabilities."""

    def act(obs: Tensor) -> Tensor:
        probabilities = torch.softmax(forward(obs)[0].float(), dim=-1)
        return torch.multinomial(probabilities, 1, generator=rng).squeeze(-1)

    return act


def uniform(num_actions: int, rng: torch.Generator) -> Act:
    """Return a function that presses random buttons, a baseline that ignores the observation."""

    def act(obs: Tensor) -> Tensor:
        return torch.randint(num_actions, (len(obs),), generator=rng, device=obs.device)

    return act
