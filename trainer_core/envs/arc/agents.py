"""Agents that play an ARC game without learning: random, a file of actions, an explorer, one of the user's own."""

from __future__ import annotations

import importlib
import random
import re
import sys
import traceback
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from trainer_core.envs.arc.game import ArcGame, Turn
from trainer_core.envs.arc.llm_agent import PATIENT_S, LlmAgent
from trainer_core.envs.language_model import LanguageModel
from trainer_core.lab.arc_games import CLICK, RESET, SIDE
from trainer_core.wire.addresses import LLM_EXAMPLE, LLM_KEY
from trainer_core.wire.environment import server_key
from trainer_core.wire.errors import ConfigError, FailureError, LabError

LINE = re.compile(r"(RESET|ACTION[1-7])(?:\s+(\d{1,2})\s+(\d{1,2}))?")
MAX_CLICKS = 32
"""Most cells of one grid on which the explorer clicks: one inside each patch of one colour."""


class ArcAgent(Protocol):
    """Interface of an agent: it chooses the next action of a game."""

    def act(self, game: ArcGame) -> Turn | None:
        """Return the next action for the grid that `game` shows; None if no action is left."""
        ...


def make_agent(name: str, seed: int, *, script: str = "", llm: str = "", llm_model: str = "") -> ArcAgent:
    """Return the agent `name`: explore, random, script (a file), llm (an address), or MODULE:CLASS. Raises LabError."""
    if name in ("explore", "random"):
        return (Explorer if name == "explore" else RandomAgent)(seed)
    if name == "script":
        if not script:
            raise ConfigError("the agent script needs a file of actions: name it with --script")
        return ScriptAgent(Path(script))
    if name == "llm":
        if not llm:
            raise ConfigError(f"the agent llm needs the address of a language model: --llm {LLM_EXAMPLE}")
        return LlmAgent(LanguageModel(llm, llm_model, timeout_s=PATIENT_S, key=server_key(LLM_KEY)))
    if not all(name.partition(":")):
        raise ConfigError(f"no agent {name!r}: it is explore, random, script, llm, or MODULE:CLASS of yours")
    return OwnAgent(name, seed)


class OwnAgent:
    """Agent of a class `MODULE:CLASS` of the user's, made with the seed; its errors become one line."""

    def __init__(self, name: str, seed: int) -> None:
        """Import the module, from the current folder too, and make the agent. Raises LabError."""
        module, _, class_name = name.partition(":")
        self._name = name
        sys.path.insert(0, str(Path.cwd()))
        try:
            made = self._run(lambda: getattr(importlib.import_module(module), class_name)(seed))
        finally:
            sys.path.pop(0)
        if not callable(getattr(made, "act", None)):
            raise ConfigError(f"{name} has no method act(game)")
        self._agent: ArcAgent = made

    def act(self, game: ArcGame) -> Turn | None:
        turn = self._run(lambda: self._agent.act(game))
        if turn is not None and not isinstance(turn, Turn):
            raise FailureError(f"{self._name}: act returned {turn!r}, not a Turn or None")
        return turn

    def _run(self, call: Callable[[], Any]) -> Any:
        """Return what `call` into the user's code returns. Raises FailureError that names its last line of code."""
        try:
            return call()
        except LabError:
            raise
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            own = [frame for frame in frames[2:] if "importlib" not in frame.filename]
            at = f" ({own[-1].filename}:{own[-1].lineno})" if own else ""
            raise FailureError(f"{self._name}: {type(error).__name__}: {error}{at}") from None


class RandomAgent:
    """Agent that chooses an available action at random, and RESET after GAME_OVER."""

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)

    def act(self, game: ArcGame) -> Turn | None:
        if game.is_over:
            return Turn(RESET)
        action = self._rng.choice(game.shown.available)
        if action != CLICK:
            return Turn(action)
        return Turn(CLICK, self._rng.randrange(SIDE), self._rng.randrange(SIDE))


class ScriptAgent:
    """Agent that plays the actions in a file, one a line, in order."""

    def __init__(self, path: Path) -> None:
        """Read the file. Raises ConfigError naming the line that is no action."""
        try:
            lines = path.expanduser().read_text().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: cannot be read: {error}") from None
        self._turns: deque[Turn] = deque()
        for number, line in enumerate(lines, 1):
            words = line.split("#")[0].strip()
            if words:
                self._turns.append(parse_turn(words, f"{path}, line {number}"))

    def act(self, game: ArcGame) -> Turn | None:
        return self._turns.popleft() if self._turns else None


def parse_turn(words: str, where: str) -> Turn:
    """Return the action that `words` name: RESET, ACTION1 ... ACTION7, or ACTION6 X Y. Raises ConfigError naming
    `where`."""
    found = LINE.fullmatch(words)
    if found is None:
        raise ConfigError(f"{where}: {words!r} is neither RESET nor ACTION1 to ACTION7")
    name, x, y = found.groups()
    action = RESET if name == "RESET" else int(name[-1])
    if (action == CLICK) != (x is not None):
        raise ConfigError(f"{where}: ACTION6 takes X and Y, no other action does")
    if x is not None and max(int(x), int(y)) >= SIDE:
        raise ConfigError(f"{where}: x and y go from 0 to {SIDE - 1}")
    return Turn(action, int(x or 0), int(y or 0))


class Explorer:
    """Agent that tries every action in each grid, then goes to the nearest grid with an untried action.

    It remembers, level by level, which action led from which grid to which, and which gained a level, and takes the
    shortest known path. It ends when even a new game shows no untried action. The game's grid must be its full state,
    as in many of the public games.
    """

    def __init__(self, seed: int) -> None:
        self._rng = random.Random(seed)
        self._open: dict[bytes, list[Turn]] = {}
        self._leads: dict[bytes, dict[Turn, bytes]] = {}
        self._gains: dict[bytes, Turn] = {}
        self._last: tuple[bytes, Turn, int] | None = None

    def act(self, game: ArcGame) -> Turn | None:
        here = game.grid.tobytes()
        self._learn(here, game.levels)
        if game.is_over:
            self._last = None
            return Turn(RESET)
        if here not in self._open:
            self._open[here] = self._choices(game)
        turn = self._next(here)
        if turn.action == RESET and self._last is not None and self._last[1].action == RESET:
            return None
        self._last = (here, turn, game.levels)
        return turn

    def _learn(self, here: bytes, levels: int) -> None:
        """Record that the last action led to the grid `here`, with `levels` levels completed."""
        if self._last is None:
            return
        before, turn, had = self._last
        if levels != had and turn.action != RESET:  # fewer: the game was won, and a new one has begun
            self._gains[before] = turn
        elif levels == had:
            self._leads.setdefault(before, {})[turn] = here
            if self._gains.get(before) == turn:
                del self._gains[before]

    def _choices(self, game: ArcGame) -> list[Turn]:
        turns = [Turn(action) for action in game.shown.available if action != CLICK]
        if CLICK in game.shown.available:
            turns += [Turn(CLICK, x, y) for x, y in patches(game.grid)]
        self._rng.shuffle(turns)
        return turns

    def _next(self, here: bytes) -> Turn:
        """Return the next action in the grid `here`: the first step of the shortest known path to an action that gained
        a level or was not tried, RESET if there is none."""
        seen: set[bytes] = {here}
        edge: deque[tuple[bytes, Turn | None]] = deque([(here, None)])
        while edge:
            grid, first = edge.popleft()
            if grid in self._gains:
                return first or self._gains[grid]
            if self._open.get(grid):
                return first or self._open[grid].pop()
            for turn, there in self._leads.get(grid, {}).items():
                if there not in seen:
                    seen.add(there)
                    edge.append((there, first or turn))
        return Turn(RESET)


def patches(grid: np.ndarray) -> list[tuple[int, int]]:
    """Return a pixel (x, y) inside each patch of one colour, the smallest patches first, at most MAX_CLICKS."""
    unseen, found = np.ones(grid.shape, bool), []
    for y, x in np.ndindex(*grid.shape):
        if unseen[y, x]:
            cells = _patch(grid, unseen, y, x)
            found.append((len(cells), cells[len(cells) // 2]))
    found.sort(key=lambda patch: patch[0])
    return [(x, y) for _, (y, x) in found[:MAX_CLICKS]]


def _patch(grid: np.ndarray, unseen: np.ndarray, y: int, x: int) -> list[tuple[int, int]]:
    """Return the cells (y, x) connected with `y`, `x` that have its colour, and clear them in `unseen`."""
    colour, cells, edge = grid[y, x], [], [(y, x)]
    unseen[y, x] = False
    while edge:
        cell = edge.pop()
        cells.append(cell)
        for dy, dx in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            v, u = cell[0] + dy, cell[1] + dx
            inside = 0 <= v < grid.shape[0] and 0 <= u < grid.shape[1]
            if inside and unseen[v, u] and grid[v, u] == colour:
                unseen[v, u] = False
                edge.append((v, u))
    return sorted(cells)
