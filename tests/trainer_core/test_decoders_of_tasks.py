"""Orders, scripts and pipes in the place of files: refused by name, at once.

Random damage is fed to all decoders by test_every_decoder.py.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emulator.state.snapshot import load_snapshots
from trainer_core.author.archive import export_task, import_task
from trainer_core.author.demonstration import save_demonstrations
from trainer_core.author.inputs import read_inputs
from trainer_core.envs.demonstrations import Demonstration, load_demonstrations
from trainer_core.envs.single_game import TinyGame
from trainer_core.envs.start_states import read_scripts
from trainer_core.envs.task_files import load_goal
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.roms import registered_roms, roms_file
from trainer_core.lab.tasks import find_task, load_task, verify_file
from trainer_core.runs.config_file import read_spec
from trainer_core.wire.errors import ConfigError, LabError, TaskError
from trainer_core.wire.spec import RunSpec

ASSETS = Path(__file__).parents[2] / "assets"
TASK = ASSETS / "tasks" / "pocket_quest" / "leave_bedroom"
CODEC = load_task(TASK).manifest.codec


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two demonstrations of five frames each."""
    path = tmp_path_factory.mktemp("demo") / "demo.npz"
    starts = load_snapshots(TASK / "starts.npz")[:2]
    save_demonstrations(path, [Demonstration(start, np.arange(5, dtype=np.uint8)) for start in starts])
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {"seconds": float("nan")},
        {"seconds": float("inf")},
        {"seconds": -1.0},
        {"total_env_steps": -1},
        {"total_env_steps": 10**30},
        {"target_success": 5.0},
        {"seed": -1},
        {"seed": 2**70},
        {"device": "cudaX"},
        {"device": "cuda:"},
        {"task": "a\0b"},
    ],
    ids=str,
)
def test_an_order_that_cannot_be_is_refused_before_anything_begins(changes: Any) -> None:
    with pytest.raises(ConfigError, match=next(iter(changes))):
        RunSpec(**{"task": "tiny_goal", **changes})


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"wait_frames": -1, "actions": "A"}], "wait_frames"),
        ([{"wait_frames": 10**9, "actions": "A"}], "wait_frames"),
        ([{"wait_frames": 0, "actions": "A " * 10_000}], "a script of 240000 frames"),
        ([{"wait_frames": 0, "actions": "JUMP"}], "JUMP"),
        ({"wait_frames": 0}, "Expected `array`"),
        ([{"wait_frames": 216_000, "actions": ""}] * 80, "80 states of up to 216,000 frames"),
    ],
)
def test_a_script_that_would_play_for_ever_is_named(rows: Any, words: str, tmp_path: Path) -> None:
    path = tmp_path / "starts.json"
    path.write_text(json.dumps(rows))
    with pytest.raises(TaskError, match=rf"starts\.json: .*{words}"):
        read_scripts(path, CODEC)


def test_pipes_where_files_are_expected_answer_at_once(tmp_path: Path) -> None:
    """Opened as files they would wait for ever."""
    home = HomePaths(tmp_path / "home")
    pipe = tmp_path / "pipe.npz"
    os.mkfifo(pipe)
    home.settings.mkdir(parents=True)
    os.mkfifo(roms_file(home))
    run = home.run("r")
    run.root.mkdir(parents=True)
    os.mkfifo(run.config)
    readers: list[Callable[[], object]] = [
        lambda: load_goal(pipe),
        lambda: load_demonstrations(pipe),
        lambda: read_scripts(pipe, CODEC),
        lambda: read_inputs(pipe, CODEC),
        lambda: verify_file(pipe, "0" * 64, "goal"),
        lambda: TinyGame().load_state(pipe),
        lambda: registered_roms(home),
        lambda: read_spec(run),
        lambda: import_task(pipe, "a/b", home),
    ]
    for read in readers:
        with pytest.raises(LabError):
            read()


def test_good_files_pass(demo: Path, tmp_path: Path) -> None:
    """Without this the tests above would hold of decoders that refuse everything."""
    assert load_goal(TASK / "goal.npz")[0].shape[1:] == (72, 80)
    assert [len(one.masks) for one in load_demonstrations(demo)] == [5, 5]
    assert read_scripts(TASK / "starts.json", CODEC)
    home = HomePaths(tmp_path / "home")
    export_task(find_task("nectar_run/fill_jar", home), tmp_path / "task.zip")
    assert import_task(tmp_path / "task.zip", "mine/jar", home)["task"] == "mine/jar"
