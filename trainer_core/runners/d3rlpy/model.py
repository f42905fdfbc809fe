"""Making, loading, querying and saving d3rlpy's models."""

from __future__ import annotations

import importlib
import logging
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainer_core.envs.translation import GREY_STEP
from trainer_core.lab.trust import require_trust
from trainer_core.runners.d3rlpy import gym_names  # noqa: F401 - before d3rlpy
from trainer_core.runners.d3rlpy.demonstrations import Episode
from trainer_core.runners.d3rlpy.iql import DiscreteIQLConfig
from trainer_core.runners.d3rlpy.runner import D3rlpyConfig
from trainer_core.runners.guest import generators
from trainer_core.wire.buttons import ACTIONS
from trainer_core.wire.errors import CheckpointError

# Imported by name: type checkers outside its environment do not find it, and its package is named like ours.
d3rlpy: Any = importlib.import_module("d3rlpy")
structlog: Any = importlib.import_module("structlog")
# d3rlpy prints its metrics in colours; the run's log already has them.
structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))

MODEL = "model.d3"
"""d3rlpy's own file format, for its `load_learnable`."""
SMALL = d3rlpy.models.PixelEncoderFactory(filters=[[32, 8, 8], [32, 2, 1]], feature_size=128)
"""Encoder like our small network, one 8x8 patch per tile; of d3rlpy's own kind, so that its file opens wherever d3rlpy
is installed."""
GREYS = d3rlpy.preprocessing.PixelObservationScaler
DISCRETE = d3rlpy.constants.ActionSpace.DISCRETE


def make_model(config: D3rlpyConfig) -> Any:
    """Return a new model for pictures u8[K, 72, 80] and seven buttons."""
    common: dict[str, Any] = {
        "learning_rate": config.learning_rate,
        "batch_size": config.batch_size,
        "encoder_factory": SMALL,
        "observation_scaler": GREYS(),
    }
    made: Any
    if config.algo == "iql":
        made = DiscreteIQLConfig(
            **common, gamma=config.gamma, expectile=config.expectile, weight_temp=config.weight_temp
        )
    elif config.algo == "bc":
        made = d3rlpy.algos.DiscreteBCConfig(**common, beta=config.beta)
    else:
        made = d3rlpy.algos.DiscreteCQLConfig(
            **common, gamma=config.gamma, alpha=config.alpha, target_update_interval=config.target_update_interval
        )
    model = made.create(device=device_name(config.device))
    model.create_impl((config.stack_k, 72, 80), len(ACTIONS))
    return model


def device_name(device: str) -> str:
    """Return the device's name with a number, as d3rlpy requires."""
    return f"{device}:0" if device in ("cpu", "cuda") else device


def stacked(pictures: np.ndarray, stack_k: int) -> np.ndarray:
    """Return greys u8[S, K, 72, 80] of shades u8[S, 72, 80]: the last K, the first one repeated before the start.

    Stacks like FrameStack in training and play.
    """
    steps = np.arange(len(pictures))[:, None] + np.arange(1 - stack_k, 1)
    return pictures[np.maximum(steps, 0)] * np.uint8(GREY_STEP)


def dataset_of(episodes: list[Episode], stack_k: int) -> Any:
    """Return d3rlpy's dataset, without the picture after an episode's last step, which is not needed."""
    ends = np.zeros(sum(len(episode.actions) for episode in episodes), np.float32)
    cuts = ends.copy()
    last = np.cumsum([len(episode.actions) for episode in episodes]) - 1
    won = np.array([episode.success for episode in episodes])
    ends[last[won]] = 1
    cuts[last[~won]] = 1
    return d3rlpy.dataset.MDPDataset(
        observations=np.concatenate([stacked(e.pictures[:-1], stack_k) for e in episodes]),
        actions=np.concatenate([e.actions for e in episodes])[:, None].astype(np.int32),
        rewards=np.concatenate([e.rewards for e in episodes])[:, None],
        terminals=ends,
        timeouts=cuts,
        action_space=DISCRETE,
        action_size=len(ACTIONS),
    )


def open_model(folder: Path, device: str) -> Any:
    """Return the model of a checkpoint with verified hashes: loading d3rlpy's file unpickles.

    Raises CheckpointError, also for a file that is not trusted.
    """
    require_trust(folder / MODEL, "d3rlpy")
    try:
        return d3rlpy.load_learnable(str(folder / MODEL), device=device_name(device))
    except Exception as error:  # pickle's own, KeyError, RuntimeError and others, depending on the damage
        text = " ".join(str(error).split())
        raise CheckpointError(f"{folder / MODEL}: {text}; use another checkpoint") from None


def load_weights(model: Any, folder: Path) -> None:
    """Load the network weights of another checkpoint, and no optimizer or counter. Raises CheckpointError."""
    donor = open_model(folder, "cpu").impl.modules.get_torch_modules()
    try:
        for name, module in model.impl.modules.get_torch_modules().items():
            module.load_state_dict(donor[name].state_dict())
    except (KeyError, RuntimeError) as error:
        text = " ".join(str(error).split())[:300]
        raise CheckpointError(f"{folder}: weights do not fit the network: {text}") from None


@torch.no_grad()
def action_logits(model: Any, shades: Tensor) -> Tensor:
    """Return f32[N, 7] of shades u8[N, K, 72, 80]: BC's and IQL's logits, CQL's action values."""
    modules = model.impl.modules
    modules.set_eval()
    greys = (shades * GREY_STEP).to(next(_first(modules).parameters()).device)
    scaled = model.config.observation_scaler.transform(greys.float())
    if hasattr(modules, "imitator"):
        return modules.imitator(scaled).logits
    return torch.stack([q(scaled).q_value for q in modules.q_funcs]).mean(0)


def _first(modules: Any) -> Any:
    return next(iter(modules.get_torch_modules().values()))


def loop_state(model: Any) -> dict[str, Any]:
    """Return the state that d3rlpy's file lacks for an exact resume: random generators and its step counter."""
    return {**generators.state(), "grad_step": model.grad_step}


def load_loop_state(model: Any, state: dict[str, Any]) -> None:
    """Restore what `loop_state` returned."""
    generators.load_state(state)
    model.set_grad_step(state["grad_step"])
