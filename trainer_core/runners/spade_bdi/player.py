"""Agent that plays with BDI plans."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from trainer_core.host.agent import StackedAgent
from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.runners.spade_bdi import checkpoint as ckpt
from trainer_core.runners.spade_bdi.mind import Mind


class BdiAtTheButtons(StackedAgent):
    """Agent that plays with a checkpoint of plans; its plans do not learn how an episode ended."""

    _last: Mind | None = None

    def __init__(self, checkpoint: Path, *, mode: str, device: str = "cpu", seed: int = 1) -> None:
        """Load the agents; raises CheckpointError when the checkpoint cannot be used."""
        meta = layout.verify(checkpoint, (ckpt.MIND,))
        super().__init__(checkpoint, meta, meta.files[ckpt.MIND], mode)
        self._mind = ckpt.open_mind(checkpoint, greedy=mode != "sample", exploration=0.1, seed=seed)
        if BdiAtTheButtons._last is not None:
            BdiAtTheButtons._last.close()
        BdiAtTheButtons._last = self._mind
        print(f"the player listens: {self._mind.address}", flush=True)

    def begin(self, observation: np.ndarray) -> None:
        super().begin(observation)
        self._mind.begin(observation)

    def see(self, observation: np.ndarray) -> None:
        super().see(observation)
        self._mind.see(observation)

    def act(self) -> int:
        action = self._mind.act()
        self.probabilities = self._mind.probabilities
        return action

    @property
    def mind(self) -> dict[str, list[str]]:
        return self._mind.shown
