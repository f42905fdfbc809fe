"""Greedy play in a loop leaves it, the same way each time, and is greedy elsewhere; how such play
ends a run; dawdling is said once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.made_checkpoints import made_meta
from tests.trainer_core.building import shorten_episodes, tiny_config, train_in
from trainer_core.envs.toy import TinyGoalEnv, start_tiles
from trainer_core.host.agent import StackedAgent
from trainer_core.host.evaluate import Act, greedy, run_episodes
from trainer_core.host.loop_leaving import leaving_loops
from trainer_core.host.progress import Rates, RunProgress
from trainer_core.host.reward_check import PATIENCE, DawdlingWatch
from trainer_core.host.validator import Validator
from trainer_core.lab.checkpoint_manifest import list_checkpoints, merit, read_meta
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.log_check import check_log
from trainer_core.wire.buttons import ACTIONS
from trainer_core.wire.records import EvalRecord


def towards_a_wall(obs: Tensor) -> tuple[Tensor, Tensor]:
    """Mostly LEFT, where a wall ends the way; sometimes what leads back to the goal's column."""
    logits = torch.full((len(obs), len(ACTIONS)), -9.0)
    for name, value in (("LEFT", 1.0), ("DOWN", 0.9), ("RIGHT", 0.9), ("UP", 0.5)):
        logits[:, ACTIONS.index(name)] = value
    return logits, torch.zeros(len(obs))


def leaving(env: TinyGoalEnv) -> Act:
    return leaving_loops(towards_a_wall, lambda: env.episode_steps, env.horizon)


def test_a_wall_holds_greedy_play_for_ever_and_not_the_one_that_leaves_loops() -> None:
    env = TinyGoalEnv(32)
    starts = torch.arange(32) % len(start_tiles())
    alone = run_episodes(env, greedy(towards_a_wall), starts, "greedy").episodes
    visited = run_episodes(env, leaving(env), starts, "leave_loops").episodes
    left = ACTIONS.index("LEFT")
    assert all(episode.actions[0] == left for episode in visited), "greedy on what is new"
    assert sum(e.success for e in visited) > sum(e.success for e in alone)
    assert run_episodes(env, leaving(env), starts, "leave_loops").episodes == visited, "no chance"


class Watching(StackedAgent):
    """An agent of one console with the same logits."""

    def act(self) -> int:
        return self.likeliest(towards_a_wall(torch.from_numpy(self._stack)[None])[0][0].tolist())


def test_what_deploys_leaves_loops_as_what_validates() -> None:
    env = TinyGoalEnv(1)
    agent, act = Watching(Path(), made_meta(obs_shape=env.obs_shape), "", "leave_loops"), leaving(env)
    for start in (0, 3):
        obs = env.reset_to(torch.tensor([start]))
        agent.begin(obs[0, -1].numpy())
        pressed = []
        for _ in range(env.horizon - 1):
            action = act(obs)
            assert agent.act() == int(action)
            pressed.append(int(action))
            result = env.step(action)
            if bool(result.done):
                break
            obs = result.obs
            agent.see(obs[0, -1].numpy())
        assert len(set(pressed)) > 2, "it met pictures again"


def test_a_new_episode_has_seen_nothing() -> None:
    env = TinyGoalEnv(4)
    act = leaving(env)
    for _ in range(3):
        obs = env.reset_to(torch.arange(4))
        assert act(obs).tolist() == [ACTIONS.index("LEFT")] * 4


def found(greedy: float, leaving: float) -> Rates:
    return Rates(greedy=greedy, least=greedy, leaving=leaving, least_leaving=leaving, sampled=0.5)


def test_a_target_held_by_leaving_loops_counts_once_greedy_play_had_its_chance() -> None:
    progress = RunProgress()
    for steps, likeliest, leaves in ((100, 0.0, 0.5), (200, 0.5, 1.0), (400, 0.6, 0.9), (500, 0.6, 1.0)):
        progress.take(found(likeliest, leaves), steps, 0.95)
        assert not progress.reached(0.95)
        assert progress.is_best(f"{steps:012d}") == (steps != 400 or likeliest > 0.5)
    progress = RunProgress.from_state(progress.state_dict(1.0))
    progress.take(found(0.6, 1.0), 880, 0.95)
    assert not progress.reached(0.95), "380 steps since it fell short, 400 are wanted"
    assert not RunProgress.from_state(progress.state_dict(1.0)).reached(0.9), "of another target"
    progress.take(found(0.5, 1.0), 900, 0.95)
    assert progress.reached(0.95) == "leave_loops"
    assert progress.reason(0.95) == ("validation has been at 1.000 leaving loops since 500 steps; best greedy 0.600")
    progress.take(found(1.0, 1.0), 1000, 0.95)
    assert progress.reached(0.95) == "leave_loops", "greedy play has once"
    progress.take(found(1.0, 1.0), 1050, 0.95)
    assert progress.reached(0.95) == "greedy"
    progress.take(found(0.5, 1.0), 1100, 0.9)
    assert not progress.reached(0.9), "another target begins anew"


class Leaves(Validator):
    """Greedy play that never gets there, and leaving loops that does from the second time on."""

    def validate(self, update: int, env_steps: int) -> Iterator[Any]:
        leaving = 1.0 if update >= 2 else 0.5
        for kind, fields in super().validate(update, env_steps):
            if kind is EvalRecord:
                rate = leaving if fields["mode"] == "leave_loops" else 0.5
                rates = dict.fromkeys(("success_rate", "pass_at_1", "pass_at_n"), rate)
                fields = fields | rates | {"median_steps_to_goal": 3.0}
            yield kind, fields
        self.rates = found(0.5, leaving)


def test_a_run_ends_by_it_and_a_resumed_one_at_the_same_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_episodes(monkeypatch)
    monkeypatch.setattr("trainer_core.host.native.Validator", Leaves)
    update = 4 * 4
    config = tiny_config(num_envs=4, num_steps=4, eval_every=1, eval_episodes=2, target_success=0.95, total_env_steps=0)
    whole = train_in(tmp_path / "whole", config)
    train_in(tmp_path / "cut", dataclasses.replace(config, total_env_steps=4 * update))
    cut = train_in(tmp_path / "cut", config)
    for outcome in (whole, cut):
        assert (outcome.reached_by, outcome.env_steps) == ("leave_loops", 6 * update)
        assert outcome.reason.endswith(f"leaving loops since {2 * update} steps; best greedy 0.500")
        assert (outcome.success_rate, outcome.leaving_success_rate) == (0.5, 1.0)
        assert outcome.best == (0.5, 1.0)
    paths = HomePaths(tmp_path / "cut").run("run")
    assert check_log(paths.train_log).errors == []
    best = max(map(read_meta, list_checkpoints(paths)), key=merit)
    assert (best.env_steps, best.leaving_success_rate) == (2 * update, 1.0)


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
