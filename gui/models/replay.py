"""A finished recording: pictures, buttons and steps, any frame at once."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from trainer_core.protocol.buttons import ACTIONS
from trainer_core.protocol.errors import ProtocolError
from trainer_core.protocol.recording import HEIGHT, PICTURE_BYTES, WIDTH, read_recording

_SHIFTS = np.array([0, 2, 4, 6], np.uint8)


class Replay:
    """Raises ProtocolError when the folder is not a whole recording."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.recording = read_recording(folder)
        if not self.recording.frames:
            raise ProtocolError(f"{folder}: this recording holds no pictures")
        self._pictures = np.memmap(
            folder / "pictures.bin", np.uint8, "r", shape=(self.recording.frames, PICTURE_BYTES)
        )
        self.buttons = np.fromfile(folder / "buttons.bin", np.uint8)
        self.steps = _read_steps(folder / "steps.jsonl")
        self._step_frames = np.array([int(step.get("frame", 0)) for step in self.steps], np.int64)

    def __len__(self) -> int:
        return self.recording.frames

    def picture(self, frame: int) -> np.ndarray:
        """u8[144, 160], shades 0..3."""
        packed = self._pictures[frame]
        return ((packed[:, None] >> _SHIFTS) & 3).reshape(HEIGHT, WIDTH)

    def step_at(self, frame: int) -> int:
        """Index of the agent step under way at a frame, -1 before the first."""
        return int(np.searchsorted(self._step_frames, frame, side="right")) - 1

    def describe(self, frame: int) -> str:
        index = self.step_at(frame)
        if index < 0:
            return ""
        step = self.steps[index]
        action = step.get("action", -1)
        name = ACTIONS[action] if isinstance(action, int) and 0 <= action < len(ACTIONS) else "none"
        parts = [f"step {index + 1}", f"action {name}"]
        parts += [f"{key} {step[key]:+.3f}" for key in ("reward", "dist") if _is_number(step, key)]
        return "   ".join(parts)


def _is_number(step: dict, key: str) -> bool:
    return isinstance(step.get(key), int | float)


def _read_steps(path: Path) -> list[dict]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.strip()]
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise ProtocolError(f"{path}: cannot be read: {error}") from None
