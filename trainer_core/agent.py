"""A checkpoint at the buttons of one machine: torch behind a numpy face."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from trainer_core.protocol.checkpoints import POLICY


class Agent:
    """Remembers the last K observations of the episode and picks the next action."""

    def __init__(self, checkpoint: Path, *, mode: str, device: str = "cpu", seed: int = 1) -> None:
        """Raises CheckpointError when the checkpoint cannot be used."""
        import torch  # seconds; a person at the buttons never needs it

        from trainer_core.checkpoint import load_policy

        self._torch = torch
        torch.set_num_threads(1)
        self._policy, self.meta = load_policy(checkpoint, device)
        self.checkpoint, self.sha256 = str(checkpoint), self.meta.files[POLICY]
        self._greedy = mode == "greedy"
        self._noise = self.meta.config.get("obs_source") == "noise"
        self._rng = torch.Generator().manual_seed(seed)
        self._random = np.random.default_rng(seed)
        self._stack = np.zeros(self.meta.obs_shape, np.uint8)

    def begin(self, observation: np.ndarray) -> None:
        """A new episode starts at `observation` u8[72, 80]."""
        self._stack[:] = observation

    def see(self, observation: np.ndarray) -> None:
        """One agent step later the machine shows `observation`."""
        self._stack[:-1] = self._stack[1:].copy()
        self._stack[-1] = observation

    def act(self) -> int:
        """The action for what was seen."""
        torch = self._torch
        seen: Any = self._stack
        if self._noise:
            seen = self._random.integers(0, 4, self._stack.shape, dtype=np.uint8)
        with torch.no_grad():
            parameter = next(self._policy.parameters())
            logits, _ = self._policy(torch.from_numpy(seen)[None].to(parameter.device))
        if self._greedy:
            return int(logits.argmax())
        probabilities = torch.softmax(logits[0].float().cpu(), dim=-1)
        return int(torch.multinomial(probabilities, 1, generator=self._rng))
