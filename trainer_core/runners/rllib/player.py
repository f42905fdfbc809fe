"""Agent that plays with RLlib's policy."""

from __future__ import annotations

from pathlib import Path

import torch

from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.learn.policy import PixelActorCritic
from trainer_core.runners.guest.agent import GuestAgent
from trainer_core.runners.rllib import model as rllib


class RllibAgent(GuestAgent):
    """Agent that plays with a checkpoint of RLlib."""

    def __init__(self, checkpoint: Path, *, mode: str, device: str = "cpu", seed: int = 1) -> None:
        """Load the network; raises CheckpointError when the checkpoint cannot be used."""
        meta = layout.verify(checkpoint, (rllib.MODEL,))
        super().__init__(checkpoint, meta, rllib.MODEL, mode, seed)
        self._net = PixelActorCritic(meta.policy, meta.obs_shape, meta.num_actions).to(device)
        rllib.load_policy(self._net, checkpoint)

    def act(self) -> int:
        shades = torch.from_numpy(self._stack)[None].to(next(self._net.parameters()).device)
        with torch.no_grad():
            return self.choose(self._net(shades)[0][0].cpu())
