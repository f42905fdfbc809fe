"""Greedy play in a loop leaves it, and is greedy elsewhere; dawdling is said once."""

from __future__ import annotations

import torch
from torch import Tensor

from trainer_core.envs.toy import TinyGoalEnv, start_tiles
from trainer_core.protocol.buttons import ACTIONS
from trainer_core.train.dawdling import PATIENCE, DawdlingWatch
from trainer_core.train.evaluate import greedy, run_episodes
from trainer_core.train.loop_leaving import leaving_loops


def towards_a_wall(obs: Tensor) -> tuple[Tensor, Tensor]:
    """Mostly LEFT, where a wall ends the way; sometimes what leads back to the goal's column."""
    logits = torch.full((len(obs), len(ACTIONS)), -9.0)
    for name, value in (("LEFT", 1.0), ("DOWN", 0.9), ("RIGHT", 0.9), ("UP", 0.5)):
        logits[:, ACTIONS.index(name)] = value
    return logits, torch.zeros(len(obs))


def test_a_wall_holds_greedy_play_for_ever_and_not_the_one_that_draws_there() -> None:
    env = TinyGoalEnv(32)
    starts = torch.arange(32) % len(start_tiles())
    alone = run_episodes(env, greedy(towards_a_wall), starts, "greedy").episodes
    act = leaving_loops(
        towards_a_wall, lambda: env.episode_steps, env.horizon, torch.Generator().manual_seed(1)
    )
    visited = run_episodes(env, act, starts, "leave_loops").episodes
    left = ACTIONS.index("LEFT")
    assert all(episode.actions[0] == left for episode in visited), "greedy on what is new"
    assert sum(e.success for e in visited) > sum(e.success for e in alone)


def test_a_new_episode_has_seen_nothing() -> None:
    env = TinyGoalEnv(4)
    act = leaving_loops(
        towards_a_wall, lambda: env.episode_steps, env.horizon, torch.Generator().manual_seed(1)
    )
    for _ in range(3):
        obs = env.reset_to(torch.arange(4))
        assert act(obs).tolist() == [ACTIONS.index("LEFT")] * 4


def test_reward_without_goals_is_said_once_and_only_when_it_lasts() -> None:
    watch, earns = DawdlingWatch(), {"reward_mean": 0.03, "done_rate": 0.0}
    for _ in range(PATIENCE - 1):
        assert not watch.warning(earns)
    assert not watch.warning({"reward_mean": 0.03, "done_rate": 0.01})
    said = [watch.warning(earns) for _ in range(3 * PATIENCE)]
    assert [bool(text) for text in said].index(True) == PATIENCE - 1
    assert sum(map(bool, said)) == 1
    assert "novelty_bonus" in said[PATIENCE - 1]
    assert not DawdlingWatch().warning({"reward_mean": -0.005, "done_rate": 0.0})
