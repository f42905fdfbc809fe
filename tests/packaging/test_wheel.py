"""The wheel: built as pip builds it, unpacked as pip installs it, used from another folder.

With ./test --extras scripts/prove_wheel.sh does the same with an environment of its own, made
read-only, and trains, plays and opens the app from it.
"""

from __future__ import annotations

import configparser
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

from tests.support.extras import need_extras
from trainer_core.runners import catalog

CHECKOUT = Path(__file__).resolve().parents[2]
PACKAGES = ("emulator", "trainer_core", "gui")
SHELF = "dmglab/own-packages"
"""Where they lie in a wheel."""
BUILD_TOOLS = ("pip", "setuptools")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the checkout: setuptools leaves an egg-info where it builds, and reads one."""
    missing = [name for name in BUILD_TOOLS if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed here: no wheel can be built")
    source = tmp_path_factory.mktemp("source")
    for name in ("dmglab", *PACKAGES, "assets", "docs"):
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(CHECKOUT / name, source / name, ignore=ignore)
    for name in ("pyproject.toml", "setup.py", "README.md", "CHANGELOG.md", "LICENSE"):
        shutil.copy(CHECKOUT / name, source / name)
    return source


@pytest.fixture(scope="module")
def wheel(source: Path, tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    target = tmp_path_factory.mktemp("wheel")
    options = ["-q", "--no-build-isolation", "--no-deps", "--no-index", "-w", str(target)]
    command = [sys.executable, "-m", "pip", "wheel", *options, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not (source / "build").exists(), "a checkout is left as it was"
    (built,) = target.glob("dmglab-*-py3-none-any.whl")
    return zipfile.ZipFile(built)


def test_the_wheel_carries_every_module(wheel: zipfile.ZipFile) -> None:
    wanted = {
        f"{SHELF}/{path.relative_to(CHECKOUT).as_posix()}"
        for package in PACKAGES
        for path in (CHECKOUT / package).rglob("*.py")
    }
    wanted |= {f"dmglab/{path.name}" for path in (CHECKOUT / "dmglab").glob("*.py")} | {"dmglab/py.typed"}
    assert wanted - set(wheel.namelist()) == set()


def test_a_wheel_puts_nothing_beside_the_package_dmglab(wheel: zipfile.ZipFile) -> None:
    """Another distribution may have a `gui` or an `emulator` of its own."""
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.startswith("dmglab-0")} == {"dmglab", "dmglab.pth"}
    assert wheel.read("dmglab.pth").decode().strip() == SHELF


def test_the_wheel_carries_the_pins_and_examples_of_every_guest(wheel: zipfile.ZipFile) -> None:
    guests = CHECKOUT / "trainer_core" / "runners"
    wanted = {
        f"{SHELF}/{path.relative_to(CHECKOUT).as_posix()}"
        for path in guests.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc")
    }
    assert {path.parent.name for path in guests.glob("*/requirements.txt")} >= {"sb3", "arc"}
    assert wanted - set(wheel.namelist()) == set()


def test_the_wheel_carries_what_runs_need_of_the_assets_and_no_sources_of_games(wheel: zipfile.ZipFile) -> None:
    assets = CHECKOUT / "assets"
    wanted = {*assets.glob("games/*/*.gb"), *assets.glob("icons/*"), *assets.glob("fonts/*"), *assets.glob("desktop/*")}
    wanted |= {path for path in assets.glob("tasks/**/*") if path.is_file()}
    assert wanted
    names = set(wheel.namelist())
    docs = CHECKOUT / "docs"
    manual = [docs / "CHANGELOG.md", *docs.glob("guide/*"), *docs.glob("reference/*"), *docs.glob("images/app-*")]
    assert {f"{SHELF}/dmglab_docs/{page.relative_to(docs).as_posix()}" for page in manual} <= names
    assert f"{SHELF}/dmglab_docs/requirements.txt" not in names
    there = f"{SHELF}/dmglab_assets"
    assert {f"{there}/{path.relative_to(assets).as_posix()}" for path in wanted} <= names
    endings = {Path(name).suffix for name in names if name.startswith(f"{there}/games")}
    assert endings
    assert not endings & {".c", ".s", ".py", ".sh"}


def test_the_metadata_name_a_range_of_torch_the_licence_and_both_programs(wheel: zipfile.ZipFile) -> None:
    (info,) = {name.split("/")[0] for name in wheel.namelist() if ".dist-info/" in name}
    metadata = wheel.read(f"{info}/METADATA").decode()
    (torch,) = {
        line.split(";")[0].removeprefix("Requires-Dist:").strip()
        for line in metadata.splitlines()
        if line.startswith("Requires-Dist: torch")
    }
    assert torch == "torch>=2.11"
    for name in ("LICENSE", "assets/fonts/OFL.txt"):
        assert wheel.read(f"{info}/licenses/{name}") == (CHECKOUT / name).read_bytes()
    points = configparser.ConfigParser()
    points.optionxform = str  # type: ignore[assignment]
    points.read_string(wheel.read(f"{info}/entry_points.txt").decode())
    assert dict(points["console_scripts"]) == {"dmglab": "dmglab.programs:lab"}
    assert dict(points["gui_scripts"]) == {"dmglab-app": "dmglab.programs:app"}
    assert dict(points["dmglab.runners"]) == catalog.OURS


def test_what_is_installed_finds_tasks_and_keeps_data_in_the_users_folder(
    wheel: zipfile.ZipFile, tmp_path: Path
) -> None:
    site, user = tmp_path / "site", tmp_path / "user"
    wheel.extractall(site)
    code = f"""
import importlib.util, json, sys
sys.path[:] = [{str(site)!r}, *(place for place in sys.path if place != {str(CHECKOUT)!r})]
import dmglab
import gymnasium
entry = gymnasium.spec("dmglab/pocket_quest.leave_bedroom-v0").entry_point
assert importlib.util.find_spec(entry.split(":")[0]).origin.startswith({str(site)!r}), entry
from trainer_core.lab import paths
from trainer_core.lab.tasks import list_tasks, verify_file
assert paths.__file__.startswith({str(site)!r}), paths.__file__
home = paths.HomePaths(paths.default_home())
tasks = list_tasks(home)
assert list(dmglab.tasks()) == ["tiny_goal", *(task.id for task in tasks)]
with dmglab.GameBoy(dmglab.roms()["pocket_quest"]) as game:
    game.press("start")
for task in tasks:
    verify_file(task.starts_path, task.manifest.starts.sha256, "starts")
    verify_file(task.goal_path, task.manifest.goal.sha256, "goal")
    verify_file(task.rom_path, task.manifest.rom.sha256, "ROM")
print(json.dumps([[task.id for task in tasks], str(home.root), str(paths.child_folder())]))
"""
    environment = {name: text for name, text in os.environ.items() if name != "DMGLAB_HOME"}
    environment |= {"HOME": str(user), "XDG_DATA_HOME": str(user / "data")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd="/", env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    tasks, home, children = json.loads(done.stdout)
    shipped = (CHECKOUT / "assets" / "tasks").rglob("task.toml")
    assert sorted(tasks) == sorted(tomllib.loads(path.read_text())["id"] for path in shipped)
    if sys.platform.startswith("linux"):
        assert home == str(user / "data" / "dmglab")
    assert children == str(site / SHELF)


ONE_COPY = """
import importlib, importlib.util, json, pathlib, site, sys
root, checkout, place = sys.argv[1:]
if root != checkout:  # these tests run where the checkout is installed
    sys.path[:] = [place, *(folder for folder in sys.path if folder != checkout)]
    sys.meta_path[:] = [finder for finder in sys.meta_path if "Editable" not in repr(finder)]
    for name in [name for name in sys.modules if name.startswith("__editable__")]:
        del sys.modules[name]
    site.addsitedir(place)
import dmglab
assert not {"emulator", "trainer_core", "gui", "numpy"} & set(sys.modules), "it loads nothing"
names = ["emulator.rom.isa", "trainer_core.service", "trainer_core.runners.catalog", "gui.kit.words"]
for name in names:
    importlib.import_module(name)
seen = {}
for name, module in list(sys.modules.items()):
    file = pathlib.Path(getattr(module, "__file__", None) or "/").resolve()
    if file.is_relative_to(root) and file.is_file():  # Qt has modules whose file is only a name
        seen.setdefault(str(file), []).append(name)
ours = [name for name in sys.modules if name.startswith(("emulator", "trainer_core", "gui."))]
print(json.dumps({
    "twice": [names for names in seen.values() if len(names) > 1],
    "elsewhere": sorted(set(ours) - {name for names in seen.values() for name in names}),
    "second": [name for name in names if importlib.util.find_spec("dmglab." + name.split(".")[0])],
    "version": dmglab.__version__, "packages": dmglab.PACKAGES, "count": len(ours),
}))
"""


@pytest.mark.parametrize("how", ["checkout", "editable", "wheel"])
def test_a_module_has_one_name_and_one_copy(
    how: str, source: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    root, packages = CHECKOUT, CHECKOUT
    if how == "wheel":
        root, packages = tmp_path, tmp_path / SHELF
        request.getfixturevalue("wheel").extractall(tmp_path)
    if how == "editable":
        root = packages = source
        code = f"from setuptools import build_meta; build_meta.build_editable({str(tmp_path)!r})"
        subprocess.run([sys.executable, "-c", code], cwd=source, capture_output=True, check=True)
        zipfile.ZipFile(next(tmp_path.glob("*.whl"))).extractall(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", ONE_COPY, str(root), str(CHECKOUT), str(tmp_path)],
        cwd="/" if root != CHECKOUT else CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("count") > 50
    version = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]["version"]
    assert found == {"twice": [], "elsewhere": [], "second": [], "version": version, "packages": str(packages)}


def test_a_gui_of_somebody_else_is_theirs_and_our_programs_have_ours(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    site, other = tmp_path / "site", tmp_path / "other"
    wheel.extractall(site)
    for name in ("gui", "emulator"):
        (other / name).mkdir(parents=True)
        (other / name / "__init__.py").write_text("THEIRS = True\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (site, other)))}

    def say(code: str) -> str:
        return subprocess.run(
            [sys.executable, "-c", code], cwd=other, env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()

    assert say("import dmglab, gui, emulator; print(gui.THEIRS, emulator.THEIRS)") == "True True"
    code = "from dmglab import programs; programs._stand_first(); import gui; print(gui.__file__)"
    assert say(code) == str(site / SHELF / "gui" / "__init__.py")
    done = subprocess.run(
        [sys.executable, "-m", "dmglab", "--version"],
        cwd=other,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "0." in done.stdout


def test_a_read_only_installation_trains_plays_and_opens_the_app() -> None:
    """Minutes, and the network where pip's settings name no folder of wheels."""
    need_extras()
    done = subprocess.run(
        ["sh", str(CHECKOUT / "scripts" / "prove_wheel.sh")],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "DMGLAB_PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert json.loads(done.stdout.splitlines()[-1])["success_rate"] >= 0.9
