"""A finished recording with random access: pictures, buttons, steps, name."""

from __future__ import annotations

import bisect
import functools
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gui.kit.words import number, tr
from trainer_core.lab.recording import (
    BUTTONS,
    FRAMES_PER_SECOND,
    PICTURES,
    RecordedStep,
    Recording,
    read_recording,
    read_shown,
    read_steps,
    unpack_picture,
)
from trainer_core.lab.roms import ROM_SUFFIXES
from trainer_core.wire.buttons import action_name
from trainer_core.wire.errors import ProtocolError


class Replay:
    """A finished recording. Raises ProtocolError when the folder is not a complete one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.recording = recording = read_recording(folder)
        self._shown = read_shown(folder, recording)
        shape = (recording.pictures or recording.frames, recording.picture_bytes)
        self._pictures = np.memmap(folder / PICTURES, np.uint8, "r", shape=shape)
        self.buttons = np.fromfile(folder / BUTTONS, np.uint8)
        self.steps = read_steps(folder, recording)
        self._last_frames = [step.last_frame for step in self.steps]

    def __len__(self) -> int:
        return self.recording.frames

    @property
    def can_play_on(self) -> bool:
        """True if an emulator can repeat the recorded buttons, so that the user can play on."""
        return bool(self.recording.state)

    @property
    def has_goal(self) -> bool:
        """True if the recording has rewards and goal distances; recordings of a ROM without a task have none."""
        return not self.recording.task.lower().endswith(ROM_SUFFIXES)

    def picture(self, frame: int) -> np.ndarray:
        """Return a frame's picture: u8[H, W] shades 0..3, or u8[H, W, 3] colours."""
        number = frame if self._shown is None else bisect.bisect_right(self._shown, frame) - 1
        packed, about = self._pictures[number], self.recording
        if about.format == "rgb888":
            return packed.reshape(about.height, about.width, 3)
        shades = np.frombuffer(unpack_picture(packed.tobytes()), np.uint8)
        return shades.reshape(about.height, about.width)

    def step_at(self, frame: int) -> int:
        """Return the index of the agent step that a frame belongs to, -1 if it belongs to none."""
        index = bisect.bisect_left(self._last_frames, frame)
        if index == len(self.steps) or frame < self.steps[index].first_frame:
            return -1
        return index

    def describe(self, frame: int) -> str:
        """Return a text on a frame's agent step: its action, reward and result."""
        index = self.step_at(frame)
        if index < 0:
            return ""
        step = self.steps[index]
        name = action_name(step.action)
        if not self.has_goal:
            return tr("step {step}   {name}", step=step.step, name=name)
        value = "" if step.value is None else tr("   value {value:+.2f}", value=step.value)
        end = tr("   goal reached") if step.success else tr("   cut off") if step.trunc else ""
        return tr(
            "step {step}   {name}   reward {reward:+.3f}{terms}   distance {dist:.4f}{value}{end}",
            step=step.step,
            name=name,
            reward=step.reward,
            terms=_terms(step),
            dist=step.dist,
            value=value,
            end=end,
        )


def _terms(step: RecordedStep) -> str:
    """Return the nonzero terms of a step's reward as text in brackets; "" for a reward of one term."""
    told = [f"{tr(name.replace('_', ' '))} {number(part, '+.3f')}" for name, part in step.terms.items() if part]
    return f" ({', '.join(told)})" if len(told) > 1 else ""


@functools.lru_cache(maxsize=256)  # a finished recording does not change
def recording_name(folder: Path, task_title: Callable[[str], str] = str) -> str:
    """Return a recording's title; if it cannot be read, the name of its folder."""
    try:
        about = read_recording(folder)
        when = time.localtime(about.created_at)
    except (ProtocolError, OSError, OverflowError, ValueError):  # the last two: a year out of range
        return folder.name
    is_today = when[:3] == time.localtime()[:3]
    branch = tr(", branch") if about.parent else ""
    return tr(
        "{when} {game}, {seconds:.1f} s{branch}",
        when=time.strftime("%H:%M:%S" if is_today else "%d %b %H:%M", when),
        game=_game(folder, about, task_title),
        seconds=about.frames / FRAMES_PER_SECOND,
        branch=branch,
    )


def _game(folder: Path, about: Recording, task_title: Callable[[str], str]) -> str:
    """Return the name of the recorded game: task, ROM file, or source of a converted file."""
    if about.source and not about.state:
        return folder.name
    title = task_title(about.task)
    return (title if title != about.task else Path(about.task).name) or folder.name
