"""`PyBoy.sound`: the samples of the last tick, made by a second console that follows the first."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dmglab.pyboy.machine import FRAME, Machine
from dmglab.pyboy.utils import PyBoyFeatureDisabledError, PyBoyInvalidInputException
from trainer_core.lab.recording import FRAMES_PER_SECOND
from trainer_core.play.sound import GameSound

LOUDEST = 127


class Sound:
    """Samples of the last tick: `ndarray` int8[n, 2], left and right, `raw_buffer` with `raw_buffer_head` of its bytes.

    They are a view of one buffer, which the next tick fills again. Nothing is made before `PyBoy.sound` is read for the
    first time, since it takes as long as the game itself. The values are around 0; PyBoy's are from 0 to 60.
    """

    raw_buffer_format = "b"

    def __init__(self, machine: Machine, rate: int | None, is_on: bool) -> None:
        self.sample_rate = rate or 48_000
        if not 60 <= self.sample_rate <= 192_000 or self.sample_rate % 60:
            raise PyBoyInvalidInputException(f"sound_sample_rate={rate}: give a multiple of 60, up to 192000")
        self._machine, self._is_on = machine, is_on
        self._follower = GameSound(machine.cartridge, self.sample_rate)
        self._samples = np.zeros((math.ceil(self.sample_rate / FRAMES_PER_SECOND) + 1, 2), np.int8)
        self.raw_buffer = self._samples.reshape(-1).data
        self.raw_buffer_length = self._samples.size
        self.raw_buffer_head = 0

    @property
    def raw_ndarray(self) -> NDArray[np.int8]:
        """Whole buffer, int8[n, 2]. Raises PyBoyFeatureDisabledError with `sound_emulated=False`."""
        if not self._is_on:
            raise PyBoyFeatureDisabledError("sound_emulated=False: leave it out to have sound")
        return self._samples

    @property
    def ndarray(self) -> NDArray[np.int8]:
        """Samples of the last tick, int8[n, 2]; none if it was without sound. Raises as `raw_ndarray`."""
        return self.raw_ndarray[: self.raw_buffer_head // 2]

    def tick(self, is_kept: bool, run: Callable[[], int]) -> int:
        """Call `run()`, which runs one tick and returns 1, and keep its samples if `is_kept`."""
        machine = self._machine
        self.raw_buffer_head, samples = 0, np.zeros((0, 2))
        if machine.touched or machine.booting or not self._is_on:
            self._follower.lose()
        machine.touched = False
        if self._is_on and not machine.booting:
            samples = self._follower.frame(machine.emulator, int(machine.held[0]))  # type: ignore[arg-type]
        begun = machine.cycles
        passed = run()
        share = (machine.cycles - begun) / (4 * FRAME)
        if abs(share - 1) > 0.01:  # the LCD was switched: the follower has run past the tick's end
            self._follower.lose()
        if is_kept:
            kept = samples[: min(len(self._samples), round(len(samples) * share))]
            self._samples[: len(kept)] = np.clip(kept * LOUDEST, -LOUDEST, LOUDEST)
            self.raw_buffer_head = 2 * len(kept)
        return passed
