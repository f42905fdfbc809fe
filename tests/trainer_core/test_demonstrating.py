"""Episodes played and recorded without a window, and what offline learning takes for data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.trainer_core.building import shorten_episodes
from trainer_core.envs import toy
from trainer_core.envs.recording_writer import first_difference
from trainer_core.envs.single_game import TinyGame
from trainer_core.lab.recording import list_recordings, read_recording, read_steps
from trainer_core.play.demonstrating import record_demonstrations, require_new_folder, train_starts
from trainer_core.play.episode import Script, play_episode
from trainer_core.runners.d3rlpy.runner import describe_data
from trainer_core.wire.errors import ConfigError


class Walker:
    """Tries every direction from the tile it sees, nearest to the goal first: it looks at all."""

    def __init__(self, game: TinyGame) -> None:
        self.game = game
        self.moves = toy.move_table(toy.torch.device("cpu")).numpy()
        self.away = _distances(self.moves)

    def begin(self, observation: np.ndarray) -> None:
        self.see(observation)

    def see(self, observation: np.ndarray) -> None:
        self.tile = self.game._tile

    def act(self) -> int:
        return int(np.argmin([self.away[to] for to in self.moves[self.tile]]))


def _distances(moves: np.ndarray) -> np.ndarray:
    """Steps from each tile to the goal."""
    away = np.full(len(moves), 999)
    away[toy.GOAL_TILE] = 0
    for _ in moves:
        away = np.minimum(away, away[moves].min(1) + 1)
    return away


def test_recordings_are_whole_successes_of_training_starts(tmp_path: Path) -> None:
    game = TinyGame()
    walker = Walker(game)
    found = record_demonstrations(tmp_path / "out", game, lambda start: walker, 5, "script")
    folders = sorted(list_recordings(tmp_path / "out"))
    assert (found["recordings"], len(folders)) == (5, 5)
    for number, folder in enumerate(folders):
        recording = read_recording(folder)
        steps = read_steps(folder, recording)
        assert (recording.success, recording.mode) == (True, "script")
        assert folder.name.endswith(f"start{train_starts(game)[number]:03d}")
        assert [step.success for step in steps] == [False] * (len(steps) - 1) + [True]
        assert recording.frames == game.frames_per_step * len(steps)
        assert first_difference(folder, game) == -1


def test_what_fails_is_not_kept_and_too_many_failures_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_episodes(monkeypatch)
    game = TinyGame()
    with pytest.raises(ConfigError, match="only 0 of 10 episodes reached the goal of tiny_goal"):
        record_demonstrations(tmp_path / "out", game, lambda start: Script([0]), 1, "script")
    with pytest.raises(ConfigError, match=r"only 0 of 20 .* the 50 that were asked for"):
        record_demonstrations(tmp_path / "out", game, lambda start: Script([0]), 50, "script")
    assert list_recordings(tmp_path / "out") == []
    (tmp_path / "out" / "mine").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="not a folder"):
        require_new_folder(tmp_path / "file")
    with pytest.raises(ConfigError, match="not empty"):
        record_demonstrations(tmp_path / "out", game, lambda start: Script([0]), 1, "script")


def test_an_episode_ends_at_goal_horizon_or_limit() -> None:
    game = TinyGame()
    played = play_episode(game, Walker(game), 3)
    assert played.success
    assert played.episode_return > 0.5
    assert played.steps == len(played.actions)
    again = play_episode(game, Script(played.actions), 3)
    assert again == played
    assert play_episode(game, Script([0]), 3, max_steps=4).steps == 4
    lost = play_episode(game, Script([0]), 3)
    assert not lost.success
    assert lost.steps > 10
    with pytest.raises(ConfigError, match="without an action"):
        Script([])


def test_data_for_offline_learning_is_named_or_refused(tmp_path: Path) -> None:
    for data, words in (
        ("", "name a folder of recordings"),
        (str(tmp_path / "nowhere"), "no such file"),
        (str(tmp_path), "holds neither recordings"),
    ):
        with pytest.raises(ConfigError, match=words):
            describe_data(data)
    game = TinyGame()
    record_demonstrations(tmp_path / "out", game, lambda start: Walker(game), 2, "script")
    assert describe_data(str(tmp_path / "out")).startswith("2 recordings in")
