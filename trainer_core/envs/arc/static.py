"""ARC-AGI-3 API answered from a file: one game of a few scenes, without a network and without the library.

The file is JSON (`assets/arc/mock/mock_session.json` is one): `scenes` by name, the first of which begins the game. A
scene has its `state` (NOT_FINISHED, WIN or GAME_OVER), `levels_completed` where it changes them, and `frames`:
pictures, each a list of rows of hexadecimal colours, 8x8 to 64x64 cells, drawn as 64x64. `goes` names the scene to
which an action leads, `ACTION6 X Y` for a click in the cell X, Y of the file's own grid; any other action leads
nowhere.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from trainer_core.lab.arc_games import GAME_OVER, SIDE, WIN
from trainer_core.lab.paths import ASSETS
from trainer_core.wire.decoding import parsing, read_json
from trainer_core.wire.errors import FailureError, TaskError

SESSION = ASSETS / "arc" / "mock" / "mock_session.json"
SIZES = (8, 16, 32, 64)
MAX_BYTES = 4 << 20
MAX_LEVEL_SCORE = 115.0

Row = Annotated[str, Meta(pattern="^[0-9a-f]+$")]


class _Scene(msgspec.Struct):
    state: Literal["NOT_FINISHED", "WIN", "GAME_OVER"]
    frames: Annotated[list[list[Row]], Meta(min_length=1)]
    goes: dict[str, str] = {}
    levels_completed: Annotated[int, Meta(ge=0)] | None = None
    """None: as many as before."""


class _Session(msgspec.Struct):
    game_id: Annotated[str, Meta(min_length=1)]
    baseline_actions: Annotated[list[Annotated[int, Meta(ge=1)]], Meta(min_length=1)]
    """Actions that each level takes; a level for each."""
    available_actions: list[Annotated[int, Meta(ge=1, le=7)]]
    scenes: Annotated[dict[str, _Scene], Meta(min_length=1)]
    title: str = ""


class StaticArcTransport:
    """Transport of `RestGame` that answers each request of the ARC-AGI-3 API from a session's file."""

    def __init__(self, path: Path = SESSION) -> None:
        """Read the file. Raises TaskError naming the part that is wrong."""
        with parsing(f"{path}: no ARC session", TaskError):
            self.session = read_json(path, _Session, MAX_BYTES)
        for name, scene in self.session.scenes.items():
            for frame in scene.frames:
                if len(frame) not in SIZES or any(len(row) != len(frame) for row in frame):
                    raise TaskError(f"{path}: scene {name!r}: a frame is 8x8, 16x16, 32x32 or 64x64 colours 0 to f")
            if missing := set(scene.goes.values()) - set(self.session.scenes):
                raise TaskError(f"{path}: scene {name!r} goes to {sorted(missing)[0]!r}, which is no scene")
        self._here = self._first = next(iter(self.session.scenes))
        self._level_at = self._first
        """Scene in which the current level began, to which RESET goes back."""
        self._actions = [0] * len(self.session.baseline_actions)
        """Actions taken in each level, over all attempts."""
        self._levels = self._most = self._resets = 0

    def __call__(self, method: str, path: str, body: dict[str, Any] | None) -> str:
        """Return the answer to a request as JSON. Raises FailureError for one that the API does not have."""
        match path.split("/")[2:]:
            case ["games"]:
                found: Any = [{"game_id": self.session.game_id, "title": self.session.title}]
            case ["scorecard", "open"]:
                found = {"card_id": "static"}
            case ["scorecard", "close" | "static"]:
                found = self._card()
            case ["cmd", name]:
                found = self._act(name, body or {})
            case _:
                raise FailureError(f"a static session answers no {method} {path}")
        return json.dumps(found)

    def _act(self, name: str, body: dict[str, Any]) -> dict[str, Any]:
        """Apply an action, or RESET, which begins the game, the level again, or after WIN another game."""
        before = self.session.scenes[self._here]
        if name == "RESET":
            self._resets += "guid" in body
            begins = "guid" not in body or before.state == WIN
            self._here = self._level_at = self._first if begins else self._level_at
            self._levels = 0 if begins else self._levels
        elif before.state not in (WIN, GAME_OVER):
            self._actions[min(self._levels, len(self._actions) - 1)] += 1
            size = len(before.frames[-1])
            click = f" {body['x'] * size // SIDE} {body['y'] * size // SIDE}" if "x" in body else ""
            self._here = before.goes.get(name + click, self._here)
        scene = self.session.scenes[self._here]
        levels = self._levels if scene.levels_completed is None else scene.levels_completed
        if levels > self._levels:
            self._level_at = self._here
        self._levels, self._most = levels, max(self._most, levels)
        return {
            "game_id": self.session.game_id,
            "guid": "static",
            "frame": [_drawn(frame) for frame in (scene.frames if scene is not before else scene.frames[-1:])],
            "state": scene.state,
            "levels_completed": levels,
            "win_levels": len(self.session.baseline_actions),
            "available_actions": self.session.available_actions,
        }

    def _card(self) -> dict[str, Any]:
        """Return a scorecard as the library's: a level's score is (baseline / actions) squared, later levels weigh
        more."""
        scores = [
            min(MAX_LEVEL_SCORE, 100 * (best / max(1, taken)) ** 2) if level < self._most else 0.0
            for level, (best, taken) in enumerate(zip(self.session.baseline_actions, self._actions, strict=True))
        ]
        weights = range(1, len(scores) + 1)
        most = 100 * sum(weights[: self._most])
        score = min(most, sum(score * weight for score, weight in zip(scores, weights, strict=True))) / sum(weights)
        run = {
            "id": self.session.game_id,
            "guid": "static",
            "score": score,
            "levels_completed": self._most,
            "actions": sum(self._actions),
            "resets": self._resets,
            "state": self.session.scenes[self._here].state,
            "level_scores": scores,
            "level_actions": self._actions,
        }
        return {"card_id": "static", "score": score, "environments": [{"id": self.session.game_id, "runs": [run]}]}


def _drawn(frame: list[str]) -> list[list[int]]:
    """Return a frame of the file as 64x64 colours."""
    scale = SIDE // len(frame)
    return [[int(colour, 16) for colour in row for _ in range(scale)] for row in frame for _ in range(scale)]
