"""Folders of tasks and recordings that are made, removed, or left half made by a kill."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.made_checkpoints import make_checkpoint
from trainer_core.author import folder as folders
from trainer_core.author.folder import free_folder, new_folder, remove_left
from trainer_core.cli.main import main
from trainer_core.lab.paths import ASSETS, HomePaths
from trainer_core.service.player_service import OLD_S, remove_old_players
from trainer_core.wire.errors import TaskError

DOOR = ASSETS / "tasks" / "pocket_quest" / "leave_bedroom"


@pytest.fixture
def home(tmp_path: Path) -> HomePaths:
    return HomePaths(tmp_path / "home")


def age(path: Path, seconds: float) -> None:
    """Make it as if nothing in there had changed for so long."""
    when = time.time() - seconds
    for each in (*path.rglob("*"), path):
        os.utime(each, (when, when))


def half_made(home: HomePaths, name: str) -> Path:
    made = home.tasks / "mine" / name
    made.mkdir(parents=True)
    (made / "starts.npz").write_bytes(b"x")
    age(made, 7_200)
    return made


def test_what_a_killed_one_left_goes_at_the_next_use(home: HomePaths) -> None:
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from trainer_core.author.folder import new_folder\n"
        "with new_folder(Path(sys.argv[1])) as made:\n"
        "    (made / 'starts.npz').write_bytes(b'x')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(home.tasks / "mine" / "door")], check=False, timeout=60)
    (left,) = (home.tasks / "mine").iterdir()
    assert left.name.startswith(".door.")
    assert remove_left(home.tasks) == 0, "one that was made a moment ago stays"
    age(left, 7_200)
    older = half_made(home, ".door.q3x_9a2b")  # as tempfile called them
    free_folder("mine/other", home)
    assert not left.exists()
    assert not older.exists()


def test_a_live_one_is_never_removed_however_long_it_takes(home: HomePaths) -> None:
    with new_folder(home.tasks / "mine" / "door") as made:
        age(made, 10 * 86_400)
        assert remove_left(home.tasks) == 0
        (made / "task.toml").touch()
    assert [path.name for path in (home.tasks / "mine").iterdir()] == ["door"]


def test_only_what_we_call_so_is_removed(home: HomePaths) -> None:
    kept = [half_made(home, name) for name in (".git", ".door", ".mine.12", "door.12345678")]
    link = home.tasks / "mine" / ".link.12345678"
    link.symlink_to(kept[0])
    assert remove_left(home.tasks) == 0
    assert all((path / "starts.npz").is_file() for path in (*kept, link))


def test_a_new_task_has_the_rights_that_the_umask_leaves(home: HomePaths) -> None:
    for mask, rights in ((0o077, 0o700), (0o022, 0o755)):
        before = os.umask(mask)
        try:
            with new_folder(home.tasks / f"m{mask}"):
                pass
        finally:
            os.umask(before)
        assert (home.tasks / f"m{mask}").stat().st_mode & 0o777 == rights


def test_a_home_that_cannot_be_written_is_told_before_any_work(
    home: HomePaths, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: object, **how: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(folders.tempfile, "TemporaryDirectory", refused)
    home.root.mkdir()
    words = ["--id", "mine/x", "--rom", "no.gb", "--script", "no.txt", "--home", str(home.root)]
    assert main(["task", "new", *words]) == 2
    assert json.loads(capsys.readouterr().out)["error"] == (
        f"{home.tasks / 'mine' / 'x'}: cannot be written: Read-only file system"
    )


def test_a_task_of_ones_own_is_removed_when_that_is_said(home: HomePaths, capsys: pytest.CaptureFixture[str]) -> None:
    mine = home.tasks / "mine" / "door"
    shutil.copytree(DOOR, mine)
    (home.tasks / "mine" / "broken").mkdir()
    (home.tasks / "mine" / "broken" / "task.toml").mkdir()

    def remove(*words: str) -> dict[str, object]:
        status = main(["task", "remove", *words, "--home", str(home.root)])
        found = json.loads(capsys.readouterr().out)
        assert (status == 0) == found["ok"]
        return found

    assert "--yes" in str(remove("mine/door")["error"])
    assert mine.is_dir()
    assert remove("mine/door", "--yes") == {"ok": True, "removed": str(mine)}
    assert not mine.exists()
    assert remove("mine/broken", "--yes")["ok"], "however broken it is"
    assert not (home.tasks / "mine").exists()
    assert home.tasks.is_dir()
    for task, said in (
        ("mine/door", "no task of yours"),
        ("pocket_quest/leave_bedroom", "comes with DMG Lab"),
        ("../../etc", "lower-case letters"),
        ("x" * 3_000, "lower-case letters"),
    ):
        assert said in str(remove(task, "--yes")["error"])
    assert (DOOR / "task.toml").is_file()


def test_record_that_keeps_nothing_leaves_no_folder(
    tmp_path: Path, home: HomePaths, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = make_checkpoint(tmp_path / "c")
    words = ["--checkpoint", str(checkpoint), "--task", "no_such", "--home", str(home.root)]
    out = tmp_path / "out"
    assert main(["record", "--out", str(out), *words]) == 2
    assert not out.exists()
    out.mkdir()
    assert main(["record", "--out", str(out), *words]) == 2
    assert out.is_dir(), "one that was there stays"
    (out / "0000-start003").mkdir()
    assert main(["record", "--out", str(out), *words]) == 2
    assert "0000-start003 of one that did not end" in capsys.readouterr().out


def test_recordings_that_a_killed_league_did_not_end_go_after_two_days(home: HomePaths) -> None:
    shelf = home.players / "league-20260101-120000" / "recordings"
    for name, manifest in (("done", True), ("half", False), ("task-1/half", False)):
        (shelf / name).mkdir(parents=True)
        (shelf / name / "steps.jsonl").touch()
        if manifest:
            (shelf / name / "recording.json").touch()
    mine = home.players / "20260101-120000-abc"
    (mine / "recordings" / "half").mkdir(parents=True)
    (mine / "recordings" / "half" / "steps.jsonl").touch()
    assert remove_old_players(home.players) == 0, "one may be going on"
    age(home.players, 2 * OLD_S)
    assert remove_old_players(home.players) == 2
    assert [path.name for path in shelf.iterdir()] == ["done"]
    assert mine.is_dir(), "what a person played is his"


def test_a_lock_that_another_process_holds_keeps_a_folder(home: HomePaths) -> None:
    made = half_made(home, ".door.12345678")
    descriptor = os.open(made, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        assert remove_left(home.tasks) == 0
    finally:
        os.close(descriptor)
    assert remove_left(home.tasks) == 1


def test_an_id_of_many_letters_does_not_come_back_whole(home: HomePaths) -> None:
    with pytest.raises(TaskError) as refused:
        free_folder("a" * 50_000, home)
    assert len(str(refused.value)) < 200
