"""Program that runs ARC-AGI-3 games in the library's own environment, controlled by pipes.

Started as `python -m trainer_core.envs.arc.host GAME_FOLDER RECORDINGS`.

The environment `arc` (Python 3.12) has none of our dependencies: only the standard library, numpy and the library. Each
request is one JSON line, each answer one JSON line; an answer with frames is followed by 4096 bytes for each, colours 0
to 15. `trainer_core.envs.arc.session` is the other side.

    {"do": "open", "seeds": [..], "scored": bool}   open one game for each seed
    {"do": "begin", "envs": [..], "seeds": [..]}    start these games again
    {"do": "act", "actions": [..], "x": [..], "y": [..], "last": bool}  one action each, -1 = none
    {"do": "card"}                                   the scorecard

With a third argument, a port, it runs the library's own REST server on loopback until it is killed.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from typing import Any

from trainer_core.wire.environment import tell_libraries

SIDE = 64
WRONG_PACKAGE = (
    "arcengine cannot be imported ({}): under Python 3.11 and older `pip install arc-agi` brings "
    "an unrelated package of that name; run: dmglab runner install arc"
)


class Refused(Exception):  # noqa: N818 - an answer, not an accident
    """Error that is sent to the calling process as one line."""


class Games:
    """N copies of the game in one folder, which play side by side."""

    def __init__(self, folder: str, recordings: str) -> None:
        from arc_agi import Arcade, OperationMode  # pyright: ignore
        from arc_agi.local_wrapper import LocalEnvironmentWrapper  # pyright: ignore

        self._said = _FirstWords()
        logger = logging.getLogger("arc_agi")
        logger.handlers, logger.propagate = [self._said], False
        self.arcade = Arcade(
            operation_mode=OperationMode.OFFLINE, environments_dir=folder, recordings_dir=recordings, logger=logger
        )
        self._wrapper: Any = LocalEnvironmentWrapper
        self._recordings, self._logger = recordings, logger
        self._scored = False
        self._card = ""
        self._envs: list[Any] = []
        self._shown: list[Any] = []
        self._levels: list[int] = []

    def open(self, seeds: list[int], scored: bool) -> None:
        self._scored = scored
        self._card = self.arcade.create_scorecard(tags=["dmglab"]) if scored else "none"
        self._envs = [None] * len(seeds)
        self._shown, self._levels = [None] * len(seeds), [0] * len(seeds)
        self.begin(list(range(len(seeds))), seeds)

    def begin(self, envs: list[int], seeds: list[int]) -> None:
        """Start new games with `seeds` in the envs `envs`; RESET alone would only restart the level."""
        if not self.arcade.available_environments:
            raise Refused(self._said.text or "this folder holds no game that can be read")
        info = self.arcade.available_environments[0]
        for env, seed in zip(envs, seeds, strict=True):
            self._said.text = ""
            made = self._wrapper(
                info,
                self._logger,
                self._card,
                seed,
                self._scored,
                True,
                self._recordings,
                self.arcade.scorecard_manager if self._scored else None,
            )
            if made.observation_space is None:
                raise Refused(self._said.text or f"{info.game_id} could not be begun")
            self._envs[env] = made
            self._note(env, made.observation_space)

    def act(self, actions: list[int], xs: list[int], ys: list[int]) -> None:
        from arcengine import GameAction  # pyright: ignore

        for env, action in enumerate(actions):
            if action < 0:
                continue
            self._said.text = ""
            data = {"x": xs[env], "y": ys[env]} if action == 6 else {}
            wrapper = self._envs[env]
            found = wrapper.reset() if action == 0 else wrapper.step(GameAction.from_id(action), data)
            if found is None:
                raise Refused(self._said.text or f"action {action} failed")
            self._note(env, found)

    def _note(self, env: int, found: Any) -> None:
        self._shown[env] = found
        # An answer after WIN or GAME_OVER has no frame and no count of levels.
        if len(found.frame):
            self._levels[env] = found.levels_completed
            wrapper = self._envs[env]
            wrapper.dmglab_frame = found.frame[-1]
            wrapper.dmglab_wins = found.win_levels

    def answer(self, last: bool) -> tuple[dict[str, Any], bytes]:
        frames = []
        for env, found in enumerate(self._shown):
            shown = list(found.frame) or [self._envs[env].dmglab_frame]
            frames.append(shown[-1:] if last else shown)
        header = {
            "ok": True,
            "frames": [len(shown) for shown in frames],
            "levels": self._levels,
            "wins": [env.dmglab_wins for env in self._envs],
            "states": [found.state.name for found in self._shown],
            "available": list(self._shown[0].available_actions),
        }
        return header, b"".join(grid.astype("uint8").tobytes() for shown in frames for grid in shown)

    def card(self) -> dict[str, Any]:
        if not self._scored:
            raise Refused("these games are not scored")
        found = self.arcade.get_scorecard(self._card)
        return {"ok": True, "card": json.loads(found.model_dump_json())} if found else {"ok": False}


class _FirstWords(logging.Handler):
    """Logging handler that stores the first error, since the library only logs the reason of a failure."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.text = ""

    def emit(self, record: logging.LogRecord) -> None:
        self.text = self.text or " ".join(record.getMessage().split())


def serve(folder: str, recordings: str, port: int) -> None:
    """Run the library's REST server, on loopback only; by default it would serve on every address."""
    from arc_agi import Arcade, OperationMode  # pyright: ignore

    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    arcade = Arcade(operation_mode=OperationMode.OFFLINE, environments_dir=folder, recordings_dir=recordings)
    arcade.listen_and_serve(host="127.0.0.1", port=port, save_all_recordings=True)


def main(argv: list[str]) -> int:
    folder, recordings = argv[:2]
    tell_libraries(OPERATION_MODE="offline")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a game's prints must not mix with the answers

    def tell(header: dict[str, Any], data: bytes = b"") -> None:
        answers.write(json.dumps(header).encode() + b"\n" + data)
        answers.flush()

    try:
        import arcengine  # noqa: F401  # pyright: ignore

        if argv[2:]:
            serve(folder, recordings, int(argv[2]))
            return 0
        games = Games(folder, recordings)
    except ImportError as error:
        tell({"ok": False, "error": WRONG_PACKAGE.format(error)})
        return 1
    tell({"ok": True})
    for line in sys.stdin.buffer:
        asked = json.loads(line)
        try:
            match asked.pop("do"):
                case "open":
                    games.open(asked["seeds"], asked["scored"])
                    tell(*games.answer(False))
                case "begin":
                    games.begin(asked["envs"], asked["seeds"])
                    tell(*games.answer(True))
                case "act":
                    games.act(asked["actions"], asked["x"], asked["y"])
                    tell(*games.answer(asked["last"]))
                case "card":
                    tell(games.card())
        except Refused as refusal:
            tell({"ok": False, "error": str(refusal)})
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
