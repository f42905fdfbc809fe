"""Two policies in lockstep, and what a policy looks at."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.trainer_core.building import tiny_config, train_in
from trainer_core.envs.single_game import TinyGame
from trainer_core.host.agent import Agent, StackedAgent
from trainer_core.host.saliency import PATCH, saliency
from trainer_core.lab.checkpoint_manifest import CheckpointMeta, list_checkpoints
from trainer_core.lab.paths import HomePaths
from trainer_core.play.played_game import Player
from trainer_core.play.versus import Versus, VersusLoop
from trainer_core.service import PlayerService
from trainer_core.wire import commands, records
from trainer_core.wire.buttons import ACTION_MASKS
from trainer_core.wire.errors import ConfigError, LabError
from trainer_core.wire.frames import FrameReader
from trainer_core.wire.playing import PlayerConfig

STEP = 24
"""Frames."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> HomePaths:
    """With the checkpoint of a run."""
    folder = tmp_path_factory.mktemp("versus")
    train_in(folder, tiny_config(total_env_steps=16 * 8))
    return HomePaths(folder)


def checkpoint_of(home: HomePaths) -> str:
    return str(list_checkpoints(home.run("run"))[-1])


class LooksAtOnePatch(nn.Module):
    """Logit 0 is the sum of one patch of the newest plane; all else moves nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        logits = torch.zeros(len(obs), 7)
        logits[:, 0] = self.weight * obs[:, -1, 16:24, 8:16].float().sum((1, 2))
        return logits, logits[:, 0]


def test_the_patch_that_the_logits_depend_on_is_the_one_that_is_found() -> None:
    stack = np.zeros((2, 72, 80), np.uint8)
    stack[1, 16:24, 8:16] = 1
    stack[:, 40:60, 40:60] = 3
    found = saliency(LooksAtOnePatch(), stack)
    assert found.shape == (9, 10)
    # 64 less in one of seven logits; without their mean that is 64 * 6/7, and -64/7 six times.
    expected = ((64 * 6 / 7) ** 2 + 6 * (64 / 7) ** 2) / 2
    assert found[16 // PATCH, 8 // PATCH] == pytest.approx(expected, rel=1e-5)
    assert np.count_nonzero(found) == 1


class Walker(StackedAgent):
    """Walks the shortest way to the goal of the tiny grid after some presses of A."""

    def __init__(self, meta: CheckpointMeta, waits: int) -> None:
        super().__init__(Path(f"waits-{waits}"), meta, "", "greedy")
        self._waits, self._left = waits, 0
        self._game = TinyGame()

    def begin(self, observation: np.ndarray) -> None:
        super().begin(observation)
        self._left = self._waits

    def act(self) -> int:
        self._left -= 1
        return 0 if self._left >= 0 else self._first_of_way()

    def _first_of_way(self) -> int:
        """Breadth first over the grid from what is seen."""
        game = self._game
        judge = game.judge
        assert judge is not None
        tile = next(i for i, p in enumerate(game._pictures) if np.array_equal(p, self._stack[-1]))
        reached, edge = {tile}, [(tile, -1)]
        while edge:
            at, first = edge.pop(0)
            for action in range(len(ACTION_MASKS)):
                game.restore((at, 0))
                game.step(ACTION_MASKS[action])
                judge.begin(game.observation())
                begun = action if first < 0 else first
                if judge.dist == 0:
                    return begun
                if game._tile not in reached:
                    reached.add(game._tile)
                    edge.append((game._tile, begun))
        raise AssertionError("the grid has a way from everywhere")


def versus_of(home: HomePaths, folder: Path, waits: list[int]) -> tuple[Versus, list[Any]]:
    told: list[Any] = []

    def make_agent(checkpoint: Path, **_: object) -> StackedAgent:
        meta = Agent(checkpoint, mode="greedy").meta
        return Walker(meta, waits.pop(0))

    def tell(kind: type[records.Record], **fields: object) -> None:
        told.append(kind(run_id="p", seq=0, time=0.0, **fields))  # type: ignore[call-arg]

    config = PlayerConfig(
        task="tiny_goal", checkpoint=checkpoint_of(home), rival=checkpoint_of(home), mode="greedy", seed=0, speed=0.0
    )
    return Versus(folder, home, config, tell, make_agent), told


def test_the_quicker_wins_and_waits_where_it_arrived(home: HomePaths, tmp_path: Path) -> None:
    versus, told = versus_of(home, tmp_path, [2, 0])
    slow, quick = versus.sides
    reader = FrameReader(tmp_path / "frames.bin")
    assert reader.shape.envs == 2
    while not quick.is_over:
        for _ in range(STEP):
            assert slow.steps == quick.steps, "they go step by step"
            versus.one_frame()
    arrived = quick.steps
    assert quick.success
    for _ in range(2 * STEP - 1):
        versus.one_frame()
        found = reader.latest()
        assert found is not None
        pictures = np.frombuffer(found[2], np.uint8).reshape(2, 144, 160)
        assert np.array_equal(pictures[1], quick.game.picture())
        assert np.array_equal(pictures[0], slow.game.picture())
        assert quick.steps == arrived
    assert not slow.is_over
    versus.one_frame()
    ends = [event for event in told if all(side.over for side in event.sides)]
    assert [side.steps for side in ends[-1].sides] == [arrived + 2, arrived]
    assert [side.wins for side in ends[-1].sides] == [0, 1]
    assert (versus.draws, versus.start) == (0, 1), "the next start follows"
    assert slow.steps == quick.steps == 0
    versus.close()


def test_equals_draw_and_only_the_transport_is_known(home: HomePaths, tmp_path: Path) -> None:
    versus, told = versus_of(home, tmp_path, [1, 1])
    inbox: SimpleQueue[commands.AnyCommand | None] = SimpleQueue()
    for number, kind in enumerate((commands.Pause, commands.StepOnce, commands.StepOnce)):
        inbox.put(kind(id=number))
    inbox.put(commands.Record(id=3, on=True))
    inbox.put(commands.Restart(id=4, start=10**6))
    inbox.put(commands.SetButtons(id=5, mask=1))
    inbox.put(None)
    VersusLoop(versus, inbox, versus._tell).run()
    acks = {event.id: event for event in told if isinstance(event, records.AckEvent)}
    assert [acks[number].ok for number in range(6)] == [True, True, True, False, False, True]
    assert "side by side" in acks[3].detail
    assert "start 1000000" in acks[4].detail
    assert [side.steps for side in versus.sides] == [2, 2]
    again, _ = versus_of(home, tmp_path, [1, 1])
    while not again.draws:
        again.one_frame()
    assert [side.wins for side in again.sides] == [0, 0]
    again.close()


def test_a_rival_needs_a_policy() -> None:
    with pytest.raises(ConfigError, match="rival"):
        PlayerConfig(task="tiny_goal", rival="run")


def test_a_player_tells_what_its_policy_looks_at(home: HomePaths, tmp_path: Path) -> None:
    told: SimpleQueue[Any] = SimpleQueue()
    config = PlayerConfig(task="tiny_goal", checkpoint=checkpoint_of(home), mode="greedy")
    player = Player(tmp_path, home, config, lambda kind, **fields: told.put((kind, fields)))
    player.show_saliency(True)
    kind, found = told.get(timeout=60)
    assert kind is records.SaliencyEvent
    assert len(found["weights"]) == found["rows"] * found["columns"] == 90
    assert max(found["weights"]) > 0
    player.close()
    person = Player(tmp_path, home, PlayerConfig(task="tiny_goal"), lambda *_, **__: None)
    with pytest.raises(LabError, match="cannot tell"):
        person.show_saliency(True)
    person.close()


@pytest.mark.usefixtures("warm")
async def test_a_real_player_plays_two_policies(home: HomePaths) -> None:
    """A process of its own at the other end of the pipe."""
    checkpoint = checkpoint_of(home)
    player, events = PlayerService(home), []
    player.on_event = events.append
    config = PlayerConfig(task="tiny_goal", checkpoint=checkpoint, rival=checkpoint, mode="greedy", speed=0.0)
    await player.start(config)
    assert player.frames_path is not None
    assert FrameReader(player.frames_path).shape.envs == 2
    await until(lambda: any(isinstance(e, records.VersusEvent) and e.draws for e in events))
    ack = await player.request(commands.ShowSaliency, on=True)
    assert not ack.ok
    await player.stop()


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)
