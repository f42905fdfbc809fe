"""Trainee: what a run trains, our learner or another library's. Its Host does everything else."""

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
"""Consoles whose last pictures a receipt holds."""


class RunEnded(Exception):  # noqa: N818 - an end, not an error
    """Raised out of a trainee's loop where the run is over."""

    def __init__(self, state: RunState, reason: str) -> None:
        super().__init__(reason)
        self.state, self.reason = state, reason


@dataclass
class Intervals:
    """Environment steps between two of each, or updates; 0 = never."""

    validate: int = 0
    checkpoint: int = 0
    keep: int = 5
    eval_episodes: int = 32
    in_updates: bool = False
    at_end: bool = True
    """Whether the weights that a run ends with are validated whatever was due."""

    def validation_is_due(self, now: Counters, progress: RunProgress) -> bool:
        """Say whether the calendar asks for one."""
        if not self.in_updates:
            return now.env_steps - max(progress.validated_env_steps, 0) >= self.validate
        return now.update != progress.validated_update and now.update % self.validate == 0

    def checkpoint_is_due(self, now: Counters, saved_env_steps: int) -> bool:
        """Say whether the calendar asks for one after that of `saved_env_steps`, -1 for none."""
        if not self.checkpoint:
            return False
        if self.in_updates:
            return now.update % self.checkpoint == 0
        return now.env_steps - max(saved_env_steps, 0) >= self.checkpoint


class Watched(Protocol):
    """What of an environment a watcher asks for."""

    @property
    def num_envs(self) -> int: ...

    @property
    def device(self) -> torch.device: ...

    def screens(self, count: int, /) -> Tensor: ...


class Trainee(ABC):
    """The part of a run that its library does: learn, and write and read what it has learned.

    A Host makes it, calls `begin` or `restore`, then `train`, which calls the host: `tick` after
    each step of the environments, `record` with what is logged, `boundary` where the library may be
    interrupted.
    """

    policy = ""
    """The network's name."""
    file = ""
    """The file of its checkpoints that has the weights; empty where it saves none."""
    needs: tuple[str, ...] = ()
    """The files without which it cannot go on from a checkpoint."""
    unpickles = False
    """Whether opening `file` runs what it holds: it is noted as one that this user's run wrote."""
    obs_shape: tuple[int, int, int] = (1, 1, 1)
    num_actions = 1
    num_envs = 1
    versions: dict[str, str] = {}  # noqa: RUF012 - replaced, never changed
    """Of its libraries, for the meta record."""
    knows_spaces = True
    """Whether the four above hold from the start; else `train` calls the host's `begin`."""
    counts_steps = False
    """Whether it ends by itself after `total_env_steps`."""
    counted = "environment steps"
    """What `total_env_steps` counts."""
    beside: ValidationProcess | None = None
    """A process that validates copies of its weights while it learns on."""

    def begin(self) -> None:  # noqa: B027 - some draw their weights as they are made
        """Take the first weights of a life: drawn, or a donor's."""

    def load(self, folder: Path) -> None:
        """Check a checkpoint, and change nothing yet. Raises CheckpointError."""
        meta = layout.verify(folder)
        for name in self.needs:
            if name not in meta.files or not (folder / name).exists():
                raise CheckpointError(f"{folder}: has no {name} to go on from")

    def restore(self, folder: Path) -> RunProgress:
        """Go on from a checkpoint that was loaded. Raises CheckpointError for one that misfits."""
        raise ConfigError("this library cannot go on with a run: start a new one")

    @abstractmethod
    def train(self) -> None:
        """Learn until the library is done, or the host's `boundary` raises RunEnded."""

    def parts(self, progress: dict[str, Any]) -> dict[str, bytes]:
        """Return a checkpoint's files by name; `progress` is what a resumed run reads again."""
        with tempfile.TemporaryDirectory(prefix="dmglab-checkpoint-") as folder:
            self.fill(Path(folder), progress)
            return {path.name: path.read_bytes() for path in Path(folder).iterdir()}

    def fill(self, folder: Path, progress: dict[str, Any]) -> None:
        """Write what `parts` returns: libraries save to files."""
        raise NotImplementedError

    def make_validator(self) -> Validator | None:
        """Return what validates it; None where nothing can."""
        return None

    def forward(self, obs: Tensor, /) -> tuple[Tensor, Any]:
        """Ask the network as a Validator does."""
        return self.logits(obs), None

    def logits(self, shades: Tensor) -> Tensor:
        """Return f32[N, 7], the greatest being the greedy action, of u8[N, K, 72, 80]."""
        raise NotImplementedError

    def snapshot(self, progress: dict[str, Any]) -> Snapshot:
        """Return copies of weights and state for `beside`."""
        raise NotImplementedError

    def timed(self) -> contextlib.AbstractContextManager[object]:
        """Enter while the host does its part between two updates."""
        return contextlib.nullcontext()

    def evidence(self, shown: Watched | None) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Return what a receipt tells and holds beside the error: here the last pictures."""
        if shown is None:
            return {}, {}
        pictures = shown.screens(min(shown.num_envs, PICTURES)).cpu().numpy()
        array = io.BytesIO()
        np.save(array, pictures)
        png = png_bytes(np.concatenate(list(pictures), axis=1))
        return {}, {"last_frames.npy": array.getvalue(), "last_frames.png": png}
