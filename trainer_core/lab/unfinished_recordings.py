"""Recovery of recordings whose player was killed.

During recording the folder holds `unfinished.json`, the manifest as it would be now, and the recording process holds a
lock on buttons.bin, which the kernel releases with the process.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from trainer_core.lab.recording import (
    BUTTONS,
    MANIFEST,
    MAX_FRAMES,
    MAX_STEP_BYTES,
    PICTURES,
    STEPS,
    RecordedStep,
    Recording,
    write_recording,
)
from trainer_core.wire.errors import BAD_JSON, ProtocolError
from trainer_core.wire.regular_files import open_regular, read_regular

UNFINISHED = "unfinished.json"


def note_unfinished(folder: Path, recording: Recording) -> None:
    """Write unfinished.json, the manifest that `recover` needs, atomically. Raises OSError."""
    partial = folder / f".{UNFINISHED}.tmp"
    partial.write_bytes(msgspec.json.encode(recording))
    partial.replace(folder / UNFINISHED)


def is_unfinished(folder: Path) -> bool:
    """Return whether the folder holds an unfinished recording."""
    return (folder / UNFINISHED).is_file() and not (folder / MANIFEST).exists()


def recover(folder: Path) -> Recording | None:
    """Complete an unfinished recording with the frames that were written; return None, and remove it, if there are
    none.

    Raises ProtocolError while it is being recorded, or for files that belong to no recording.
    """
    try:
        with _claimed(folder / BUTTONS):
            begun = msgspec.json.decode(read_regular(folder / UNFINISHED), type=Recording)
            pictures, buttons = _size_of(folder / PICTURES), _size_of(folder / BUTTONS)
            frames = min(pictures // begun.picture_bytes, buttons, MAX_FRAMES)
            if not frames:
                _remove(folder, begun)
                return None
            _cut(folder / PICTURES, frames * begun.picture_bytes)
            _cut(folder / BUTTONS, frames)
            found = msgspec.structs.replace(
                begun,
                frames=frames,
                success=_cut_steps(folder / STEPS, frames),
                jumps=tuple(jump for jump in begun.jumps if jump.frame < frames),
            )
            write_recording(folder, found)
            (folder / UNFINISHED).unlink()
    except OSError as error:
        raise ProtocolError(f"{error.filename or folder}: {error.strerror}") from None
    except BAD_JSON as error:
        raise ProtocolError(f"{folder / UNFINISHED}: {str(error)[:200]}") from None
    return found


def require_abandoned(folder: Path) -> None:
    """Raise ProtocolError while a process records in the folder."""
    try:
        with _claimed(folder / BUTTONS):
            pass
    except OSError as error:
        raise ProtocolError(f"{error.filename or folder}: {error.strerror}") from None


def recover_below(root: Path) -> list[Path]:
    """Recover all abandoned recordings below `root` and return them; those that cannot be recovered are left."""
    recovered = []
    for name, _, files in os.walk(root):
        if UNFINISHED in files and MANIFEST not in files:
            with contextlib.suppress(ProtocolError):
                if recover(Path(name)) is not None:
                    recovered.append(Path(name))
    return recovered


@contextlib.contextmanager
def _claimed(path: Path) -> Iterator[None]:
    """Hold the lock on buttons.bin in the block. Raises ProtocolError while the recording process holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ProtocolError(f"{path.parent}: is being recorded still; end the recording first") from None
        yield
    finally:
        os.close(descriptor)


def _cut_steps(path: Path, frames: int) -> bool:
    """Truncate steps.jsonl after the last step that ended within `frames` frames; return whether one reached the
    goal."""
    kept, success = 0, False
    for line in read_regular(path, MAX_STEP_BYTES * frames).splitlines(keepends=True):
        try:
            step = msgspec.json.decode(line, type=RecordedStep)
        except BAD_JSON:
            break
        if step.last_frame >= frames or not line.endswith(b"\n"):
            break
        kept, success = kept + len(line), success or step.success
    _cut(path, kept)
    return success


def _cut(path: Path, size: int) -> None:
    """Truncate a file to `size` bytes. Raises OSError for a symbolic link."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        os.ftruncate(descriptor, size)
    finally:
        os.close(descriptor)


def _size_of(path: Path) -> int:
    with open_regular(path) as file:
        return os.fstat(file.fileno()).st_size


def _remove(folder: Path, begun: Recording) -> None:
    """Remove all files of a recording with the manifest `begun`, and its folder if nothing else is in it."""
    states = [jump.state for jump in begun.jumps]
    for name in (PICTURES, BUTTONS, STEPS, UNFINISHED, begun.state, *states):
        if name:
            (folder / name).unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        folder.rmdir()
