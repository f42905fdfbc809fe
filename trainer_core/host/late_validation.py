"""What a run makes of validations that come some updates after their weights.

Records, progress and the best checkpoint are of the weights that were played: whatever a checkpoint
needs is held in memory from the moment they were copied.
"""

from __future__ import annotations

import msgspec
import safetensors.torch

from trainer_core.host.persistence import CheckpointKeeper, Snapshot
from trainer_core.host.progress import OF_VALIDATION, Rates, RunProgress
from trainer_core.host.validation_process import Result, ValidationProcess
from trainer_core.runs.log_writer import RunWriter


class LateValidation:
    """One copy of the weights at a time, with what is needed to save it."""

    def __init__(
        self, process: ValidationProcess, keeper: CheckpointKeeper, writer: RunWriter
    ) -> None:
        self.process, self.keeper, self.writer = process, keeper, writer
        self._played: Snapshot | None = None
        self._saved = False

    @property
    def is_under_way(self) -> bool:
        return self._played is not None

    def begin(self, progress: RunProgress, wall_time_s: float) -> None:
        """Have the weights of this moment played. Only where the process is idle."""
        self._played = played = self.keeper.snapshot("best", progress, wall_time_s)
        weights = safetensors.torch.save(played.weights)
        self.process.begin(played.meta.update, played.meta.env_steps, weights)

    def take(self, progress: RunProgress) -> bool:
        """Record what came since. False when what was played is lost: its process has ended.

        Raises DiskError, and NonFiniteLossError for a best checkpoint that is broken.
        """
        found = self.process.take()
        if found is not None:
            self._record(found, progress)
        elif self.process.is_over and self._played is not None:
            self._played = None
            return False
        return True

    def take_saved(self) -> bool:
        """Whether a best checkpoint was written since this was asked last."""
        saved, self._saved = self._saved, False
        return saved

    def _record(self, found: Result, progress: RunProgress) -> None:
        played, self._played = self._played, None
        assert played is not None
        for kind, fields in found.records:
            self.writer.append(kind, **fields)
        target = self.keeper.config.target_success
        progress.take(Rates(**found.rates), played.meta.env_steps, target)
        if not progress.is_best(f"{played.meta.env_steps:012d}"):
            return
        then = RunProgress.from_state(played.state["run"])
        for name in OF_VALIDATION:
            setattr(then, name, getattr(progress, name))
        played.state["run"] = msgspec.to_builtins(then)
        self.keeper.save_late(played, then)
        self._saved = True
