"""Training begins along a task's demonstrations; validation and tests do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from emulator import Emulator
from trainer_core.author.demonstration import play_demonstration
from trainer_core.envs.build import make_env
from trainer_core.envs.curriculum import AHEAD, LIMIT_LEAST, LIMIT_TIMES, StartCurriculum, states_to_go, successors
from trainer_core.envs.demonstrations import Demonstration, states_along, task_demonstrations
from trainer_core.envs.exploring import cells_of
from trainer_core.envs.game_env import GameEnv
from trainer_core.envs.preparing import Preparing
from trainer_core.envs.task_files import load_rom
from trainer_core.envs.toy import TinyGoalEnv
from trainer_core.host.progress import ENOUGH, RunProgress
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.tasks import Codec, find_task
from trainer_core.wire.buttons import ACTIONS
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import TaskError

TASK = "pocket_quest/leave_bedroom"


OWN = torch.arange(48)
CPU = torch.device("cpu")
NONE = torch.arange(0)


def curriculum(*, share: float = 0.75, steps: tuple[int, ...] = (10, 6)) -> StartCurriculum:
    """Own starts 0 to 47, demonstrations from 80 on; their last states are at the goal."""
    along = states_to_go(list(steps), 80, CPU)
    along = along.where(along.togo > 0)
    return StartCurriculum(OWN, NONE, along, share, 80 + sum(steps) + len(steps), horizon=96)


def drawn(chooser: StartCurriculum, count: int = 4000) -> torch.Tensor:
    return chooser.draw(count, torch.Generator().manual_seed(1))


def succeed_from(chooser: StartCurriculum, *starts: int) -> None:
    """Long enough for the estimate to be near 1."""
    for start in starts:
        for _ in range(60):
            chooser.fold(torch.tensor([start]), torch.tensor([True]), torch.tensor([True]))


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_before_anything_is_learned_the_share_begins_along_and_near_the_goal(share: float):
    starts = drawn(curriculum(share=share))
    along = starts[starts >= 80]
    assert len(along) / len(starts) == pytest.approx(share, abs=0.03)
    near = (along >= 90 - AHEAD) & (along < 90) | (along >= 97 - AHEAD) & (along < 97)
    assert float(near.float().mean()) > 0.85


def test_starts_move_back_as_success_rises_and_end_at_the_tasks_own():
    chooser = curriculum(steps=(10,))
    before = drawn(chooser)
    succeed_from(chooser, *range(85, 90))  # the last five steps are learned
    after = drawn(chooser)
    assert (before[before >= 80]).float().mean() > (after[after >= 80]).float().mean() + 2
    succeed_from(chooser, *OWN.tolist())
    assert float((drawn(chooser) < 48).float().mean()) > 0.97


def test_what_is_lost_again_is_drawn_again():
    chooser = curriculum(steps=(10,))
    succeed_from(chooser, *range(80, 90))
    for _ in range(40):
        chooser.fold(torch.tensor([84]), torch.tensor([True]), torch.tensor([False]))
    along = drawn(chooser)
    along = along[along >= 80]
    assert int(along.mode().values) == 84


def test_own_starts_that_fail_are_drawn_more_often():
    chooser = curriculum(share=0.0)
    succeed_from(chooser, 3)
    counts = torch.bincount(drawn(chooser, 48_000), minlength=48)
    assert int(counts.argmin()) == 3
    assert int(counts[3]) > 100


def test_many_walked_starts_weigh_no_more_together_than_eight_for_each_own() -> None:
    own, along = torch.arange(4), states_to_go([2], 500, CPU)
    shares = []
    for count in (20, 40, 400):
        chooser = StartCurriculum(own, torch.arange(10, 10 + count), along, 0.0, 510, horizon=96)
        weights = chooser.weights()
        shares.append(float(weights[4 : 4 + count].sum() / weights[:4].sum()))
    assert shares[0] < shares[1] * 0.7
    assert shares[2] == pytest.approx(shares[1])  # 40 are more than 4 * 8 already


def test_an_estimate_weighs_many_ends_at_once_as_one_after_the_other():
    together, apart = curriculum(), curriculum()
    ended = torch.tensor([True, True, False])
    for chooser in (together, apart):
        succeed_from(chooser, 85)
    together.fold(torch.tensor([85, 85, 85]), ended, torch.zeros(3, dtype=torch.bool))
    for _ in range(2):
        apart.fold(torch.tensor([85]), torch.tensor([True]), torch.tensor([False]))
    assert float(together.success[85]) == pytest.approx(float(apart.success[85]))


def test_episodes_along_a_demonstration_are_cut_off_early_others_at_the_horizon():
    limit = curriculum(steps=(40,)).limit
    assert limit[:80].tolist() == [96] * 80
    assert limit[80:120].tolist() == [min(96, max(LIMIT_LEAST, LIMIT_TIMES * (40 - k))) for k in range(40)]


class Limits:
    """As much of a curriculum as Episodes ask for: a limit for each start, one start to draw."""

    def __init__(self, limit: torch.Tensor) -> None:
        self.limit = limit

    def draw(self, count: int, rng: torch.Generator) -> torch.Tensor:
        return torch.zeros(count, dtype=torch.int64)

    def fold(self, *_: torch.Tensor) -> None:
        """Nothing is learned from an end."""


def test_an_episode_ends_at_the_limit_of_the_start_that_it_began_at():
    env = TinyGoalEnv(3)
    limit = torch.full((len(env.episodes.start_pictures),), env.horizon)
    limit[1], limit[2] = 5, 9
    env.episodes.curriculum = Limits(limit)  # type: ignore[assignment]
    env.reset_to(torch.tensor([0, 1, 2]))
    stays = torch.full((3,), ACTIONS.index("START"))
    ended = [env.step(stays).trunc.tolist() for _ in range(9)]
    assert [step.count(True) for step in ended] == [0, 0, 0, 0, 1, 0, 0, 0, 1]
    assert ended[4] == [False, True, False]
    assert ended[8] == [False, False, True]


def test_the_last_states_lead_to_the_goal_of_their_own_demonstration():
    along = states_to_go([2, 1], 5, CPU)
    assert along.start.tolist() == [5, 6, 7, 8, 9]
    assert along.demo.tolist() == [0, 0, 0, 1, 1]
    assert along.togo.tolist() == [2, 1, 0, 1, 0]
    kept = along.where(along.togo > 0)
    assert successors(kept)[:, 0].tolist() == [1, 3, 3]  # 3 is the goal


def test_recent_success_outlives_a_record_and_is_resumed():
    progress = RunProgress()
    assert progress.fold_episodes(0.0, 30, 0.8) == 0.0
    found = progress.fold_episodes(1.0, 10, 0.8)
    assert found == pytest.approx(10 / (30 * 0.8 * (1 - 10 / ENOUGH) + 10))
    assert RunProgress(recent_won=9, recent_ended=99).fold_episodes(0.5, ENOUGH, 0.8) == 0.5
    resumed = RunProgress.from_state(progress.state_dict(1.0))
    assert resumed.fold_episodes(0.0, 0, 1.0) == pytest.approx(found)


@pytest.mark.warp
def test_only_training_begins_along_demonstrations(tmp_path):
    pytest.importorskip("warp")
    home = HomePaths(tmp_path)
    task = find_task(TASK, home)
    config = RunConfig(task=TASK, num_envs=8)
    own = set(task.manifest.starts.indices(False))
    env = make_env(config, home, demo_share=config.demo_starts)
    assert isinstance(env, GameEnv)
    assert set(env.start_set.tolist()) == own
    chooser = env.episodes.curriculum
    assert chooser is not None
    along = chooser.along.start.tolist()
    walked = chooser.walked.tolist()
    assert len(walked) > 48
    found = env.episodes.start_pictures[torch.tensor(walked)]
    assert len(set(cells_of(found.numpy()))) == len(walked)  # each shows another place
    assert float(env.episodes.start_dist[walked].min()) >= task.manifest.goal.tau
    assert task.manifest.starts.count <= min(walked)
    assert max(walked) < min(along)
    env.reset_to(torch.tensor([0, min(along)] * 4))
    told = env.step(torch.zeros(8, dtype=torch.int64)).info.from_demo
    assert told.tolist() == [False, True] * 4
    near = env.episodes.start_dist[torch.tensor(along)]
    assert float(near.min()) >= task.manifest.goal.tau  # nobody begins at the goal
    env.reset(seed=5)
    actions = torch.randint(0, 7, (60, 8), generator=torch.Generator().manual_seed(2))
    for row in actions[:40]:
        env.step(row)
    again = make_env(config, home, demo_share=config.demo_starts)
    again.load_state_dict(env.state_dict())
    for row in actions[40:]:  # a resumed run begins its episodes where it would have begun them
        one, other = env.step(row), again.step(row)
        assert torch.equal(one.info.start_index, other.info.start_index)
        assert torch.equal(one.obs, other.obs)
    assert float(chooser.success.sum()) > 0, "nobody got to the goal: the test proves nothing"
    again.close()
    env.close()
    for starts in ("train", "validation", "test"):
        played = make_env(config, home, starts=starts)
        assert isinstance(played, GameEnv)
        assert max(played.start_set.tolist()) < task.manifest.starts.count
        assert played.episodes.curriculum is None
        played.close()


@pytest.mark.warp
def test_states_along_a_demonstration_end_at_its_goal(tmp_path):
    pytest.importorskip("warp")
    home = HomePaths(tmp_path)
    task = find_task(TASK, home)
    cartridge, codec = load_rom(task, home), task.manifest.codec
    demo = task_demonstrations(task)[-1]
    states = states_along(cartridge, [demo], codec, "cpu")
    trace = play_demonstration(cartridge, demo, codec)  # frame by frame
    assert len(states) == len(trace.states) == len(demo.masks) // codec.frames_per_step + 1
    emulator = Emulator(cartridge, 1, "cpu")
    for state, picture in zip(states, trace.pictures, strict=True):
        emulator.restore(state)
        assert np.array_equal(emulator.observations().numpy()[0], picture)


def play_of(frames: int, *, count: int = 1) -> list[Demonstration]:
    """Ways of so many frames without a button, from a state that is not looked at."""
    return [Demonstration(None, np.zeros(frames, np.uint8)) for _ in range(count)]  # type: ignore[arg-type]


def test_demonstrations_that_would_fill_the_memory_are_refused_before_they_are_played():
    cartridge: Any = None  # nothing is played
    with pytest.raises(TaskError, match=r"pass 200,001 states, .* 10,000 at most"):
        states_along(cartridge, play_of(200_000), Codec(frames_per_step=1), "cpu")
    with pytest.raises(TaskError, match="pass 10,010 states"):
        states_along(cartridge, play_of(24_000, count=10), Codec(), "cpu")


def test_how_far_the_preparation_is_is_told_now_and_then():
    told: list[str] = []
    tell = Preparing(told.append, every_s=0.0)
    tell("states", 1_234, 10_000)
    assert told == ["preparing states: 1,234 of 10,000"]
    seldom = Preparing(told.append, every_s=1e9)
    seldom("states", 2, 3)
    assert len(told) == 1, "no line for what takes a moment"
