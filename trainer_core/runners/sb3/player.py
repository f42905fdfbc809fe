"""`python -m trainer_core.runners.sb3.player PLAYER_DIR`: SB3's policy plays."""

from __future__ import annotations

from pathlib import Path

import torch

from trainer_core.player import main
from trainer_core.protocol import checkpoints as layout
from trainer_core.runners.guest.agent import GuestAgent
from trainer_core.runners.sb3 import model as sb3


class Sb3Agent(GuestAgent):
    """A checkpoint of Stable-Baselines3."""

    def __init__(self, checkpoint: Path, *, mode: str, device: str = "cpu", seed: int = 1) -> None:
        """Raises CheckpointError when the checkpoint cannot be used."""
        meta = layout.verify(checkpoint, (sb3.MODEL,))
        super().__init__(checkpoint, meta, sb3.MODEL, mode, seed)
        self._model = sb3.open_model(checkpoint, meta.config["algo"], device)

    def act(self) -> int:
        with torch.no_grad():
            logits = sb3.action_logits(self._model, torch.from_numpy(self._stack)[None])[0].cpu()
        return self.choose(logits)


if __name__ == "__main__":
    main(Sb3Agent)
