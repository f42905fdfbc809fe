"""Sound of the player's game through the sound card; silent without one.

A second console follows the game and makes the sound (emulator/sound/channels.py), so the game itself is not
touched. Its state is copied from the game after every load of a state, and only while sound is on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from emulator import Cartridge, Emulator
from emulator.sound import Channels, Synthesiser, pcm
from trainer_core.lab.recording import FRAMES_PER_SECOND

if TYPE_CHECKING:
    from trainer_core.envs.single_game import Game

LOG_BYTES = 1 << 17
"""Bytes for the log of a frame: more writes than its 17,556 M-cycles have room for."""
FASTEST = 4.0
"""Greatest speed at which sound is played: at higher ones the pitch would be a whistle."""
TARGET_S = 0.08
"""Seconds of sound to keep queued: enough that a late frame is not heard, little enough that presses are heard soon."""
LONGEST_TARGET_S = 0.2
"""Limit of the queued seconds, which grow each time the card runs dry: frames are late on a busy computer."""
REFILL = 1.5
"""Frames of silence after the card ran dry."""
MOST_S = 0.4
"""Queued seconds beyond which no sound is added."""
BEND = 0.005
"""Greatest relative change of pitch, to keep the target: the card's clock differs from the player's."""


class Output(Protocol):
    """Sound card, or a replacement."""

    rate: int

    @property
    def waiting_s(self) -> float | None:
        """Seconds of sound still to be played; None if nothing can be played."""
        ...

    def play(self, data: bytes) -> None:
        """Append 16-bit frames of two channels."""
        ...

    def close(self) -> None: ...


class GameSound:
    """Sound of a game, frame by frame."""

    def __init__(self, cartridge: Cartridge, rate: int = 48_000) -> None:
        self._console, self.synthesiser = Emulator(cartridge, serial_capacity=LOG_BYTES), Synthesiser(rate)
        self._channels, self._buttons = Channels(self._console), np.zeros(1, np.uint8)
        self._is_lost = True

    def lose(self) -> None:
        """Note that the next frame does not follow the last: a state was loaded, or frames were skipped."""
        self._is_lost = True

    def frame(self, game: Game, buttons: int, stretch: float = 1.0) -> np.ndarray:
        """Return the sound float32[n, 2] of the frame that `game` will run next with the joypad mask `buttons`."""
        if self._is_lost:
            self._is_lost = False
            self._console.restore(game.snapshot())
        self._buttons[0] = buttons
        return self.synthesiser.frame(self._channels.run(self._buttons).numpy()[0], stretch)


class Speaker:
    """Player of a game's sound while the volume is above 0, the game not too fast and a card present."""

    def __init__(self, cartridge: Cartridge, open_output: Callable[[], Output]) -> None:
        """Start silent; `open_output` is called when the sound is first turned on."""
        self._open_output = open_output
        self._cartridge = cartridge
        self._sound: GameSound | None = None
        self._output: Output | None = None
        self._volume = 0.0
        self._target_s = TARGET_S
        self._is_flowing = False
        """True if the previous frame was played."""

    def set(self, volume: float, channels: int) -> None:
        """Set the volume, 0 (off) to 1, and the audible channels, one bit each."""
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
        """Play the sound of the next frame.

        `speed` is the wanted speed (0: as fast as possible), `kept` the actual one. A slower game sounds lower; at its
        own pitch the sound would stop between frames.
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
        """Return the seconds of silence before the sound begins, or resumes after a late frame.

        After a late frame the player catches up, so sound as long as the delay stays queued. A gap is therefore
        extended only by what the next frame needs; filling the whole reserve at once would be heard as a stall.
        """
        if not self._is_flowing:
            return target
        self._target_s = min(self._target_s * 1.4, LONGEST_TARGET_S)
        return min(target, REFILL * frame_s)

    def close(self) -> None:
        if self._output is not None:
            self._output.close()
