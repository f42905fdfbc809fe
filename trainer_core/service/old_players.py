"""Folders below HOME/players that ended long ago and hold nothing that anybody can use: of players
that made nothing, and of leagues that were killed while they recorded."""

from __future__ import annotations

import contextlib
import shutil
import time
from pathlib import Path

from trainer_core.protocol.recording import MANIFEST, STEPS

LEAGUE = "league-"
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
                elif folder.name.startswith(LEAGUE) and not folder.is_symlink():
                    removed += _remove_unfinished(folder)
    return removed


def _remove_unfinished(league: Path) -> int:
    """Remove recordings of a league that have no manifest, which is written last, and what is empty
    then. A recording that goes on changes its pictures with each frame."""
    removed = 0
    for steps in [*league.glob(f"recordings/*/{STEPS}"), *league.glob(f"recordings/*/*/{STEPS}")]:
        folder = steps.parent
        files = list(folder.iterdir())
        changed = max(path.lstat().st_mtime for path in (folder, *files))
        if MANIFEST not in {path.name for path in files} and time.time() - changed > OLD_S:
            shutil.rmtree(folder)
            removed += 1
            with contextlib.suppress(OSError):  # another recording is in it
                for parent in folder.parents:
                    parent.rmdir()
                    if parent == league:
                        break
    return removed


def _is_old(folder: Path) -> bool:
    if folder.is_symlink() or not folder.is_dir():
        return False
    files = list(folder.iterdir())
    changed = max(path.lstat().st_mtime for path in (folder, *files))
    return {path.name for path in files} <= LEFT and time.time() - changed > OLD_S
