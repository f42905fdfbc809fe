"""Recorder of training: every so many updates a short clip of the first Game Boy, encoded by a process of its own."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from trainer_core.formats import encode_clip
from trainer_core.host.trainee import Watched
from trainer_core.lab.paths import HomePaths, child_folder
from trainer_core.wire.environment import child_environment

MOST_FRAMES = 200
MOST_CLIPS = 20
"""Clips of a run that are kept, the newest."""
LAST_S = 10.0
"""Seconds that the end of a run waits for its last clip."""
ENCODING = "encoding a clip"
"""Beginning of the detail of the state while a clip is encoded."""


class ClipRecorder:
    """Recorder of one run; `show` is called after every environment step, `after_update` after every update.

    The pictures stay on the device until a clip has them all, so that training does not wait for each.
    """

    def __init__(self, home: HomePaths, run_id: str, env: Watched, every: int, tell: Callable[[str], None]) -> None:
        """Set up; `every` is the number of updates between two clips, `tell` reports a state's detail ("" = none)."""
        self._folder, self._run_id, self._env, self._every, self._tell = home.videos, run_id, env, every, tell
        self._frames: list[Tensor] | None = None
        self._began_at = 0
        self._encoder: subprocess.Popen[bytes] | None = None
        for left in self._folder.glob(f".{run_id}-*.npy"):
            left.unlink(missing_ok=True)

    def show(self, env_steps: int) -> None:
        """Keep the picture of this step while a clip is being recorded."""
        if self._frames is None:
            return
        self._began_at = self._began_at or env_steps
        self._frames.append(self._env.screens(1)[0].clone())
        if len(self._frames) == MOST_FRAMES:
            self._encode()

    def after_update(self, update: int) -> None:
        """Begin a clip if one is due and the last one is encoded."""
        if self._encoder is not None and self._encoder.poll() is not None:
            self._tell("" if not self._encoder.returncode else "warning: a clip could not be encoded")
            self._encoder = None
            self._forget_oldest()
        if update % self._every == 0 and self._frames is None and self._encoder is None:
            self._frames, self._began_at = [], 0

    def _encode(self) -> None:
        """Write the pictures to a file and start the process that makes a clip of them; nothing waits for it."""
        assert self._frames is not None
        pictures, self._frames = torch.stack(self._frames).cpu().numpy(), None
        name = f"{self._run_id}-{self._began_at:012d}"
        raw = self._folder / f".{name}.npy"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            np.save(raw, pictures, allow_pickle=False)
            self._encoder = subprocess.Popen(
                [sys.executable, "-m", encode_clip.__name__, str(raw), str(self._folder / f"{name}.gif")],
                cwd=child_folder(),
                env=child_environment(CUDA_VISIBLE_DEVICES=""),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:  # training does not need clips
            raw.unlink(missing_ok=True)
            self._tell(f"warning: no clip of the training: {error.strerror}")
            return
        self._tell(f"{ENCODING} of {len(pictures)} pictures: training may be slower")

    def _forget_oldest(self) -> None:
        for clip in sorted(self._folder.glob(f"{self._run_id}-*.gif"))[:-MOST_CLIPS]:
            clip.unlink(missing_ok=True)

    def close(self) -> None:
        """Encode what was recorded, and wait LAST_S seconds for it."""
        if self._frames and self._encoder is None:
            self._encode()
        if self._encoder is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._encoder.wait(LAST_S)
        self._forget_oldest()
