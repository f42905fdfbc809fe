"""Folders of players that ended long ago and left nothing that anybody made."""

from __future__ import annotations

import contextlib
import shutil
import time
from pathlib import Path

OLD_S = 2 * 86_400.0
"""Since anything in the folder changed; a player that shows pictures changes frames.bin."""
LEFT = {"config.json", "frames.bin", "player.log", "player.log.1"}
"""What every player leaves. One that made a recording, or anything else, has more."""


def remove_old_players(players: Path) -> int:
    """How many went. What cannot be looked at or removed stays, silently."""
    removed = 0
    with contextlib.suppress(OSError):
        for folder in players.iterdir():
            with contextlib.suppress(OSError):
                if _is_old(folder):
                    shutil.rmtree(folder)
                    removed += 1
    return removed


def _is_old(folder: Path) -> bool:
    if folder.is_symlink() or not folder.is_dir():
        return False
    files = list(folder.iterdir())
    changed = max(path.lstat().st_mtime for path in (folder, *files))
    return {path.name for path in files} <= LEFT and time.time() - changed > OLD_S
