"""A finished recording: pictures, buttons and steps, any frame at once."""

from __future__ import annotations

import bisect
from pathlib import Path

import numpy as np

from gui.words import tr
from trainer_core.protocol.buttons import ACTIONS
from trainer_core.protocol.errors import ProtocolError
from trainer_core.protocol.recording import (
    BUTTONS,
    PICTURES,
    read_recording,
    read_steps,
    unpack_picture,
)


class Replay:
    """Raises ProtocolError when the folder is not a whole recording."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.recording = read_recording(folder)
        if not self.recording.frames:
            raise ProtocolError(f"{folder}: this recording holds no pictures")
        self.screen = self.recording.screen
        shape = (self.recording.frames, self.screen.picture_bytes)
        self._pictures = np.memmap(folder / PICTURES, np.uint8, "r", shape=shape)
        self._colours = np.array(self.screen.colours, np.uint8)
        self.buttons = np.fromfile(folder / BUTTONS, np.uint8)
        self.steps = read_steps(folder, self.recording)
        self._last_frames = [step.last_frame for step in self.steps]

    def __len__(self) -> int:
        return self.recording.frames

    def picture(self, frame: int) -> np.ndarray:
        """u8[H, W], shades 0..3; u8[H, W, 3] where the recording has colours of its own."""
        packed = unpack_picture(self._pictures[frame].tobytes(), self.screen.bits)
        values = np.frombuffer(packed, np.uint8).reshape(self.screen.height, self.screen.width)
        return self._colours[values] if self.screen.palette else values

    def step_at(self, frame: int) -> int:
        """Index of the agent step that a frame belongs to, -1 where it belongs to none."""
        index = bisect.bisect_left(self._last_frames, frame)
        if index == len(self.steps) or frame < self.steps[index].first_frame:
            return -1
        return index

    def describe(self, frame: int) -> str:
        index = self.step_at(frame)
        if index < 0:
            return ""
        step = self.steps[index]
        name = ACTIONS[step.action] if 0 <= step.action < len(ACTIONS) else "none"
        return tr(
            "step {step}   action {name}   reward {reward:+.3f}   dist {dist:.4f}{value}",
            step=step.step,
            name=name,
            reward=step.reward,
            dist=step.dist,
            value="   goal reached" if step.success else "   cut off" if step.trunc else "",
        )
