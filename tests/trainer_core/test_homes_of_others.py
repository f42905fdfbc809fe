"""Whatever lies in a home is somebody else's: every list opens, whatever its files are."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.rubbish import RUBBISH, put, rich_home
from trainer_core.cli.main import main
from trainer_core.lab import durable_files
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.device_lock import run_on
from trainer_core.runs.run_lock import is_locked
from trainer_core.service.detached import DetachedLock
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.playing import PlayerConfig, write_player_config

READS = {
    "training/runs.jsonl": ("runs", "disk"),
    "training/queue.json": ("queue list",),
    "training/runs.sqlite": ("query SELECT count(*) FROM scalars",),
    "training/sweeps/echo/sweep.json": ("sweep --show latest",),
    "training/sweeps/echo/ended.jsonl": ("sweep --show latest",),
    "training/runs/done/config.json": ("runs", "disk"),
    "training/runs/done/train_log.jsonl": ("query SELECT count(*) FROM scalars", "disk"),
    "training/runs/waits/config.json": ("queue list",),
    "training/runs/done/checkpoints/000000004096/meta.json": ("play --checkpoint done --task no",),
    "tasks/mine/door/task.toml": ("task list",),
    "tasks/mine/door/starts.npz": ("task list",),
    "tasks/mine/door": ("task list",),
    "tasks": ("task list",),
    "settings/roms.json": ("rom list",),
    "settings": ("rom list",),
    "settings/.roms.lock": ("rom remove ababab",),
    "training/queue.json.tmp": ("queue hold waits",),
    "training/queue.lock": ("queue hold waits",),
    "training/moving.lock": ("archive --older-than 0 --dry-run",),
    "training/devices/cpu.lock": ("queue list",),
    "arc/ab12/metadata.json": ("task list",),
    "training/runs": ("runs",),
    "training": ("runs", "queue list"),
}
"""Which commands look at which file or folder."""
SPREAD = 5
"""Each place meets every fifth of RUBBISH, each of RUBBISH every fifth place."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> HomePaths:
    return rich_home(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def soon() -> Iterator[None]:
    """A look that waits, on a pipe for example, fails."""

    def late(*_: object) -> None:
        raise TimeoutError("this did not come back")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("place", READS)
@pytest.mark.usefixtures("soon")
def test_every_list_opens_or_says_why_in_one_line(
    place: str, whole: HomePaths, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = HomePaths(tmp_path / "home")
    for rubbish in list(RUBBISH)[list(READS).index(place) % SPREAD :: SPREAD]:
        shutil.rmtree(home.root, ignore_errors=True)
        shutil.copytree(whole.root, home.root, copy_function=os.link)
        put(home, place, rubbish)
        for command in READS[place]:
            words = command.split(" ", 1) if command.startswith("query") else command.split()
            status = main([*words, "--home", str(home.root)])
            out, err = capsys.readouterr()
            assert status in (0, 1, 2), (rubbish, command)
            assert "Traceback" not in err
            assert err.count("\n") <= (1 if status else 40), (rubbish, command, err)
            assert (out + err).replace("\n", "").isprintable(), (rubbish, command, out, err)
            if status:
                assert len(err) < 300 + len(str(home.root)), (rubbish, command, err)
                assert "Errno" not in err


def test_what_is_bad_stands_there_beside_what_is_good(
    whole: HomePaths, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = HomePaths(tmp_path / "home")
    shutil.copytree(whole.root, home.root)
    put(home, "tasks/mine/door/task.toml", "a huge number")
    put(home, "training/runs/done/config.json", "deep lists")
    put(home, "training/runs.jsonl", "random bytes")
    assert main(["task", "list", "--home", str(home.root)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [row["folder"] for row in told["broken"]] == [str(home.tasks / "mine" / "door")]
    assert "pocket_quest/leave_bedroom" in [row["id"] for row in told["tasks"]]
    assert main(["runs", "--json", "--home", str(home.root)]) == 0
    runs = {run["run_id"]: run for run in json.loads(capsys.readouterr().out)["runs"]}
    assert runs["waits"]["state"] == "queued"
    assert "config.json" in runs["done"]["reason"]


def test_a_home_that_cannot_be_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "loop").symlink_to("loop")
    for name in (str(tmp_path / "loop"), "~nobody-of-that-name/x", str(tmp_path / "a\0b")):
        assert main(["runs", "--home", name]) == 2
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        assert err.startswith("dmglab runs: ")


def test_a_player_below_a_path_that_is_no_text_is_refused_in_one_line(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/home-\xff/players/p"))
    config = PlayerConfig(task="tiny_goal", checkpoint=str(folder), mode="greedy")
    with pytest.raises(ConfigError, match="no UTF-8") as refused:
        write_player_config(folder, config)
    assert str(refused.value).isprintable()


def test_nothing_is_written_through_a_link_or_into_a_pipe_of_somebody_else(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine\n")
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(outside)
    os.mkfifo(pipe)
    for path in (link, pipe):
        with pytest.raises(OSError, match=r"symbolic links|No such device"):
            durable_files.write_file(path, b"theirs")
        with pytest.raises(OSError, match=r"symbolic links|No such device"):
            durable_files.open_log(path)
    target = tmp_path / "queue.json"
    (tmp_path / "queue.json.tmp").symlink_to(outside)
    durable_files.replace_file(target, b"whole")
    assert target.read_bytes() == b"whole"
    assert not target.is_symlink()
    assert outside.read_text() == "mine\n"


def test_a_lock_that_is_a_pipe_is_asked_without_waiting(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    for path in (home.run("a").lock, home.detached_lock, home.devices / "cpu.lock"):
        path.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(path)
    assert not is_locked(home.run("a"))
    assert run_on(home, "cpu") == ""
    assert DetachedLock(home).holder() == "?"
