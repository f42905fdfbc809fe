"""The wheel: built as pip builds it, unpacked as pip installs it, used from another folder.

scripts/prove_wheel.sh does the same with an environment of its own and trains in it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGES = ("emulator", "trainer_core", "gui")
BUILD_TOOLS = ("pip", "setuptools")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    missing = [name for name in BUILD_TOOLS if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed here: no wheel can be built")
    # A copy: setuptools leaves an egg-info where it builds, and reads a stale one.
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in (*PACKAGES, "assets"):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(CHECKOUT / name, source / name, ignore=ignore)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(CHECKOUT / name, source / name)
    options = ["-q", "--no-build-isolation", "--no-deps", "--no-index", "-w", str(target)]
    command = [sys.executable, "-m", "pip", "wheel", *options, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not (source / "build").exists(), "a checkout is left as it was"
    (built,) = target.glob("dmglab-*-py3-none-any.whl")
    return zipfile.ZipFile(built)


def test_the_wheel_carries_every_module(wheel: zipfile.ZipFile) -> None:
    wanted = {
        path.relative_to(CHECKOUT).as_posix()
        for package in PACKAGES
        for path in (CHECKOUT / package).rglob("*.py")
    }
    assert wanted - set(wheel.namelist()) == set()


def test_the_wheel_carries_what_runs_need_of_the_assets_and_no_sources_of_games(
    wheel: zipfile.ZipFile,
) -> None:
    assets = CHECKOUT / "assets"
    wanted = {*assets.glob("games/*/*.gb"), *assets.glob("icons/*"), *assets.glob("desktop/*")}
    wanted |= {path for path in assets.glob("tasks/**/*") if path.is_file()}
    assert wanted
    names = set(wheel.namelist())
    assert {f"dmglab_assets/{path.relative_to(assets).as_posix()}" for path in wanted} <= names
    endings = {Path(name).suffix for name in names if name.startswith("dmglab_assets/games")}
    assert not endings & {".c", ".s", ".py", ".sh"}


def test_the_metadata_name_a_range_of_torch_the_licence_and_both_programs(
    wheel: zipfile.ZipFile,
) -> None:
    (info,) = {name.split("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
    metadata = wheel.read(f"{info}/METADATA").decode()
    (torch,) = {
        line.split(";")[0].removeprefix("Requires-Dist:").strip()
        for line in metadata.splitlines()
        if line.startswith("Requires-Dist: torch")
    }
    assert torch == "torch>=2.11"
    assert wheel.read(f"{info}/licenses/LICENSE") == (CHECKOUT / "LICENSE").read_bytes()
    programs = wheel.read(f"{info}/entry_points.txt").decode()
    assert programs.split() == [
        "[console_scripts]", "dmglab", "=", "trainer_core.cli.main:console_script",
        "[gui_scripts]", "dmglab-app", "=", "gui.__main__:main",
    ]  # fmt: skip


def test_what_is_installed_finds_tasks_and_keeps_data_in_the_users_folder(
    wheel: zipfile.ZipFile, tmp_path: Path
) -> None:
    site, user = tmp_path / "site", tmp_path / "user"
    wheel.extractall(site)
    code = f"""
import json, sys
sys.path.insert(0, {str(site)!r})
from trainer_core.lab import paths
from trainer_core.lab.tasks import list_tasks, verify_file
assert paths.__file__.startswith({str(site)!r}), paths.__file__
home = paths.HomePaths(paths.default_home())
tasks = list_tasks(home)
for task in tasks:
    verify_file(task.starts_path, task.manifest.starts.sha256, "starts")
    verify_file(task.goal_path, task.manifest.goal.sha256, "goal")
    verify_file(task.rom_path, task.manifest.rom.sha256, "ROM")
print(json.dumps([[task.id for task in tasks], str(home.root), str(paths.child_folder())]))
"""
    environment = {name: text for name, text in os.environ.items() if name != "DMGLAB_HOME"}
    environment |= {"HOME": str(user), "XDG_DATA_HOME": str(user / "data")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd="/", env=environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    tasks, home, children = json.loads(done.stdout)
    shipped = (CHECKOUT / "assets" / "tasks").rglob("task.toml")
    assert sorted(tasks) == sorted(tomllib.loads(path.read_text())["id"] for path in shipped)
    if sys.platform.startswith("linux"):
        assert home == str(user / "data" / "dmglab")
    assert children == sys.prefix
