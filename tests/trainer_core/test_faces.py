"""Faces for other libraries: their own checkers, their own wrappers, and the docs' example."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from tests.support.imports import CHECKOUT
from trainer_core.envs.gymnasium_env import DmgLabEnv
from trainer_core.envs.gymnasium_vector import DmgLabVectorEnv
from trainer_core.envs.translation import action_names
from trainer_core.wire.buttons import ALL_ACTIONS
from trainer_core.wire.errors import TaskError
from trainer_core.wire.process_guard import kill_group

MADE = "dmglab:DMGLab-v0"
HORIZON = 32
INFO_MODES = ("full", "stats", "none")
REAL_GAME = "pocket_quest/leave_bedroom"
TASKS = ("tiny_goal", pytest.param(REAL_GAME, marks=pytest.mark.warp))


@pytest.mark.parametrize("task", TASKS)
def test_gymnasium_finds_nothing_wrong_with_the_env(task: str) -> None:
    env = gymnasium.make(MADE, task=task, stack_k=2, render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    assert env.observation_space.shape == (2, 72, 80)
    env.close()


@pytest.mark.parametrize("first", ["dmglab", "gymnasium"])
def test_gymnasium_knows_the_env_whichever_was_imported_first(first: str) -> None:
    code = f"""
import sys, {first}
import dmglab
assert {first!r} == "gymnasium" or not {{"gymnasium", "numpy"}} & set(sys.modules), "it loads nothing"
import gymnasium
assert gymnasium.spec("DMGLab-v0").vector_entry_point
assert not {{"torch", "warp"}} & set(sys.modules), "before an environment is made"
"""
    subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, check=True)


def test_actions_have_the_names_of_what_they_press() -> None:
    env, many = DmgLabEnv("tiny_goal"), DmgLabVectorEnv("tiny_goal", 2)
    names = env.get_action_meanings()
    assert names == many.get_action_meanings() == ["A", "B", "START", "UP", "DOWN", "LEFT", "RIGHT"]
    before, _ = env.reset(options={"start": 3})
    after, *_ = env.step(np.int64(names.index("UP")))
    back, *_ = env.step(np.int64(names.index("DOWN")))
    assert np.array_equal(before, back)
    assert not np.array_equal(before, after)
    of_two_buttons: Any = SimpleNamespace(num_actions=len(ALL_ACTIONS))
    assert action_names(of_two_buttons)[-1] == "DOWN+RIGHT"


@pytest.mark.parametrize("mode", INFO_MODES)
def test_reset_says_what_step_says(mode: Any) -> None:
    many = DmgLabVectorEnv("tiny_goal", 2, info_mode=mode)
    _, begun = many.reset(seed=1, options={"start": [3, 5]})
    stepped = many.step(np.zeros(2, np.int64))[4]  # a button that does nothing
    assert begun.keys() == stepped.keys()
    if mode == "full":
        assert begun["start_index"].tolist() == [3, 5]
        assert begun["episode_steps"].tolist() == [0, 0]
        assert np.array_equal(begun["dist"], stepped["dist"])


def test_reset_of_one_says_what_its_step_says() -> None:
    env = DmgLabEnv("tiny_goal")
    _, begun = env.reset(options={"start": 3})
    stepped = env.step(np.int64(0))[4]
    assert begun == stepped | {"episode_steps": 0}
    assert {name: type(value) for name, value in begun.items()} == {
        "dist": float,
        "success": bool,
        "start_index": int,
        "episode_steps": int,
    }


def test_an_episode_ends_by_its_horizon_with_the_picture_it_reached() -> None:
    env = DmgLabEnv("tiny_goal")
    first, _ = env.reset(options={"start": 3})
    assert set(np.unique(first)) <= {0, 85, 170, 255}
    for step in range(1, HORIZON + 1):
        obs, _, terminated, truncated, info = env.step(np.int64(0))
        assert (terminated, truncated) == (False, step == HORIZON)
        assert np.array_equal(obs, first), "a button that does nothing changes nothing"
        assert (info["episode_steps"], info["start_index"]) == (step, 3)


@pytest.mark.warp
def test_a_seed_repeats_the_rewards_of_the_real_game() -> None:
    """Bonuses for new pictures among them: what was seen before the reset is forgotten."""
    env = DmgLabEnv(REAL_GAME)
    rows = np.random.default_rng(4).integers(0, 7, 12)

    def rewards() -> list[float]:
        env.reset(seed=5)
        return [env.step(action)[1] for action in rows]

    first = rewards()
    assert len(set(first)) > 3, "the walk must meet new pictures"
    assert rewards() == first
    env.close()


@pytest.mark.parametrize("wrong", [-1, 7, 1.5, 1.0, float("nan"), "up", None, [1, 2]])
def test_what_is_no_action_is_refused(wrong: Any) -> None:
    env, many = DmgLabEnv("tiny_goal"), DmgLabVectorEnv("tiny_goal", 3)
    env.reset(seed=1)
    many.reset(seed=1)
    for step in (lambda: env.step(wrong), lambda: many.step([0, 0, wrong])):  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"action|inhomogeneous"):
            step()


def test_a_start_or_a_task_that_does_not_exist_is_named() -> None:
    with pytest.raises(ValueError, match="start 999"):
        DmgLabEnv("tiny_goal").reset(options={"start": 999})
    with pytest.raises(TaskError, match="no task 'nope'"):
        DmgLabEnv("nope")


@pytest.mark.parametrize("task", TASKS)
def test_the_vector_env_resets_as_gymnasium_itself_does(task: str) -> None:
    """The same actions from the same starts through ours and through their SyncVectorEnv.

    Held-out starts: there no bonus depends on what the other envs of a batch have seen.
    """
    ours = gymnasium.make_vec(MADE, num_envs=3, task=task, held_out=True)
    assert isinstance(ours, DmgLabVectorEnv)
    assert ours.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    theirs = SyncVectorEnv(
        [lambda: DmgLabEnv(task, held_out=True) for _ in range(3)], autoreset_mode=AutoresetMode.SAME_STEP
    )
    starts = ours.consoles.start_set[[3, 5, 8]].numpy()
    horizon = ours.consoles.horizon
    for number, env in zip(starts, theirs.envs, strict=True):
        env.reset(options={"start": int(number)})
    ours.reset(seed=1, options={"start": starts})
    rng = np.random.default_rng(0)
    fresh = np.ones(3, bool)
    kinds: set[str] = set()
    for _ in range(horizon + 4):
        actions = rng.integers(0, 7, 3)
        mine, other = ours.step(actions), theirs.step(actions)
        _same_step(mine, other, fresh, kinds)
        fresh &= ~(mine[2] | mine[3])  # the starts that are drawn then differ
        if not fresh.any():
            break
    assert "final" in kinds, "no episode ended: the contract was not tried"
    for env in (ours, theirs):
        env.close()


def _same_step(mine: Any, other: Any, fresh: np.ndarray, kinds: set[str]) -> None:
    ended = mine[2] | mine[3]
    for name in ("dist", "success", "start_index", "episode_steps"):
        for infos in (mine[4], other[4]):
            assert infos[f"_{name}"].all(), "also of an episode that begins"
        going = fresh & ~ended
        assert mine[4][name][going] == pytest.approx(other[4][name][going])
    assert not mine[4]["episode_steps"][ended].any()
    assert not other[4]["episode_steps"][ended].any()
    for index in (1, 2, 3):
        assert mine[index].dtype == other[index].dtype
        assert np.allclose(mine[index][fresh], other[index][fresh])
    going = fresh & ~ended
    assert np.array_equal(mine[0][going], other[0][going])
    if not (fresh & ended).any():
        return
    kinds.add("final")
    assert {"final_obs", "_final_obs", "final_info", "_final_info"} <= set(mine[4]) & set(other[4])
    for number in np.flatnonzero(fresh & ended):
        assert mine[4]["_final_obs"][number] == other[4]["_final_obs"][number] == True  # noqa: E712
        assert np.array_equal(mine[4]["final_obs"][number], other[4]["final_obs"][number])
        for name in ("dist", "success", "start_index", "episode_steps"):
            assert mine[4]["final_info"][f"_{name}"][number]
            assert mine[4]["final_info"][name][number] == pytest.approx(other[4]["final_info"][name][number])


def test_info_mode_thins_the_infos_and_keeps_the_final_pictures() -> None:
    envs = {mode: DmgLabVectorEnv("tiny_goal", 3, info_mode=mode) for mode in INFO_MODES}
    for env in envs.values():
        env.reset(seed=1)
    finals, full, none = ("final_obs", "_final_obs"), {}, {}
    for step in range(1, HORIZON + 1):
        found = {mode: env.step(np.zeros(3, np.int64)) for mode, env in envs.items()}
        full, stats, none = (found[mode][4] for mode in INFO_MODES)
        assert set(none) == (set(finals) if step == HORIZON else set())
        if step < HORIZON:
            assert stats["dist_mean"] == pytest.approx(full["dist"].mean(), rel=1e-6)
        assert stats["reset_rate"] == (step == HORIZON)
    assert full["final_obs"].shape == (3,)
    for a, b in zip(full["final_obs"], none["final_obs"], strict=True):
        assert a.shape == (1, 72, 80)
        assert np.array_equal(a, b)


def test_sb3_gets_empty_infos_until_an_episode_ends() -> None:
    pytest.importorskip("stable_baselines3")
    from trainer_core.envs.sb3_vec_env import DmgLabSb3VecEnv

    full, none = (DmgLabSb3VecEnv("tiny_goal", 2, info_mode=mode) for mode in ("full", "none"))
    for env in (full, none):
        env.seed(1)
        env.reset()
    mine, other = [], []
    for step in range(1, HORIZON + 1):
        mine, other = (env.step(np.zeros(2, np.int64))[3] for env in (full, none))
        assert (other == [{}, {}]) == (step < HORIZON)
    assert set(mine[0]) - set(other[0]) == {"dist"}
    assert (set(full.reset_infos[0]), other[0].keys() >= none.reset_infos[0].keys()) == ({"dist", "is_success"}, True)
    assert mine[0]["episode"] == other[0]["episode"]


def test_how_it_resets_is_said_where_gymnasiums_own_say_it() -> None:
    """TorchRL's GymWrapper reads it off the env."""
    ours, theirs = DmgLabVectorEnv(), SyncVectorEnv([DmgLabEnv], autoreset_mode="SameStep")
    assert ours.autoreset_mode == theirs.autoreset_mode == AutoresetMode.SAME_STEP


def test_the_vector_env_repeats_itself_by_its_seed() -> None:
    envs = [DmgLabVectorEnv("tiny_goal", 4) for _ in range(2)]
    first, second = (env.reset(seed=7)[0] for env in envs)
    assert np.array_equal(first, second)
    assert not np.array_equal(first, envs[0].reset(seed=8)[0])


def test_sb3_sees_ends_truncations_and_returns() -> None:
    pytest.importorskip("stable_baselines3")
    from stable_baselines3.common.vec_env import VecMonitor  # pyright: ignore[reportMissingImports]

    from trainer_core.envs.sb3_vec_env import DmgLabSb3VecEnv

    env = DmgLabSb3VecEnv("tiny_goal", num_envs=4)
    env.set_options({"start": 3})
    first = env.reset()
    assert (first.shape, first.dtype) == ((4, 1, 72, 80), np.uint8)
    total, obs, infos = np.zeros(4), first, []
    for step in range(1, HORIZON + 1):
        obs, reward, done, infos = env.step(np.zeros(4, np.int64))
        total += reward
        assert done.all() == (step == HORIZON)
    for number, info in enumerate(infos):
        assert info["TimeLimit.truncated"] is True
        assert info["episode"]["r"] == pytest.approx(total[number])
        assert info["episode"]["l"] == HORIZON
        assert np.array_equal(info["terminal_observation"], first[number])
    assert env.observation_space.contains(obs[0])
    assert VecMonitor(env).reset().shape == first.shape
    assert len(env.get_images()) == 4
    assert env.get_images()[0].shape == (144, 160, 3)


@pytest.mark.slow
def test_the_docs_example_learns(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("stable_baselines3")
    text = (CHECKOUT / "docs" / "notebook" / "faces.md").read_text(encoding="utf-8")
    code = re.findall(r"```python\n(.*?)```", text, re.DOTALL)[1]
    assert len(code.strip().splitlines()) <= 22
    exec(compile(code, "docs/notebook/faces.md", "exec"), {})
    assert float(capsys.readouterr().out.rsplit(":", 1)[1]) >= 0.9


FORKED = """
import sys
import gymnasium
from gymnasium.vector import AsyncVectorEnv
from trainer_core.envs.translation import open_env
from trainer_core.wire.errors import LabError

def make():
    try:
        open_env("tiny_goal", 1, device="cuda:0")
    except LabError as error:
        assert "spawn" in str(error)
    return gymnasium.make("dmglab:dmglab/tiny_goal-v0")

envs = AsyncVectorEnv([lambda: gymnasium.make("dmglab:dmglab/tiny_goal-v0"), make])
envs.reset(seed=1)
for _ in range(3):
    envs.step(envs.action_space.sample())
envs.close()
print("closed", file=open(sys.argv[1], "w"))
"""


@pytest.mark.usefixtures("warm")
def test_forked_environments_do_not_wait_for_threads_that_they_do_not_have(tmp_path: Path) -> None:
    """Gymnasium's AsyncVectorEnv, with its default start method, opens one in the parent first; its constructor never
    returned."""
    said = tmp_path / "said"
    child = subprocess.Popen(
        [sys.executable, "-c", FORKED, str(said)],
        cwd=CHECKOUT,
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert child.wait(90) == 0
    finally:
        kill_group(child.pid)
        child.wait()
    assert said.read_text() == "closed\n"
