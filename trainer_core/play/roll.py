"""Roll: an editable recording, whose buttons can be changed, replayed and saved as a new recording (a "branch").

A state is saved every KEY_EVERY frames ("greenzone" in TAStudio); a frame is reached by restoring the state before and
playing the inputs. After a change all later frames must be played again from the last saved state before it. The
recording itself is never written to.
"""

from __future__ import annotations

import bisect
from pathlib import Path
from typing import Any

import numpy as np

from trainer_core.envs.single_game import Game
from trainer_core.lab.recording import (
    MAX_FRAMES,
    PICTURE_BYTES,
    PICTURES,
    Recording,
    pack_picture,
    read_buttons,
    read_recording,
    read_steps,
    refuse_pictures_only,
)
from trainer_core.play.history import size_of
from trainer_core.wire.errors import LabError

KEY_EVERY = 60
"""Frames between two saved states: a second of game, replayed within a few milliseconds."""
MAX_KEY_BYTES = 256 << 20


class Roll:
    """Editable recording.

    State n of `game` is before frame n; the first `known` frames have been played with the current buttons.
    """

    def __init__(self, folder: Path, game: Game, scratch: Path) -> None:
        """Load the recording in `folder`; `scratch` is a file for the pictures of played frames.

        Raises LabError for another game's recording.
        """
        self.game, recording = game, read_recording(folder)
        refuse_pictures_only(folder, recording)
        if recording.rom_sha256 != game.rom_sha256:
            raise LabError(
                f"{folder}: recorded with the ROM {recording.rom_sha256[:12]}..., "
                f"this is {game.rom_sha256[:12]}...: another game"
            )
        self._read(folder, recording)
        self.masks = bytearray(self._recorded)
        self.jumps: dict[int, Any] = {}
        for jump in recording.jumps:
            game.load_state(folder / jump.state)
            self.jumps[jump.frame] = game.snapshot()
        game.load_state(folder / recording.state)
        self.start = game.snapshot()
        room = MAX_KEY_BYTES // max(1, size_of(self.start))
        self.key_every = max(KEY_EVERY, -(-MAX_FRAMES // room))
        self._keys: dict[int, Any] = {}
        self._numbers: list[int] = []
        self._keep_jumps()
        self._at = 0
        """Number of the game's current state."""
        self.known = 0
        self.differs = -1
        """First frame whose recorded picture differs from the replayed one; -1 if none so far."""
        self._pictures = scratch.open("w+b")

    def _read(self, folder: Path, recording: Recording) -> None:
        """Load the recording with which the edited buttons and pictures are compared."""
        self.folder, self.recording = folder, recording
        self.steps = read_steps(folder, recording)
        self._recorded = read_buttons(folder, recording)
        self._shown = np.memmap(folder / PICTURES, np.uint8, "r", shape=(recording.frames, PICTURE_BYTES))

    def rebase(self, branch: Path) -> None:
        """Compare with the recording `branch`, just written from this roll, from now on; played frames stay valid."""
        self._read(branch, read_recording(branch))

    def __len__(self) -> int:
        return len(self.masks)

    @property
    def fork(self) -> int:
        """First frame with other buttons than the recording's; the number of common frames if none."""
        ours, theirs = bytes(self.masks), self._recorded
        both = min(len(ours), len(theirs))
        different = np.frombuffer(ours[:both], np.uint8) != np.frombuffer(theirs[:both], np.uint8)
        return int(different.argmax()) if different.any() else both

    @property
    def is_changed(self) -> bool:
        return bytes(self.masks) != self._recorded

    def splice(self, first: int, removed: int, masks: bytes) -> None:
        """Replace `removed` frames from `first` on by `masks`, one joypad mask per frame.

        Raises LabError for frames out of range, or when it would remove a loaded state.
        """
        frames, shift = len(self.masks), len(masks) - removed
        if not 0 <= first <= first + removed <= frames:
            raise LabError(f"frames {first} to {first + removed}: there are {frames}")
        if not 1 <= frames + shift <= MAX_FRAMES:
            raise LabError(f"{frames + shift} frames: a recording has 1 to {MAX_FRAMES}")
        inside = [at for at in self.jumps if first < at < first + removed]
        if shift and inside:
            raise LabError(f"another state was loaded before frame {inside[0]}: leave that frame")
        jumps = {at + shift * (at > first and at >= first + removed): state for at, state in self.jumps.items()}
        if max(jumps, default=0) >= frames + shift:
            raise LabError("a recording does not end where another state was loaded")
        self.masks[first : first + removed] = masks
        self.jumps = jumps
        self._keys = {number: state for number, state in self._keys.items() if number <= first}
        self._keep_jumps()
        self.known = min(self.known, first)
        if self._at > first:
            self._restore(0)

    def go_to(self, frame: int) -> None:
        """Bring the game to the state after frame `frame`, with the current buttons. Raises LabError."""
        if not 0 <= frame < len(self):
            raise LabError(f"frame {frame}: there are 0 to {len(self) - 1}")
        nearest = self._nearest(frame)
        if not nearest <= self._at <= frame:
            self._restore(nearest)
        while self._at <= frame:
            self._run()

    def advance(self, frames: int) -> None:
        """Play up to `frames` of the frames not played since the last change; save states and pictures."""
        end = min(len(self), self.known + frames)
        if self.known < end and self._at != self.known:
            self._restore(self._nearest(self.known))
        fork = self.fork
        while self.known < end:
            number = self._at
            self._run()
            if number == self.known:
                self._note(number, number < fork)
        self._pictures.flush()

    def picture(self, frame: int) -> bytes:
        """Return the packed picture of a played frame."""
        self._pictures.seek(frame * PICTURE_BYTES)
        return self._pictures.read(PICTURE_BYTES)

    def close(self) -> None:
        self._pictures.close()

    # -- inside ---------------------------------------------------------------------------------

    def _note(self, number: int, is_recorded: bool) -> None:
        packed = pack_picture(self.game.picture().tobytes())
        if is_recorded and self.differs < 0 and packed != self._shown[number].tobytes():
            self.differs = number
        self._pictures.seek(number * PICTURE_BYTES)
        self._pictures.write(packed)
        self.known = number + 1

    def _run(self) -> None:
        """Run the game's next frame, after loading or saving a state there if due."""
        if self._at in self.jumps:
            self.game.restore(self.jumps[self._at])
        elif self._at % self.key_every == 0 and self._at not in self._keys:
            self._keep(self._at, self.game.snapshot())
        self.game.frame(self.masks[self._at])
        self._at += 1

    def _nearest(self, number: int) -> int:
        """Return the number of the last saved state not after `number`."""
        return self._numbers[bisect.bisect_right(self._numbers, number) - 1]

    def _restore(self, number: int) -> None:
        self.game.restore(self._keys[number])
        self._at = number

    def _keep(self, number: int, state: Any) -> None:
        self._keys[number] = state
        bisect.insort(self._numbers, number)

    def _keep_jumps(self) -> None:
        self._keys |= {0: self.start, **self.jumps}
        self._numbers = sorted(self._keys)
