"""Trainee: the part of a run that trains, with our learner or another library. Its Host does everything else."""

from __future__ import annotations

import contextlib
import io
import tempfile
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from trainer_core.host.checkpoint import Snapshot, png_bytes
from trainer_core.host.progress import Counters, RunProgress
from trainer_core.host.validation_process import ValidationProcess
from trainer_core.host.validator import Validator
from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.wire.errors import CheckpointError, ConfigError
from trainer_core.wire.run_record import RunState

PICTURES = 16
"""Number of consoles whose last pictures a failure receipt contains."""


class RunEnded(Exception):  # noqa: N818 - an end, not an error
    """Exception that ends a run; a Host raises it out of the trainee's loop, with the end state and the reason."""

    def __init__(self, state: RunState, reason: str) -> None:
        super().__init__(reason)
        self.state, self.reason = state, reason


@dataclass
class Intervals:
    """Environment steps, or updates, between validations and between checkpoints; 0 = never."""

    validate: int = 0
    checkpoint: int = 0
    keep: int = 5
    eval_episodes: int = 32
    in_updates: bool = False
    at_end: bool = True
    """True to validate the final weights even when no validation is due."""

    def validation_is_due(self, now: Counters, progress: RunProgress) -> bool:
        """Return whether `validate` steps or updates have passed since the last validation."""
        if not self.in_updates:
            return now.env_steps - max(progress.validated_env_steps, 0) >= self.validate
        return now.update != progress.validated_update and now.update % self.validate == 0

    def checkpoint_is_due(self, now: Counters, saved_env_steps: int) -> bool:
        """Return whether `checkpoint` steps or updates have passed since `saved_env_steps` (-1: none saved)."""
        if not self.checkpoint:
            return False
        if self.in_updates:
            return now.update % self.checkpoint == 0
        return now.env_steps - max(saved_env_steps, 0) >= self.checkpoint


class Watched(Protocol):
    """Interface of environments whose screens can be shown during training."""

    @property
    def num_envs(self) -> int: ...

    @property
    def device(self) -> torch.device: ...

    def screens(self, count: int, /) -> Tensor: ...


class Trainee(ABC):
    """Trainer of one run: trains a model, saves and loads it.

    A Host makes it, calls `begin` or `restore`, then `train`. Meanwhile the trainee calls the host: `tick` after each
    environment step, `record` with metrics, `boundary` wherever the library may be interrupted.
    """

    policy = ""
    """Name of the network."""
    file = ""
    """Checkpoint file with the weights; "" if it saves none."""
    needs: tuple[str, ...] = ()
    """Checkpoint files required for a resume."""
    unpickles = False
    """True if loading `file` may execute code (pickle); its hash is then listed as trusted."""
    obs_shape: tuple[int, int, int] = (1, 1, 1)
    num_actions = 1
    num_envs = 1
    versions: dict[str, str] = {}  # noqa: RUF012 - replaced, never changed
    """Versions of its libraries, for the meta record."""
    offline_dataset = ""
    """Dataset that it learns from, `NAME@HASH`; empty if it plays."""
    knows_spaces = True
    """True if the four attributes above are known from the start; else `train` calls the host's `begin` once they
    are.
    """
    counts_steps = False
    """True if `train` ends by itself after `total_env_steps`."""
    counted = "environment steps"
    """Unit of `total_env_steps`."""
    beside: ValidationProcess | None = None
    """Process that validates copies of the weights during training."""

    def begin(self) -> None:  # noqa: B027 - some draw their weights as they are made
        """Initialise the weights of a new run, randomly or from another checkpoint."""

    def load(self, folder: Path) -> None:
        """Read and check the checkpoint `folder` before `restore`, without changing the model.

        Raises CheckpointError.
        """
        meta = layout.verify(folder)
        for name in self.needs:
            if name not in meta.files or not (folder / name).exists():
                raise CheckpointError(f"{folder}: has no {name} to go on from")

    def restore(self, folder: Path) -> RunProgress:
        """Resume from a checkpoint that `load` checked. Raises CheckpointError when it does not fit."""
        raise ConfigError("this library cannot go on with a run: start a new one")

    @abstractmethod
    def train(self) -> None:
        """Train until the library's loop ends, or the host's `boundary` raises RunEnded."""

    def parts(self, progress: dict[str, Any]) -> dict[str, bytes]:
        """Return a checkpoint's files by name, `progress` included."""
        with tempfile.TemporaryDirectory(prefix="dmglab-checkpoint-") as folder:
            self.fill(Path(folder), progress)
            return {path.name: path.read_bytes() for path in Path(folder).iterdir()}

    def fill(self, folder: Path, progress: dict[str, Any]) -> None:
        """Write the files of `parts` to `folder`, for libraries that save to files."""
        raise NotImplementedError

    def make_validator(self) -> Validator | None:
        """Return a validator; None if the trainee cannot be validated."""
        return None

    def forward(self, obs: Tensor, /) -> tuple[Tensor, Any]:
        """Return (logits, None) of `obs`, the interface of a Validator."""
        return self.logits(obs), None

    def logits(self, shades: Tensor) -> Tensor:
        """Return logits f32[N, 7] of u8[N, K, 72, 80]; the greatest is the greedy action."""
        raise NotImplementedError

    def snapshot(self, progress: dict[str, Any]) -> Snapshot:
        """Return copies of the weights and the state for the validation process `beside`."""
        raise NotImplementedError

    def timed(self) -> contextlib.AbstractContextManager[object]:
        """Return a context manager that surrounds the host's work between two updates, for timing it."""
        return contextlib.nullcontext()

    def evidence(self, shown: Watched | None) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Return fields and files for a failure receipt besides the error: by default the last pictures."""
        if shown is None:
            return {}, {}
        pictures = shown.screens(min(shown.num_envs, PICTURES)).cpu().numpy()
        array = io.BytesIO()
        np.save(array, pictures)
        png = png_bytes(np.concatenate(list(pictures), axis=1))
        return {}, {"last_frames.npy": array.getvalue(), "last_frames.png": png}
