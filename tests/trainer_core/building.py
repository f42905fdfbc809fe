"""Small trainers on TinyGoalEnv for the tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from trainer_core.envs import toy
from trainer_core.envs.pressed import PressedEnv
from trainer_core.envs.recording_writer import RecordingWriter
from trainer_core.envs.single_game import TinyGame
from trainer_core.envs.toy import TinyGoalEnv
from trainer_core.envs.vec_env import VecEnv
from trainer_core.host.control import Control
from trainer_core.host.native import NativeTrainee, native_host
from trainer_core.host.run import Host, Outcome
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.learn.learner import Learner
from trainer_core.learn.policy import policy_for
from trainer_core.learn.update import ActorLearner
from trainer_core.runs.log_writer import RunWriter
from trainer_core.wire.config import RunConfig

CPU = torch.device("cpu")
RIGHT = 8
"""Joypad mask."""


def tiny_config(**changes: Any) -> RunConfig:
    """A run of N=16, T=8 that validates and saves only when asked to."""
    fields: dict[str, Any] = {
        "task": "tiny_goal",
        "num_envs": 16,
        "num_steps": 8,
        "num_minibatches": 2,
        "update_epochs": 2,
        "eval_every": 0,
        "eval_episodes": 8,
        "checkpoint_every": 0,
        "threads": 1,
        "total_env_steps": 16 * 8 * 4,
    }
    return RunConfig(**{**fields, **changes})


def tiny_trainer(config: RunConfig) -> ActorLearner:
    torch.manual_seed(config.seed)
    torch.set_num_threads(1)
    env: VecEnv = TinyGoalEnv(config.num_envs, stack_k=config.stack_k, seed=config.seed)
    if config.obs_source == "marked":
        env = PressedEnv(env)  # type: ignore[assignment]  # stopwatch is a property
    policy = policy_for(config, env.obs_shape, env.num_actions)
    return ActorLearner(env, Learner(policy, config, CPU), config)


def shorten_episodes(monkeypatch: pytest.MonkeyPatch, horizon: int = 8) -> None:
    """End episodes of tiny_goal sooner: most of what a validation costs is steps of a policy that
    does not get there."""
    monkeypatch.setattr(toy, "HORIZON", horizon)
    for name in ("horizon", "shortest_limit"):
        monkeypatch.setattr(TinyGoalEnv, name, horizon)


def train_in(home: Path, config: RunConfig, *, run_id: str = "run", control: Control | None = None) -> Outcome:
    """Train, or resume, `home`'s run to its end."""
    paths = HomePaths(home).run(run_id)
    writer = RunWriter(paths)
    try:
        host = native_host(config, paths, HomePaths(home), writer, control or Control())
        return host.run()
    finally:
        writer.close()


def prepared_run(home: Path, config: RunConfig, run_id: str = "run") -> Host:
    """A run of ours that is ready to train but has made no update yet."""
    paths = HomePaths(home).run(run_id)
    run = native_host(config, paths, HomePaths(home), RunWriter(paths), Control())
    run.prepare()
    return run


def trainer_of(run: Host) -> ActorLearner:
    """What a prepared run of ours trains."""
    assert isinstance(run.trainee, NativeTrainee)
    return run.trainee.trainer


def read_log(home: Path, run_id: str = "run") -> list[dict[str, Any]]:
    paths: RunPaths = HomePaths(home).run(run_id)
    return [json.loads(line) for line in paths.train_log.read_text().splitlines()]


def weights_of(trainer: ActorLearner) -> torch.Tensor:
    return torch.cat([p.detach().flatten() for p in trainer.learner.parameters])


def recorded(folder: Path, masks: Sequence[int] = (RIGHT,) * 3) -> Path:
    """A recording of a walker on the tiny grid, who holds one of the masks in each step."""
    game = TinyGame()
    game.restart(0)
    writer = RecordingWriter(folder, game, mode="human", checkpoint="", checkpoint_sha256="")
    for step, mask in enumerate(masks, 1):
        for frame in range(24):
            held = mask if frame < 8 else 0
            game.frame(held)
            writer.add_frame(game.picture(), held)
        writer.add_step(step=step, action=4, reward=0.0, dist=0.5)
    return writer.finish()


CLOCKS = {"time", "wall_time_s", "sps", "updates_per_s", "time_split", "machine", "seq"}


def without_clocks(record: dict[str, Any]) -> dict[str, Any]:
    """What two equal runs must agree on."""
    return {name: value for name, value in record.items() if name not in CLOCKS}
