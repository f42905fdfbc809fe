"""Warm-up: the slow parts before a player's first picture, done before a game is ordered.

A player started ahead of its order loads the kernels first, then torch where a policy may play. Nothing of it is kept.
"""

from __future__ import annotations

from trainer_core.envs.single_game import open_game
from trainer_core.envs.task_files import SHAPE
from trainer_core.lab.paths import HomePaths
from trainer_core.play.sound import GameSound
from trainer_core.wire.buttons import ACTION_MASKS
from trainer_core.wire.config import RunConfig

TASK = RunConfig().task


def play_a_frame(home: HomePaths) -> None:
    """Run a frame of the first shipped task. Raises LabError."""
    game = open_game(TASK, home)
    game.restart(0)
    if game.cartridge is not None:
        GameSound(game.cartridge).frame(game, 0)  # it has a kernel of its own
    game.frame(0)


def think() -> None:
    """Run one forward pass of an untrained policy on an empty picture."""
    import torch

    from trainer_core.host import checkpoint  # noqa: F401  what opens the weights
    from trainer_core.learn.policy import PixelActorCritic, policy_kind

    torch.set_num_threads(1)
    config = RunConfig()
    shape = (config.stack_k, *SHAPE)
    policy = PixelActorCritic(policy_kind(config), shape, len(ACTION_MASKS))
    with torch.no_grad():
        policy(torch.zeros((1, *shape), dtype=torch.uint8))
