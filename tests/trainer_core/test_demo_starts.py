"""Training begins along a task's demonstrations; validation and tests do not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from trainer_core.envs.episodes import mixed_starts
from trainer_core.train.progress import RunProgress

TASK = "pocket_quest/leave_bedroom"


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_the_share_is_that_of_what_is_drawn(share: float):
    own, along = torch.arange(48), torch.arange(80, 95)
    mixed = mixed_starts(own, along, share)
    assert set(mixed.tolist()) == set(own.tolist()) | set(along.tolist())
    assert float((mixed >= 80).float().mean()) == pytest.approx(share, abs=0.01)


def test_without_demonstrations_or_share_the_starts_are_the_tasks_own():
    own = torch.arange(5)
    assert mixed_starts(own, own[:0], 0.5).tolist() == own.tolist()
    assert mixed_starts(own, torch.arange(7, 9), 0.0).tolist() == own.tolist()


def test_recent_success_outlives_a_record_and_is_resumed():
    progress = RunProgress()
    assert progress.fold_episodes(0.0, 30, 0.8) == 0.0
    found = progress.fold_episodes(1.0, 10, 0.8)
    assert found == pytest.approx(10 / (30 * 0.8 + 10))
    resumed = RunProgress.from_state(progress.state_dict(1.0))
    assert resumed.fold_episodes(0.0, 0, 1.0) == pytest.approx(found)


@pytest.mark.warp
def test_only_training_begins_along_demonstrations(tmp_path):
    pytest.importorskip("warp")
    from trainer_core.envs.build import make_env
    from trainer_core.protocol.config import RunConfig
    from trainer_core.protocol.paths import HomePaths
    from trainer_core.protocol.tasks import find_task

    home = HomePaths(tmp_path)
    task = find_task(TASK, home)
    config = RunConfig(task=TASK, num_envs=8)
    own = set(task.manifest.starts.indices(False))
    env = make_env(config, home, demo_share=config.demo_starts)
    along = set(env.start_set.tolist()) - own
    assert own < set(env.start_set.tolist())
    assert min(along) >= task.manifest.starts.count
    env.reset()
    env.reset_to(torch.tensor([0, min(along)] * 4))
    told = env.step(torch.zeros(8, dtype=torch.int64)).info.from_demo
    assert told.tolist() == [False, True] * 4
    near = env.episodes.start_dist[torch.tensor(sorted(along))]  # type: ignore[attr-defined]
    assert float(near.min()) >= task.manifest.goal.tau  # nobody begins at the goal
    env.close()
    for starts in ("train", "validation", "test"):
        played = make_env(config, home, starts=starts)
        assert max(played.start_set.tolist()) < task.manifest.starts.count
        played.close()


@pytest.mark.warp
def test_states_along_a_demonstration_end_at_its_goal(tmp_path):
    pytest.importorskip("warp")
    from emulator import Emulator
    from trainer_core.envs.demonstrations import states_along, task_demonstrations
    from trainer_core.envs.roms import load_rom
    from trainer_core.play.authoring.demonstration import play_demonstration
    from trainer_core.protocol.paths import HomePaths
    from trainer_core.protocol.tasks import find_task

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
