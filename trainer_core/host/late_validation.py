"""Validation of copied weights in another process while training continues.

A result arrives some updates after its weights were copied, so the copy's records, progress and checkpoint data are
kept in memory until then.
"""

from __future__ import annotations

import msgspec
import safetensors.torch

from trainer_core.host.checkpoint import Snapshot
from trainer_core.host.persistence import Checkpoints
from trainer_core.host.progress import OF_VALIDATION, Rates, RunProgress
from trainer_core.host.validation_process import Result, ValidationProcess
from trainer_core.lab.checkpoint_manifest import CheckpointMeta


class LateValidation:
    """Validator that has one copy of the weights played at a time and keeps the data to save it as a checkpoint.

    Its results arrive after training has gone on: "late".
    """

    def __init__(self, process: ValidationProcess, checkpoints: Checkpoints, *, target: float, asked: bool) -> None:
        """Set up.

        `target` is the success rate that ends the run; `asked` is true if no other validation of these weights is
        planned.
        """
        self.process, self.checkpoints, self.target, self.asked = (process, checkpoints, target, asked)
        self._played: tuple[CheckpointMeta, Snapshot] | None = None
        self._saved = False

    @property
    def is_under_way(self) -> bool:
        return self._played is not None

    def begin(self, progress: RunProgress, wall_time_s: float) -> None:
        """Start a validation of the current weights; call it only while the process is idle."""
        meta = self.checkpoints.describe("best", progress)
        copy = self.checkpoints.trainee.snapshot(progress.state_dict(wall_time_s))
        self._played = meta, copy
        self.process.begin(meta.update, meta.env_steps, safetensors.torch.save(copy.weights))

    def take(self, progress: RunProgress) -> bool:
        """Record a validation result if one has arrived; save a checkpoint if it is the best.

        Returns False when the process ended and the validation under way is lost. Raises DiskError, and
        NonFiniteLossError for a best checkpoint with non-finite weights.
        """
        found = self.process.take()
        if found is not None:
            self._record(found, progress)
        elif self.process.is_over and self._played is not None:
            self._played = None
            return False
        return True

    def take_saved(self) -> bool:
        """Return whether a best checkpoint was written since the last call."""
        saved, self._saved = self._saved, False
        return saved

    def _record(self, found: Result, progress: RunProgress) -> None:
        assert self._played is not None
        (meta, played), self._played = self._played, None
        for kind, fields in found.records:
            self.checkpoints.writer.append(kind, **fields)
        progress.take(Rates(**found.rates), meta.env_steps, self.target)
        if not progress.is_best(f"{meta.env_steps:012d}"):
            return
        then = RunProgress.from_state(played.state["run"])
        for name in OF_VALIDATION:
            setattr(then, name, getattr(progress, name))
        played.state["run"] = msgspec.to_builtins(then)
        self.checkpoints.save_late(meta, played, then)
        self._saved = True
