"""Writer of a recording (see lab.recording) during play, and its check by replay."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from trainer_core.lab.recording import (
    BUTTONS,
    MAX_FRAMES,
    PICTURE_BYTES,
    PICTURES,
    STEPS,
    Jump,
    RecordedStep,
    Recording,
    encode_step,
    pack_picture,
    read_recording,
    refuse_pictures_only,
    write_recording,
)
from trainer_core.lab.unfinished_recordings import UNFINISHED, note_unfinished
from trainer_core.wire.errors import ProtocolError
from trainer_core.wire.regular_files import read_regular

FLUSH_S = 2.0
"""Seconds between two flushes of buttons and steps; pictures are written at once."""
SPARE_FRAMES = 8
"""Frames dropped on a full disk to make room for the manifest: 45 KiB."""

if TYPE_CHECKING:
    from trainer_core.envs.single_game import Game

STATE_FILE = "state.npz"
MAX_STATE_BYTES = 4 << 20
"""Greatest size of a console's state; one with 128 KiB of cartridge memory takes a tenth of it."""


class _Line(NamedTuple):
    """Position of a written line of steps.jsonl, for cutting the file."""

    frames: int
    """Number of frames when it was written."""
    size: int
    """Length in bytes."""
    success: bool


class RecordingWriter:
    """Writer of a recording that begins at the game's present state; `finish` completes it."""

    def __init__(
        self, folder: Path, game: Game, *, mode: str, checkpoint: str, checkpoint_sha256: str, **about: Any
    ) -> None:
        """Create the files. `about` are further fields of the manifest: `parent`, `forked_at`, `source`.

        For a game with colours no start state is stored: its buttons cannot be replayed.
        """
        folder.mkdir(parents=True)
        self.folder = folder
        self._colours = np.array(game.screen.colours, np.uint8)
        self._picture_bytes = PICTURE_BYTES
        if game.screen.palette:
            width, height = game.screen.width, game.screen.height
            self._picture_bytes = 3 * width * height
            about |= {"width": width, "height": height, "format": "rgb888", "source": game.task}
        else:
            game.save_state(folder / STATE_FILE)
            about["state"] = STATE_FILE
        self._about = {
            "task": game.task,
            "rom_sha256": game.rom_sha256,
            "mode": mode,
            "checkpoint": checkpoint,
            "checkpoint_sha256": checkpoint_sha256,
            "created_at": time.time(),
            "state": "",
            **about,
        }
        self._frames_per_step = game.frames_per_step
        self._pictures = (folder / PICTURES).open("wb")
        self._buttons = (folder / BUTTONS).open("wb")
        with contextlib.suppress(OSError):  # fails on a file system without locks
            fcntl.flock(self._buttons, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._steps = (folder / STEPS).open("wb")
        self.frames = 0
        self.success = False
        self._jumps: list[Jump] = []
        self._lines: list[_Line] = []
        self._flushed_at = time.monotonic()
        self._note()

    @property
    def is_full(self) -> bool:
        return self.frames >= MAX_FRAMES

    def add_frame(self, picture: np.ndarray, buttons: int) -> None:
        """Add one frame: the game's picture u8[H, W] and the joypad mask held in it."""
        colours = self._colours
        shown = colours[picture].tobytes() if len(colours) else pack_picture(picture.tobytes())
        self._pictures.write(shown)
        self._buttons.write(bytes((buttons & 0xFF,)))
        self.frames += 1
        if time.monotonic() >= self._flushed_at + FLUSH_S:
            self._flush()

    def add_step(
        self,
        *,
        step: int,
        action: int,
        reward: float,
        dist: float,
        success: bool = False,
        done: bool = False,
        trunc: bool = False,
        terms: dict[str, float] | None = None,
        value: float | None = None,
    ) -> None:
        """Add one agent step that ended with the last frame; `step` counts from 1."""
        line = RecordedStep(
            step=step,
            # A step that began before the recording has fewer frames in it.
            first_frame=max(0, self.frames - self._frames_per_step),
            last_frame=self.frames - 1,
            action=action,
            reward=reward,
            dist=dist,
            success=success,
            done=done,
            trunc=trunc,
            terms=terms or {},
            value=value,
        )
        written = encode_step(line)
        self._steps.write(written)
        self._lines.append(_Line(self.frames, len(written), success))
        self.success = self.success or success

    def jump(self, game: Game) -> None:
        """Record a jump: the game was put into its present state, from which the next frames follow."""
        if not self._about["state"]:
            return
        if self.frames == 0:
            game.save_state(self.folder / STATE_FILE)
            return
        if self._jumps and self._jumps[-1].frame == self.frames:
            self._jumps.pop()  # no frame was played in between
        name = f"state-{self.frames:05d}.npz"
        game.save_state(self.folder / name)
        self._jumps.append(Jump(frame=self.frames, state=name))
        self._note()

    def take_back(self, game: Game, was_frame: bool) -> None:
        """Remove the newest frame if `was_frame`, else the newest jump, after the player went back in `game`.

        Without a frame left the recording begins at the game's present state.
        """
        if self.frames == 0:
            if self._about["state"]:
                game.save_state(self.folder / STATE_FILE)
            return
        if not was_frame:
            if self._jumps and self._jumps[-1].frame == self.frames:
                self._jumps.pop()
                self._note()
            return
        self.frames -= 1
        while self._lines and self._lines[-1].frames > self.frames:
            self._lines.pop()
        self.success = any(line.success for line in self._lines)
        self._cut()

    def _cut(self) -> None:
        """Truncate the recording's files to `self.frames` frames."""
        pictures = self.frames * self._picture_bytes
        sizes = (pictures, self.frames, sum(line.size for line in self._lines))
        for file, size in zip((self._pictures, self._buttons, self._steps), sizes, strict=True):
            file.flush()
            file.truncate(size)
            file.seek(size)

    def finish(self) -> Path:
        """Close the files and write the manifest; a recording without a frame is deleted.

        On a full disk the last frames make room for the manifest. Raises OSError when even that fails.
        """
        try:
            self._close()
        except OSError:
            self._close_cut()
        if self.frames == 0:
            for path in self.folder.iterdir():
                path.unlink()
            self.folder.rmdir()
        else:
            write_recording(self.folder, self._manifest())
            (self.folder / UNFINISHED).unlink(missing_ok=True)
        return self.folder

    def _manifest(self) -> Recording:
        return Recording(
            frames=self.frames,
            success=self.success,
            jumps=tuple(jump for jump in self._jumps if jump.frame < self.frames),
            **self._about,
        )

    def _note(self) -> None:
        """Write unfinished.json, from which the recording can be recovered if this process is killed."""
        begun = Recording(frames=1, jumps=tuple(self._jumps), **self._about)
        note_unfinished(self.folder, begun)

    def _flush(self) -> None:
        """Flush the files, so that a kill loses at most FLUSH_S."""
        self._flushed_at = time.monotonic()
        for file in (self._pictures, self._buttons, self._steps):
            file.flush()

    def _close(self) -> None:
        self._flush()  # a failed flush keeps the buffer; a failed close would lose it
        for file in (self._pictures, self._buttons, self._steps):
            file.close()

    def _close_cut(self) -> None:
        """Close the files on a full disk, truncated to the frames that were written completely, less SPARE_FRAMES."""
        paths = [self.folder / name for name in (PICTURES, BUTTONS, STEPS)]
        with contextlib.suppress(OSError):  # there is no room for its buffer
            self._pictures.close()
        # Cut pictures first: the buttons of a short recording are still in their buffer.
        whole = paths[0].stat().st_size // self._picture_bytes - SPARE_FRAMES
        os.truncate(paths[0], max(0, whole) * self._picture_bytes)
        for file in (self._buttons, self._steps):
            with contextlib.suppress(OSError):
                file.close()
        sizes = [path.stat().st_size for path in paths]
        lines = itertools.accumulate(line.size for line in self._lines)
        whole = sum(end <= sizes[2] for end in lines)
        del self._lines[whole:]
        self.frames = min(self.frames, sizes[0] // self._picture_bytes, sizes[1])
        while self._lines and self._lines[-1].frames > self.frames:
            self._lines.pop()
        self.success = any(line.success for line in self._lines)
        pictures = self.frames * self._picture_bytes
        kept = (pictures, self.frames, sum(line.size for line in self._lines))
        for path, size in zip(paths, kept, strict=True):
            os.truncate(path, size)


def first_difference(folder: Path, game: Game) -> int:
    """Replay a recording's buttons; return the first frame whose picture differs, or -1.

    Raises ProtocolError when the folder is no finished recording, or its state is invalid.
    """
    recording = read_recording(folder)
    refuse_pictures_only(folder, recording)
    frames = recording.frames
    try:
        pictures = read_regular(folder / PICTURES, frames * PICTURE_BYTES)
        buttons = read_regular(folder / BUTTONS, frames)
        read_regular(folder / recording.state, MAX_STATE_BYTES)
        game.load_state(folder / recording.state)
    except OSError as error:
        raise ProtocolError(f"{error.filename}: {error.strerror}") from None
    jumps = {jump.frame: folder / jump.state for jump in recording.jumps}
    for frame, held in enumerate(buttons):
        if frame in jumps:
            game.load_state(jumps[frame])
        game.frame(held)
        shown = pictures[frame * PICTURE_BYTES : (frame + 1) * PICTURE_BYTES]
        if pack_picture(game.picture().tobytes()) != shown:
            return frame
    return -1
