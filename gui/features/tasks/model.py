"""Draft of a task: captured states and measurements."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QObject, Signal

from gui.state.task_pictures import MAX_SHADE, OBSERVATION, SCREEN, read_pictures
from trainer_core.lab.roms import Stage

LEAST_DISTANCE = 0.001
"""Least distance of a goal from every start state; play.authoring.goals has the same value."""


def observe(picture: np.ndarray) -> np.ndarray:
    """Return the agent's observation u8[72, 80] of a screen u8[144, 160]: the rounded mean of 2x2 pixels."""
    blocks = picture.reshape(OBSERVATION[0], 2, OBSERVATION[1], 2).astype(np.uint16)
    return (blocks.sum((1, 3)) + 2 >> 2).astype(np.uint8)


def distance(observation: np.ndarray, template: np.ndarray, mask: np.ndarray) -> float:
    """Return the mean absolute difference of two observations u8[72, 80] in `mask` bool[72, 80], 0 to 1.

    Equals play.judge.goal_distance, whose module would load the emulator.
    """
    apart = np.abs(observation.astype(np.int16) - template.astype(np.int16)) * mask
    total = np.float32(apart.sum(dtype=np.int32))
    return float(total / np.float32(MAX_SHADE * int(mask.sum())))


def read_template(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return a goal file's observation u8[72, 80], and u8[K, 72, 80] observed after its capture.

    Raises LabError.
    """
    return read_pictures(path, "templates", 1)[0], read_pictures(path, "later", optional=True)


@dataclass(frozen=True, slots=True)
class Captured:
    """Captured start state or goal: its file, and the picture on the screen at that time."""

    path: Path
    picture: np.ndarray
    """Picture on the screen at that time, u8[144, 160]."""


@dataclass(frozen=True, slots=True)
class Goal:
    captured: Captured
    template: np.ndarray
    """Observation stored in the goal's file, u8[72, 80]."""
    way: Path | None
    """File demo.npz with the play from the last start state to the goal; None if none was saved."""
    way_frames: int = 0
    later: np.ndarray | None = None
    """u8[K, 72, 80], observations of the second after the capture without pressed buttons; None if not measured."""


class DraftModel(QObject):
    """Draft of a task: start states, goal, name. A change discards the measurements that depend on it."""

    changed = Signal()
    masked = Signal()
    """The mask of the goal changed."""

    def __init__(self) -> None:
        super().__init__()
        self.begin("", "", Path())

    def begin(self, base: str, rom: str, folder: Path) -> None:
        """Discard the draft and begin one for the game of the task `base` or the ROM `rom`; files go to `folder`."""
        self.base, self.rom, self.folder = base, rom, folder
        self.starts: list[Captured] = []
        self.goal: Goal | None = None
        self.painted = np.zeros(OBSERVATION, bool)
        """bool[72, 80], the region that the user painted; if empty, all pixels count."""
        self.name = ""
        self.stage: Stage | None = None
        """Stage of a known game that the task shall be; None for a task of the user's own."""
        self.buttons = ""
        """Chosen codec (set of actions); empty means the one that the demonstration needs."""
        self._forget()

    def _forget(self) -> None:
        self.probe: dict[str, Any] | None = None
        self.working = ""
        """Text on the work in progress; empty when there is none."""
        self.share = 0.0
        self.made = ""
        """Id of the task that was made from this draft; empty before."""
        self.choices: dict[str, Any] = {}
        self.audit: dict[str, Any] | None = None
        self.error = ""
        self.changed.emit()

    @property
    def is_empty(self) -> bool:
        return not self.starts and self.goal is None

    @property
    def mask(self) -> np.ndarray:
        """bool[72, 80], the pixels that count in the goal's distance."""
        return self.painted if self.painted.any() else np.ones(OBSERVATION, bool)

    @property
    def step(self) -> int:
        """Step of the draft: 1 needs a start state, 2 a goal, 3 a name; 4 when the task is made."""
        if self.made:
            return 4
        return 1 if not self.starts else 2 if self.goal is None else 3

    def add_start(self, start: Captured) -> None:
        self.starts.append(start)
        self._forget()

    def remove_start(self, index: int) -> None:
        if 0 <= index < len(self.starts):
            del self.starts[index]
            self._forget()

    def set_goal(self, goal: Goal) -> None:
        self.goal = goal
        self.painted[:] = False
        self._forget()

    def paint(self, x: int, y: int, width: int, height: int, counts: bool) -> None:
        """Add a rectangle of observation pixels to the mask (`counts`), or remove it from the mask."""
        left, top = max(0, x), max(0, y)
        self.painted[top : max(top, y + height), left : max(left, x + width)] = counts
        self.masked.emit()
        self._forget()

    def clear_mask(self) -> None:
        self.painted[:] = False
        self.masked.emit()
        self._forget()

    def tell(self, **facts: Any) -> None:
        """Set attributes of the draft by name and emit `changed`."""
        for name, value in facts.items():
            setattr(self, name, value)
        self.changed.emit()

    @property
    def tau(self) -> float:
        """Distance below which a picture counts as the goal; 0 before it was measured."""
        return float(self.probe["tau"]) if self.probe else 0.0

    @property
    def moved(self) -> float:
        """Greatest distance from the goal of the observations in the second after its capture."""
        if self.goal is None or self.goal.later is None:
            return 0.0
        template, mask = self.goal.template, self.mask
        return max((distance(seen, template, mask) for seen in self.goal.later), default=0.0)

    @property
    def is_restless(self) -> bool:
        """True if the game leaves the goal by itself within a second."""
        return self.moved >= max(self.tau, LEAST_DISTANCE)

    def nearest_start(self, observation: np.ndarray) -> tuple[int, float]:
        """Return (number from 1, distance) of the start state nearest to an observation; (0, 1) without any."""
        found = [
            (distance(observation, observe(start.picture), self.mask), number)
            for number, start in enumerate(self.starts, 1)
            if start.picture.shape == SCREEN
        ]
        apart, number = min(found, default=(1.0, 0))
        return number, apart

    def distance_of(self, picture: np.ndarray) -> float | None:
        """Return the distance from the goal of a screen picture u8[144, 160]; None without a goal."""
        if self.goal is None or picture.shape != SCREEN:
            return None
        return distance(observe(picture), self.goal.template, self.mask)
