"""Agent that plays with SB3's policy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.runners.guest.agent import GuestAgent
from trainer_core.runners.sb3 import model as sb3
from trainer_core.runners.sb3.memory import Memory


class Sb3Agent(GuestAgent):
    """Agent that plays with a checkpoint of Stable-Baselines3.

    RecurrentPPO's LSTM receives every observation of the episode once, also while a person presses the buttons.
    """

    def __init__(self, checkpoint: Path, *, mode: str, device: str = "cpu", seed: int = 1) -> None:
        """Load the model; raises CheckpointError when the checkpoint cannot be used."""
        meta = layout.verify(checkpoint, (sb3.MODEL,))
        super().__init__(checkpoint, meta, sb3.MODEL, mode, seed)
        algo = meta.config["algo"]
        self._model = sb3.open_model(checkpoint, algo, device)
        self._memory = Memory(self._model) if algo == "recurrent_ppo" else None
        self._first = True
        self._logits: Tensor | None = None
        """Logits of the last observation; None until computed."""

    def begin(self, observation: np.ndarray) -> None:
        super().begin(observation)
        self._first, self._logits = True, None

    def see(self, observation: np.ndarray) -> None:
        if self._memory is not None and self._logits is None:  # a person acted on the last one
            self._look(self._memory)
        super().see(observation)
        self._logits = None

    def act(self) -> int:
        if self._logits is None:
            self._logits = self._look(self._memory)
        return self.choose(self._logits)

    def _look(self, memory: Memory | None) -> Tensor:
        shades = torch.from_numpy(self._stack)[None]
        with torch.no_grad():
            if memory is None:
                return sb3.action_logits(self._model, shades)[0].cpu()
            first, self._first = torch.tensor([self._first]), False
            return memory.logits(shades, first)[0].cpu()
