"""frames.bin of a worker: the first envs' screens while somebody watches, else nothing."""

from __future__ import annotations

import time
from pathlib import Path

from trainer_core.envs.vec_env import VecEnv
from trainer_core.protocol.frames import (
    FORMAT_RGB888,
    FORMAT_SHADE,
    FrameInfo,
    FrameShape,
    FrameWriter,
)
from trainer_core.train.control import Control

INTERVAL_S = 1 / 30


class Watcher:
    """Called after every step; costs two comparisons unless `control` asks for pictures."""

    def __init__(self, path: Path, env: VecEnv, control: Control) -> None:
        self._path, self._env, self._control = path, env, control
        self._writer: FrameWriter | None = None
        self._next = 0.0

    def show(self, env_steps: int) -> None:
        count = min(self._control.watched_envs, self._env.num_envs)
        if count == 0 or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + INTERVAL_S
        pictures = self._env.screens(count).contiguous().cpu().numpy()
        if self._writer is None or self._writer.shape.envs != count:
            self.close()
            kind = FORMAT_SHADE if pictures.ndim == 3 else FORMAT_RGB888
            shape = FrameShape(pictures.shape[2], pictures.shape[1], count, kind)
            self._writer = FrameWriter(self._path, shape)
        self._writer.publish(pictures.tobytes(), FrameInfo(env_steps=env_steps))

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
