"""Agent that asks a language model for each action of an ARC game, and the parser of its answers.

The model reads the grid as 64 rows of hexadecimal colours, what its last actions changed, and a note that it wrote to
itself; it answers with thoughts, a new note and an action.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Any

import numpy as np

from trainer_core.envs.arc.game import ArcGame, Turn
from trainer_core.envs.language_model import PATIENCE, LanguageModel
from trainer_core.lab.arc_games import CLICK, RESET, SIDE
from trainer_core.wire.errors import ConfigError, FailureError, shown

PROMPT = f"""\
You play an unknown game on a grid of {SIDE} x {SIDE} cells. Each row is written as {SIDE} hexadecimal digits, a
colour for each cell; x counts columns from the left, y rows from the top, both from 0. Nobody tells you the rules:
try actions and see what they change. The game has levels; finish all of them in as few actions as you can.
Think in a few sentences. Then write a line that begins with NOTE: and says what you want to remember, for example a
rule that you found. End with one line that holds your action alone: ACTION1 to ACTION7, RESET (begins the level
again), or ACTION6 X Y (clicks the cell in column X, row Y)."""
MOST_TOKENS = 1024
PATIENT_S = 120.0
"""Time limit in seconds for one answer: a model that thinks on a laptop takes a minute."""
REMEMBERED = 16
"""Actions whose effects the model is told."""
NOTE_CHARACTERS = 2_000
_NAME = re.compile(r"\b(?:RESET|ACTION ?([1-7]))\b", re.IGNORECASE)
_CELL = re.compile(r"\D{0,12}(\d{1,4})\D{1,8}(\d{1,4})")
_NOTE = re.compile(r"^\W*NOTE:(.*)$", re.IGNORECASE | re.MULTILINE)


def parse_answer(text: str, available: tuple[int, ...]) -> Turn:
    """Return the last action that a model's answer names, in plain words or JSON; models often reason first.

    Raises ConfigError, in words for the model, when it names none, one that the game does not take, or no cell.
    """
    named = list(_NAME.finditer(text))
    if not named:
        raise ConfigError("Your answer names no action.")
    action = int(named[-1][1] or RESET)
    if action != RESET and action not in available:
        takes = ", ".join(f"ACTION{number}" for number in available)
        raise ConfigError(f"The game does not take ACTION{action}; it takes {takes} and RESET.")
    if action != CLICK:
        return Turn(action)
    cell = _CELL.match(text, named[-1].end())
    if cell is None:
        raise ConfigError("ACTION6 needs a cell: ACTION6 X Y.")
    x, y = int(cell[1]), int(cell[2])
    if max(x, y) >= SIDE:
        raise ConfigError(f"ACTION6 {x} {y} is outside the grid: x and y go from 0 to {SIDE - 1}.")
    return Turn(CLICK, x, y)


class LlmAgent:
    """Agent that plays what a language model answers."""

    def __init__(self, model: LanguageModel) -> None:
        self.model, self.nonsense, self.note = model, 0, ""
        """`nonsense` counts answers without a usable action."""
        self._effects: deque[str] = deque(maxlen=REMEMBERED)
        self._before: tuple[Turn, np.ndarray, int] | None = None

    def act(self, game: ArcGame) -> Turn:
        """Return the model's action; RESET, unasked, when the game is over.

        Raises FailureError when the server does not answer, or PATIENCE answers in a row name no usable action.
        """
        self._remember(game)
        turn = Turn(RESET) if game.is_over else self._asked(game)
        self._before = (turn, game.grid.copy(), game.levels)
        return turn

    def _remember(self, game: ArcGame) -> None:
        """Write down what the last action changed."""
        if self._before is None:
            return
        turn, grid, levels = self._before
        changed = np.argwhere(grid != game.grid)
        words = f"{_name(turn)}: {len(changed)} cells changed"
        if len(changed):
            (top, left), (bottom, right) = changed.min(0), changed.max(0)
            words += f", x {left} to {right}, y {top} to {bottom}"
        if game.levels > levels:
            words += f"; level {game.levels} completed"
        if game.is_over:
            words += f"; {game.shown.state}"
        self._effects.append(words)

    def _asked(self, game: ArcGame) -> Turn:
        messages: list[dict[str, Any]] = [
            {"role": "system", "content": PROMPT},
            {"role": "user", "content": self._described(game)},
        ]
        text = ""
        for _ in range(PATIENCE):
            text = self.model.ask(messages, MOST_TOKENS)
            if notes := _NOTE.findall(text):
                self.note = notes[-1].strip()[:NOTE_CHARACTERS]
            try:
                return parse_answer(text, game.shown.available)
            except ConfigError as complaint:
                self.nonsense += 1
                messages += [{"role": "assistant", "content": text}, {"role": "user", "content": str(complaint)}]
        raise FailureError(f"the model gave no usable action {PATIENCE} times in a row, lastly: {shown(text, 120)!r}")

    def _described(self, game: ArcGame) -> str:
        """Return what the model is told: level, actions, its note, the effects, and the grid."""
        takes = ", ".join(f"ACTION{number}" for number in game.shown.available)
        lines = [f"Level {game.levels + 1} of {game.shown.win_levels}. The game takes {takes} and RESET."]
        lines += [f"Your note: {self.note or 'none yet'}"]
        lines += ["Your last actions, the newest last:", *(self._effects or ["none yet"])]
        lines += ["The grid, row 0 first:", *("".join(f"{colour:x}" for colour in row) for row in game.grid)]
        return "\n".join(lines)


def _name(turn: Turn) -> str:
    if turn.action == RESET:
        return "RESET"
    return f"ACTION6 {turn.x} {turn.y}" if turn.action == CLICK else f"ACTION{turn.action}"
