"""What every VecEnv must keep; each implementation runs it in its own test."""

from __future__ import annotations

from collections.abc import Callable

import torch

from trainer_core.envs.vec_env import StepResult, VecEnv

MakeEnv = Callable[[int, int], VecEnv]
"""(num_envs, stack_k) to an environment of seed 1."""


def check_vec_env(make: MakeEnv, steps: int = 40) -> None:
    """Shapes, types, autoreset, final observations, determinism, exact state."""
    env = make(4, 2)
    obs = env.reset(seed=3)
    assert obs.shape == (4, *env.obs_shape) == (4, 2, 72, 80)
    assert obs.dtype == torch.uint8
    assert int(obs.max()) <= 3
    assert torch.equal(obs[:, 0], obs[:, 1]), "a new episode's stack holds the start's picture"
    rng = torch.Generator().manual_seed(5)
    ages = torch.zeros(4, dtype=torch.int32)
    ended = 0
    for _ in range(steps):
        before = obs.clone()
        actions = torch.randint(env.num_actions, (4,), generator=rng)
        result = env.step(actions)
        ages += 1
        _check_result(env, result, before, ages)
        ages = torch.where(result.info.reset_mask, 0, ages)
        ended += int(result.info.reset_mask.sum())
        obs = result.obs
    assert ended, "no episode ended: the contract was not tried"
    _check_state(make, rng)
    _check_batch_size(make)
    env.close()


def _check_result(env: VecEnv, result: StepResult, before: torch.Tensor, ages: torch.Tensor) -> None:
    info = result.info
    assert result.reward.dtype == info.dist.dtype == torch.float32
    for flag in (result.done, result.trunc, info.reset_mask, info.success):
        assert flag.dtype == torch.bool
        assert flag.shape == (4,)
    assert torch.equal(info.reset_mask, result.done | result.trunc)
    assert not bool((result.done & result.trunc).any())
    assert torch.equal(result.done, info.success)
    assert torch.equal(info.episode_steps, ages)
    assert bool((result.trunc == ((ages >= env.horizon) & ~result.done)).all())
    assert bool(((info.dist >= 0) & (info.dist <= 1)).all())
    stays = ~info.reset_mask
    assert torch.equal(result.obs[stays], result.final_obs[stays])
    for now, stepped in ((env.dist, info.dist), (env.start_index, info.start_index), (env.episode_steps, ages)):
        assert torch.equal(now[stays], stepped[stays])
    assert not bool(env.episode_steps[info.reset_mask].any())
    assert torch.equal(result.final_obs[:, 0], before[:, 1]), "the stack shifts by one picture"
    fresh = result.obs[info.reset_mask]
    assert torch.equal(fresh[:, 0], fresh[:, 1])


def _check_state(make: MakeEnv, rng: torch.Generator) -> None:
    """load_state_dict(state_dict()) goes on exactly; a seed repeats a run."""
    first, second = make(4, 2), make(4, 2)
    first.reset(seed=9)
    actions = torch.randint(first.num_actions, (30, 4), generator=rng)
    for row in actions[:10]:
        first.step(row)
    second.reset(seed=1)
    second.load_state_dict(first.state_dict())
    assert torch.equal(first.obs, second.obs)
    for row in actions[10:]:
        a, b = first.step(row), second.step(row)
        assert torch.equal(a.obs, b.obs)
        assert torch.equal(a.reward, b.reward)
        assert torch.equal(a.info.start_index, b.info.start_index)
    first.reset(seed=9)
    rewards = [first.step(row).reward.clone() for row in actions]
    first.reset(seed=9)
    for row, was in zip(actions, rewards, strict=True):
        assert torch.equal(first.step(row).reward, was), "a seed repeats its rewards"
    for env in (first, second):
        env.close()


def _check_batch_size(make: MakeEnv) -> None:
    """Env 0 of a batch does what it does alone."""
    alone, many = make(1, 1), make(4, 1)
    start = int(alone.start_set[0])
    alone.reset_to(torch.tensor([start]))
    many.reset_to(torch.full((4,), start))
    for action in range(min(7, alone.horizon)):  # the starts that are drawn then differ
        a, b = alone.step(torch.tensor([action])), many.step(torch.full((4,), action))
        assert torch.equal(a.final_obs[0], b.final_obs[0])
        assert float(a.info.dist[0]) == float(b.info.dist[0])
    starts = many.start_set[[3, 1, 2, 1]]
    many.reset_to(starts)
    assert torch.equal(many.start_index, starts)
    apart = many.dist.clone()
    assert float(apart[1]) == float(apart[3]) > 0
    alone.reset_to(starts[:1])
    assert torch.equal(alone.dist, apart[:1])
    for env in (alone, many):
        env.close()
