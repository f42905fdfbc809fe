"""A recording: what a player showed, frame by frame, and the buttons that made it.

    <folder>/pictures.bin    5,760 bytes a frame: 160x144 shades, 4 a byte, leftmost pixel in the
                             low bits
    <folder>/buttons.bin     one joypad mask a frame
    <folder>/steps.jsonl     one object an agent step: step, frame, action, reward, dist, done...
    <folder>/recording.json  Recording below, written last: a folder without it is unfinished

Replaying buttons.bin from the start state gives pictures.bin again, byte for byte.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from trainer_core.protocol.errors import ProtocolError

WIDTH, HEIGHT = 160, 144
PICTURE_BYTES = WIDTH * HEIGHT // 4
FRAMES_PER_SECOND = 4194304 / 70224
MAX_FRAMES = 3600


class Recording(msgspec.Struct, kw_only=True, frozen=True):
    v: int = 1
    task: str
    rom_sha256: str
    state: str
    """Machine state at the first frame, a file of the folder."""
    frames: int
    checkpoint: str = ""
    checkpoint_sha256: str = ""
    mode: str = "human"
    """human, greedy or sample."""
    created_at: float
    success: bool = False


def write_recording(folder: Path, recording: Recording) -> None:
    """Finish a recording: its manifest appears whole or not at all."""
    partial = folder / "recording.json.tmp"
    with partial.open("wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(recording)))
        file.flush()
        os.fsync(file.fileno())
    partial.replace(folder / "recording.json")


def read_recording(folder: Path) -> Recording:
    """Raises ProtocolError when the folder is no finished recording or its files are cut short."""
    path = folder / "recording.json"
    try:
        recording = msgspec.json.decode(path.read_bytes(), type=Recording)
        pictures = (folder / "pictures.bin").stat().st_size
        buttons = (folder / "buttons.bin").stat().st_size
    except OSError as error:
        raise ProtocolError(f"{error.filename}: not a finished recording") from None
    except msgspec.DecodeError as error:
        raise ProtocolError(f"{path}: {error}") from None
    if pictures != recording.frames * PICTURE_BYTES or buttons != recording.frames:
        raise ProtocolError(f"{folder}: pictures or buttons do not match {recording.frames} frames")
    return recording


def list_recordings(root: Path) -> list[Path]:
    """Finished recordings below `root`, oldest first."""
    found = [path.parent for path in root.rglob("recording.json")]
    return sorted(found, key=lambda folder: (folder / "recording.json").stat().st_mtime)
