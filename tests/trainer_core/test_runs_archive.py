"""Archives of runs: whole or not there, compared by hash, never over anything or outside."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.made_homes import contents, make_home
from trainer_core.cli.archive import ended_before
from trainer_core.cli.main import main
from trainer_core.lab import durable_files
from trainer_core.lab.paths import CHECKOUT, HomePaths
from trainer_core.runs import queue_steps
from trainer_core.runs.archive import alone, archive, check, restore
from trainer_core.runs.disk_use import disk_use
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.log_writer import DiskError
from trainer_core.runs.names import find_checkpoint, find_run
from trainer_core.runs.run_lock import RunLock
from trainer_core.wire.errors import ConfigError, LabError
from trainer_core.wire.run_record import RunState

RUN = "run-00000"


@pytest.fixture
def home(tmp_path: Path) -> HomePaths:
    home = make_home(tmp_path / "home", runs=1, log_records=3)
    paths = home.run(RUN)
    paths.config.write_text('{"run": {"task": "tiny_goal"}}')
    (paths.checkpoints / "000000000064").mkdir(parents=True)
    (paths.checkpoints / "000000000064" / "policy.safetensors").write_bytes(os.urandom(3000))
    (paths.root / "videos").mkdir()
    (paths.root / "videos" / "ümlaut and space.gif").write_bytes(b"gif")
    paths.frames.write_bytes(b"pictures")
    os.mkfifo(paths.root / "pipe")
    (paths.root / "link").symlink_to("/etc/passwd")
    return home


def test_a_run_comes_back_as_it_was_in_another_home_too(home: HomePaths, tmp_path: Path) -> None:
    before, record = contents(home.run(RUN).root), RunRegistry(home).load()[RUN]
    file = archive(home, RUN, tmp_path / "archives")
    assert contents(home.run(RUN).root) == before
    assert set(check(file).files) == set(before)
    elsewhere = HomePaths(tmp_path / "elsewhere")
    assert restore(file, elsewhere) == record
    assert contents(elsewhere.run(RUN).root) == before
    assert RunRegistry(elsewhere).load() == {RUN: record}


def test_a_removed_run_stays_in_the_index_and_can_be_restored(home: HomePaths) -> None:
    before, record = contents(home.run(RUN).root), RunRegistry(home).load()[RUN]
    assert disk_use(home, RUN).checkpoints == 3000
    file = archive(home, RUN, home.archives, remove=True)
    assert not home.run(RUN).root.exists()
    assert [path.name for path in home.runs.iterdir()] == []
    assert RunRegistry(home).reconcile()[RUN].reason == f"archived: {file}"
    assert disk_use(home, RUN).total == 0
    restore(file, home)
    assert contents(home.run(RUN).root) == before
    assert RunRegistry(home).load()[RUN] == record


@pytest.mark.parametrize(
    ("fault", "is_here"),
    [
        ("fsync:1", True),
        ("rename:1", True),
        ("fsync:3", True),
        ("fsync:4", False),
        ("unlink:1", False),
        ("unlink:3", False),
    ],
)
def test_what_a_killed_archiving_left_is_put_right_by_the_next(home: HomePaths, fault: str, is_here: bool) -> None:
    before = contents(home.run(RUN).root)
    words = ["archive", RUN, "--remove", "--home", str(home.root)]
    faulty = [sys.executable, "-m", "tests.proofs.faults", f"{fault}:KILL", "trainer_core.cli.main"]
    done = subprocess.run([*faulty, *words], cwd=CHECKOUT, check=False, capture_output=True)
    assert done.returncode == -9
    if is_here:
        archive(home, RUN, home.archives, remove=True)
    else:
        with pytest.raises(ConfigError, match=r"is archived: .*`dmglab archive restore` brings it back"):
            archive(home, RUN, home.archives, remove=True)
    assert [path.name for path in home.runs.iterdir()] == []
    restore(home.archives / f"{RUN}.tar.gz", home)
    assert contents(home.run(RUN).root) == before


def test_a_restored_run_is_in_the_index_though_its_restoring_was_killed(home: HomePaths) -> None:
    file = archive(home, RUN, home.archives, remove=True)
    told = RunRegistry(home).load()[RUN]
    restore(file, home)
    RunRegistry(home).append(told)  # as if its own line had not been written
    assert restore(file, home).reason == RunRegistry(home).load()[RUN].reason == ""


def test_one_process_a_home_moves_runs(home: HomePaths) -> None:
    file = archive(home, RUN, home.archives, remove=True)
    other = threading.Thread(target=restore, args=(file, home))
    with alone(home):
        other.start()
        other.join(0.3)
        assert other.is_alive(), "it waits"
        assert [path.name for path in home.runs.iterdir()] == [], "and has not begun"
    other.join(30)
    assert home.run(RUN).config.is_file()


def test_an_archived_run_is_named_as_such(home: HomePaths) -> None:
    archive(home, RUN, home.archives, remove=True)
    for find in (find_run, find_checkpoint):
        with pytest.raises(LabError, match=r"is archived: .*dmglab archive restore"):
            find(RUN, home)


def test_nothing_is_restored_over_a_run(home: HomePaths) -> None:
    file = archive(home, RUN, home.archives)
    with pytest.raises(ConfigError, match="is there already"):
        restore(file, home)


def test_a_run_that_goes_on_or_is_in_use_is_not_archived(home: HomePaths) -> None:
    lock = RunLock.take(home.run(RUN))
    with pytest.raises(LabError, match="is being trained by process"):
        archive(home, RUN, home.archives)
    lock.release()
    queue_steps.enqueue_again(home, RunRegistry(home).load()[RUN])
    with pytest.raises(ConfigError, match="is queued: only an ended run"):
        archive(home, RUN, home.archives, remove=True)
    with pytest.raises(ConfigError, match="no run 'x'"):
        archive(home, "x", home.archives)
    assert not home.archives.exists() or not list(home.archives.iterdir())
    assert home.run(RUN).root.is_dir()


def test_a_full_disk_leaves_no_half_archive_and_the_run(home: HomePaths, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("trainer_core.runs.archive.os.fsync", full)
    with pytest.raises(DiskError, match="free some space"):
        archive(home, RUN, home.archives, remove=True)
    assert list(home.archives.iterdir()) == []
    assert home.run(RUN).config.is_file()


def test_an_archive_damaged_anywhere_is_refused_whole(home: HomePaths, tmp_path: Path) -> None:
    file = archive(home, RUN, home.archives)
    data = file.read_bytes()
    shutil.rmtree(home.run(RUN).root)
    damaged = tmp_path / "damaged.tar.gz"
    for at in range(12, len(data), 97):
        damaged.write_bytes(data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :])
        found = refusal(damaged, home)
        if found:
            assert str(damaged) in found
            assert "\n" not in found
            assert not list(home.runs.iterdir())
        else:  # a byte that does not matter: a time, an owner, the gzip header
            shutil.rmtree(home.run(RUN).root)
    for end in (0, 1, 10, 500, len(data) // 2):
        damaged.write_bytes(data[:end])
        assert "damaged" in refusal(damaged, home)
    damaged.unlink()
    os.mkfifo(damaged)  # nobody ever writes into it
    assert "not a regular file" in refusal(damaged, home)
    assert not list(home.runs.iterdir())


def refusal(file: Path, home: HomePaths) -> str:
    """Why it was not restored, "" when it was."""
    try:
        restore(file, home)
    except LabError as error:
        return str(error)
    return ""


Change = Callable[[dict[str, object], list[tuple[str, bytes]]], None]


def rewritten(file: Path, target: Path, change: Change) -> Path:
    """A copy of an archive after `change` of its manifest and its other members."""
    with tarfile.open(file) as tar:
        found = [(info.name, tar.extractfile(info).read()) for info in tar]  # type: ignore[union-attr]
    manifest, members = json.loads(found[0][1]), found[1:]
    change(manifest, members)
    with tarfile.open(target, "w:gz") as tar:
        for name, data in [("archive.json", json.dumps(manifest).encode()), *members]:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return target


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m, _: m.update(run_id="../../outside"), "outside its run's folder"),
        (lambda m, _: m["files"].update({"../evil": m["files"]["config.json"]}), "outside"),
        (lambda m, _: m["files"].update({"/etc/evil": m["files"]["config.json"]}), "outside"),
        (lambda m, _: m.update(run_id="other"), "contradicts itself"),
        (lambda m, _: m["record"].update(state="running"), "contradicts itself"),
        (lambda m, _: m["files"].pop("config.json"), "is not what archive.json lists"),
        (lambda m, _: m["files"].update({"more": {"sha256": "", "size": 1}}), "lacks more"),
        (lambda m, _: m["files"]["config.json"].update(size=2**60), "bytes"),
        (lambda m, _: m["files"]["config.json"].update(sha256="0"), "its hash differs"),
        (lambda _, members: members.append(members[-1]), "is not what archive.json lists"),
        (lambda _, members: members.append((f"{RUN}/../../evil", b"x")), "is not what"),
        (lambda m, _: m.pop("record"), "archive.json"),
        (lambda m, _: m["record"].update(created_at=1e300), "created_at"),
        (lambda m, _: m["record"].update(best_success_rate=1e300), "a rate or a time"),
        (lambda m, _: m.update(run_id="a\nb"), "outside its run's folder"),
        (lambda m, _: m.update(run_id="a\x1b[2Jb"), "outside its run's folder"),
        (lambda m, _: m.update(run_id="--help"), "'--help' is no run's name"),
        (lambda m, _: m["files"].update({"a\x1b[2Jb": {"sha256": "0", "size": 1}}), "outside"),
    ],
)
def test_an_archive_that_lies_is_refused(home: HomePaths, tmp_path: Path, change: Change, words: str) -> None:
    file = rewritten(archive(home, RUN, home.archives), tmp_path / "lies.tar.gz", change)
    elsewhere = HomePaths(tmp_path / "elsewhere")
    with pytest.raises(LabError, match=words):
        restore(file, elsewhere)
    assert not elsewhere.runs.exists() or not list(elsewhere.runs.iterdir())
    assert not list(tmp_path.rglob("*evil*"))
    assert RunState.RUNNING not in {run.state for run in RunRegistry(elsewhere).load().values()}


def test_the_newest_are_spared_also_where_there_are_fewer(tmp_path: Path) -> None:
    home = make_home(tmp_path, runs=3, log_records=1)
    for record in RunRegistry(home).load().values():
        home.run(record.run_id).config.write_text("{}")
    found = [ended_before(home, time.time(), keep) for keep in range(5)]
    assert [len(ids) for ids in found] == [3, 2, 1, 0, 0]
    assert found[1] == found[0][:2]


def test_only_runs_are_looked_at(home: HomePaths, capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("/", "..", "none"):
        assert main(["archive", RUN, word, "--dry-run", "--home", str(home.root)]) == 2
        assert f"no run {word!r}" in capsys.readouterr().err


def test_restore_wants_an_archive(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["archive", "restore"]) == 2
    assert "name an archive" in capsys.readouterr().err


def test_a_run_is_not_removed_for_an_archive_that_cannot_be_read_back(
    home: HomePaths, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = contents(home.run(RUN).root)
    rename = durable_files.rename

    def damaging(source: Path, target: Path) -> None:
        rename(source, target)
        data = bytearray(target.read_bytes())
        data[len(data) // 2] ^= 0xFF
        target.write_bytes(data)

    monkeypatch.setattr("trainer_core.runs.archive.durable_files.rename", damaging)
    with pytest.raises(LabError):
        archive(home, RUN, tmp_path / "archives", remove=True)
    assert contents(home.run(RUN).root) == before


def test_a_log_that_was_begun_anew_counts_among_the_logs(home: HomePaths) -> None:
    without = disk_use(home, RUN)
    (home.run(RUN).root / "worker.log.1").write_bytes(b"x" * 1000)
    found = disk_use(home, RUN)
    assert (found.logs, found.other) == (without.logs + 1000, without.other)
