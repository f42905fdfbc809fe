"""Warm-up: the slow parts of a first update, done before a run is ordered.

A worker started ahead of its order loads torch and the kernels here, and runs one tiny rollout and update on the CPU.
Nothing of it is kept: a run seeds its own generators.
"""

from __future__ import annotations

import torch

from trainer_core.envs.build import make_env
from trainer_core.host.run import default_threads
from trainer_core.lab.paths import HomePaths
from trainer_core.learn.policy import policy_for
from trainer_core.learn.registry import implementation
from trainer_core.learn.update import ActorLearner
from trainer_core.wire.config import RunConfig


def rehearse(home: HomePaths) -> None:
    """Run one PPO update with two Game Boys on the first shipped task, then discard it. Raises LabError."""
    config = RunConfig(num_envs=2, num_steps=2, num_minibatches=1, update_epochs=1)
    torch.set_num_threads(default_threads())
    env = make_env(config, home, seed=config.seed)
    policy = policy_for(config, env.obs_shape, env.num_actions)
    learner = implementation(config.algo, policy.HEADS).learner(policy, config, torch.device(config.device))
    ActorLearner(env, learner, config).run_update()
