"""Agent that plays with a script's network."""

from __future__ import annotations

from pathlib import Path

import torch

from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.runners.cleanrl import networks
from trainer_core.runners.cleanrl.runner import CleanRlConfig
from trainer_core.runners.guest.agent import GuestAgent
from trainer_core.wire.errors import CheckpointError
from trainer_core.wire.spec import RunSpec


class CleanRlAgent(GuestAgent):
    """Agent that plays with a checkpoint of one of the scripts, trained on one of our tasks."""

    def __init__(self, checkpoint: Path, *, mode: str, device: str = "cpu", seed: int = 1) -> None:
        """Load the network; raises CheckpointError when the checkpoint cannot be used."""
        meta = layout.verify(checkpoint, (networks.MODEL,))
        config = RunSpec.from_dict(meta.runner, meta.config).configure(CleanRlConfig)
        if config.on_gymnasium:
            raise CheckpointError(f"{checkpoint}: {meta.task} is no Game Boy to play")
        super().__init__(checkpoint, meta, networks.MODEL, mode, seed)
        self._algo = config.algo
        self._network = networks.load_network(checkpoint, config, meta.num_actions, device)

    def act(self) -> int:
        seen = torch.from_numpy(self._stack)[None]
        return self.choose(networks.action_logits(self._algo, self._network, seen)[0].cpu())
