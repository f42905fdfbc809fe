"""What the player writes of a goal that a person captures."""

from __future__ import annotations

from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest

from gui.features.tasks.model import read_template
from trainer_core.envs.task_files import load_goal
from trainer_core.lab.paths import HomePaths
from trainer_core.play.loop import PlayLoop
from trainer_core.play.played_game import Player
from trainer_core.wire import commands, records
from trainer_core.wire.playing import PlayerConfig

pytestmark = pytest.mark.warp


def tell(kind: type[records.Record], /, **fields: Any) -> None:
    """Nobody listens."""


@pytest.mark.parametrize(("task", "moves"), [("pocket_quest/leave_bedroom", False), ("mirror_moths/level_2", True)])
def test_a_captured_goal_has_what_the_next_second_brings_by_itself(task: str, moves: bool, tmp_path: Path) -> None:
    config = PlayerConfig(task=task, mode="human")
    player = Player(tmp_path, HomePaths(tmp_path), config, tell)
    for _ in range(30):
        player.one_frame()
    before, picture = player.game.snapshot(), player.game.observation()
    goal = tmp_path / "goal.npz"
    PlayLoop(player, SimpleQueue(), tell)._obey(commands.CaptureGoal(id=1, path=str(goal)))
    template, later = read_template(goal)
    np.testing.assert_array_equal(template, picture)
    assert later.shape == (3, 72, 80)
    assert bool((later != template).any()) == moves
    after = player.game.snapshot()
    after.save(tmp_path / "after.npz")
    before.save(tmp_path / "before.npz")
    same = [(tmp_path / f"{name}.npz").read_bytes() for name in ("before", "after")]
    assert same[0] == same[1], "the game stays where it was"
    assert load_goal(goal)[0].shape == (1, 72, 80), "and the tools take it as a goal"
    player.close()
