"""ARC-AGI-3 game for the player: a turn-based grid game, shown at the frame rate of a Game Boy.

Pressing a button, or a click, is one action; the animation that follows is shown picture by picture, and the next
action is chosen at its last grid. `lab.arc_games.BUTTON_ACTIONS` assigns actions to buttons.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta

from trainer_core.envs.arc.rest import RestGame
from trainer_core.envs.arc.rules import ArcJudge, encode, horizon_of
from trainer_core.envs.arc.session import ArcSession, HostedSession, Shown
from trainer_core.envs.arc.static import SESSION, StaticArcTransport
from trainer_core.lab.arc_games import (
    BUTTON_ACTIONS,
    CLICK,
    GAME_OVER,
    HELD_OUT_STARTS,
    NOTHING,
    PALETTE,
    PREFIX,
    RESET,
    SIDE,
    TRAIN_STARTS,
    WIN,
    ArcGameInfo,
    find_game,
    server_of,
)
from trainer_core.lab.paths import HomePaths
from trainer_core.wire.buttons import ACTION_MASKS
from trainer_core.wire.decoding import parsing, read_json
from trainer_core.wire.errors import TaskError
from trainer_core.wire.frames import ScreenShape
from trainer_core.wire.playing import CLICK_FLAG, click_of

FRAMES_PER_STEP = 12
"""Frames of an agent step: five actions a second at speed 1, as the games' default_fps."""
FRAMES_PER_PICTURE = 4
"""Frames for each picture of an animation."""
MAX_STATE_BYTES = 1 << 20

if TYPE_CHECKING:
    from emulator import Cartridge


class Turn(NamedTuple):
    """ARC action, and the position of its click if it is one."""

    action: int
    x: int = 0
    y: int = 0


class _State(msgspec.Struct):
    """Content of a file that `save_state` writes."""

    game: str
    seed: int
    turns: list[Annotated[list[int], Meta(min_length=1, max_length=3)]]


class Standing(NamedTuple):
    """State of a game as the data that restores it: its seed and all actions since the game began."""

    seed: int
    turns: tuple[Turn, ...]
    waiting: int
    """Pictures of the animation that are not yet shown."""
    wait: int
    held: int


class ArcGame:
    """ARC-AGI-3 game for the player; `judge` computes rewards from its levels."""

    rom_sha256 = ""
    cartridge: Cartridge | None = None
    frames_per_step, release_after_frames = FRAMES_PER_STEP, 1
    num_starts = TRAIN_STARTS + HELD_OUT_STARTS
    held_out_start = TRAIN_STARTS
    screen = ScreenShape(SIDE, SIDE, PALETTE)

    def __init__(self, info: ArcGameInfo, session: ArcSession) -> None:
        self.info, self.task, self.session = info, info.task, session
        self.judge: ArcJudge | None = ArcJudge(self, horizon_of(info.baseline_actions))
        self._seed, self._held = -1, 0
        self._turns: tuple[Turn, ...] = ()
        self._begin(0)

    # -- shown pictures -----------------------------------------------------------------------

    def picture(self) -> np.ndarray:
        """Return the picture to show, u8[64, 64], colours 0 to 15."""
        return self._frames[len(self._frames) - 1 - self._waiting]

    def observation(self) -> np.ndarray:
        """Return u8[64, 128]: the grid to act on, as `encode` writes it."""
        return encode(self._frames[-1])

    @property
    def grid(self) -> np.ndarray:
        """u8[64, 64] grid to act on, colours 0 to 15: the last picture of an animation."""
        return self._frames[-1]

    @property
    def levels(self) -> int:
        return self.shown.levels

    @property
    def is_over(self) -> bool:
        return self.shown.state in (WIN, GAME_OVER)

    def note(self) -> str:
        """Return the status of the game as text for the user."""
        shown = self.shown
        level = min(shown.levels + 1, shown.win_levels)
        actions = sum(turn.action != RESET for turn in self._turns)
        state = {WIN: "   won", GAME_OVER: "   game over"}.get(shown.state, "")
        takes = ", ".join(f"ACTION{number}" for number in shown.available)
        return f"level {level} of {shown.win_levels}   {actions} actions{state}   takes {takes}"

    # -- playing ------------------------------------------------------------------------------

    def restart(self, start: int) -> None:
        self._begin(start)

    def frame(self, buttons: int) -> None:
        """Run one frame: a newly pressed button, or a click, is an action."""
        pressed = buttons & 0xFF & ~self._held
        self._held = buttons & 0xFF
        if buttons & CLICK_FLAG:
            self.act(Turn(CLICK, *click_of(buttons)))
        elif pressed in ACTION_MASKS:
            self.act(Turn(BUTTON_ACTIONS[ACTION_MASKS.index(pressed)]))
        elif self._waiting:
            self._wait -= 1
            if self._wait <= 0:
                self._waiting -= 1
                self._wait = FRAMES_PER_PICTURE

    def step(self, buttons: int) -> None:
        """Run one agent step with `buttons`; the pictures of its animation are not shown."""
        self.frame(buttons)
        self._held = self._waiting = 0

    def act(self, turn: Turn) -> None:
        """Apply one action; it is ignored if the game does not take it or is over."""
        takes = turn.action in self.shown.available or turn.action == RESET
        if turn.action == NOTHING or not takes or (self.is_over and turn.action != RESET):
            return
        self._show(self.session.act(*turn))
        self._turns = (*self._turns, turn)

    def _begin(self, seed: int) -> None:
        self._show(self.session.begin(seed))
        self._seed, self._turns, self._held = seed, (), 0

    def _show(self, shown: Shown) -> None:
        self.shown, self._frames = shown, shown.frames
        self._waiting, self._wait = len(shown.frames) - 1, FRAMES_PER_PICTURE

    # -- states -------------------------------------------------------------------------------

    def snapshot(self) -> Standing:
        return Standing(self._seed, self._turns, self._waiting, self._wait, self._held)

    def restore(self, state: Standing) -> None:
        """Bring the game to `state` by starting it again and repeating the actions, unless it is in this state.

        A scorecard counts the repeated actions.
        """
        known = len(self._turns)
        if state.seed != self._seed or state.turns[:known] != self._turns:
            self._begin(state.seed)
        for turn in state.turns[len(self._turns) :]:
            self.act(turn)
        self._waiting = min(state.waiting, len(self._frames) - 1)
        self._wait, self._held = state.wait, state.held

    def save_state(self, path: Path) -> None:
        state = {"game": self.info.id, "seed": self._seed, "turns": self._turns}
        path.write_text(json.dumps(state))

    def load_state(self, path: Path) -> None:
        with parsing(f"{path}: no state of {self.task}", TaskError):
            found = read_json(path, _State, MAX_STATE_BYTES)
        if found.game != self.info.id or not 0 <= found.seed < self.num_starts:
            raise TaskError(f"{path}: a state of another game than {self.task}")
        self._begin(found.seed)
        for turn in found.turns:
            self.act(Turn(*turn))
        self._waiting = 0

    def card(self) -> dict[str, Any]:
        """Return the library's scorecard of the game so far."""
        return self.session.card()

    def close(self) -> None:
        self.session.close()


def open_arc_game(task: str, home: HomePaths, recordings: Path | None = None) -> ArcGame:
    """Open the game of `arc/ID` in the library's own process, or of `arc/ID@http://...` on a server.

    The library writes its JSON lines below `recordings`. Raises LabError.
    """
    if server := server_of(task):
        name = task.partition("@")[0].removeprefix(PREFIX)
        return _over_rest(task, RestGame(server, name), ())
    info = find_game(task, home)
    return ArcGame(info, HostedSession(info, home, recordings))


def open_static_game(path: Path = SESSION) -> ArcGame:
    """Open the game of a session's file, which needs neither the library nor a network. Raises TaskError."""
    transport = StaticArcTransport(path)
    session = transport.session
    client = RestGame(str(path), session.game_id, transport=transport)
    return _over_rest(PREFIX + session.game_id, client, tuple(session.baseline_actions))


def _over_rest(task: str, client: RestGame, baseline_actions: tuple[int, ...]) -> ArcGame:
    """Return the game of a client, which has no seeds and therefore one start state."""
    game = ArcGame(ArcGameInfo(client.game_id, task, Path(), baseline_actions), client)
    game.task, game.num_starts, game.held_out_start = task, 1, 0
    return game
