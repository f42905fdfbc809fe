"""State of RecurrentPPO's LSTM for each console while a checkpoint plays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from trainer_core.envs.translation import GREY_STEP
from trainer_core.envs.vec_env import VecEnv
from trainer_core.host.validator import Forward, Validator
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.lab.tasks import Task
from trainer_core.wire.config import RunConfig


class Memory:
    """Hidden and cell state of the policy's LSTM for N consoles; the first call sets N."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self._state: tuple[Tensor, ...] | None = None

    @torch.no_grad()
    def logits(self, shades: Tensor, first: Tensor) -> Tensor:
        """Return logits f32[N, 7] of shades u8[N, K, 72, 80] and update the state.

        The state of the consoles where `first` bool[N] is set, which begin an episode, is reset before.
        """
        model = self._model
        if self._state is None:
            layers, _, width = model.policy.lstm_hidden_state_shape
            empty = torch.zeros(layers, len(shades), width, device=model.device)
            self._state = (empty, empty)
        model.policy.set_training_mode(False)
        found, self._state = model.policy.get_distribution(
            (shades * GREY_STEP).to(model.device), self._state, first.float().to(model.device)
        )
        return found.distribution.logits


class RecurrentValidator(Validator):
    """Validator of a recurrent policy: each mode's episodes have their own LSTM state."""

    def __init__(
        self, config: RunConfig, home: HomePaths, model: Any, paths: RunPaths, found: Mapping[str, Task] | None
    ) -> None:
        """Set up for `model`, an SB3 model."""
        super().__init__(config, home, None, paths, found)
        self._model = model

    def _forward(self, env: VecEnv, envs: slice) -> Forward:
        memory = Memory(self._model)
        return lambda obs: (memory.logits(obs, env.episode_steps[envs] == 0), None)
