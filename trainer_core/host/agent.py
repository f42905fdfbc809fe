"""A checkpoint's policy playing one console; numpy in and out, torch inside."""

from __future__ import annotations

import hashlib
import importlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from trainer_core.lab.checkpoint_manifest import POLICY, CheckpointMeta


class StackedAgent(ABC):
    """Agent that stacks the last K observations of its episode; subclasses choose the action from the stack."""

    def __init__(self, checkpoint: Path, meta: CheckpointMeta, sha256: str, mode: str) -> None:
        """Set up without observations; `sha256` is the hash of the weights file, `mode` a PolicyMode."""
        self._mode = mode
        self._met: dict[bytes, list[int]] = {}
        self._here: list[int] = []
        """Actions taken so far in this episode at each picture, and at the current picture."""
        self.checkpoint, self.meta, self.sha256 = str(checkpoint), meta, sha256
        self._stack = np.zeros(meta.obs_shape, np.uint8)
        self.probabilities: tuple[float, ...] = ()
        """Button probabilities of the last `act`; empty before it and for agents without probabilities."""
        self.value: float | None = None
        """The critic's value at the last `act`; None without a critic."""

    @property
    def mind(self) -> dict[str, list[str]]:
        """Beliefs, intentions and messages of a BDI agent, as the fields of a BeliefsEvent; {} for other agents."""
        return {}

    def saliency(self) -> Callable[[], np.ndarray] | None:
        """Return a function that computes the saliency of the current observation, or None.

        The function returns f32[rows, columns], larger where covering that part of the picture changes the logits more;
        it may be called in any thread while the game continues. None unless the agent is one of our own networks for
        pictures.
        """
        return None

    def begin(self, observation: np.ndarray) -> None:
        """Begin a new episode at `observation` u8[72, 80]."""
        self._stack[:] = observation
        self._met.clear()
        self._meet(observation)

    def see(self, observation: np.ndarray) -> None:
        """Append `observation` u8[72, 80], the picture one agent step later, to the stack."""
        self._stack[:-1] = self._stack[1:].copy()
        self._stack[-1] = observation
        self._meet(observation)

    @property
    def draws(self) -> bool:
        """True if actions are sampled from the probabilities instead of being the most likely ones."""
        return self._mode == "sample"

    def likeliest(self, scores: Sequence[float]) -> int:
        """Return the action with the greatest score.

        In mode `leave_loops` only the actions that were taken least often at the current picture in this episode are
        candidates (host/loop_leaving.py).
        """
        actions = range(len(scores))
        if self._mode != "leave_loops":
            return max(actions, key=scores.__getitem__)
        action = min(actions, key=lambda one: (self._here.count(one), -scores[one]))
        self._here.append(action)
        return action

    def _meet(self, observation: np.ndarray) -> None:
        picture = hashlib.blake2b(observation.tobytes(), digest_size=16).digest()
        self._here = self._met.setdefault(picture, [])

    @abstractmethod
    def act(self) -> int:
        """Return the action for the current observation."""


class Agent(StackedAgent):
    """Agent that plays with the network of a checkpoint of our own trainer."""

    def __init__(self, checkpoint: Path, *, mode: str, device: str = "cpu", seed: int = 1) -> None:
        """Load the policy; raises CheckpointError when the checkpoint cannot be used."""
        import torch  # takes seconds, and games played by a person never need it

        from trainer_core.envs.pressed import Pressed
        from trainer_core.host.checkpoint import load_policy

        self._torch = torch
        torch.set_num_threads(1)
        self._policy, meta = load_policy(checkpoint, device)
        super().__init__(checkpoint, meta, meta.files[POLICY], mode)
        self._noise = self.meta.config.get("obs_source") == "noise"
        self._pressed: Pressed | None = None
        """Marker of presses in pictures, for a policy that was trained on marked pictures; else None."""
        if self._policy.marked:
            self._pressed = Pressed(1, meta.num_actions, meta.obs_shape[1:], torch.device("cpu"))
        self._newest = self._stack[-1].copy()
        """The last picture, without marks."""
        self._chosen: int | None = None
        """Action taken since the last picture; None while a person presses the buttons."""
        self._rng = torch.Generator().manual_seed(seed)
        self._random = np.random.default_rng(seed)

    def begin(self, observation: np.ndarray) -> None:
        self._chosen = None
        if self._pressed is not None:
            torch = self._torch
            shown = torch.from_numpy(np.ascontiguousarray(observation))
            self._pressed.begin(shown[None], torch.ones(1, dtype=torch.bool))
        self._newest = observation
        super().begin(observation)

    def see(self, observation: np.ndarray) -> None:
        if self._pressed is not None:
            if self._chosen is not None:
                self._pressed.press(self._torch.tensor([self._chosen]))
            self._stack[-1] = self._newest  # of the pictures that are stacked, the newest alone has marks
            self._newest, observation = observation, observation.copy()
            self._pressed.show(self._torch.from_numpy(observation)[None])
        self._chosen = None
        super().see(observation)

    def act(self) -> int:
        self._chosen = self._choose()
        return self._chosen

    def _choose(self) -> int:
        torch = self._torch
        seen: Any = self._stack
        if self._noise:
            seen = self._random.integers(0, 4, self._stack.shape, dtype=np.uint8)
        with torch.no_grad():
            parameter = next(self._policy.parameters())
            logits, value = self._policy(torch.from_numpy(seen)[None].to(parameter.device))
        probabilities = torch.softmax(logits[0].float().cpu(), dim=-1)
        self.probabilities, self.value = tuple(probabilities.tolist()), float(value)
        if not self.draws:
            return self.likeliest(logits[0].tolist())
        return int(torch.multinomial(probabilities, 1, generator=self._rng))

    def saliency(self) -> Callable[[], np.ndarray] | None:
        from trainer_core.host.saliency import saliency

        return None if self._noise else partial(saliency, self._policy, self._stack.copy())


MakeAgent = Callable[..., StackedAgent]
"""Maker of an agent, called like `Agent`: checkpoint folder, then mode, device and seed by keyword."""


def agent_class(module: str) -> MakeAgent:
    """Return the agent class of `module`, a runner's player module; `Agent` for an empty name."""
    if not module:
        return Agent
    found = [
        kind
        for _, kind in inspect.getmembers(importlib.import_module(module), inspect.isclass)
        if issubclass(kind, StackedAgent) and kind.__module__ == module
    ]
    return found[0]
