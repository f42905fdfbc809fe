"""History of the last minutes of a game, for stepping back exactly, frame by frame.

A state is saved every KEY_EVERY frames, and the inputs in between: going back restores the saved state before and
replays the inputs. While a person steps back, all states since the last saved one are cached.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainer_core.envs.single_game import Game

KEY_EVERY = 30
"""Frames between two saved states: half a second of game, replayed within a frame or two of real time."""
MAX_FRAMES = 36_000
"""Frames in ten minutes."""
MAX_KEY_BYTES = 64 << 20
"""Memory limit for the saved states: ten minutes of a console with 8 KiB of cartridge memory."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One state in the history: the input that led to it, and the caller's own state at that time."""

    buttons: int
    """Joypad mask of the frame that led to it; -1 if the state was loaded."""
    known: Any
    """Caller's own state, stored and returned unchanged."""


class History:
    """States 0, 1, 2, ... of one game; the newest one is the game's present state."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._first = 0
        """Number of the oldest reachable state."""
        self._moments: deque[Moment] = deque()
        self._keys: OrderedDict[int, Any] = OrderedDict()
        self._stretch: dict[int, Any] = {}
        self._key_bytes = 0

    def __len__(self) -> int:
        """Return the frames that `back` can undo."""
        return max(0, len(self._moments) - 1)

    @property
    def number(self) -> int:
        """Number of the current state, counted from the first one noted."""
        return self._first + len(self._moments) - 1

    def masks_since(self, number: int) -> list[int] | None:
        """Return the joypad masks of the frames from state `number` to the current one.

        None if a state was loaded in between, or if `number` is older than the history.
        """
        if not self._first <= number <= self.number:
            return None
        since = number + 1 - self._first
        masks = [moment.buttons for moment in itertools.islice(self._moments, since, None)]
        return None if -1 in masks else masks

    def begin(self, known: Any) -> None:
        """Note that the game's current state was loaded, by a restart or from a file."""
        self._append(Moment(-1, known), is_key=True)

    def add(self, buttons: int, known: Any) -> None:
        """Note that the game ran one frame with the joypad mask `buttons`."""
        number = self._first + len(self._moments)
        self._append(Moment(buttons, known), is_key=number % KEY_EVERY == 0)

    def back(self) -> tuple[Moment, Moment] | None:
        """Restore the state one frame before; return (undone moment, now current moment), None at the beginning."""
        if len(self._moments) < 2:
            return None
        undone = self._moments.pop()
        gone = self._first + len(self._moments)
        self._keys.pop(gone, None)
        self._stretch.pop(gone, None)
        self._go_to(gone - 1)
        return undone, self._moments[-1]

    # -- inside ---------------------------------------------------------------------------------

    def _append(self, moment: Moment, *, is_key: bool) -> None:
        number = self._first + len(self._moments)
        self._moments.append(moment)
        self._stretch.clear()
        if is_key:
            self._keys[number] = state = self._game.snapshot()
            self._key_bytes = size_of(state)
        while len(self._moments) > MAX_FRAMES or self._is_large():
            self._forget_oldest()

    def _is_large(self) -> bool:
        return len(self._keys) > 1 and len(self._keys) * self._key_bytes > MAX_KEY_BYTES

    def _forget_oldest(self) -> None:
        """Drop the oldest saved state and those up to the next: the oldest one kept must be a saved state."""
        self._keys.popitem(last=False)
        oldest = next(iter(self._keys))
        for _ in range(oldest - self._first):
            self._moments.popleft()
        self._first = oldest

    def _go_to(self, number: int) -> None:
        if number not in self._stretch:
            self._play_stretch(number)
        self._game.restore(self._stretch[number])

    def _play_stretch(self, end: int) -> None:
        """Fill the cache with the states from the last saved one up to state `end`, by replaying inputs."""
        key = next(kept for kept in reversed(self._keys) if kept <= end)
        self._game.restore(self._keys[key])
        self._stretch = {key: self._keys[key]}
        for number in range(key + 1, end + 1):
            self._game.frame(self._moments[number - self._first].buttons)
            self._stretch[number] = self._game.snapshot()


def size_of(state: Any) -> int:
    """Return a snapshot's approximate size in bytes."""
    row, console = getattr(state, "row", None), getattr(state, "console", None)
    return 64 if row is None or console is None else row.nbytes + console.nbytes
