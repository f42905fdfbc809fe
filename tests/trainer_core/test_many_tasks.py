"""One policy over several tasks: the mixed batch, its records, resume, and what is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest
import torch

from tests.trainer_core.building import read_log, tiny_config, train_in, without_clocks
from trainer_core.cli.train import with_joined_tasks
from trainer_core.envs.build import make_env
from trainer_core.envs.game_env import GameEnv, GameOptions
from trainer_core.envs.mixed_env import MixedEnv
from trainer_core.envs.startable import check_startable
from trainer_core.host.control import Control
from trainer_core.host.native import NativeTrainee, native_host
from trainer_core.lab.checkpoint_manifest import list_checkpoints, read_meta
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.task_checks import check_task, check_tasks
from trainer_core.lab.task_lists import envs_of, expand_tasks, one_of, short_task
from trainer_core.lab.tasks import Episode, Task, find_task
from trainer_core.runs.log_check import check_log
from trainer_core.runs.log_writer import RunWriter
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import CheckpointError, ConfigError
from trainer_core.wire.metric_names import metric

BEDROOM, HOUSE, MOTHS = "pocket_quest/leave_bedroom", "pocket_quest/leave_house", ("mirror_moths/level_2")
JAR = "nectar_run/fill_jar"
HORIZON = 3
ROWS = torch.randint(7, (2 * HORIZON + 1, 6), generator=torch.Generator().manual_seed(3))
"""Actions of 7 steps of 6 envs: each env ends two episodes."""


def short(task_id: str, count: int, seed: int = 1) -> GameEnv:
    """A few consoles of a task whose episodes end by time after HORIZON steps."""
    home = HomePaths(Path("/nonexistent"))
    task = find_task(task_id, home)
    manifest = msgspec.structs.replace(task.manifest, episode=Episode(horizon=HORIZON))
    return GameEnv.open(Task(task.folder, manifest), home, GameOptions(num_envs=count, seed=seed))


@pytest.mark.warp
def test_each_env_plays_its_own_task_as_it_would_alone() -> None:
    """Two tasks of one ROM and one of another: bit for bit what three batches of two come to."""
    tasks = (BEDROOM, MOTHS, HOUSE)
    alone = [short(task, 2) for task in tasks]
    mixed = MixedEnv([short(task, 2) for task in tasks])
    assert len(mixed.emulator.emulators[0].cartridges) == 2, "a ROM is there once"
    mixed.reset()
    firsts = torch.tensor([0, *(len(env.episodes.start_pictures) for env in alone)]).cumsum(0)
    kept: list[list[tuple]] = [[] for _ in alone]
    for number, env in enumerate(alone):
        own, first = envs_of(number, len(tasks)), firsts[number]
        begun = mixed.episodes[number].start_index
        env.reset_to(begun)
        env.episodes._rng.set_state(mixed.episodes[number]._rng.get_state())
        assert torch.equal(env.obs, mixed.obs[own])
        assert torch.equal(env.dist, mixed.dist[own])
        assert torch.equal(env.start_index, mixed.start_index[own] - first)
        for row in ROWS:
            result = env.step(row[own])
            kept[number].append((result, first, own))
    for step, row in enumerate(ROWS):
        found = mixed.step(row)
        for steps in kept:
            result, first, own = steps[step]
            for name in ("reward", "done", "trunc"):
                assert torch.equal(getattr(found, name)[own], getattr(result, name)), name
            assert torch.equal(found.info.dist[own], result.info.dist)
            assert torch.equal(found.info.start_index[own] - first, result.info.start_index)
            assert torch.equal(found.info.episode_steps[own], result.info.episode_steps)
    for env, steps in zip(alone, kept, strict=True):
        _, first, own = steps[0]
        assert torch.equal(mixed.obs[own], env.obs)
        assert torch.equal(mixed.dist[own], env.dist)
        assert torch.equal(mixed.start_index[own] - first, env.start_index)
        env.close()
    mixed.close()


@pytest.mark.warp
def test_a_run_of_two_roms_is_told_task_by_task_and_resumes_bit_for_bit(tmp_path: Path) -> None:
    both = f"{BEDROOM},{JAR}"
    config = tiny_config(
        task=both, num_envs=5, num_steps=4, total_env_steps=60, eval_every=3, eval_episodes=1, demo_starts=0.0
    )
    train_in(tmp_path / "whole", config)
    unseen = {**config.to_dict(), "eval_every": 0}
    train_in(tmp_path / "cut", RunConfig(**{**unseen, "total_env_steps": 40}))
    train_in(tmp_path / "cut", RunConfig(**unseen))

    def told(home: Path) -> list[dict]:
        return [without_clocks(r) for r in read_log(home) if r["type"] == "update"]

    whole, cut = told(tmp_path / "whole"), told(tmp_path / "cut")
    for record in (*whole, *cut):
        record.pop("seq", None)
    assert whole[-1] == cut[-1], "exact resume"
    for task in (BEDROOM, JAR):
        assert f"episode_length/{task}" in whole[-1]["metrics"]
        assert whole[-1]["metrics"][f"success_rate/{task}"] == 0
    evals = [r for r in read_log(tmp_path / "whole") if r["type"] == "eval"]
    assert [(r["task"], r["is_part"]) for r in evals if r["mode"] == "greedy"] == [
        (BEDROOM, True),
        (JAR, True),
        (both, False),
    ]
    paths = HomePaths(tmp_path / "whole").run("run")
    report = check_log(paths.train_log)
    assert report.errors == []
    meta = read_meta(list_checkpoints(paths)[-1])
    assert meta.task == both
    assert len(meta.hashes["rom"].split(",")) == 2


@pytest.mark.warp
def test_the_state_of_other_tasks_is_refused(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    ours, theirs = (
        make_env(RunConfig(task=f"{BEDROOM},{other}", num_envs=2, num_minibatches=1), home) for other in (HOUSE, MOTHS)
    )
    with pytest.raises(CheckpointError, match="lacks"):
        ours.load_state_dict(theirs.state_dict())
    ours.close()
    theirs.close()


def test_metrics_of_one_task_have_the_row_of_all() -> None:
    of_one = metric(f"success_rate/{HOUSE}")
    assert (of_one.group, of_one.label, of_one.reduction) == ("tasks", HOUSE, "ratio")
    assert (of_one.low, of_one.high) == (0, 1)
    assert metric("time/emulate").group == "perf"
    assert metric("unknown/name").group == "other"


def test_lists_of_tasks_are_read_and_expanded(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    every = expand_tasks("pocket_quest/*", home).split(",")
    assert BEDROOM in every
    assert MOTHS not in every
    assert expand_tasks(f"{MOTHS},pocket_quest/leave_*", home) == f"{MOTHS},{BEDROOM},{HOUSE}"
    for text, said in (("nobody/*", "no task fits"), (f"{HOUSE},{HOUSE}", "twice"), (f"{HOUSE},", "empty")):
        with pytest.raises(ConfigError, match=said):
            expand_tasks(text, home)
    assert with_joined_tasks(["--task", "a", "--seed", "3", "--task=b,c"]) == ["--seed", "3", "--task", "a,b,c"]
    assert with_joined_tasks(["--seed", "3"]) == ["--seed", "3"]
    assert (one_of("a,b", "b"), one_of("a,b", "c"), one_of("a")) == ("b", "a", "a")
    assert (short_task("x/a,y/b"), short_task("a,b,c")) == ("a + b", "3 tasks")


def own_task(task_id: str, home: HomePaths) -> Path:
    """The manifest of a copy of HOUSE in the home."""
    shutil.copytree(find_task(HOUSE, home).folder, home.tasks / task_id)
    manifest = home.tasks / task_id / "task.toml"
    manifest.write_text(manifest.read_text().replace(f'"{HOUSE}"', f'"{task_id}"'))
    return manifest


def edit(manifest: Path, line: str) -> None:
    """Give a key of a task.toml another value."""
    key = line.partition(" =")[0]
    lines = [line if found.startswith(f"{key} =") else found for found in manifest.read_text().splitlines()]
    manifest.write_text("\n".join(lines))


@pytest.mark.warp
def test_a_task_that_is_edited_while_a_run_starts_is_trained_as_it_was_checked(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    manifest = own_task("mine", home)
    edit(manifest, "horizon = 50")
    config = RunConfig(task="mine", num_envs=2, num_steps=4, num_minibatches=1, eval_episodes=1, threads=1)
    tasks = check_startable(config, home)
    edit(manifest, "horizon = 60")
    run = native_host(config, home.run("run"), home, RunWriter(home.run("run")), Control(), tasks=tasks)
    run.prepare()
    assert isinstance(run.trainee, NativeTrainee)
    validator = run.trainee.make_validator()
    assert run.trainee.trainer.env.horizon == validator._environment("mine").horizon == 50
    validator.close()
    run.close()
    assert make_env(config, home).horizon == 60, "who was given no tasks finds them"


def test_preflight_says_which_tasks_cannot_be_mixed(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    both = f"{BEDROOM},{HOUSE}"
    assert check_tasks(both, home, 8).status == "ok"
    assert "2 tasks of 1 ROM," in check_tasks(both, home, 8).detail
    few = check_tasks(both, home, 1)
    assert (few.status, few.remedy) == ("fail", {"num_envs": 16})
    pattern = check_tasks("pocket_quest/leave_*", home, 8)
    assert (pattern.status, pattern.remedy) == ("fail", {"task": both})
    assert "trains alone" in check_tasks(f"{BEDROOM},tiny_goal", home, 8).detail
    assert "no task" in check_tasks(f"{BEDROOM},nobody", home, 8).detail
    assert "takes one task" in check_task(both, home).detail, "a guest library's trainer"
    edit(own_task("slow", home), "frames_per_step = 30")
    found = check_tasks(f"{BEDROOM},slow", home, 8)
    assert found.detail == (f"one batch cannot play these: {BEDROOM} has frames a step 24, slow has 30")
    assert json.dumps(found.remedy) == "{}"
