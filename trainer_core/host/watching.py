"""frames.bin of a worker: the first envs' screens, written only while somebody watches."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import torch

from trainer_core.envs.vec_env import StepInfo
from trainer_core.host.control import Control
from trainer_core.host.trainee import Watched
from trainer_core.wire import records
from trainer_core.wire.frames import FORMAT_RGB888, FORMAT_SHADE, FrameInfo, FrameShape, FrameWriter

INTERVAL_S = 1 / 30
EVENT_INTERVAL_S = 0.25
AGAIN_S = 5.0
"""Seconds between two attempts to create the file."""

Tell = Callable[..., None]
"""Function `tell(kind of record, **fields)` that sends an event to the parent."""


class Watcher:
    """Writer of watched screens, called after every step; costs two comparisons while nobody watches."""

    def __init__(self, path: Path, env: Watched, control: Control, tell: Tell) -> None:
        self._path, self._env, self._control, self._tell = path, env, control, tell
        self._writer: FrameWriter | None = None
        self._tally = Tally(0, env.device)
        self._next = self._next_event = 0.0
        self._warned = ""

    def show(self, env_steps: int, info: StepInfo | None = None) -> None:
        """Write the screens if somebody watches and they are due; `info` is of the previous step, None if unknown."""
        count = min(self._control.watched_envs, self._env.num_envs)
        if count == 0:
            if self._tally.count:
                self._tally = Tally(0, self._env.device)
            return
        if info is not None:
            self._count(count, info)
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + INTERVAL_S
        pictures = self._env.screens(count).contiguous().cpu().numpy()
        if self._writer is None or self._writer.shape.envs != count:
            self.close()
            kind = FORMAT_SHADE if pictures.ndim == 3 else FORMAT_RGB888
            shape = FrameShape(pictures.shape[2], pictures.shape[1], count, kind)
            try:
                self._writer = FrameWriter(self._path, shape)
            except OSError as error:  # training does not need pictures
                self._next = time.monotonic() + AGAIN_S
                self._warn(f"warning: no pictures of the Game Boys: {error.strerror}")
                return
        self._writer.publish(pictures.tobytes(), FrameInfo(env_steps=env_steps))
        self._warned = ""

    def _warn(self, words: str) -> None:
        """Send a warning, once until pictures could be written again."""
        if words != self._warned:
            self._warned = words
            self._tell(records.StateEvent, state="running", detail=words)

    def _count(self, count: int, info: StepInfo) -> None:
        if self._tally.count != count:
            self._tally = Tally(count, self._env.device)
        self._tally.add(info)
        if (now := time.monotonic()) >= self._next_event:
            self._next_event = now + EVENT_INTERVAL_S
            self._tell(records.WallEvent, **self._tally.read())

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None


class Tally:
    """Episode counts of the first `count` envs, kept on their device and read a few times a second."""

    def __init__(self, count: int, device: torch.device) -> None:
        self.count = count
        self._ends = torch.zeros(2, count, dtype=torch.int32, device=device)
        self._dist = torch.zeros(count, device=device)

    def add(self, info: StepInfo) -> None:
        self._ends[0] += info.success[: self.count] & info.reset_mask[: self.count]
        self._ends[1] += info.reset_mask[: self.count]
        self._dist.copy_(info.dist[: self.count])

    def read(self) -> dict[str, tuple[float, ...]]:
        """Return the fields of a WallEvent."""
        successes, episodes = self._ends.tolist()
        dist = tuple(round(value, 4) for value in self._dist.tolist())
        return {"dist": dist, "successes": tuple(successes), "episodes": tuple(episodes)}
