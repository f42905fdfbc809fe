"""Warm-up: the slow parts before a player's first picture, done before a game is ordered.

A player started ahead of its order loads the kernels here, and torch where a policy may play. Nothing of it is kept.
"""

from __future__ import annotations

import numpy as np

from trainer_core.envs.single_game import open_game
from trainer_core.lab.paths import HomePaths
from trainer_core.wire.buttons import ACTION_MASKS
from trainer_core.wire.config import RunConfig

TASK = RunConfig().task


def rehearse(home: HomePaths, *, with_policy: bool = True) -> None:
    """Run a frame of the first shipped task, and with `with_policy` a forward pass of a policy. Raises LabError."""
    game = open_game(TASK, home)
    game.restart(0)
    game.frame(0)
    if with_policy:
        _think(game.observation())


def _think(observation: np.ndarray) -> None:
    """Run one forward pass of an untrained policy on a picture u8[72, 80]."""
    import torch

    from trainer_core.host import checkpoint  # noqa: F401  what opens the weights
    from trainer_core.learn.policy import PixelActorCritic, policy_kind

    torch.set_num_threads(1)
    config = RunConfig()
    shape = (config.stack_k, *observation.shape)
    policy = PixelActorCritic(policy_kind(config), shape, len(ACTION_MASKS))
    with torch.no_grad():
        policy(torch.from_numpy(observation)[None, None].expand(1, *shape))
