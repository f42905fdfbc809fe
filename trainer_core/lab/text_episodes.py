"""Reader of a language model's episodes as rLLM's EpisodeLogger writes them.

`<run>/episodes/{train,val}_step_N_epoch_M/episode_*.json`, one file an episode, of runners with the capability
`episodes`.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from trainer_core.wire.decoding import parsing, plain
from trainer_core.wire.errors import LabError
from trainer_core.wire.regular_files import read_regular

MOST_SHOWN = 200
MOST_BYTES = 1 << 20
_BATCH = re.compile(r"(train|val)_step_(\d+)_epoch_\d+")


@dataclass(frozen=True, slots=True, order=True)
class EpisodeBatch:
    """Folder of the text episodes that were written at one training step."""

    step: int
    mode: str
    """train or val"""
    folder: Path


@dataclass(frozen=True, slots=True)
class TextEpisode:
    question: str
    answer: str
    reward: float | None
    is_right: bool | None
    text: str
    """All messages, one paragraph each."""


def batches(run_dir: Path) -> list[EpisodeBatch]:
    """Return the batches of a run, newest first; none if there is no such folder."""
    try:
        folders = list((run_dir / "episodes").iterdir())
    except OSError:
        return []
    named = [(_BATCH.fullmatch(folder.name), folder) for folder in folders]
    found = [EpisodeBatch(int(m[2][:18]), m[1], folder) for m, folder in named if m]
    return sorted(found, reverse=True)


def read_batch(batch: EpisodeBatch) -> list[TextEpisode]:
    """Return up to `MOST_SHOWN` episodes of a batch, sorted by file name; invalid files are left out."""
    paths = islice(sorted(batch.folder.glob("episode_*.json")), MOST_SHOWN)
    return [episode for path in paths if (episode := read_episode(path)) is not None]


def read_episode(path: Path) -> TextEpisode | None:
    """Return the episode in a file; None if it is invalid, unfinished or larger than `MOST_BYTES`."""
    try:
        with parsing(path):
            return _episode(plain(json.loads(read_regular(path, MOST_BYTES))))
    except LabError:
        return None


def _episode(found: Any) -> TextEpisode:
    trajectory = found["trajectories"][-1]
    said = [line for step in trajectory["steps"] for line in step["chat_completions"]]
    lines = [(str(line["role"]), str(line["content"])) for line in said]
    task = found.get("task")
    asked = task.get("question") if isinstance(task, dict) else None
    return TextEpisode(
        question=str(asked) if asked is not None else _last(lines, "user"),
        answer=_last(lines, "assistant"),
        reward=_number(trajectory.get("reward")),
        is_right={"True": True, "False": False}.get(str(found.get("is_correct"))),
        text="\n\n".join(f"{role}: {content}" for role, content in lines),
    )


def _last(lines: list[tuple[str, str]], wanted: str) -> str:
    return next((content for role, content in reversed(lines) if role == wanted), "")


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
