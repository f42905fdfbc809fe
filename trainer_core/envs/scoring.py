"""Rules of an episode: reward of a step, success and end.

Training, validation, the player, rollouts and the adapters for other libraries all score here. Only operators that
torch tensors and numpy numbers share are used, so that the same lines score a batch on a GPU and one console without
torch; both compute in float32 and agree bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from trainer_core.lab.tasks import Goal, Reward, TaskManifest
from trainer_core.wire.errors import TaskError


class Progress(NamedTuple):
    """Input of a success function: values derived from pixels, never from RAM.

    Tensors of N consoles or the numpy numbers of one: use operators that both have.
    """

    dist: Any
    """f32[N] goal distance of the present picture."""
    held: Any
    """i32[N] consecutive steps, this one included, with dist below tau."""
    tau: Any
    hold_steps: int


SuccessFunction = Callable[[Progress], Any]
_FUNCTIONS: dict[str, SuccessFunction] = {}


def success_function(name: str) -> Callable[[SuccessFunction], SuccessFunction]:
    """Register a function `Progress -> bool[N]` under the name that manifests use."""

    def register(function: SuccessFunction) -> SuccessFunction:
        _FUNCTIONS[name] = function
        return function

    return register


def find_success_function(name: str) -> SuccessFunction:
    """Return the function of that name. Raises TaskError naming the known ones."""
    try:
        return _FUNCTIONS[name]
    except KeyError:
        known = ", ".join(sorted(_FUNCTIONS))
        raise TaskError(f"no success function {name!r}; known functions: {known}") from None


@success_function("goal_template")
def goal_template(progress: Progress) -> Any:
    """Return whether the picture matched a goal template for `hold_steps` steps in a row."""
    return progress.held >= progress.hold_steps


@success_function("goal_touched")
def goal_touched(progress: Progress) -> Any:
    """Return whether the picture matches a goal template."""
    return progress.dist < progress.tau


class Rules(NamedTuple):
    """Parameters of reward, success and end of an episode, from a task's manifest."""

    alpha: Any
    step_cost: Any
    goal_bonus: Any
    novelty_bonus: Any
    tau: Any
    hold_steps: int
    horizon: int
    success: SuccessFunction
    shaping: str = "difference"
    """Kind of shaping, as in `lab.tasks.Reward.shaping`."""

    def cast(self, number: Callable[[float], Any]) -> Rules:
        """Return the same rules with every real number converted by `number`.

        A bare Python float times a numpy bool is float64; torch computes it in float32.
        """
        return self._replace(
            alpha=number(self.alpha),
            step_cost=number(self.step_cost),
            goal_bonus=number(self.goal_bonus),
            novelty_bonus=number(self.novelty_bonus),
            tau=number(self.tau),
        )


class Standing(NamedTuple):
    """State of an episode: tensors of N consoles or the numpy numbers of one."""

    dist: Any
    """f32[N] goal distance of the newest picture."""
    held: Any
    """i32[N] consecutive steps with dist below tau."""
    steps: Any
    """i32[N] steps of the episode."""
    best: Any
    """f32[N] least goal distance of the episode so far, its start included; updated only with the shaping
    `new_minimum`."""


class Score(NamedTuple):
    """Result of scoring one step."""

    reward: Any
    """f32[N]"""
    done: Any
    """bool[N] result of the success function."""
    trunc: Any
    """bool[N] the horizon ended the episode; never together with done."""
    standing: Standing
    """State after the step, before any reset."""


def make_rules(reward: Reward, goal: Goal, horizon: int, success: str) -> Rules:
    """Return the rules of a task with these parts of its manifest. Raises TaskError for an unknown success function."""
    return Rules(
        alpha=reward.alpha,
        step_cost=reward.step_cost,
        goal_bonus=reward.goal_bonus,
        novelty_bonus=reward.novelty_bonus,
        tau=goal.tau,
        hold_steps=goal.hold_steps,
        horizon=horizon,
        success=find_success_function(success),
        shaping=reward.shaping,
    )


def task_rules(manifest: TaskManifest) -> Rules:
    """Return the scoring rules in a task's manifest. Raises TaskError for an unknown success function."""
    reward = manifest.reward if manifest.has_goal else msgspec.structs.replace(manifest.reward, alpha=0.0)
    return make_rules(reward, manifest.goal, manifest.episode.horizon, manifest.success)


def score_step(rules: Rules, before: Standing, dist: Any, novelty: Any = None, ram: Any = None) -> Score:
    """Score the step from `before` to a picture at goal distance `dist`, f32[N].

    `novelty` is 1 / sqrt(number of times the picture was seen), f32[N]. None pays no novelty, as in validation and the
    player, whose results must not depend on what a run has seen. `ram` is (reward f32[N], done bool[N]) of the task's
    RAM terms, if it has any.
    """
    steps = before.steps + 1
    held = (before.held + 1) * (dist < rules.tau)
    done = rules.success(Progress(dist, held, rules.tau, rules.hold_steps))
    if ram is not None:
        done = done | ram[1]
    trunc = (steps >= rules.horizon) & ~done
    best, come = before.best, before.dist - dist
    if rules.shaping == "new_minimum":
        nearer = dist < before.best
        best = dist * nearer + before.best * (nearer ^ True)
        come = before.best - best
    reward = rules.alpha * come - rules.step_cost + rules.goal_bonus * done
    if novelty is not None:
        reward = reward + rules.novelty_bonus * novelty
    if ram is not None:
        reward = reward + ram[0]
    return Score(reward, done, trunc, Standing(dist, held, steps, best))
