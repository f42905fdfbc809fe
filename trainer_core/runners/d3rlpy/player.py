"""Agent that plays with d3rlpy's policy."""

from __future__ import annotations

from pathlib import Path

import torch

from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.runners.d3rlpy import model as learner
from trainer_core.runners.guest.agent import GuestAgent


class D3rlpyAgent(GuestAgent):
    """Agent that plays with a checkpoint of d3rlpy."""

    def __init__(self, checkpoint: Path, *, mode: str, device: str = "cpu", seed: int = 1) -> None:
        """Load the model; raises CheckpointError when the checkpoint cannot be used."""
        meta = layout.verify(checkpoint, (learner.MODEL,))
        super().__init__(checkpoint, meta, learner.MODEL, mode, seed)
        self._model = learner.open_model(checkpoint, device)

    def act(self) -> int:
        shades = torch.from_numpy(self._stack)[None]
        return self.choose(learner.action_logits(self._model, shades)[0].cpu())
