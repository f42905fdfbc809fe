"""The law of an episode: against a plain statement of it, and the same for a batch and one console.

The statement below is written anew, in exact fractions, so that a change of the law is noticed; the
sequences of pictures are random, with goals, near misses and starts among them.
"""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer_core.envs.episodes import Episodes, GoalTemplates
from trainer_core.envs.judge import Judge
from trainer_core.envs.scoring import Rules, Standing, make_rules, score_step
from trainer_core.lab.paths import CHECKOUT
from trainer_core.lab.tasks import Goal, Reward

HEIGHT, WIDTH, STARTS = 4, 8, 3
STEPS = 24


class Case:
    """A small task and a random sequence of pictures, some of them goals or one pixel off."""

    def __init__(self, seed: int, distance: str, success: str, masked: bool, goals: int, hold: int) -> None:
        rng = np.random.default_rng(seed)
        shape = (goals, HEIGHT, WIDTH)
        self.templates = rng.integers(0, 4, shape, dtype=np.uint8)
        self.mask = np.ones(shape, bool)
        if masked:
            self.mask = rng.random(shape) < 0.5
            self.mask[:, 0, 0] = True
        self.starts = rng.integers(0, 4, (STARTS, HEIGHT, WIDTH), dtype=np.uint8)
        self.pictures = rng.integers(0, 4, (STEPS, HEIGHT, WIDTH), dtype=np.uint8)
        for picture in self.pictures:
            if rng.random() < 0.6:
                picture[:] = self.templates[rng.integers(goals)]
            if rng.random() < 0.3:
                picture[tuple(rng.integers((HEIGHT, WIDTH)))] ^= 1
        costs = rng.random(4).round(3).tolist()
        self.reward = Reward(
            step_cost=costs[0],
            alpha=2 * costs[1],
            shaping=("difference", "new_minimum")[seed // 2 % 2],
            goal_bonus=3 * costs[2],
            novelty_bonus=costs[3],
        )
        # A tau that some distances meet exactly: "below" is not "at most".
        one_pixel = 1 / (HEIGHT * WIDTH * (3 if distance == "l1" else 9))
        tau = float(np.float32(one_pixel)) if seed % 2 else 0.05
        self.goal = Goal(file="", sha256="", distance=distance, tau=tau, hold_steps=hold)
        self.horizon = int(rng.integers(2, 8))
        self.success = success
        self.rules = make_rules(self.reward, self.goal, self.horizon, success)

    def batch(self, *, novelty: bool) -> Episodes:
        mask = torch.from_numpy(self.mask)
        templates = GoalTemplates(torch.from_numpy(self.templates), mask, self.goal.distance)
        starts = torch.from_numpy(self.starts)
        episodes = Episodes(1, templates, self.rules, torch.arange(STARTS), starts, seed=1, novelty=novelty)
        episodes.begin(torch.tensor([0]))
        return episodes

    def console(self) -> Judge:
        judge = Judge(self.templates, self.mask, self.goal.distance, self.rules)
        judge.begin(self.starts[0])
        return judge


cases = st.builds(
    Case,
    seed=st.integers(0, 10_000),
    distance=st.sampled_from(["l1", "mse"]),
    success=st.sampled_from(["goal_template", "goal_touched"]),
    masked=st.booleans(),
    goals=st.integers(1, 3),
    hold=st.integers(1, 3),
)


class Statement:
    """What docs/notebook/tasks.md says, in exact numbers and no shared line."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.begin(case.starts[0])

    def begin(self, picture: np.ndarray) -> None:
        self.dist, self.held, self.steps = self.distance(picture), 0, 0
        self.best = self.dist

    def distance(self, picture: np.ndarray) -> Fraction:
        found = []
        for template, mask in zip(self.case.templates, self.case.mask, strict=True):
            apart = abs(picture.astype(int) - template)[mask]  # in thirds
            total, whole = (apart**2, 9) if self.case.goal.distance == "mse" else (apart, 3)
            found.append(Fraction(int(total.sum()), whole * len(apart)))
        return min(found)

    def step(self, picture: np.ndarray) -> tuple[float, bool, bool]:
        case, pay = self.case, self.case.reward
        dist = self.distance(picture)
        # Distances are compared as they are stored: in float32.
        near = np.float32(float(dist)) < np.float32(case.goal.tau)
        self.steps += 1
        self.held = self.held + 1 if near else 0
        won = bool(near if case.success == "goal_touched" else self.held >= case.goal.hold_steps)
        come = self.dist - dist
        if pay.shaping == "new_minimum":
            come = max(self.best - dist, Fraction(0))
        reward = pay.alpha * float(come) - pay.step_cost
        if won:
            reward += pay.goal_bonus
        self.dist, self.best = dist, min(self.best, dist)
        return reward, won, self.steps == case.horizon and not won


@settings(max_examples=120, deadline=None, derandomize=True)
@given(case=cases)
def test_the_batch_and_the_console_follow_the_statement_and_agree_bit_for_bit(case: Case) -> None:
    batch, console, statement = case.batch(novelty=False), case.console(), Statement(case)
    assert float(batch.dist[0]) == console.dist
    for number, picture in enumerate(case.pictures):
        out = batch.judge(torch.from_numpy(picture)[None])
        reward, success, trunc = console.judge(picture)
        assert np.float32(reward) == out.reward.numpy()[0], number
        assert np.float32(console.dist) == out.dist.numpy()[0], number
        assert (success, trunc) == (bool(out.done[0]), bool(out.trunc[0])), number
        stated = statement.step(picture)
        assert reward == pytest.approx(stated[0], abs=2e-6), number
        assert (success, trunc) == stated[1:], number
        if success or trunc:
            assert bool(out.reset_mask[0])
            begun = case.starts[int(out.next_start[0])]
            console.begin(begun)
            statement.begin(begun)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(case=cases)
def test_what_is_watched_is_what_trains_less_the_novelty(case: Case) -> None:
    """Training adds the bonus for rare pictures; validation and the player pay the rest of it."""
    trained, watched = case.batch(novelty=True), case.console()
    seen: dict[bytes, int] = {}
    for picture in case.pictures:
        out = trained.judge(torch.from_numpy(picture)[None])
        reward, success, trunc = watched.judge(picture)
        seen[picture.tobytes()] = seen.get(picture.tobytes(), 0) + 1
        bonus = case.reward.novelty_bonus / seen[picture.tobytes()] ** 0.5
        assert float(out.reward[0]) == pytest.approx(reward + bonus, abs=2e-6)
        assert (success, trunc) == (bool(out.done[0]), bool(out.trunc[0]))
        if success or trunc:
            watched.begin(case.starts[int(out.next_start[0])])


def test_the_sequences_meet_every_branch() -> None:
    """Without this the tests above could agree on nothing but misses."""
    met: set[tuple[Any, ...]] = set()
    for seed, distance, success in product(range(12), ("l1", "mse"), ("goal_template", "goal_touched")):
        case = Case(seed, distance, success, masked=seed % 3 == 0, goals=2, hold=2)
        batch = case.batch(novelty=False)
        for picture in case.pictures:
            out = batch.judge(torch.from_numpy(picture)[None])
            at_tau = bool(out.dist[0] == case.goal.tau)
            met.add((success, bool(out.done[0]), bool(out.trunc[0]), at_tau))
    for success in ("goal_template", "goal_touched"):
        assert {
            (success, True, False, False),
            (success, False, True, False),
            (success, False, False, False),
            (success, False, False, True),
        } <= met


def test_a_step_by_hand() -> None:
    rules = make_rules(
        Reward(step_cost=0.25, alpha=2.0, goal_bonus=8.0, novelty_bonus=4.0),
        Goal(file="", sha256="", tau=0.5, hold_steps=2),
        5,
        "goal_template",
    )

    def step(
        rules: Rules, dist: float, held: int, steps: int, reached: float, best: float | None = None, **more: Any
    ) -> Any:
        nearest = np.float32(dist if best is None else best)
        before = Standing(np.float32(dist), np.int32(held), np.int32(steps), nearest)
        score = score_step(rules.cast(np.float32), before, np.float32(reached), **more)
        return (
            *(float(score.reward), bool(score.done), bool(score.trunc)),
            int(score.standing.held),
            int(score.standing.steps),
        )

    assert step(rules, 1.0, 0, 0, 0.75) == (0.25, False, False, 0, 1)
    assert step(rules, 1.0, 0, 0, 0.25) == (1.25, False, False, 1, 1), "once is not held"
    assert step(rules, 0.25, 1, 1, 0.25) == (7.75, True, False, 2, 2)
    assert step(rules, 0.25, 1, 1, 0.5) == (-0.75, False, False, 0, 2), "tau itself is outside"
    assert step(rules, 1.0, 0, 4, 1.0) == (-0.25, False, True, 0, 5)
    assert step(rules, 0.25, 1, 4, 0.25) == (7.75, True, False, 2, 5), "done is never truncated"
    assert step(rules, 1.0, 0, 0, 1.0, novelty=np.float32(0.5))[0] == 1.75
    minimum = rules._replace(shaping="new_minimum")
    assert step(minimum, 0.75, 0, 0, 1.0, 0.625)[0] == -0.25, "a detour costs its step alone"
    assert step(minimum, 1.0, 0, 0, 0.75, 0.625)[0] == -0.25, "coming back earns nothing"
    assert step(minimum, 1.0, 0, 0, 0.5, 0.625)[0] == 0.0


def test_an_episode_pays_new_minima_once_however_often_it_walks_to_and_fro() -> None:
    rules = make_rules(
        Reward(step_cost=0.0, alpha=1.0, shaping="new_minimum", goal_bonus=0.0),
        Goal(file="", sha256="", tau=0.01),
        99,
        "goal_template",
    ).cast(np.float32)
    standing = Standing(np.float32(0.5), np.int32(0), np.int32(0), np.float32(0.5))
    total = 0.0
    for dist in (0.75, 0.25, 0.5, 0.25, 0.75, 0.125, 0.25):
        score = score_step(rules, standing, np.float32(dist))
        total, standing = total + float(score.reward), score.standing
    assert total == 0.375
    assert standing.best == np.float32(0.125)


def test_a_person_can_play_before_torch_has_loaded() -> None:
    code = "import sys, trainer_core.player; print(sorted({'torch', 'PIL', 'tyro'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
