"""Marks for what was pressed where a picture comes back: drawn, forgotten, the same when played."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.trainer_core.building import tiny_config, train_in
from trainer_core.envs import press_marks
from trainer_core.envs.build import make_env
from trainer_core.envs.press_marks import MOST, ROWS, WIDTH, draw, has_room, presses_marked
from trainer_core.envs.pressed import Pressed, PressedEnv
from trainer_core.envs.toy import TinyGoalEnv, start_tiles
from trainer_core.envs.vec_env import VecEnv
from trainer_core.host.agent import Agent
from trainer_core.host.evaluate import greedy, run_episodes
from trainer_core.lab.checkpoint_manifest import list_checkpoints
from trainer_core.lab.memory_estimate import memory_estimate
from trainer_core.lab.paths import HomePaths
from trainer_core.learn.policy import OFF_FOR_PRESSES, PixelActorCritic
from trainer_core.wire.buttons import ACTIONS
from trainer_core.wire.config import RunConfig

LEFT, RIGHT, START = (ACTIONS.index(name) for name in ("LEFT", "RIGHT", "START"))
CPU = torch.device("cpu")


def marked(env: VecEnv) -> PressedEnv:
    return PressedEnv(env)


def heights(picture: torch.Tensor) -> list[int]:
    """Rows of each action's mark in u8[72, 80], told by its checkerboard."""
    bottom = picture[-ROWS * MOST :, : WIDTH * len(ACTIONS)].view(ROWS * MOST, len(ACTIONS), WIDTH)
    mixed = (bottom == 0).any(2) & (bottom == 3).any(2)
    return mixed.sum(0).tolist()


def test_a_picture_that_comes_back_tells_what_was_pressed_there() -> None:
    env = marked(TinyGoalEnv(2))
    obs = env.reset_to(torch.tensor([0, 5])).clone()
    assert heights(obs[0, 0]) == [0] * len(ACTIONS)
    for times in range(1, MOST + 2):  # START moves nothing on the grid
        shown = env.step(torch.tensor([START, LEFT])).obs[0, 0]
        want = [0] * len(ACTIONS)
        want[START] = ROWS * min(times, MOST)
        assert heights(shown) == want
        assert torch.equal(shown[: -ROWS * MOST], obs[0, 0, : -ROWS * MOST])
    again = env.reset_to(torch.tensor([0, 5]))
    assert torch.equal(again, obs), "an episode that begins has pressed nothing"


def test_a_time_limit_forgets_what_was_pressed_as_the_goal_does() -> None:
    inner = TinyGoalEnv(1)
    inner.episodes.start_set = torch.tensor([3])  # each episode begins at the same picture
    env = marked(inner)
    first = env.reset_to(torch.tensor([3])).clone()
    result = env.step(torch.tensor([START]))
    for _ in range(inner.horizon - 1):
        result = env.step(torch.tensor([START]))
    assert bool(result.trunc[0])
    assert heights(result.final_obs[0, 0])[START] == ROWS * MOST, "the picture it ended with"
    assert torch.equal(result.obs, first)
    shown = env.step(torch.tensor([START])).obs[0, 0]
    assert heights(shown)[START] == ROWS, "pressed once in this episode"


def test_a_picture_that_is_new_and_one_where_all_was_pressed_have_no_marks() -> None:
    env, plain = marked(TinyGoalEnv(1)), TinyGoalEnv(1)
    for each in (env, plain):
        each.reset_to(torch.tensor([3]))
    for action in (LEFT, RIGHT, LEFT):
        plainly = plain.step(torch.tensor([action]))
        result = env.step(torch.tensor([action]))
        assert torch.equal(result.reward, plainly.reward), "nothing but the picture changes"
    assert heights(result.obs[0, 0])[RIGHT] == ROWS, "back on the second tile, left by RIGHT"
    pressed = Pressed(1, len(ACTIONS), (72, 80), CPU)
    picture = torch.ones(1, 72, 80, dtype=torch.uint8)
    pressed.begin(picture, torch.ones(1, dtype=torch.bool))
    for action in range(len(ACTIONS)):
        pressed.press(torch.tensor([action]))
        shown = picture.clone()
        pressed.show(shown)
        assert torch.equal(shown, picture) == (action == len(ACTIONS) - 1)


def test_there_is_room_for_every_codec_and_not_for_hundreds_or_in_other_pictures() -> None:
    assert has_room((1, 72, 80), 7)
    assert has_room((4, 72, 80), 21)
    assert not has_room((1, 72, 80), 100)
    assert not has_room((1, 64, 128), 7), "ARC's"


def test_the_memory_estimate_counts_what_marks_take() -> None:
    pressed = Pressed(4, len(ACTIONS), (72, 80), CPU)
    env = marked(TinyGoalEnv(4, stack_k=2))
    kept = [pressed.seen, pressed.taken, env.obs, env._final]
    compared = pressed.seen.numel() * (1 + 8)
    bare = RunConfig(num_envs=4, stack_k=2)
    more = memory_estimate(replace(bare, obs_source="marked")) - memory_estimate(bare)
    assert more == sum(tensor.nbytes for tensor in kept) + compared


def test_what_plays_sees_the_marks_that_it_learned_from(tmp_path: Path) -> None:
    config = tiny_config(obs_source="marked", stack_k=2)
    train_in(tmp_path, config)
    home = HomePaths(tmp_path)
    checkpoint = list_checkpoints(home.run("run"))[-1]
    agent = Agent(Path(checkpoint), mode="greedy")
    env = make_env(config, home, num_envs=1, starts="validation")
    plain = TinyGoalEnv(1, stack_k=2)
    for start in (0, 7):
        obs = env.reset_to(torch.tensor([start]))
        shown = plain.reset_to(torch.tensor([start]))
        agent.begin(shown[0, -1].numpy())
        seen = []
        for _ in range(12):
            seen.append(sum(heights(obs[0, -1])))
            action = torch.tensor([agent.act()])
            assert torch.equal(torch.from_numpy(agent._stack)[-1], obs[0, -1])
            obs, shown = env.step(action).obs, plain.step(action).obs
            agent.see(shown[0, -1].numpy())
        assert any(seen), "an untrained policy stays at a wall"


def test_a_press_that_is_marked_is_less_likely_and_what_is_learned_may_outweigh_it() -> None:
    pictures = torch.randint(4, (3, 1, 72, 80), dtype=torch.uint8)
    presses = torch.zeros(3, 21, dtype=torch.int64)
    presses[1, LEFT], presses[2, 20] = 2, MOST + 3
    plain = PixelActorCritic("small", (1, 72, 80), 21)
    draw(pictures[:, -1], presses)
    aware = PixelActorCritic("small", (1, 72, 80), 21, marked=True)
    aware.load_state_dict(plain.state_dict())
    assert torch.equal(presses_marked(pictures[:, -1], 21), presses.clamp(max=MOST).float())
    off = plain(pictures)[0] - aware(pictures)[0]
    assert off[1, LEFT].item() == pytest.approx(OFF_FOR_PRESSES[2], abs=1e-5)
    assert off[2, 20].item() == pytest.approx(OFF_FOR_PRESSES[MOST], abs=1e-5)
    assert torch.equal(off.abs() > 1e-5, presses > 0)
    assert len(OFF_FOR_PRESSES) == MOST + 1


def test_untrained_greedy_play_leaves_a_wall_by_its_marks() -> None:
    torch.manual_seed(1)
    starts = torch.arange(32) % len(start_tiles())
    seen = []
    for marked_too in (False, True):
        plain = TinyGoalEnv(32)
        env: Any = PressedEnv(plain) if marked_too else plain
        policy = PixelActorCritic("small", env.obs_shape, env.num_actions, marked=marked_too)
        episodes = run_episodes(env, greedy(policy), starts, "greedy").episodes
        seen.append(sum(len(set(episode.actions)) for episode in episodes))
    assert seen[1] > 2 * seen[0], "it presses what it had not pressed"


@pytest.mark.parametrize("actions", [7, 21])
def test_marks_are_the_same_on_a_host_and_on_any_device(actions: int) -> None:
    pictures = torch.randint(4, (8, 2, 72, 80), dtype=torch.uint8)
    presses = torch.randint(MOST + 3, (8, actions))
    drawn = pictures.clone()
    press_marks.draw(pictures[:, -1], presses)
    press_marks._draw_on_device(drawn[:, -1], presses)
    assert torch.equal(pictures, drawn)
    for read in (press_marks.presses_marked, press_marks._marked_on_device):
        assert torch.equal(read(drawn[:, -1], actions), presses.clamp(max=MOST).float())
