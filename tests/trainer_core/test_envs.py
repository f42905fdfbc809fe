"""Environments without Warp: contract, frame stack, distances, novelty, named success."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainer_core.building import tiny_config, tiny_trainer
from tests.trainer_core.vec_env_contract import check_vec_env
from trainer_core.envs import scoring
from trainer_core.envs.build import chosen_starts, make_env
from trainer_core.envs.episodes import GoalTemplates
from trainer_core.envs.frame_stack import FrameStack
from trainer_core.envs.noise import NoiseEnv
from trainer_core.envs.novelty import ScreenCounts, hash_pictures, hash_weights
from trainer_core.envs.scoring import find_success_function
from trainer_core.envs.toy import HELD_OUT, TinyGoalEnv
from trainer_core.host.evaluate import run_episodes, spread_starts, uniform
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.tasks import Reward
from trainer_core.wire.buttons import ACTIONS
from trainer_core.wire.errors import FailureError, TaskError

CPU = torch.device("cpu")


def test_the_tiny_environment_keeps_the_contract() -> None:
    check_vec_env(lambda n, k: TinyGoalEnv(n, stack_k=k, seed=1))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r: r._replace(reward=r.reward.double()), r"step: reward is float64\[4\] on cpu; it must be float32"),
        (lambda r: r._replace(done=r.done[:2]), r"step: done is bool\[2\] on cpu; it must be bool\[4\]"),
        (lambda r: r._replace(obs=r.obs.to("meta")), "step: obs is uint8.* on meta"),
        (lambda r: r._replace(info=r.info._replace(dist=r.info.dist.half())), "step: info.dist is float16"),
    ],
)
def test_a_training_loop_checks_the_first_step_of_an_env_and_no_other(change: Any, said: str) -> None:
    trainer = tiny_trainer(tiny_config(num_envs=4, num_steps=2))
    step = trainer.env.step
    trainer.run_update()
    assert trainer._step == step, "later steps go straight to the env"
    trainer = tiny_trainer(tiny_config(num_envs=4, num_steps=2))
    step = trainer.env.step
    trainer.env.step = lambda actions: change(step(actions))  # type: ignore[method-assign]
    with pytest.raises(FailureError, match=said):
        trainer.run_update()


def walk(env: TinyGoalEnv, start: int, moves: str) -> list[float]:
    """Distances along `moves` (letters U D L R A) from one start state."""
    letters = {"U": "UP", "D": "DOWN", "L": "LEFT", "R": "RIGHT", "A": "A"}
    env.reset_to(torch.tensor([start]))
    return [float(env.step(torch.tensor([ACTIONS.index(letters[move])])).info.dist[0]) for move in moves]


def test_walking_to_the_goal_pays_the_bonus_and_ends_the_episode() -> None:
    env = TinyGoalEnv(1, reward=Reward(step_cost=0.1, alpha=1.0, goal_bonus=5.0))
    tile = int(env._starts[0])
    row, column = divmod(tile, 10)
    moves = "D" * (7 - row) + "U" * (row - 7) + "L" * (column - 2) + "R" * (2 - column)
    env.reset_to(torch.tensor([0]))
    before = float(env.episodes.dist[0])
    total, result = 0.0, None
    names = {"U": 3, "D": 4, "L": 5, "R": 6}
    for move in moves:
        result = env.step(torch.tensor([names[move]]))
        total += float(result.reward[0])
    assert result is not None
    assert bool(result.done[0])
    assert float(result.info.dist[0]) == 0.0
    assert total == pytest.approx(before - 0.1 * len(moves) + 5.0, abs=1e-5)


def test_buttons_that_do_nothing_leave_the_distance() -> None:
    env = TinyGoalEnv(1)
    assert len(set(walk(env, 0, "AAAA"))) == 1


def test_held_out_starts_are_never_drawn_in_training() -> None:
    train, held = TinyGoalEnv(64), TinyGoalEnv(64, held_out=True)
    assert not set(train.start_set.tolist()) & set(held.start_set.tolist())
    seen = set()
    for _ in range(20):
        train.reset()
        seen |= set(train.episodes.start_index.tolist())
    assert seen == set(train.start_set.tolist())


NONE, FIRST = torch.tensor([False, False]), torch.tensor([True, False])
ONES = torch.ones(2, dtype=torch.int64)


@pytest.mark.parametrize("k", [1, 4])
def test_the_stack_holds_the_last_pictures_oldest_first(k: int) -> None:
    stack = FrameStack(2, k, 1, 1, CPU)
    shown = [torch.full((2, 1, 1), value, dtype=torch.uint8) for value in range(8)]
    starts = torch.tensor([[[9]], [[7]]], dtype=torch.uint8)
    pointer = stack.obs.data_ptr()
    stack.fill(shown[0])
    for picture in shown[1:6]:
        stack.push(picture, NONE, starts, ONES)
    expected = [max(0, 5 - back) for back in range(k - 1, -1, -1)]
    assert stack.obs[0].flatten().tolist() == expected
    stack.push(shown[6], FIRST, starts, ONES)
    assert stack.obs[0].flatten().tolist() == [7] * k, "a reset begins with the start's picture"
    assert stack.obs[1].flatten().tolist()[-1] == 6
    assert stack.final[0].flatten().tolist()[-1] == 6, "what the step reached is kept"
    assert stack.obs.data_ptr() == pointer
    stack.fill(shown[3])
    assert stack.final.tolist() == stack.obs.tolist() == [[[[3]]] * k] * 2


@pytest.mark.parametrize("k", [1, 2, 4])
def test_a_push_allocates_nothing(k: int) -> None:
    stack = FrameStack(2, k, 72, 80, CPU)
    pictures = torch.randint(4, (2, 72, 80), dtype=torch.uint8)
    stack.push(pictures, FIRST, pictures, ONES)
    assert _allocated(lambda: pictures.clone()) >= pictures.numel(), "the count must count"
    assert _allocated(lambda: stack.push(pictures, FIRST, pictures, ONES)) == 0


def test_one_plane_is_neither_shifted_nor_copied_twice() -> None:
    stack = FrameStack(2, 1, 72, 80, CPU)
    pictures = torch.randint(4, (2, 72, 80), dtype=torch.uint8)
    stack.push(pictures, NONE, pictures, ONES)
    assert stack.final.data_ptr() == pictures.data_ptr(), "the pictures themselves"
    assert stack.obs.data_ptr() != pictures.data_ptr(), "a reset must not write over them"


def _allocated(work: Callable[[], object]) -> int:
    """Bytes that torch's CPU allocator gave out during `work`."""
    with torch.profiler.profile(profile_memory=True) as profile:
        kept = work()
    del kept
    return sum(max(0, event.self_cpu_memory_usage) for event in profile.events() or ())


@pytest.mark.parametrize("distance", ["l1", "mse"])
def test_distances_are_the_means_over_the_mask(distance: str) -> None:
    torch.manual_seed(0)
    pictures = torch.randint(4, (5, 6, 8), dtype=torch.uint8)
    goals = torch.randint(4, (3, 6, 8), dtype=torch.uint8)
    for mask in (torch.ones(3, 6, 8, dtype=torch.bool), torch.rand(3, 6, 8) < 0.5):
        found = GoalTemplates(goals, mask, distance).distances(pictures)
        for n, picture in enumerate(pictures):
            apart = (picture.double() - goals.double()).abs() / 3
            apart = apart.square() if distance == "mse" else apart
            means = [float(a[m].mean()) for a, m in zip(apart, mask, strict=True)]
            assert float(found[n]) == pytest.approx(min(means), rel=1e-6)


def test_the_success_function_drives_bonus_done_and_success_together() -> None:
    strict = TinyGoalEnv(1, success="goal_template")
    assert find_success_function("goal_touched") is not find_success_function("goal_template")
    with pytest.raises(TaskError, match="goal_template"):
        find_success_function("no such")

    @scoring.success_function("test_always")
    def always(progress: scoring.Progress) -> torch.Tensor:
        return progress.dist >= 0

    try:
        easy = TinyGoalEnv(1, success="test_always")
        starts = torch.tensor([0])
        for env in (strict, easy):
            env.reset_to(starts)
        action = torch.tensor([0])
        hard, soft = strict.step(action), easy.step(action)
        assert (bool(hard.done[0]), bool(soft.done[0])) == (False, True)
        assert bool(soft.info.success[0])
        assert float(soft.reward[0] - hard.reward[0]) == pytest.approx(1.0)
    finally:
        del scoring._FUNCTIONS["test_always"]


def test_novelty_falls_with_the_root_of_the_count() -> None:
    counts = ScreenCounts(CPU)
    weights = hash_weights(4)
    a, b = torch.zeros(1, 4, 4, dtype=torch.uint8), torch.ones(1, 4, 4, dtype=torch.uint8)
    seen = hash_pictures(torch.cat([a, b]), weights)
    assert [float(counts.visit(seen[:1])) for _ in range(4)] == pytest.approx([1, 2**-0.5, 3**-0.5, 0.5])
    assert float(counts.visit(seen[1:])) == 1.0
    assert torch.allclose(counts.visit(seen[[0, 0]]), torch.tensor(6**-0.5))


def test_a_changed_pixel_changes_the_hash() -> None:
    picture = torch.randint(4, (1, 72, 80), dtype=torch.uint8)
    changed = picture.repeat(500, 1, 1)
    where = torch.randperm(72 * 80)[:500]
    flat = changed.flatten(1)
    flat[torch.arange(500), where] ^= 1
    hashes = hash_pictures(torch.cat([picture, changed]), hash_weights(1440)).tolist()
    assert len(set(hashes)) == 501
    assert all(0 <= value < 1 << 32 for value in hashes)


def test_pictures_that_differ_in_the_last_pixel_of_a_word_are_counted_apart() -> None:
    """Such a pixel moves only upper bits of the hash: a table of its lower ones would mix them."""
    pictures = torch.zeros(1440, 72 * 80, dtype=torch.uint8)
    pictures[torch.arange(1440), torch.arange(3, 72 * 80, 4)] = 3
    counts = ScreenCounts(CPU)
    counts.visit(hash_pictures(pictures.view(-1, 72, 80), hash_weights(1440)))
    assert int((counts.counts > 0).sum()) > 1400


def test_validation_pays_no_novelty() -> None:
    pay = Reward(novelty_bonus=1.0)
    assert TinyGoalEnv(1, reward=pay).episodes.counts is not None
    assert TinyGoalEnv(1, reward=pay, held_out=True).episodes.counts is None


def test_noise_has_nothing_of_the_picture() -> None:
    env = NoiseEnv(TinyGoalEnv(2, seed=1), 1)
    true = TinyGoalEnv(2, seed=1)
    assert not torch.equal(env.reset(seed=4), true.reset(seed=4))
    result, real = env.step(torch.tensor([4, 4])), true.step(torch.tensor([4, 4]))
    assert torch.equal(result.reward, real.reward), "goal and reward stay true"
    assert not torch.equal(result.obs, real.obs)


def test_random_buttons_rarely_reach_the_tiny_goal() -> None:
    env = TinyGoalEnv(64, held_out=True)
    rng = torch.Generator().manual_seed(1)
    starts = spread_starts(env.start_set, 256, "sample")
    found = run_episodes(env, uniform(7, rng), starts, "sample")
    assert found.success_rate < 0.1
    assert (len(found.episodes), found.distinct_starts, found.n) == (256, HELD_OUT, 16)


def test_validation_reports_what_each_start_gave() -> None:
    """A perfect walker from half the starts: pass@1, pass@n, medians by hand."""
    env = TinyGoalEnv(8, held_out=True)
    goal_row, goal_column = 7, 2
    stuck = set(env.start_set[::2].tolist())

    def act(obs: torch.Tensor) -> torch.Tensor:
        row, column = env._tile // 10, env._tile % 10
        lost = torch.tensor([int(s) in stuck for s in env.episodes.start_index])
        action = torch.where(column > goal_column, 5, 6)
        action = torch.where(column == goal_column, torch.where(row > goal_row, 3, 4), action)
        return torch.where(lost, 0, action)

    starts = spread_starts(env.start_set, 16, "greedy")
    found = run_episodes(env, act, starts, "greedy")
    assert found.success_rate == found.pass_at_n == 0.5
    solved = sorted(e.steps for e in found.episodes if e.success)
    assert found.median_steps_to_goal == (solved[3] + solved[4]) / 2
    assert all(len(e.actions) == e.steps for e in found.episodes)
    assert all(e.steps == env.horizon for e in found.episodes if not e.success)


def test_validation_and_test_are_halves_of_what_training_never_sees(tmp_path: Path) -> None:
    config, home = tiny_config(num_envs=4), HomePaths(tmp_path)
    sets = {
        name: set(make_env(config, home, starts=name).start_set.tolist())
        for name in ("train", "validation", "test", "heldout")
    }
    assert (len(sets["validation"]), len(sets["test"])) == (8, 8)
    assert sets["validation"] | sets["test"] == sets["heldout"]
    assert not sets["validation"] & sets["test"]
    assert not sets["heldout"] & sets["train"]
    env = make_env(config, home, starts="validation")
    assert isinstance(env, TinyGoalEnv)
    drawn = {int(start) for _ in range(20) for start in env.episodes.draw_starts()}
    assert drawn <= sets["validation"], "what autoreset draws is of the same set"
    assert chosen_starts(torch.tensor([7]), "test").tolist() == [7], "one state has to be both"
