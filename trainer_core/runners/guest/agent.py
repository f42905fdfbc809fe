"""Base class of the agents of other libraries: turns a network's logits into one action."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from trainer_core.host.agent import StackedAgent
from trainer_core.lab.checkpoint_manifest import CheckpointMeta


class GuestAgent(StackedAgent):
    """Agent whose subclass implements `act`: compute logits, then return `choose(logits)`."""

    def __init__(self, checkpoint: Path, meta: CheckpointMeta, file: str, mode: str, seed: int) -> None:
        """Set up.

        `file` is the checkpoint's file with the weights, `mode` a PolicyMode.
        """
        super().__init__(checkpoint, meta, meta.files[file], mode)
        torch.set_num_threads(1)
        self._rng = torch.Generator().manual_seed(seed)

    def choose(self, logits: Tensor) -> int:
        """Return the action for logits f32[7] on the CPU."""
        probabilities = torch.softmax(logits.float(), -1)
        self.probabilities = tuple(probabilities.tolist())
        if not self.draws:
            return self.likeliest(logits.tolist())
        return int(torch.multinomial(probabilities, 1, generator=self._rng))
