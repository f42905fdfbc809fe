"""GuestTrainee: base class of the trainees of other libraries."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from trainer_core.host.checkpoint import THUMBNAILS, fullest, png_bytes
from trainer_core.host.run import Host, default_threads
from trainer_core.host.trainee import Intervals, Trainee, Watched
from trainer_core.host.validator import Validator
from trainer_core.lab.checkpoint_manifest import THUMBNAIL


class GuestTrainee(Trainee):
    """Trainee around a library's model; the model's `logits` are used for validation."""

    def __init__(self, host: Host, config: Any) -> None:
        self.host, self.config = host, config
        torch.set_num_threads(config.threads or default_threads())
        host.intervals = Intervals(
            config.eval_every, config.checkpoint_every, config.keep_checkpoints, config.eval_episodes
        )

    def make_validator(self) -> Validator | None:
        return Validator(self.host.validating, self.host.home, self, self.host.paths, self.host.tasks)


def write_thumbnail(folder: Path, env: Watched) -> None:
    """Write an environment's picture."""
    (folder / THUMBNAIL).write_bytes(png_bytes(fullest(env.screens(THUMBNAILS).cpu().numpy())))
