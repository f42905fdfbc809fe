"""On a GPU: the marks of a CPU, drawn without asking the device, and learned from by products."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.trainer_core.building import tiny_config
from trainer_core.envs.game_env import GameEnv, GameOptions
from trainer_core.envs.press_marks import presses_marked
from trainer_core.envs.pressed import PressedEnv
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.tasks import find_task
from trainer_core.learn.gemm.learner import GemmLearner
from trainer_core.learn.policy import PixelActorCritic
from trainer_core.learn.ppo import ppo_learner

pytestmark = [
    pytest.mark.warp,
    pytest.mark.cuda,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]


def test_marked_pictures_are_those_of_a_cpu_and_learned_by_products(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    task = find_task("pocket_quest/leave_bedroom", home)
    envs = [
        PressedEnv(GameEnv.open(task, home, GameOptions(num_envs=32, device=device))) for device in ("cpu", "cuda:0")
    ]
    rng = torch.Generator().manual_seed(2)
    for env in envs:
        env.reset_to(torch.arange(32, device=env.device))
    for _ in range(24):
        actions = torch.randint(7, (32,), generator=rng)
        host, device = (env.step(actions.to(env.device)) for env in envs)
        assert torch.equal(host.obs, device.obs.cpu())
        assert torch.equal(host.final_obs, device.final_obs.cpu())
    obs = envs[1].obs
    assert bool(presses_marked(obs[:, -1], 7).any()), "someone stood still"

    config = tiny_config(device="cuda:0", obs_source="marked", num_envs=32, num_minibatches=2)
    policy = PixelActorCritic("small", envs[1].obs_shape, 7, marked=True).to(envs[1].device)
    learner = ppo_learner(policy, config, envs[1].device)
    assert isinstance(learner, GemmLearner)
    with torch.no_grad():
        for found, wanted in zip(learner.forward(obs), policy(obs), strict=True):
            torch.testing.assert_close(found, wanted.float(), rtol=0.02, atol=0.02)
