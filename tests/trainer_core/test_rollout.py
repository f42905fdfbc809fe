"""Time limits: the value of the picture before the reset, and of no other, is bootstrapped."""

from __future__ import annotations

import torch

from trainer_core.envs.vec_env import StepInfo, StepResult
from trainer_core.learn.rollout import RolloutBuffer

CPU = torch.device("cpu")
ENVS, STEPS, SHAPE = 2, 4, (1, 2, 2)


def picture(value: int) -> torch.Tensor:
    return torch.full((ENVS, *SHAPE), value, dtype=torch.uint8)


def result(t: int, trunc: list[bool], done: list[bool]) -> StepResult:
    cut, ended = torch.tensor(trunc), torch.tensor(done)
    zeros = torch.zeros(ENVS)
    info = StepInfo(zeros, cut | ended, ended, zeros.long(), zeros.int(), zeros.bool())
    return StepResult(picture(100 + t), torch.ones(ENVS), ended, cut, picture(10 + t), info)


def fill(horizon: int, truncs: dict[int, list[bool]], dones: dict[int, list[bool]]):
    rollout = RolloutBuffer(STEPS, ENVS, SHAPE, horizon, CPU)
    for _ in range(2):  # a second rollout must not see the first one's slots
        rollout.begin()
        for t in range(STEPS):
            zeros = torch.zeros(ENVS)
            values = torch.full((ENVS,), float(t))
            rollout.add_decision(t, picture(100 + t), zeros.long(), zeros, values, zeros)
            no = [False] * ENVS
            rollout.add_outcome(t, result(t, truncs.get(t, no), dones.get(t, no)))
    # V of a final picture is its shade, so that a mixed-up slot would show
    final = rollout.final_observations()[:, 0, 0, 0].float()
    rollout.finish(torch.full((ENVS,), 50.0), final, gamma=0.5, gae_lambda=0.0)
    return rollout


def test_each_time_limit_bootstraps_from_its_own_final_picture() -> None:
    rollout = fill(2, {0: [True, False], 2: [True, False], 3: [False, True]}, {})
    # lambda = 0: the return is r + gamma * V(next)
    assert rollout.returns[:, 0].tolist() == [1 + 0.5 * 10, 1 + 0.5 * 2, 1 + 0.5 * 12, 1 + 0.5 * 50]
    assert rollout.returns[:, 1].tolist() == [1 + 0.5 * 1, 1 + 0.5 * 2, 1 + 0.5 * 3, 1 + 0.5 * 13]


def test_reaching_the_goal_bootstraps_nothing() -> None:
    rollout = fill(8, {}, {1: [True, False]})
    assert rollout.returns[1].tolist() == [1.0, 1 + 0.5 * 2]


def test_slots_are_as_many_as_time_limits_can_fall_into_one_rollout() -> None:
    for horizon, slots in ((1, 4), (2, 2), (3, 2), (4, 1), (96, 1)):
        assert RolloutBuffer(STEPS, ENVS, SHAPE, horizon, CPU).slots == slots
