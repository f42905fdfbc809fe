"""Agent that plays with skrl's policy."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import torch

from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.runners.guest.agent import GuestAgent
from trainer_core.runners.skrl import model as skrl_model
from trainer_core.wire.shades import MAX_SHADE


class SkrlAgent(GuestAgent):
    """Agent that plays with a checkpoint of skrl."""

    def __init__(self, checkpoint: Path, *, mode: str, device: str = "cpu", seed: int = 1) -> None:
        """Load the model; raises CheckpointError when the checkpoint cannot be used."""
        meta = layout.verify(checkpoint, (skrl_model.MODEL,))
        super().__init__(checkpoint, meta, skrl_model.MODEL, mode, seed)
        seen = gymnasium.spaces.Box(0, MAX_SHADE, meta.obs_shape, np.uint8)
        actions = gymnasium.spaces.Discrete(meta.num_actions)
        self._model = skrl_model.SharedModel(meta.policy, seen, actions, torch.device(device)).to(device)
        skrl_model.load_policy(self._model, checkpoint)

    def act(self) -> int:
        shades = torch.from_numpy(self._stack)[None]
        return self.choose(skrl_model.action_logits(self._model, shades)[0].cpu())
