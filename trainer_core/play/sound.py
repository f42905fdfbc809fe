"""Sound of the game that the player plays, to the sound card; nothing where there is none.

A shadow console follows the game (emulator/sound/register_slices.py), so the game itself is not
touched. It is put where the game is whenever the game was put somewhere, and only while somebody
listens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from emulator import Cartridge
from emulator.sound import Synthesiser, pcm
from emulator.sound.register_slices import SlicedConsole
from trainer_core.lab.recording import FRAMES_PER_SECOND

if TYPE_CHECKING:
    from trainer_core.envs.single_game import Game

FASTEST = 4.0
"""A game that runs faster is silent: its sound would be a whistle."""
TARGET_S = 0.08
"""What should wait at the sound card: a late frame is not heard, a press soon is."""
LONGEST_TARGET_S = 0.2
"""On a busy computer frames come later: each time that the card ran dry more is kept waiting."""
REFILL = 1.5
"""Frames of silence after the card ran dry."""
MOST_S = 0.4
"""More than this waiting is not added to."""
BEND = 0.005
"""How far the pitch may be bent to keep the target: the card's clock is not the player's."""


class Output(Protocol):
    """A sound card, or what stands for one."""

    rate: int

    @property
    def waiting_s(self) -> float | None:
        """Seconds of sound that are still to be played; None where nothing can be played."""
        ...

    def play(self, data: bytes) -> None:
        """16-bit frames of two channels, after those before."""
        ...

    def close(self) -> None: ...


class GameSound:
    """Frame by frame what the game sounds like."""

    def __init__(self, cartridge: Cartridge, rate: int = 48_000) -> None:
        self._console, self.synthesiser = SlicedConsole(cartridge), Synthesiser(rate)
        self._is_lost = True

    def lose(self) -> None:
        """The game was put into another state, or went on without us."""
        self._is_lost = True

    def frame(self, game: Game, buttons: int, stretch: float = 1.0) -> np.ndarray:
        """float32[n, 2] of the frame that `game` is about to run with the mask `buttons`."""
        if self._is_lost:
            self._is_lost = False
            self._console.restore(game.snapshot())
            self.synthesiser.resume(self._console.registers())
        return self.synthesiser.frame(self._console.frame(buttons), stretch)


class Speaker:
    """Plays a game's sound while its volume is above 0, the game not too fast and a card there."""

    def __init__(self, cartridge: Cartridge, open_output: Callable[[], Output]) -> None:
        """`open_output` is called when somebody first listens."""
        self._open_output = open_output
        self._cartridge = cartridge
        self._sound: GameSound | None = None
        self._output: Output | None = None
        self._volume = 0.0
        self._target_s = TARGET_S
        self._is_flowing = False
        """The frame before this one was played."""

    def set(self, volume: float, channels: int) -> None:
        """`volume` 0 to 1, 0 is off; `channels`: bit per channel that is heard."""
        self._volume = volume
        if volume > 0 and self._sound is None:
            self._output = self._open_output()
            self._sound = GameSound(self._cartridge, self._output.rate)
        if self._sound is not None:
            self._sound.synthesiser.channels = channels

    def lose(self) -> None:
        self._is_flowing = False
        if self._sound is not None:
            self._sound.lose()

    def frame(self, game: Game, buttons: int, speed: float, kept: float) -> None:
        """The game is about to run a frame at `speed` (0: as fast as possible), or slower: `kept`.

        A slower game sounds lower; at its own pitch it would stop between the frames.
        """
        sound, output = self._sound, self._output
        if sound is None or output is None:
            return
        waiting = output.waiting_s
        if self._volume <= 0 or not 0 < speed <= FASTEST or waiting is None or waiting > MOST_S:
            self.lose()
            return
        frame_s = 1 / (FRAMES_PER_SECOND * kept)
        target = max(self._target_s, 1.5 * frame_s)
        if waiting <= 0:
            output.play(bytes(4 * int(output.rate * self._silence(target, frame_s))))
        self._is_flowing = True
        bend = BEND * float(np.clip((target - waiting) / target, -1.0, 1.0))
        output.play(pcm(sound.frame(game, buttons, (1 + bend) / kept), self._volume))

    def _silence(self, target: float, frame_s: float) -> float:
        """Seconds to wait before the sound that begins, or that stopped for a late frame.

        The player makes up for a late frame, and what it then runs ahead stays in hand: as much as
        that frame was late. So a stop is made longer only by what the next frame needs; to fill the
        reserve at once would be heard as a stall.
        """
        if not self._is_flowing:
            return target
        self._target_s = min(self._target_s * 1.4, LONGEST_TARGET_S)
        return min(target, REFILL * frame_s)

    def close(self) -> None:
        if self._output is not None:
            self._output.close()
