"""What recordings are called where one is chosen: when, of which game, how long."""

from __future__ import annotations

import functools
import time
from pathlib import Path

from gui.words import tr
from trainer_core.lab.recording import FRAMES_PER_SECOND, Recording, read_recording
from trainer_core.wire.errors import ProtocolError


@functools.lru_cache(maxsize=256)  # a finished recording does not change
def recording_name(folder: Path) -> str:
    """Its folder's name where it cannot be read."""
    try:
        about = read_recording(folder)
        when = time.localtime(about.created_at)
    except (ProtocolError, OSError, OverflowError, ValueError):  # the last two: of no such year
        return folder.name
    is_today = when[:3] == time.localtime()[:3]
    branch = tr(", branch") if about.parent else ""
    return tr(
        "{when} {game}, {seconds:.1f} s{branch}",
        when=time.strftime("%H:%M:%S" if is_today else "%d %b %H:%M", when),
        game=_game(folder, about),
        seconds=about.frames / FRAMES_PER_SECOND,
        branch=branch,
    )


def _game(folder: Path, about: Recording) -> str:
    """A task's own name, a ROM's file name, or what a clip was opened from."""
    if about.source and not about.state:
        return folder.name
    return Path(about.task).name or folder.name
