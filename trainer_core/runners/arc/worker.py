"""Worker process code of a run in which an agent plays ARC games, with a scorecard."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainer_core.envs.arc.agents import ArcAgent, make_agent
from trainer_core.envs.arc.game import ArcGame, Turn, open_arc_game
from trainer_core.envs.arc.rules import OBS_SHAPE
from trainer_core.envs.recording_writer import RecordingWriter
from trainer_core.host.run import Host
from trainer_core.host.trainee import RunEnded, Trainee
from trainer_core.lab.arc_games import PALETTE, RESET, WIN
from trainer_core.runners.arc.runner import ArcConfig
from trainer_core.runs.log_writer import write_json
from trainer_core.wire.buttons import ACTIONS
from trainer_core.wire.errors import LabError
from trainer_core.wire.run_record import RunState

CARD = "scorecard.json"
RECORDINGS = "recordings"
"""Name of two folders: the library's own lines in the run, and the pictures in a player's folder."""
FRAMES_A_PICTURE = 12
"""Frames of the recording per picture: five actions a second."""
BUTTONS = {5: 0, 7: 1, 1: 3, 2: 4, 3: 5, 4: 6}
"""Button that represents each action in a recording's steps; a click has none."""


def make_trainee(host: Host) -> Trainee:
    config = host.spec.configure(ArcConfig)
    task = f"{config.task}@{config.server}" if config.server else config.task
    agent = make_agent(config.algo, config.seed, script=config.script, llm=config.llm, llm_model=config.llm_model)
    if not config.server:
        host.find_task()
    game = open_arc_game(task, host.home, host.paths.root / RECORDINGS)
    host.closing.callback(game.close)
    return ArcTrainee(host, config, game, agent)


class ArcTrainee(Trainee):
    """Trainee that plays the games of one run, counts and records them; it saves no checkpoints."""

    obs_shape, num_actions = (1, *OBS_SHAPE), len(ACTIONS)
    counted = "actions"

    def __init__(self, host: Host, config: ArcConfig, game: ArcGame, agent: ArcAgent) -> None:
        self.host, self.config, self.game, self.agent = host, config, game, agent
        self.card: dict[str, Any] = {}
        self.actions = self.resets = self.wins = self.lost = self.most = 0
        # Beside the players' recordings: the Replay tab does not search runs.
        folder = host.home.players / host.paths.run_id / RECORDINGS / "game"
        self.recording: RecordingWriter | None = RecordingWriter(
            folder, game, mode="script", checkpoint="", checkpoint_sha256=""
        )

    def train(self) -> None:
        """Play games until a limit, a stop, or `config.episodes` wins, or until the agent has no further action."""
        self.host.watch(_Screen(self.game))
        try:
            while self.wins < self.config.episodes:
                self.host.boundary(self.actions)
                turn = self.agent.act(self.game)
                if turn is None:
                    break
                levels = self.game.levels
                self.game.act(turn)
                self._count(turn.action, self.game.levels - levels)
            reason = f"games won: {self.wins}" if self.wins else "the agent has nothing left to do"
            raise RunEnded(RunState.FINISHED, reason)
        finally:
            self._record()
            self._keep()

    def _count(self, action: int, gained: int) -> None:
        reset = action == RESET
        self.resets += reset
        self.actions += not reset
        won = self.game.shown.state == WIN and not reset
        self.most = max(self.most, self.game.levels)
        self.lost += self.game.is_over and not won
        self.host.tick(self.actions)
        self._show(action, gained, won)
        if won:
            self.wins += 1
            if self.wins < self.config.episodes:
                self.game.act(Turn(RESET))
                self.resets += 1
        if won or (not reset and self.actions % self.config.log_every == 0):
            self._record()

    def _show(self, action: int, gained: int, won: bool) -> None:
        """Add the game's pictures after `action` to the recording."""
        writer, game = self.recording, self.game
        if writer is None:
            return
        for picture in game.shown.frames:
            for _ in range(FRAMES_A_PICTURE):
                if not writer.is_full:
                    writer.add_frame(picture, 0)
        if not writer.is_full:
            writer.add_step(
                step=self.actions + self.resets,
                action=BUTTONS.get(action, -1),
                reward=float(max(0, gained)),
                success=won,
                dist=1 - game.levels / max(1, game.shown.win_levels),
            )

    def _record(self) -> None:
        metrics = {
            "arc/levels": float(self.game.levels),
            "arc/most_levels": float(self.most),
            "arc/win_levels": float(self.game.shown.win_levels),
            "arc/actions": float(self.actions),
            "arc/resets": float(self.resets),
            "arc/wins": float(self.wins),
            "arc/game_overs": float(self.lost),
            "arc/score": self._score(),
        }
        self.host.record(self.actions, metrics)

    def _score(self) -> float:
        try:
            self.card = self.game.card()
        except LabError:
            return 0.0
        return float(self.card.get("score") or 0.0)

    def _keep(self) -> None:
        """Write the scorecard and finish the recording, however the run ended."""
        write_json(self.host.paths.root / CARD, self.card)
        if self.recording is not None:
            self.recording.finish()


class _Screen:
    """Current picture of the game, in the form of a batch of one environment."""

    num_envs, device = 1, torch.device("cpu")

    def __init__(self, game: ArcGame) -> None:
        self._game = game
        self._colours = np.array([(c >> 16, c >> 8 & 255, c & 255) for c in PALETTE], np.uint8)

    def screens(self, count: int) -> Tensor:
        """Return u8[1, 64, 64, 3]."""
        return torch.from_numpy(self._colours[self._game.grid])[None]
