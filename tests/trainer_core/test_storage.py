"""Storage profiles: a moved run stays usable, nothing is lost by a kill or a full disk, the policy can be undone."""

from __future__ import annotations

import errno
import gzip
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.made_homes import contents, make_home
from trainer_core.cli.main import main
from trainer_core.lab.paths import HomePaths, home_of
from trainer_core.lab.recording import (
    BUTTONS,
    MANIFEST,
    PICTURE_BYTES,
    PICTURES,
    Recording,
    read_recording,
    write_recording,
)
from trainer_core.lab.storage_profiles import Policy, Profile, Storage, make_template, read_storage
from trainer_core.runs import storage, wandb_run
from trainer_core.runs.archive import alone, archive, restore
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.log_reader import read_history
from trainer_core.runs.log_writer import DiskError
from trainer_core.runs.names import find_run
from trainer_core.wire.errors import ConfigError, LabError, ProtocolError

DAY = 86_400
RUN = "run-00000"


@pytest.fixture
def home(tmp_path: Path) -> HomePaths:
    home = make_home(tmp_path / "home", runs=1, log_records=3)
    paths = home.run(RUN)
    paths.config.write_text("{}")
    wandb_run.agree(paths, "mine")
    paths.episodes.mkdir()
    (paths.episodes / "a.gif").write_bytes(os.urandom(3000))
    (paths.root / "latest").symlink_to("episodes")
    paths.worker_log.write_text("a line\n" * 1000)
    return home


@pytest.fixture
def profiles(tmp_path: Path) -> Storage:
    return Storage(profiles={"nas": Profile(str(tmp_path / "nas")), "old": Profile(str(tmp_path / "old"))})


def test_a_moved_run_is_the_same_run(home: HomePaths, profiles: Storage) -> None:
    before = contents(home.run(RUN).root)
    for to in ("nas", "old", "home", "nas"):
        target = storage.move(home, RUN, to, profiles)
        assert contents(target) == contents(home.run(RUN).root) == before
        assert (home.run(RUN).root / "latest").readlink() == Path("episodes")
        assert [path.name for path in home.runs.iterdir()] == [RUN]
        assert [path.name for place in profiles.profiles.values() for path in Path(place.folder).glob("*")] == (
            [] if to == "home" else [RUN]
        )
        run = RunRegistry(home).reconcile()[RUN]
        assert run.tags.get("storage") == (None if to == "home" else f"{to} (local)")
        assert home_of(find_run(RUN, home)) == home
        assert len(read_history(home.run(RUN).train_log).events) == 3
    target.rename(target.with_name("elsewhere"))
    assert find_run_error(home).endswith(f"is in {target}, which cannot be reached; mount that folder")
    with pytest.raises(LabError, match="cannot be reached"):
        storage.move(home, RUN, "home", profiles)
    target.with_name("elsewhere").rename(target)
    file = archive(home, RUN, home.archives, remove=True)
    assert not target.exists(), "the files behind the link are gone too"
    assert restore(file, home).tags == {}
    assert contents(home.run(RUN).root) == {
        name: data for name, data in before.items() if name not in ("latest", wandb_run.FILE)
    }


def killed_at(number: int, action: Callable[[], object]) -> bool:
    """Run `action` in a child that dies before its `number`th change of files; return whether it died."""
    child = os.fork()
    if not child:
        left = iter(range(number, -1, -1))

        def look(event: str, arguments: tuple[object, ...]) -> None:
            writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            if (writes or event.startswith(("os.", "shutil."))) and next(left) == 0:
                os._exit(9)

        sys.addaudithook(look)
        try:
            action()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.parametrize("to", ["nas", "home", "trash"])
def test_a_kill_at_any_instant_loses_nothing(to: str, home: HomePaths, profiles: Storage, tmp_path: Path) -> None:
    before = contents(home.run(RUN).root)
    if to == "home":
        storage.move(home, RUN, "nas", profiles)

    def act() -> None:
        if to == "trash":
            storage.trash(home, RUN)
        else:
            storage.move(home, RUN, to, profiles)

    number, kept = 0, tmp_path / "kept"
    shutil.copytree(home.root, kept / "home", symlinks=True)
    if (tmp_path / "nas").exists():
        shutil.copytree(tmp_path / "nas", kept / "nas", symlinks=True)
    while killed_at(number, act):
        with alone(home):
            pass
        if RUN in storage.in_trash(home):
            assert storage.undo(home) == [RUN]
        assert contents(home.run(RUN).root) == before, number
        for name in ("home", "nas"):
            shutil.rmtree(tmp_path / name, ignore_errors=True)
            if (kept / name).exists():
                shutil.copytree(kept / name, tmp_path / name, symlinks=True)
        number += 1 if to == "trash" else 7  # with 1 it holds too, and takes 20 s
    assert number > 10


def test_a_folder_that_cannot_take_a_run_leaves_it_whole(
    home: HomePaths, profiles: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, real, copied = contents(home.run(RUN).root), shutil.copy2, []

    def full(source: Path, target: Path, **options: bool) -> None:
        copied.append(target)
        if len(copied) > 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(source), None, str(target))
        real(source, target, **options)

    monkeypatch.setattr(shutil, "copy2", full)
    with pytest.raises(DiskError, match=rf"nas/.*{RUN}.*No space left.*free some space"):
        storage.move(home, RUN, "nas", profiles)
    monkeypatch.setattr(shutil, "copy2", lambda source, target, **_: target.write_bytes(b"rotten"))
    with pytest.raises(LabError, match="the copy differs"):
        storage.move(home, RUN, "nas", profiles)
    monkeypatch.undo()
    blocked = Storage(
        profiles={
            "nas": Profile("/proc/nas"),
            "away": Profile(str(home.root.parent), "remote"),
            "inside": Profile(str(home.videos)),
        }
    )
    with pytest.raises(ConfigError, match="is inside the data folder"):
        storage.move(home, RUN, "inside", blocked)
    with pytest.raises(ConfigError, match=r"/proc/nas: .*change it in .*storage_profiles.toml"):
        storage.move(home, RUN, "nas", blocked)
    with pytest.raises(ConfigError, match="not mounted"):
        storage.move(home, RUN, "away", blocked)
    assert contents(home.run(RUN).root) == before
    assert list((home.root.parent / "nas").iterdir()) == []
    storage.move(home, RUN, "nas", profiles)


def test_the_policy_does_what_it_lists_and_undo_takes_it_back(home: HomePaths, profiles: Storage) -> None:
    ended, before = RunRegistry(home).reconcile()[RUN], contents(home.run(RUN).root)
    for fields, action in (
        ({"compress_after_days": 5}, "compress"),
        ({"move_after_days": 5, "move_to": "nas"}, "move"),
        ({"prune_after_days": 5, "move_after_days": 1, "move_to": "nas"}, "prune"),
    ):
        found = Storage(Policy(keep=0, **fields), profiles.profiles)  # type: ignore[arg-type]
        if action != "prune":
            assert storage.plan(home, found, ended.finished_at + 4.9 * DAY) == []
        assert storage.plan(home, Storage(Policy(keep=1, **{**fields, "compress_after_days": 0}), found.profiles)) == []  # type: ignore[arg-type]
        (step,) = storage.plan(home, found)
        assert (step.action, step.name) == (action, RUN)
        storage.carry_out(home, step, found)
    assert find_run_error(home).endswith("`dmglab storage undo` brings it back")
    assert storage.plan(home, found, time.time() + 13 * DAY) == []
    assert storage.undo(home) == [RUN]
    assert RunRegistry(home).load()[RUN].reason == ended.reason
    after = contents(home.run(RUN).root)
    assert gzip.decompress(after.pop("worker.log.1.gz")) == before.pop("worker.log")
    assert after == before
    storage.trash(home, RUN)
    (step,) = storage.plan(home, found, time.time() + 15 * DAY)
    storage.carry_out(home, step, found)
    assert (step.action, storage.in_trash(home), list(Path(found.profiles["nas"].folder).iterdir())) == (
        "delete",
        {},
        [],
    )


def test_a_recording_is_compressed_and_opens_again(home: HomePaths) -> None:
    folder = home.players / "player" / "recordings" / "one"
    folder.mkdir(parents=True)
    made = Recording(task="t", rom_sha256="", state="", frames=3, created_at=1.0)
    (folder / PICTURES).write_bytes(bytes(3 * PICTURE_BYTES))
    (folder / BUTTONS).write_bytes(bytes(3))
    found = Storage(Policy(compress_after_days=5))
    assert [step.name for step in storage.plan(home, found, time.time() + 6 * DAY)] == [RUN], "it is not finished"
    write_recording(folder, made)
    (step,) = storage.plan(home, found, time.time() + 6 * DAY)[1:]
    storage.carry_out(home, step, found)
    assert sorted(path.name for path in folder.iterdir()) == [BUTTONS, f"{PICTURES}.gz", MANIFEST]
    packed = (folder / f"{PICTURES}.gz").read_bytes()
    assert read_recording(folder) == made
    assert (folder / PICTURES).read_bytes() == bytes(3 * PICTURE_BYTES)
    (folder / PICTURES).unlink()
    (folder / f"{PICTURES}.gz").write_bytes(packed[:-9])
    with pytest.raises(ProtocolError, match=r"pictures.bin.gz"):
        read_recording(folder)


def find_run_error(home: HomePaths) -> str:
    with pytest.raises(LabError) as caught:
        find_run(RUN, home)
    return str(caught.value)


def test_rubbish_in_the_file_is_one_line(home: HomePaths, capsys: pytest.CaptureFixture[str]) -> None:
    assert read_storage(home) == Storage()
    assert main(["storage", "--on", "--home", str(home.root)]) == 0
    assert read_storage(home).policy == Policy(on=True, compress_after_days=7)
    assert make_template(home).read_text().startswith("# Where runs are kept")
    for text in ("[", "[policy]\nkeep = -1", "[profiles.home]\nfolder = '/x'", "[profiles.a]\nfolder = 'x'",
                 "[policy]\nmove_after_days = 1\nmove_to = 'b'", "[policy]\nspeed = 1"):  # fmt: skip
        home.storage_profiles.write_text(text)
        capsys.readouterr()
        assert main(["storage", "--home", str(home.root)]) == 2
        error = capsys.readouterr().err
        assert "storage_profiles.toml" in error
        assert error.count("\n") == 1
