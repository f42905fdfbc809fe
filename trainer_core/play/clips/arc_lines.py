"""Recordings of the ARC-AGI-3 library, its server and its web page: JSON lines, one per answer.

    {"timestamp": ..., "data": {"game_id", "frame": [[[0..15, ..], ..], ..], "state",
     "levels_completed" or "score", "win_levels" or "win_score", "action_input": {"id": ..}}}

`id` is RESET, ACTION1 .. ACTION7, or 0 to 7. Lines without a frame (a closing scorecard, an answer after the end) are
skipped.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import msgspec
import numpy as np
from msgspec import Meta

from trainer_core.lab.arc_games import BUTTON_ACTIONS, GAME_OVER, PALETTE, PREFIX, RESET, SIDE, WIN
from trainer_core.lab.recording import MAX_FRAMES, RecordedStep
from trainer_core.play.clips.writer import ClipWriter
from trainer_core.wire.decoding import parsing
from trainer_core.wire.errors import LabError
from trainer_core.wire.regular_files import open_regular

FRAMES_A_PICTURE = 12
"""Frames per picture: five pictures a second, the games' default_fps; fewer frames in long recordings."""
MAX_LINE_BYTES = 4 << 20
"""Maximum size of one answer: 300 grids. A line of nothing but brackets takes fifty times its size to decode."""
MOST_LINES = 100_000
Level = Annotated[int, Meta(ge=0, le=1 << 20)]
Colour = Annotated[int, Meta(ge=0, le=15)]


class _Input(msgspec.Struct):
    id: Annotated[int, Meta(ge=-1, le=1 << 20)] | str = RESET


class _Answer(msgspec.Struct):
    game_id: str = ""
    frame: list[list[list[Colour]]] = []
    state: str = ""
    levels_completed: Level | None = None
    score: Level | None = None
    win_levels: Level | None = None
    win_score: Level | None = None
    action_input: _Input | None = None

    @property
    def levels(self) -> int:
        return self.levels_completed or self.score or 0


class _Line(msgspec.Struct):
    data: _Answer


_decoder = msgspec.json.Decoder(_Line)


def arc_lines(path: Path, out: Path) -> tuple[Path, str]:
    """Convert to a recording; return it and a note. Raises LabError naming the line that cannot be read."""
    answers: list[_Answer] = []
    grids: list[np.ndarray] = []
    note = ""
    for number, answer in _answers(path):
        shown = _grids(answer, f"{path}, line {number}")
        if sum(map(len, grids)) + len(shown) > MAX_FRAMES:
            note = f"shown to line {number - 1}: a recording has {MAX_FRAMES} pictures at most"
            break
        answer.frame = []  # Python's numbers take eight times the memory of `shown`
        answers.append(answer)
        grids.append(shown)
    count = sum(map(len, grids))
    if not count:
        raise LabError(f"{path}: no recording of ARC-AGI-3: no line has a frame")
    writer = ClipWriter(out, SIDE, SIDE, is_color=True)
    colours = np.array([(rgb >> 16, rgb >> 8 & 255, rgb & 255) for rgb in PALETTE], np.uint8)
    lasts = max(1, min(FRAMES_A_PICTURE, MAX_FRAMES // count))
    steps, frame, levels = [], 0, 0
    for answer, shown in zip(answers, grids, strict=True):
        first = frame
        for grid in shown:
            writer.show(colours[grid], frame)
            frame += lasts
        action = _action(answer)
        if action != RESET:
            steps.append(_step(answer, len(steps) + 1, action, levels, first, frame - 1))
        levels = answer.levels
    game = answers[0].game_id[:4]
    writer.finish(
        frame,
        steps=steps,
        task=f"{PREFIX}{game}",
        mode="script",
        success=any(answer.state == WIN for answer in answers),
        source=f"ARC-AGI-3 {path.name}",
    )
    return out, note


def _answers(path: Path) -> Iterator[tuple[int, _Answer]]:
    """Yield (line number, answer) of the lines with a frame."""
    with parsing(f"{path}: cannot be read"), io.BufferedReader(open_regular(path)) as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if number > MOST_LINES:
                raise LabError(f"{path}: more than {MOST_LINES} lines; cut it shorter first")
            if not line.strip():
                continue
            if len(line) > MAX_LINE_BYTES:
                raise LabError(f"{path}, line {number}: more than {MAX_LINE_BYTES >> 20} MiB in one answer")
            with parsing(f"{path}, line {number}: no line of an ARC-AGI-3 recording"):
                answer = _decoder.decode(line).data
            if answer.frame:
                yield number, answer


def _grids(answer: _Answer, where: str) -> np.ndarray:
    """Return the frame as u8[F, 64, 64]."""
    try:
        grids = np.array(answer.frame, np.uint8)
    except ValueError:  # rows of different lengths
        grids = np.empty(0, np.uint8)
    if grids.shape[1:] != (SIDE, SIDE):
        raise LabError(f"{where}: its frame is no animation of grids of {SIDE}x{SIDE}")
    return grids


def _action(answer: _Answer) -> int:
    """Return the number of the action that led to the answer, 0 (RESET) to 7; -1 for anything else."""
    found = answer.action_input.id if answer.action_input else RESET
    if isinstance(found, int):
        return found
    if found == "RESET":
        return RESET
    # `isdigit` is true of superscripts too, which `int` refuses.
    return int(found[-1]) if found[-1:].isascii() and found[-1:].isdigit() else -1


def _step(answer: _Answer, number: int, action: int, levels: int, first: int, last: int) -> RecordedStep:
    wins = answer.win_levels or answer.win_score or 0
    return RecordedStep(
        step=number,
        first_frame=first,
        last_frame=last,
        action=BUTTON_ACTIONS.index(action) if action in BUTTON_ACTIONS and action > 0 else -1,
        reward=float(max(0, answer.levels - levels)),
        dist=1 - answer.levels / max(1, wins),
        success=answer.state == WIN,
        done=answer.state in (WIN, GAME_OVER),
    )
