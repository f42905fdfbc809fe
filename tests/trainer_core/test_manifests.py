"""What a task manifest may say: mutated good ones are read as they are, or refused in one line."""

from __future__ import annotations

import inspect
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer_core.cli.main import main
from trainer_core.envs.task_files import load_goal, save_goal
from trainer_core.lab.paths import ASSETS, HomePaths
from trainer_core.lab.tasks import broken_tasks, find_task, list_tasks, load_task
from trainer_core.wire.errors import TaskError

SHIPPED = ASSETS / "tasks" / "pocket_quest" / "leave_bedroom"
GOOD = (SHIPPED / "task.toml").read_text(encoding="utf-8")
GOAL = (SHIPPED / "goal.npz").read_bytes()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "tasks" / "pocket_quest" / "leave_bedroom"
    shutil.copytree(SHIPPED, found)
    return found


def change(folder: Path, old: str, new: str) -> None:
    """Replace the first line that begins with `old`, or, when empty, add `new` at the end."""
    lines = GOOD.splitlines()
    number = next(n for n, line in enumerate(lines) if line.startswith(old)) if old else len(lines)
    lines[number : number + 1] = [new]
    (folder / "task.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("novelty_bonus", "noveltybonus = 0.05", r"\[reward\] unknown key .* 'novelty_bonus'"),
        ("title", 'titel = "x"', "unknown key 'titel'; did you mean 'title'"),
        ("[goal]", "[gaol]", "unknown key 'gaol'; did you mean 'goal'"),
        ("", "zzz = 1", r"\[demo\] unknown key 'zzz'; known keys: file"),
        ("tau", "tau = -1", r"goal\.tau must be above 0 and at most 1.*got -1"),
        ("tau", "tau = 0", r"goal\.tau"),
        ("tau", "tau = nan", r"goal\.tau.*got nan"),
        ("tau", "tau = inf", r"goal\.tau.*got inf"),
        ("tau", "tau = 5", r"goal\.tau.*got 5"),
        ("count", "count = 1000000", r"starts\.count must lie in 1 to 65,536"),
        ("count", "count = 0", r"starts\.count"),
        ("heldout", "heldout = -1", r"starts\.heldout"),
        ("heldout", "heldout = 80", r"starts\.heldout must leave"),
        ("horizon", "horizon = 2000000000", r"episode\.horizon must lie in 1 to 100,000"),
        ("hold_steps", "hold_steps = 0", r"goal\.hold_steps"),
        ("frames_per_step", "frames_per_step = 1000000000", r"codec\.frames_per_step"),
        ("release_after_frames", "release_after_frames = 25", r"1\.\.frames_per_step"),
        ("height", "height = 144", r"observation\.height 144 is unknown, expected 72"),
        ("goal_bonus", "goal_bonus = nan", r"reward\.goal_bonus.*got nan"),
        ("goal_bonus", "goal_bonus = 1e308", r"reward\.goal_bonus"),
        ("step_cost", "step_cost = -0.1", r"reward\.step_cost"),
        ("shaping", 'shaping = "potential"', r"reward\.shaping 'potential'.*new_minimum"),
        ("distance", 'distance = "l2"', r"goal\.distance 'l2' is unknown, expected l1 or mse"),
        ("file", 'file = "../leave_house/starts.npz"', r"starts\.file .* beside task\.toml"),
        ("file", 'file = "/etc/passwd"', r"starts\.file"),
        ("sha256", 'sha256 = "abc"', "64 digits"),
        ("id", 'id = "../../etc"', "lower-case letters"),
        ("schema", "schema = 2", "update DMG Lab"),
        ("schema", f"schema = {'9' * 400}", "schema a huge number is not 1"),
        ("horizon", f"horizon = {'9' * 400}", r"episode\.horizon must lie in .* a huge number"),
        ("tau", f"tau = {'9' * 400}", r"out of range - at `\$\.goal\.tau`"),
        ("height", f"height = {'9' * 400}", r"observation\.height a huge number is unknown"),
        ("horizon", f"horizon = {'9' * 5000}", "cannot be read: Exceeds the limit"),
        ("horizon", f"horizon = {'[' * 5000}", "nested too deep"),
        ("id", f'id = "{"a" * 50_000}"', r"id 'a{77}\.\.\.': use lower-case"),
        ("path", f'path = "{"a" * 5000}"', r"rom\.path 'a{77}\.\.\.' must have at most 400"),
        ("path", 'path = "assets/a\\u0000b"', r"rom\.path 'assets/a\\x00b' must have .* NUL"),
        ("title", f"{'b' * 300} = 1", "unknown key 'b{37}\\.\\.\\.'"),
        ("", f"{'a.' * 20_000}a = 1", "a key of more than 16 parts"),
        ("", f"x = {{{'a.' * 15_000}a = 1}}", "a key of more than 16 parts"),
        ("", f"""x = {{{'"a".' * 9_000}a = 1}}""", "a key of more than 16 parts"),
        ("", f"""{"'.'." * 9_000}a = 1""", "a key of more than 16 parts"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(folder: Path, old: str, new: str, message: str) -> None:
    change(folder, old, new)
    with pytest.raises(TaskError, match=rf"task\.toml: .*{message}") as refused:
        load_task(folder)
    said = str(refused.value).replace(str(folder), "")
    assert said.isprintable()
    assert len(said) < 300


def test_a_description_of_many_sentences_is_none_of_many_keys(folder: Path) -> None:
    said = "A. b. c! 'd'. e.g. this...... " * 200
    change(folder, "description", f'description = "{said}"')
    assert load_task(folder).manifest.description == said


def test_a_tree_that_is_deeper_than_the_stack_is_no_task(tmp_path: Path) -> None:
    deep = tmp_path / "tasks"
    for _ in range(300):
        deep.mkdir()
        deep /= "t"
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(len(inspect.stack()) + 150)
        assert broken_tasks(HomePaths(tmp_path)) == {}
    finally:
        sys.setrecursionlimit(limit)


def test_an_id_that_is_not_its_place_is_refused_and_listed_as_broken(folder: Path) -> None:
    home = HomePaths(folder.parents[2])
    change(folder, "id", 'id = "pocket_quest/leave_house"')
    with pytest.raises(TaskError, match="lies in the folder 'pocket_quest/leave_bedroom'"):
        find_task("pocket_quest/leave_bedroom", home)
    change(folder, "tau", "tau = 5")
    assert list(broken_tasks(home)) == [str(folder)]
    assert "goal.tau" in broken_tasks(home)[str(folder)]
    assert str(folder) not in [str(task.folder) for task in list_tasks(home)]


@pytest.mark.parametrize("task_id", ["\0", "a/../../b", "x" * 5000])
def test_an_id_that_is_none_is_one_error(task_id: str, tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="no task"):
        find_task(task_id, HomePaths(tmp_path))


def test_an_unknown_success_function_is_named_before_there_is_a_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = folder.parents[2]
    change(folder, "title", 'title = "x"\nsuccess = "goal_reached"')
    command = ["train", "--task", "pocket_quest/leave_bedroom", "--device", "cpu", "--home"]
    assert main([*command, str(home), "--total-env-steps", "2048"]) == 2
    assert "no success function 'goal_reached'" in capsys.readouterr().out
    assert not (home / "training" / "runs").exists()


T = TypeVar("T")


def attempt(read: Callable[[], T]) -> tuple[T | None, str]:
    """What `read` gives, or why it was refused; any other exception goes through."""
    try:
        return read(), ""
    except TaskError as error:
        return None, str(error)


SCRAPS = ("nan", "-inf", "1e400", "0x10", '""', "true", "[]", "{}", '"\\u0000"', "9" * 30, "'", "=")


@settings(max_examples=150, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_mutated_manifest_is_read_or_refused_in_one_line(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("mutated")
    lines = GOOD.splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        number = data.draw(st.integers(0, len(lines) - 1))
        key, equals, _ = lines[number].partition(" = ")
        scrap = data.draw(st.one_of(st.sampled_from(SCRAPS), st.text(max_size=8)))
        kind = data.draw(st.sampled_from(("value", "line", "drop", "twice")))
        new = {"value": f"{key}{equals or ' = '}{scrap}", "line": scrap, "twice": lines[number]}
        lines[number : number + (kind != "twice")] = [] if kind == "drop" else [new[kind]]
        if not lines:
            break
    text = "\n".join(lines).encode("utf-8", "surrogatepass")
    (folder / "task.toml").write_bytes(text)
    manifest, refused = attempt(lambda: load_task(folder).manifest)
    if manifest is None:
        assert refused.startswith(str(folder))
    else:
        assert 0 < manifest.goal.tau <= 1
        assert 1 <= manifest.starts.count <= 65_536
        assert 0 <= manifest.reward.goal_bonus <= 1_000


@settings(max_examples=80, deadline=None, derandomize=True)
@given(data=st.data())
def test_a_mutated_goal_file_is_read_whole_or_refused(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("goal") / "goal.npz"
    found = bytearray(GOAL)
    if data.draw(st.booleans()):
        del found[data.draw(st.integers(0, len(found))) :]
    for _ in range(data.draw(st.integers(0, 4))):
        if found:
            found[data.draw(st.integers(0, len(found) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(found))
    goal, refused = attempt(lambda: load_goal(path))
    if goal is None:
        assert refused.startswith(str(path))
        assert "\n" not in refused
    else:
        assert goal[0].shape == goal[1].shape
        assert goal[0].max() <= 3


@pytest.mark.parametrize(
    ("templates", "mask", "message"),
    [
        (np.zeros((1, 144, 160), np.uint8), None, "expected"),
        (np.zeros((1, 72, 80), np.uint8), np.full((72, 80), 2, np.uint8), "0 and 1"),
        (np.zeros((2000, 72, 80), np.uint8), None, "at most"),
        (np.zeros((1, 72, 80)), None, "uint8"),
        (np.zeros((), np.uint8), None, "shape"),
        (np.zeros((0, 72, 80), np.uint8), None, "shape"),
    ],
)
def test_a_goal_of_the_wrong_size_is_named(
    tmp_path: Path, templates: np.ndarray, mask: np.ndarray | None, message: str
) -> None:
    save_goal(tmp_path / "goal.npz", templates, mask)
    with pytest.raises(TaskError, match=message):
        load_goal(tmp_path / "goal.npz")
