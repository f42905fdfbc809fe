"""One episode of a game at full speed with any kind of player, recorded on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from trainer_core.envs.recording_writer import RecordingWriter
from trainer_core.envs.single_game import Game
from trainer_core.wire.buttons import ALL_MASKS
from trainer_core.wire.errors import ConfigError


class Chooser(Protocol):
    """Interface of a player of an episode: a policy, a script, a client of another program."""

    def begin(self, observation: np.ndarray) -> None:
        """Begin a new episode at `observation` u8[72, 80]."""
        ...

    def see(self, observation: np.ndarray) -> None:
        """Receive `observation` u8[72, 80], the picture after the step."""
        ...

    def act(self) -> int:
        """Return the next action, an index into `wire.buttons.ALL_ACTIONS`."""
        ...


class Script:
    """Player that presses a list of actions whatever the pictures show, then repeats the last one."""

    def __init__(self, actions: Sequence[int]) -> None:
        """Store the actions; raises ConfigError for an empty list."""
        if not len(actions):
            raise ConfigError("a script without an action presses nothing")
        self._actions = [int(action) for action in actions]
        self._next = 0

    def begin(self, observation: np.ndarray) -> None:
        self._next = 0

    def see(self, observation: np.ndarray) -> None:
        """Ignore the observation."""

    def act(self) -> int:
        action = self._actions[min(self._next, len(self._actions) - 1)]
        self._next += 1
        return action


@dataclass(frozen=True, slots=True)
class Played:
    """Result of an episode."""

    start: int
    success: bool
    steps: int
    episode_return: float
    actions: tuple[int, ...]


def play_episode(
    game: Game, chooser: Chooser, start: int, *, max_steps: int = 0, recording: RecordingWriter | None = None
) -> Played:
    """Play an episode from start state `start` to success, the horizon or `max_steps` (0 = no other limit).

    `recording` must have been begun in that start state. Raises ConfigError for a task without a goal.
    """
    judge = game.judge
    if judge is None:
        raise ConfigError(f"{game.task} has no goal to reach: name a task")
    game.restart(start)
    seen = game.observation()
    chooser.begin(seen)
    judge.begin(seen)
    actions: list[int] = []
    total, success, trunc = 0.0, False, False
    while not (success or trunc or (max_steps and len(actions) >= max_steps)):
        actions.append(chooser.act())
        value = getattr(chooser, "value", None)
        _press(game, actions[-1], recording)
        seen = game.observation()
        chooser.see(seen)
        reward, success, trunc = judge.judge(seen)
        total += reward
        if recording is not None and not recording.is_full:
            recording.add_step(
                step=len(actions),
                action=actions[-1],
                reward=reward,
                dist=judge.dist,
                success=success,
                done=success,
                trunc=trunc,
                terms=judge.terms,
                value=value,
            )
    return Played(start, success, len(actions), total, tuple(actions))


def _press(game: Game, action: int, recording: RecordingWriter | None) -> None:
    """Play one agent step with `action`; frame by frame into `recording` if given."""
    if recording is None:
        game.step(ALL_MASKS[action])
        return
    for phase in range(game.frames_per_step):
        held = ALL_MASKS[action] if phase < game.release_after_frames else 0
        game.frame(held)
        if not recording.is_full:
            recording.add_frame(game.picture(), held)
