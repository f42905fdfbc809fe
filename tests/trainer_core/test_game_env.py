"""GameEnv on the CPU: the VecEnv contract, autoreset, stacks, horizon, success, held-out starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from tests.trainer_core.vec_env_contract import check_vec_env
from trainer_core.envs.exploring import Way
from trainer_core.envs.game_env import GameEnv, GameOptions
from trainer_core.envs.sharded_emulator import ShardedEmulator
from trainer_core.envs.vec_env import StepStats
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.tasks import Episode, Task, find_task
from trainer_core.wire.errors import FailureError

pytestmark = pytest.mark.warp
HORIZON = 5
ROWS = torch.randint(7, (16, 4), generator=torch.Generator().manual_seed(3))
"""Actions of 16 steps of 4 envs."""

Make = Callable[..., GameEnv]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """(num_envs, stack_k=1, horizon=HORIZON, tau=None, **options) to leave_bedroom."""
    home = HomePaths(tmp_path)

    def make_env(count: int, k: int = 1, horizon: int = HORIZON, tau: float | None = None, **options: Any) -> GameEnv:
        task = find_task("pocket_quest/leave_bedroom", home)
        manifest = msgspec.structs.replace(task.manifest, episode=Episode(horizon=horizon))
        if tau is not None:
            goal = msgspec.structs.replace(manifest.goal, tau=tau, hold_steps=1)
            manifest = msgspec.structs.replace(manifest, goal=goal)
        return GameEnv.open(Task(task.folder, manifest), home, GameOptions(num_envs=count, stack_k=k, **options))

    return make_env


def test_the_game_keeps_the_contract(make: Make) -> None:
    check_vec_env(make, steps=2 * HORIZON + 1)


@pytest.mark.parametrize(
    ("actions", "said"),
    [
        (torch.tensor([0, 7]), "actions go from 0 to 7; this env has 0 to 6"),
        (torch.tensor([0.0, 1.0]), "actions is float32"),
        (torch.tensor([0, 1, 2]), r"actions is int64\[3\] on cpu; it must be int64\[2\]"),
    ],
)
def test_the_first_step_checks_its_actions(make: Make, actions: torch.Tensor, said: str) -> None:
    env = make(2)
    env.reset()
    with pytest.raises(FailureError, match=said):
        env.step(actions)
    with pytest.raises(FailureError, match="starts is int32"):
        env.reset_to(torch.zeros(2, dtype=torch.int32))
    env.step(torch.tensor([0, 6]))


def test_none_some_and_all_envs_reset(make: Make) -> None:
    env = make(4)
    env.reset(seed=2)
    env.episodes.steps[:2] = HORIZON - 2  # as if two envs had begun earlier
    masks = [env.step(row).info.reset_mask.tolist() for row in ROWS[:HORIZON]]
    no = [False] * 4
    assert masks == [no, [True, True, False, False], no, no, [False, False, True, True]]
    env.reset(seed=2)
    last = [env.step(row).info.reset_mask.tolist() for row in ROWS[:HORIZON]][-1]
    assert last == [True] * 4


def test_one_plane_is_the_newest_of_four(make: Make) -> None:
    one, four = make(4, 1), make(4, 4)
    assert torch.equal(one.reset(seed=5)[:, 0], four.reset(seed=5)[:, -1])
    for row in ROWS[: HORIZON + 3]:
        a, b = one.step(row), four.step(row)
        assert torch.equal(a.obs[:, 0], b.obs[:, -1])
        assert torch.equal(a.final_obs[:, 0], b.final_obs[:, -1])
        assert torch.equal(a.reward, b.reward)
        assert torch.equal(a.info.start_index, b.info.start_index)


def test_the_picture_at_the_horizon_is_what_a_longer_episode_sees(make: Make) -> None:
    short, long = make(4), make(4, horizon=64)
    starts = short.start_set[:4]
    short.reset_to(starts)
    long.reset_to(starts)
    for row in ROWS[: HORIZON - 1]:
        short.step(row)
        long.step(row)
    cut, going = short.step(ROWS[HORIZON - 1]), long.step(ROWS[HORIZON - 1])
    assert bool(cut.trunc.all())
    assert not bool((cut.done | going.trunc).any())
    assert torch.equal(cut.final_obs, going.obs)
    assert torch.equal(cut.info.dist, going.info.dist)
    pictures = short.episodes.start_pictures[short.episodes.start_index]
    assert torch.equal(cut.obs[:, 0], pictures), "the next episode begins with its start's picture"


def test_success_is_done_and_never_truncated(make: Make) -> None:
    hard, easy = make(4, horizon=1), make(4, horizon=1, tau=1.1)
    for env in (hard, easy):
        env.reset_to(env.start_set[:4])
    lost, won = hard.step(ROWS[0]), easy.step(ROWS[0])
    assert (int(lost.done.sum()), int(lost.trunc.sum())) == (0, 4)
    assert (int(won.done.sum()), int(won.trunc.sum()), int(won.info.success.sum())) == (4, 0, 4)
    bonus = hard.task.manifest.reward.goal_bonus
    assert torch.allclose(won.reward - lost.reward, torch.full((4,), float(bonus)))


def test_held_out_starts_are_the_last_and_never_trained_on(make: Make) -> None:
    train, held = make(16, horizon=1), make(16, horizon=1, held_out=True)
    starts = train.task.manifest.starts
    split = starts.count - starts.heldout
    assert starts.heldout >= 32
    assert train.start_set.tolist() == list(range(split))
    assert held.start_set.tolist() == list(range(split, starts.count))
    for env, allowed in ((train, set(range(split))), (held, set(range(split, starts.count)))):
        env.reset(seed=1)
        seen = set()
        for _ in range(8):
            seen |= set(env.step(torch.zeros(16, dtype=torch.int64)).info.start_index.tolist())
        assert len(seen) > 8
        assert seen <= allowed


def test_stats_are_the_means_of_what_full_gives(make: Make) -> None:
    envs = {mode: make(4, horizon=2, info_mode=mode) for mode in ("full", "stats", "none")}
    for env in envs.values():
        env.reset(seed=4)
        env.episodes.steps[0] = 1
    for row in ROWS[:3]:
        results = {mode: env.step(row) for mode, env in envs.items()}
        full, stats = results["full"].info, results["stats"].info
        assert results["none"].info is None
        assert isinstance(stats, StepStats)
        assert all(value.shape == () for value in stats)
        assert float(stats.dist_mean) == pytest.approx(float(full.dist.mean()))
        assert float(stats.dist_min) == float(full.dist.min())
        assert float(stats.success_rate) == float(full.success.float().mean())
        assert float(stats.reset_rate) == float(full.reset_mask.float().mean())
        assert float(stats.episode_steps_mean) == float(full.episode_steps.float().mean())
        for mode in ("stats", "none"):
            assert torch.equal(results[mode].obs, results["full"].obs)
            assert torch.equal(results[mode].reward, results["full"].reward)


def test_asking_before_resetting_saves_the_reset_and_changes_nothing(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking, blind = make(4, horizon=3), make(4, horizon=3, skip_reset_if_empty=False)
    assert asking.skip_reset_if_empty, "a CPU has the answer at hand"
    calls: dict[int, int] = {id(asking.emulator): 0, id(blind.emulator): 0}
    reset = ShardedEmulator.reset

    def counted(emulator: ShardedEmulator) -> None:
        calls[id(emulator)] += 1
        reset(emulator)

    for env in (asking, blind):
        env.reset(seed=4)
    monkeypatch.setattr(ShardedEmulator, "reset", counted)
    for row in ROWS[:7]:
        a, b = asking.step(row), blind.step(row)
        assert torch.equal(a.obs, b.obs)
        assert torch.equal(a.info.reset_mask, b.info.reset_mask)
    assert calls == {id(asking.emulator): 2, id(blind.emulator): 7}


@pytest.mark.parametrize("has_demo", [False, True])
def test_only_without_a_demonstration_are_ways_looked_for_and_begun_along(
    make: Make, monkeypatch: pytest.MonkeyPatch, has_demo: bool
) -> None:
    asked = []

    class Walks:
        """An explorer who knows a way of five steps from the third start."""

        def __init__(self, *_: object, **how: object) -> None:
            pass

        def explore(self, starts: list[Any], *, search: bool = False) -> list[Any]:
            asked.append(search)
            return starts[:1]

        def shortest_ways(self) -> list[Way]:
            return [Way(2, (6, 6, 3, 3, 0))]

    monkeypatch.setattr("trainer_core.envs.game_env.Explorer", Walks)
    if not has_demo:
        monkeypatch.setattr("trainer_core.envs.game_env.task_demonstrations", lambda task: [])
    env = make(2, demo_share=0.5)
    own, every = env.task.manifest.starts.count, len(env.episodes.start_pictures)
    env.close()
    assert asked == [not has_demo]
    if has_demo:
        assert every > own + 1 + 6
    else:
        assert every == own + 1 + 6, "its own, the walk's, and six states along the way"
