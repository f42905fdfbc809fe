"""Recording of successful episodes without a window, as training data for offline learning."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from trainer_core.envs.recording_writer import RecordingWriter
from trainer_core.envs.single_game import Game
from trainer_core.lab.recording import MANIFEST
from trainer_core.play.episode import Chooser, Played, play_episode
from trainer_core.runs.log_writer import disk_error
from trainer_core.wire.errors import ConfigError, shown

Mode = Literal["greedy", "sample", "leave_loops", "script"]
PATIENCE = 10
"""Maximum number of episodes played per successful one."""
AT_FIRST = 2
"""Multiple of PATIENCE that limits the episodes played before the first success."""


def require_new_folder(out: Path) -> None:
    """Raise ConfigError unless recordings may be written there."""
    if not out.exists():
        return
    if not out.is_dir():
        raise ConfigError(f"{out}: not a folder; name a new folder")
    if names := os.listdir(out):
        left = [name for name in names if not (out / name / MANIFEST).is_file()]
        more = f", {shown(left[0])} of one that did not end" if left else ""
        raise ConfigError(f"{out}: not empty{more}; name a new folder, or remove this one")


def train_starts(game: Game) -> range:
    """Return the start states used for training, without the held-out ones."""
    return range(game.held_out_start or game.num_starts)


def record_episode(
    folder: Path,
    game: Game,
    chooser: Chooser,
    start: int,
    mode: Mode,
    *,
    checkpoint: str = "",
    checkpoint_sha256: str = "",
) -> Played:
    """Play an episode from `start` with `chooser` and write a recording to `folder`. Raises DiskError."""
    game.restart(start)
    try:
        writer = RecordingWriter(folder, game, mode=mode, checkpoint=checkpoint, checkpoint_sha256=checkpoint_sha256)
        played = play_episode(game, chooser, start, recording=writer)
        writer.finish()
    except OSError as error:
        raise disk_error(folder, error, "--out") from None
    except BaseException:  # after Ctrl-C, half an episode is not a recording
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return played


def record_demonstrations(
    out: Path,
    game: Game,
    chooser_of: Callable[[int], Chooser],
    episodes: int,
    mode: Mode,
    *,
    tell: Callable[[int, Played], None] = lambda kept, played: None,
    **made_by: Any,
) -> dict[str, Any]:
    """Record `episodes` episodes that reach the goal, from the training starts in turn; return a summary.

    `chooser_of(start)` plays the episode that begins there. A failed episode is removed. Raises ConfigError when `out`
    is not empty or as soon as fewer than one episode in PATIENCE succeeds, DiskError.
    """
    require_new_folder(out)
    starts, kept, attempt, steps = train_starts(game), 0, 0, []
    while attempt < PATIENCE * min(episodes, kept + AT_FIRST):
        start = starts[attempt % len(starts)]
        folder = out / f"{kept:04d}-start{start:03d}"
        played = record_episode(folder, game, chooser_of(start), start, mode, **made_by)
        attempt += 1
        if not played.success:
            shutil.rmtree(folder)
        else:
            kept += 1
            steps.append(played.steps)
        tell(kept, played)
        if kept == episodes:
            return {
                "out": str(out),
                "task": game.task,
                "recordings": kept,
                "attempts": attempt,
                "steps": sum(steps),
                "median_steps": sorted(steps)[len(steps) // 2],
            }
    left = f"What succeeded is in {out}" if kept else "None is kept"
    raise ConfigError(
        f"only {kept} of {attempt} episodes reached the goal of {game.task}; the "
        f"{episodes} that were asked for need a better player. {left}"
    )
