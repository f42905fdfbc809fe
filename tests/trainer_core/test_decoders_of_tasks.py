"""What a shared task, a run's order and a home's settings hold: read, or refused by name."""

from __future__ import annotations

import json
import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st

from emulator.state.snapshot_set import load_snapshots
from tests.support.mutated import mutated, mutated_json
from tests.support.refusals import EXAMPLES, TORN, any_data, refused_or_read
from trainer_core.envs.demonstrations import Demonstration, load_demonstrations
from trainer_core.envs.start_states import read_scripts
from trainer_core.envs.task_files import load_goal, save_goal
from trainer_core.play.authoring.archive import export_task, import_task
from trainer_core.play.authoring.demonstration import save_demonstrations
from trainer_core.play.authoring.inputs import read_inputs
from trainer_core.play.game import TinyGame
from trainer_core.protocol.errors import ConfigError, LabError, TaskError
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.roms import registered_roms, roms_file
from trainer_core.protocol.spec import RunSpec
from trainer_core.protocol.tasks import find_task, load_task, verify_file
from trainer_core.runs.config_file import read_spec, write_config

ASSETS = Path(__file__).parents[2] / "assets"
TASK = ASSETS / "tasks" / "pocket_quest" / "leave_bedroom"
CODEC = load_task(TASK).manifest.codec
GAME = TinyGame()
FEWER = settings(TORN, max_examples=max(10, EXAMPLES // 2))


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two demonstrations of five frames each."""
    path = tmp_path_factory.mktemp("demo") / "demo.npz"
    starts = load_snapshots(TASK / "starts.npz")[:2]
    save_demonstrations(
        path, [Demonstration(start, np.arange(5, dtype=np.uint8)) for start in starts]
    )
    return path


def unpacked(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as data:
        return dict(data)


@st.composite
def torn_npz(draw: st.DrawFn, good: bytes, arrays: dict[str, np.ndarray], at: Path) -> bytes:
    """An archive with bytes torn, or a whole one with one array lost or turned into another."""
    if draw(st.booleans()):
        return draw(mutated(good))
    changed = dict(arrays)
    name = draw(st.sampled_from(sorted(changed)))
    others: list[Callable[[np.ndarray], np.ndarray]] = [
        lambda array: array[..., :-1] if array.ndim else array[None],
        lambda array: array[None],
        lambda array: array.astype("U3") if array.dtype.kind in "iub" else np.zeros(3),
        lambda array: np.full_like(array, 255) if array.dtype.kind in "iub" else array[None][:0],
        lambda array: array.astype(float) * np.nan if array.dtype.kind in "iub" else np.array("x"),
        lambda array: np.array(-(1 << 62)),
        lambda array: np.zeros((1, 0), array.dtype),
    ]
    if (turn := draw(st.sampled_from([None, *others]))) is None:
        del changed[name]
    else:
        changed[name] = turn(changed[name])
    np.savez_compressed(at, **changed)  # type: ignore[arg-type]
    return at.read_bytes()


@FEWER
@any_data
def test_goals(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "goal.npz"
    masks = np.ones((1, 72, 80), bool)
    save_goal(path, np.ones((1, 72, 80), np.uint8), masks)
    path.write_bytes(data.draw(torn_npz(path.read_bytes(), unpacked(path), tmp_path / "x.npz")))
    refused_or_read(lambda: load_goal(path))


@FEWER
@any_data
def test_demonstrations(demo: Path, tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "demo.npz"
    path.write_bytes(data.draw(torn_npz(demo.read_bytes(), unpacked(demo), tmp_path / "x.npz")))
    refused_or_read(lambda: load_demonstrations(path))


@FEWER
@any_data
def test_states_of_the_tiny_grid(tmp_path: Path, data: st.DataObject) -> None:
    game, path = GAME, tmp_path / "state.npz"
    game.restart(0)
    game.save_state(path)
    path.write_bytes(data.draw(torn_npz(path.read_bytes(), unpacked(path), tmp_path / "x.npz")))
    refused_or_read(lambda: game.load_state(path))
    game.picture()


@FEWER
@any_data
def test_input_scripts(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "starts.json"
    path.write_bytes(data.draw(mutated_json(b'[{"wait_frames": 3, "actions": "A UP START"}]')))
    refused_or_read(lambda: read_scripts(path, CODEC))
    refused_or_read(lambda: read_inputs(path, CODEC))


@FEWER
@any_data
def test_archives_of_tasks(tmp_path: Path, data: st.DataObject) -> None:
    home = HomePaths(tmp_path / "home")
    archive = tmp_path / "task.zip"
    if not archive.exists():
        export_task(find_task("nectar_run/fill_jar", home), archive)
    with zipfile.ZipFile(archive) as whole:
        files = {name: whole.read(name) for name in whole.namelist()}
    torn = tmp_path / "torn.zip"
    name = data.draw(st.sampled_from(sorted(files)))
    if data.draw(st.booleans()):
        torn.write_bytes(data.draw(mutated(archive.read_bytes())))
    else:
        with zipfile.ZipFile(torn, "w") as made:
            for other, content in files.items():
                put = data.draw(mutated(content)) if other == name else content
                made.writestr(other, put)
    refused_or_read(lambda: import_task(torn, "mine/torn", home), traced=False)
    shutil.rmtree(home.tasks, ignore_errors=True)


@FEWER
@any_data
def test_orders_and_settings(tmp_path: Path, data: st.DataObject) -> None:
    home = HomePaths(tmp_path)
    paths = home.run("r")
    paths.root.mkdir(parents=True, exist_ok=True)
    write_config(paths, RunSpec(task="t", seconds=3.5, options={"num_envs": 3}))
    paths.config.write_bytes(data.draw(mutated_json(paths.config.read_bytes())))
    refused_or_read(lambda: read_spec(paths))
    file = roms_file(home)
    file.parent.mkdir(parents=True, exist_ok=True)
    rom = {"path": "x.gb", "title": "T", "size": 32768, "warnings": ["w"]}
    file.write_bytes(data.draw(mutated_json(json.dumps({"ab" * 32: rom, "cd" * 32: "y"}).encode())))
    refused_or_read(lambda: registered_roms(home))


@pytest.mark.parametrize(
    "changes",
    [
        {"seconds": float("nan")}, {"seconds": float("inf")}, {"seconds": -1.0},
        {"total_env_steps": -1}, {"total_env_steps": 10**30}, {"target_success": 5.0},
        {"seed": -1}, {"seed": 2**70}, {"device": "cudaX"}, {"device": "cuda:"}, {"task": "a\0b"},
    ],
    ids=str,
)  # fmt: skip
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
        lambda: load_goal(pipe), lambda: load_demonstrations(pipe),
        lambda: read_scripts(pipe, CODEC), lambda: read_inputs(pipe, CODEC),
        lambda: verify_file(pipe, "0" * 64, "goal"), lambda: TinyGame().load_state(pipe),
        lambda: registered_roms(home), lambda: read_spec(run),
        lambda: import_task(pipe, "a/b", home),
    ]  # fmt: skip
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
