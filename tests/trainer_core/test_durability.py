"""The order of calls that makes a file durable, seen from outside: write, sync, rename, sync."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from tests.proofs import faults
from tests.support.made_records import run_record
from tests.trainer_core.building import tiny_config, train_in
from trainer_core.lab import durable_files
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.index import RunRegistry

Call = tuple[str, str]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Call]:
    """(call, path) of every write, fsync and rename of a file or folder."""
    made: list[Call] = []

    def watch(name: str) -> None:
        real = getattr(os, name)

        def call(*arguments: Any, **options: Any) -> Any:
            subject = arguments[-1] if name == "replace" else arguments[0]
            path = os.readlink(f"/proc/self/fd/{subject}") if name != "replace" else str(subject)
            made.append((name, path))
            return real(*arguments, **options)

        monkeypatch.setattr(os, name, call)

    for name in ("write", "fsync", "replace"):
        watch(name)
    return made


def test_a_file_is_synced_renamed_and_its_folder_synced(tmp_path: Path, calls: list[Call]) -> None:
    target = tmp_path / "a.json"
    durable_files.replace_file(target, b"{}")
    assert calls == [
        ("write", f"{target}.tmp"),
        ("fsync", f"{target}.tmp"),
        ("replace", str(target)),
        ("fsync", str(tmp_path)),
    ]


def test_a_file_that_does_not_fit_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.json"
    durable_files.replace_file(target, b"old")

    def full(descriptor: int, data: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match=r"No space left.*a\.json"):
        durable_files.replace_file(target, b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]
    assert target.read_bytes() == b"old"


def test_a_line_of_the_index_is_on_the_disk(tmp_path: Path, calls: list[Call]) -> None:
    registry = RunRegistry(HomePaths(tmp_path))
    registry.append(run_record("a"))
    index, folder = str(registry.path), str(registry.path.parent)
    assert calls == [("write", index), ("fsync", index), ("fsync", folder)]


def test_a_checkpoint_is_on_the_disk_before_it_has_its_name_and_announced_after(
    tmp_path: Path, calls: list[Call]
) -> None:
    train_in(tmp_path, tiny_config())
    paths = HomePaths(tmp_path).run("run")
    final = str(paths.checkpoint(512))
    partial = str(paths.checkpoints / ".000000000512.tmp")
    named = calls.index(("replace", final))
    before, after = calls[:named], calls[named + 1 :]
    files = {path.name for path in Path(final).iterdir()}
    assert {(call, f"{partial}/{name}") for name in files for call in ("write", "fsync")} <= {*before}
    assert before[-1] == ("fsync", partial)
    assert after[0] == ("fsync", str(paths.checkpoints))
    assert after[-2:] == [("write", str(paths.train_log)), ("fsync", str(paths.train_log))]
    assert ("write", str(paths.train_log)) not in after[:-2]


def test_a_fault_comes_at_its_call_and_not_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for names in faults.CALLS.values():
        for name in names:
            monkeypatch.setattr(os, name, getattr(os, name))  # put back after the test
    monkeypatch.setattr(faults, "CALLED", dict.fromkeys(faults.CALLS, 0))
    faults.arm("write:2:ENOSPC")
    reader, writer = os.pipe()
    os.write(writer, b"pipes do not count")
    durable_files.write_file(tmp_path / "first", b"1")
    for name in ("second", "third"):
        with pytest.raises(OSError, match="No space left"):
            durable_files.write_file(tmp_path / name, b"2")
    assert faults.CALLED["fsync"] == 1
    os.close(reader)
    os.close(writer)
