"""Conversion of any file or folder that is dropped on the replay to a recording."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trainer_core.lab.paths import HomePaths
from trainer_core.lab.recording import Recording, read_recording, read_shown, read_steps
from trainer_core.lab.unfinished_recordings import is_unfinished, recover, require_abandoned
from trainer_core.play.clips.animations import animation
from trainer_core.play.clips.arc_lines import arc_lines
from trainer_core.play.clips.movies import read_movie
from trainer_core.play.clips.receipts import receipt
from trainer_core.wire.errors import LabError

ANIMATIONS = (".gif", ".apng", ".png")
PARTS = ("rollout.jsonl", "meta.json", "rollout.gif", "receipt.json", "last_steps.npz")
"""Names of files that stand for the folder they are in."""


def open_clip(
    path: Path, out: Path, rom: str, home: HomePaths, on_progress: Callable[[float], None] = lambda share: None
) -> dict[str, Any]:
    """Convert `path` to a recording in the new folder `out`; return its description. Raises LabError.

    `rom` is the game of an input movie; empty = search the known ones. A failure leaves no folder.
    """
    if not path.exists():
        raise LabError(f"{path}: there is no such file")
    if out.exists():
        raise LabError(f"{out}: is there already; choose another name")
    if path.is_file() and path.name in PARTS and _is_known(path.parent):
        path = path.parent
    partial = out.with_name(f".{out.name}.tmp")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        note = _make(path, partial, rom, home, on_progress)
        made = _checked(path, partial)  # checked before the rename: no recording stays that cannot be opened
        partial.rename(out)
    except OSError as error:
        raise LabError(f"{out}: cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return {
        "out": str(out),
        "source": made.source,
        "frames": made.frames,
        "width": made.width,
        "height": made.height,
        "format": made.format,
        "can_be_edited": bool(made.state),
        "note": note,
    }


def _checked(path: Path, folder: Path) -> Recording:
    """Return the recording in `folder`, made from `path`. Raises LabError if it cannot be opened."""
    try:
        made = read_recording(folder)
        read_shown(folder, made)
        read_steps(folder, made)
    except LabError as error:
        raise LabError(f"{path}: makes no recording: {str(error).removeprefix(str(folder))}") from None
    return made


def _is_known(folder: Path) -> bool:
    return _is_rollout(folder) or _is_receipt(folder)


def _is_rollout(folder: Path) -> bool:
    return (folder / "rollout.jsonl").is_file() and (folder / "meta.json").is_file()


def _is_receipt(folder: Path) -> bool:
    return (folder / "receipt.json").is_file()


def _unfinished(path: Path, out: Path) -> str:
    """Copy the intact part of a killed player's recording; the original folder stays unchanged."""
    require_abandoned(path)
    shutil.copytree(path, out)
    if recover(out) is None:
        raise LabError(f"{path}: no frame of it was kept")
    return "a recording whose player was killed: the frames that it had written"


def _make(path: Path, out: Path, rom: str, home: HomePaths, on_progress: Callable[[float], None]) -> str:
    """Convert `path` to a recording in `out`; return a note for the user.

    The emulator is imported only if the file's kind needs it.
    """
    if path.is_dir():
        if _is_rollout(path):
            from trainer_core.play.clips.rollouts import rollout

            return rollout(path, out, home)[1]
        if _is_receipt(path):
            return receipt(path, out)[1]
        if is_unfinished(path):
            return _unfinished(path, out)
        raise LabError(
            f"{path}: no recording, no rollout and no receipt of a failed run; open a folder with "
            "recording.json, rollout.jsonl or receipt.json in it"
        )
    if path.suffix.lower() in ANIMATIONS:
        animation(path, out, on_progress)
        return ""
    if path.suffix.lower() == ".jsonl":
        return arc_lines(path, out)[1]
    movie = read_movie(path)  # a wrong file is told before the emulator is imported
    from trainer_core.play.clips.pressing import press_movie

    return press_movie(path, movie, out, rom, home, on_progress)[1]
