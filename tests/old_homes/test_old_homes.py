"""A home that an older version made opens, lists, resumes, plays and exports (see README.md)."""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gui.app import create_app, create_application
from gui.features.curves.saved_views import SavedViews, View
from gui.features.runs.model import RunList
from gui.kit.settings import Settings
from gui.state.bridge import release_loop
from gui.state.run_notes import RunNotes
from tests.gui.conftest import QtBot, close
from trainer_core.cli.main import main
from trainer_core.lab.paths import CHECKOUT

FOLDER = Path(__file__).parent
GAME_RUN, KILLED, QUEUED = "20261124-171913-9f15", "20261124-172040-86f6", "20261124-172200-0968"
GONE = "20261124-172008-b3b7"
IMPORTED, CURVES = "imported-79a130e3515a", "wandb-89356cdb8964"
SWEEP = "20261124-172207-4a37"
PLAYED = "players/20261124-172138-n2jyway4/recordings/20261124-172144-0000000"
OF_LEAGUE = "players/league-20261124-172201/recordings/02"
Call = Callable[..., tuple[int, str]]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(FOLDER / "home-340a303.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "lab"


@pytest.fixture
def home(unpacked: Path, tmp_path: Path) -> Path:
    """The home of 340a303, at another place than it was made at."""
    return Path(shutil.copytree(unpacked, tmp_path / "lab"))


@pytest.fixture
def dmglab(home: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a command on the home: its exit status and standard output."""

    def call(*words: object) -> tuple[int, str]:
        capsys.readouterr()
        status = main([*map(str, words), "--home", str(home)])
        return status, capsys.readouterr().out

    return call


def result(said: tuple[int, str]) -> dict[str, Any]:
    status, out = said
    found = json.loads(out.splitlines()[-1])
    assert status == 0, found
    return found


def test_every_list_names_what_is_there(dmglab: Call) -> None:
    runs = {run["run_id"]: run for run in result(dmglab("runs", "--json"))["runs"]}
    assert {run_id: run["state"] for run_id, run in runs.items()} == {
        GAME_RUN: "finished",
        KILLED: "lost",
        GONE: "lost",
        QUEUED: "queued",
        IMPORTED: "finished",
        CURVES: "finished",
        f"{SWEEP}-t000": "finished",
        f"{SWEEP}-t001": "finished",
    }
    assert runs[GAME_RUN]["env_steps"] == 320
    assert QUEUED in dmglab("queue", "list")[1]
    assert GAME_RUN in dmglab("disk")[1]
    assert "320" in dmglab("query", f"SELECT env_steps FROM runs WHERE run_id = '{GAME_RUN}'")[1]
    assert result(dmglab("sweep", "--show", SWEEP))["done"] == 2
    tasks = {task["id"]: task for task in result(dmglab("task", "list"))["tasks"]}
    assert "mine/first_moth" in tasks


def test_logs_are_valid_and_curves_are_drawn(dmglab: Call, home: Path, tmp_path: Path) -> None:
    runs = home / "training" / "runs"
    for run_id in (GAME_RUN, KILLED, f"{SWEEP}-t000"):
        status = main(["validate", str(runs / run_id / "train_log.jsonl")])
        assert status == 0, run_id
    picture = tmp_path / "curves.png"
    assert main(["plot", str(runs / CURVES / "train_log.jsonl"), "--out", str(picture)]) == 0
    assert picture.stat().st_size > 1000
    result(dmglab("export", GAME_RUN, "--to", "tensorboard", "--out", tmp_path / "events"))


@pytest.mark.warp
def test_a_run_goes_on_where_it_was(dmglab: Call, home: Path) -> None:
    found = result(dmglab("resume", GAME_RUN, "--total-env-steps", 384))
    assert (found["state"], found["env_steps"]) == ("finished", 384)
    lines = [json.loads(line) for line in Path(found["log"]).read_text().splitlines()]
    assert [line["type"] for line in lines].count("resume") == 2
    assert main(["validate", found["log"]]) == 0
    rollout = result(dmglab("rollout", "--checkpoint", IMPORTED, "--out", home / "rollout"))
    assert rollout["steps"] > 0


@pytest.mark.usefixtures("warm")
def test_the_queue_is_worked(dmglab: Call, home: Path) -> None:
    assert dmglab("queue", "release", QUEUED)[0] == 0
    assert dmglab("queue", "run")[0] == 0
    log = (home / "training" / "runs" / QUEUED / "train_log.jsonl").read_text()
    assert json.loads(log.splitlines()[-1])["env_steps"] == 2048


@pytest.mark.warp
def test_recordings_play_again_and_are_exported(home: Path, tmp_path: Path) -> None:
    for number, name in enumerate((PLAYED, OF_LEAGUE)):
        assert main(["replay", str(home / name)]) == 0, name
        gif = tmp_path / f"{number}.gif"
        assert main(["export", str(home / name), "--out", str(gif)]) == 0
        assert gif.read_bytes().startswith(b"GIF89a")


@pytest.mark.warp
def test_a_task_works_once_its_game_is_registered_again(dmglab: Call) -> None:
    assert CHECKOUT is not None
    result(dmglab("rom", "add", CHECKOUT / "assets/games/mirror_moths/mirror_moths.gb"))
    found = result(dmglab("eval", "--policy", "random", "--task", "mine/first_moth", "--episodes", 2))
    assert found["task"] == "mine/first_moth"


def test_an_archive_comes_back_in_another_home(home: Path, tmp_path: Path) -> None:
    archive = home / "archives" / f"{KILLED}.tar.gz"
    other = tmp_path / "other"
    assert main(["archive", "restore", str(archive), "--home", str(other)]) == 0
    was = (home / "training" / "runs" / KILLED / "train_log.jsonl").read_bytes()
    assert (other / "training" / "runs" / KILLED / "train_log.jsonl").read_bytes() == was


@pytest.fixture
def loop() -> Iterator[None]:
    create_application()
    yield
    release_loop()


def test_the_app_opens_it_with_its_settings(home: Path, loop: None) -> None:
    app = create_app(home)
    try:
        app.window.show()
        runs = app[RunList]
        listed = {runs.run(row).run_id for row in range(runs.rowCount())}
        assert {GAME_RUN, KILLED, IMPORTED, CURVES} <= listed
        assert app[RunNotes][GAME_RUN].tags == ("kept", "first")
        assert app[SavedViews]["my view"] == View(smoothing=0.6)
        assert app[Settings].text("view/theme") == "light"
        assert app[Settings].text("view/screen") == "grey"
        assert not app[Settings].blob("layout/geometry").isEmpty()
    finally:
        close(QtBot(), app)
