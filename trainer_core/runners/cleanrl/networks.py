"""Conversion of our pictures to the input of each script's network, and of its output to logits."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from torch import Tensor

from trainer_core.envs.translation import GREY_STEP
from trainer_core.runners.cleanrl.runner import CleanRlConfig
from trainer_core.wire.errors import CheckpointError, ConfigError
from trainer_core.wire.shades import MAX_SHADE

NETWORK = {"ppo": "agent", "dqn": "q_network", "ppo_atari": "agent"}
"""Name of each script's variable that holds the network that acts."""
CLASS = {"ppo": "Agent", "dqn": "QNetwork", "ppo_atari": "Agent"}
MODEL = "model.pt"
"""File {variable: state_dict, "global_step": n} of our checkpoints; loads with weights_only."""
PICTURE = (72, 80)
_ATARI = 84
"""Width and height that ppo_atari.py's layers expect."""


def stack_of(algo: str) -> int:
    """Return how many pictures an observation stacks: four for ppo_atari.py, whose first layer has four planes."""
    return 4 if algo == "ppo_atari" else 1


def observation_space(algo: str) -> spaces.Box:
    if algo == "ppo_atari":
        return spaces.Box(0, 255, (4, _ATARI, _ATARI), np.uint8)
    return spaces.Box(0.0, 1.0, (PICTURE[0] * PICTURE[1],), np.float32)


def observations(algo: str, shades: Tensor) -> Tensor:
    """Return shades u8[N, K, 72, 80] in the script's format.

    ppo_atari: greys u8[N, 4, 84, 84] with a white frame around; others: f32[N, 5760], 0 to 1. Raises ConfigError for
    pictures of another size, of which a part would be lost.
    """
    if (size := tuple(shades.shape[-2:])) != PICTURE:
        raise ConfigError(f"CleanRL's networks take pictures of {PICTURE}, not {size}")
    if algo == "ppo_atari":
        rows, columns = _ATARI - shades.shape[-2], _ATARI - shades.shape[-1]
        margins = (columns // 2, columns - columns // 2, rows // 2, rows - rows // 2)
        return torch.nn.functional.pad(shades * GREY_STEP, margins)
    return shades.flatten(1).float() / MAX_SHADE


@torch.no_grad()
def action_logits(algo: str, network: Any, shades: Tensor) -> Tensor:
    """Return logits f32[N, 7] of shades u8[N, K, 72, 80].

    For dqn they are log probabilities of epsilon-greedy play with the script's last --end-e of 0.05.
    """
    seen = observations(algo, shades).to(next(network.parameters()).device).float()
    if algo == "ppo":
        return network.actor(seen)
    if algo == "ppo_atari":
        return network.actor(network.network(seen / 255.0))
    values = network(seen)
    chosen = torch.nn.functional.one_hot(values.argmax(-1), values.shape[-1])
    return torch.log(chosen * 0.95 + 0.05 / values.shape[-1])


def put_on_path(config: CleanRlConfig) -> None:
    """Set sys.path as if `python cleanrl/SCRIPT.py` ran in the checkout with PYTHONPATH set there."""
    sys.path[:0] = [str(config.script.parent), str(config.script.parents[1])]


def load_network(folder: Path, config: CleanRlConfig, num_actions: int, device: str) -> Any:
    """Return the script's own network with a checkpoint's weights. Raises CheckpointError."""
    if not config.script.is_file():
        raise CheckpointError(f"{folder}: its network is defined in {config.script}, which is gone")
    put_on_path(config)
    defined = runpy.run_path(str(config.script), run_name="cleanrl_script")
    spaces_of = SimpleNamespace(
        single_observation_space=observation_space(config.algo), single_action_space=spaces.Discrete(num_actions)
    )
    network = defined[CLASS[config.algo]](spaces_of).to(device)
    try:
        weights = torch.load(folder / MODEL, map_location=device, weights_only=True)
        network.load_state_dict(weights[NETWORK[config.algo]])
    except (KeyError, RuntimeError) as error:
        text = " ".join(str(error).split())
        raise CheckpointError(f"{folder}: weights do not fit the network: {text}") from None
    return network.eval()
