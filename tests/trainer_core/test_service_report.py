"""A bug report holds what explains a run and nothing that is somebody's; gauges are shares."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from trainer_core.protocol.errors import LabError
from trainer_core.protocol.paths import HomePaths
from trainer_core.service import folder_bytes, read_gauges, write_report


def test_a_report_has_the_logs_end_without_rom_weights_and_home(tmp_path: Path) -> None:
    home = HomePaths(tmp_path / "home")
    root = home.run("r1").root
    for name, text in (
        ("config.json", f'{{"warm_start": "{home.root}/x"}}'),
        ("train_log.jsonl", "line\n"),
        ("worker.log", "Traceback\n"),
        ("checkpoints/1/policy.safetensors", "weights"),
        ("game.gb", "rom"),
        ("failures/t1/summary.json", "{}"),
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    names = write_report(home, "r1", tmp_path / "report.zip", ["told"])
    with zipfile.ZipFile(tmp_path / "report.zip") as bundle:
        assert sorted(bundle.namelist()) == sorted(names)
        assert bundle.read("config.json") == b'{"warm_start": "HOME/x"}'
        assert bundle.read("app.log") == b"told"
    wanted = {"versions.json", "app.log", "config.json", "train_log.jsonl", "worker.log"}
    assert set(names) == wanted | {"failures/t1/summary.json"}


def test_a_report_that_cannot_be_written_says_where_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="the report was not written"):
        write_report(HomePaths(tmp_path), "", tmp_path / "none" / "report.zip", [])
    assert not list(tmp_path.iterdir())


def test_gauges_are_shares_of_what_there_is(tmp_path: Path) -> None:
    gauges = {gauge.name: gauge for gauge in read_gauges(tmp_path / "not made yet", os.getpid())}
    assert {"CPU", "Memory", "Disk", "This run"} <= set(gauges)
    assert all(0.0 <= gauge.share <= 1.0 for gauge in gauges.values())
    assert gauges["This run"].share < gauges["Memory"].share


def test_a_folder_takes_what_its_files_take(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_bytes(b"12345")
    (tmp_path / "y").write_bytes(b"123")
    assert folder_bytes(tmp_path) == 8
    assert folder_bytes(tmp_path / "gone") == 0
