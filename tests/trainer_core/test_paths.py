"""Where data lie and children run in a checkout, and what a task may name as its ROM."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from trainer_core.lab import paths
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.lab.tasks import load_task
from trainer_core.wire.errors import TaskError


def test_a_run_and_a_player_know_the_home_that_holds_them(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    assert paths.home_of(home.run("20261122-000000-beef")) == home
    assert paths.home_of_player(home.players / "one") == home


def test_a_run_elsewhere_belongs_to_the_default_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMGLAB_HOME", str(tmp_path / "chosen"))
    chosen = HomePaths(tmp_path / "chosen")
    assert paths.home_of(RunPaths(tmp_path / "mail" / "run")) == chosen
    assert paths.home_of(RunPaths(Path("/run"))) == chosen
    assert paths.home_of_player(tmp_path / "run") == chosen


def test_a_checkout_keeps_its_data_and_runs_its_children_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DMGLAB_HOME", raising=False)
    checkout = Path(__file__).resolve().parents[2]
    assert checkout == paths.CHECKOUT == paths.child_folder()
    assert paths.default_home() == checkout / "var"


@pytest.mark.parametrize("rom", ["/etc/hostname", "roms/mine.gb", "assets/../secret.gb"])
def test_a_task_may_name_only_a_shipped_rom_by_path(tmp_path: Path, rom: str) -> None:
    folder = tmp_path / "task"
    shutil.copytree(paths.ASSETS / "tasks" / "pocket_quest" / "leave_bedroom", folder)
    text = (folder / "task.toml").read_text(encoding="utf-8")
    shipped = load_task(folder).manifest.rom.path
    assert paths.shipped_file(shipped).is_file()
    (folder / "task.toml").write_text(text.replace(shipped, rom), encoding="utf-8")
    with pytest.raises(TaskError, match=r"rom\.path .* is not below assets/"):
        load_task(folder)
