"""Implementations of the algorithms in wire/algorithms.py."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor

from trainer_core.learn.learner import Learner, LossSums
from trainer_core.learn.policy import PixelActorCritic
from trainer_core.learn.rollout import Forward, RolloutBuffer
from trainer_core.wire.algorithms import find_algorithm
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import ConfigError

if TYPE_CHECKING:
    from trainer_core.envs.vec_env import StepResult


class Storage(Protocol):
    """Interface of a storage of one rollout, T steps of N environments. Metrics read its fields by name."""

    num_steps: int
    obs: Tensor
    """u8[T, N, K, H, W] of the last rollout; a failure's receipt shows the end of it."""
    actions: Tensor
    """i64[T, N]"""
    dist: Tensor
    """f32[T, N] goal distances."""

    def begin(self) -> None:
        """Discard the previous rollout and begin a new one."""

    def add_decision(
        self, t: int, obs: Tensor, actions: Tensor, logprobs: Tensor, values: Tensor, entropies: Tensor
    ) -> None:
        """Store the observations `obs` u8[N, K, H, W], the actions i64[N] chosen in step t, and their f32[N] values."""

    def add_outcome(self, t: int, result: StepResult) -> None:
        """Store the result of step t."""

    def end(self, forward: Forward, obs: Tensor, config: RunConfig) -> None:
        """Complete the rollout, for example by advantages; `obs` is the observation after its last step."""


StorageOf = Callable[[int, int, tuple[int, int, int], int, torch.device], Storage]
"""Type of a function from (num_steps, num_envs, obs_shape, horizon, device) to a storage, allocated once."""
Update = Callable[[Learner, Any, RunConfig, torch.Generator, LossSums], None]
"""Type of a function that learns from a complete storage once, and adds one row of scalars per optimizer step."""


LearnerOf = Callable[[PixelActorCritic, RunConfig, torch.device], Learner]
"""Type of a function from a network on its device to its learner."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Implementation:
    """Functions and types that implement one algorithm."""

    update: Update
    losses: type[tuple[Tensor, ...]]
    """NamedTuple of the scalars of an optimizer step, named as in the records."""
    storage: StorageOf = RolloutBuffer
    learner: LearnerOf = Learner
    heads: tuple[str, ...] = ("policy", "value")
    """Outputs that the network must have."""


def implementation(name: str, heads: tuple[str, ...]) -> Implementation:
    """Return the implementation of the algorithm `name`, for a network with `heads`.

    Raises ConfigError when the algorithm is unknown or needs a missing head.
    """
    module, _, attribute = find_algorithm(name).implementation.partition(":")
    found: Implementation = getattr(importlib.import_module(module), attribute)
    missing = [head for head in found.heads if head not in heads]
    if missing:
        raise ConfigError(
            f"algo {name} needs a network with the head {', '.join(missing)}; this one has {', '.join(heads)}"
        )
    return found
