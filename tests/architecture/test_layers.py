"""Who may import whom (ARCHITECTURE.md): by reading imports and by importing in a new process."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.imports import CHECKOUT, imported_modules, sources

LIGHT = ("wire", "lab", "runs", "service", "runners.catalog", "sweeps.space")
LIGHT_COMMANDS = ("rom list", "task list", "runs")
FORBIDDEN = {
    "emulator": {"torch", "PySide6", "pyqtgraph", "qasync", "trainer_core", "gui", "dmglab"},
    "trainer_core": {"PySide6", "pyqtgraph", "qasync", "gui", "dmglab"},
    "gui": {"torch", "warp", "emulator", "dmglab"},
}


@pytest.mark.parametrize("package", FORBIDDEN)
def test_a_package_imports_nothing_from_the_layers_it_must_not_know(package: str) -> None:
    assert sources(package), f"{package} has no source: the test would prove nothing"
    wrong = [
        f"{path.relative_to(CHECKOUT)} imports {name}"
        for path in sources(package)
        for name in imported_modules(path)
        if name.split(".")[0] in FORBIDDEN[package]
    ]
    assert not wrong, "\n".join(wrong)


def test_the_app_reaches_only_the_import_light_part_of_the_trainer() -> None:
    allowed = tuple(f"trainer_core.{name}" for name in LIGHT)
    wrong = [
        f"{path.relative_to(CHECKOUT)} imports {name}"
        for path in sources("gui")
        for name in imported_modules(path)
        if name.startswith("trainer_core.") and not name.startswith(allowed)
    ]
    assert not wrong, "\n".join(wrong)


def test_nobody_imports_from_a_test_what_tests_share_lies_in_support() -> None:
    files = [*sources("tests"), *sources("scripts")]
    wrong = [
        f"{path.relative_to(CHECKOUT)} imports {name}"
        for path in files
        for name in imported_modules(path)
        if name.startswith("tests.") and any(part.startswith("test_") for part in name.split("."))
    ]
    assert len(files) > 50
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", LIGHT)
def test_the_light_part_of_the_trainer_loads_no_heavy_library(name: str) -> None:
    module = f"trainer_core.{name}"
    source = CHECKOUT / Path(*module.split("."))
    if name in ("wire", "lab"):
        names = [f"{module}.{path.stem}" for path in source.glob("*.py") if path.stem != "__init__"]
    else:
        assert source.with_suffix(".py").is_file() or source.is_dir()
        names = [module]
    heavy = "{'torch', 'warp', 'PySide6', 'numpy', 'gymnasium', 'matplotlib'}"
    said = last_line(f"import sys, {', '.join(names)}; print(sorted({heavy} & set(sys.modules)))")
    assert said == "[]"


@pytest.mark.parametrize("command", LIGHT_COMMANDS)
def test_a_command_that_runs_no_console_loads_neither_warp_nor_torch(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would take seconds: `emulator` gives a cartridge without its kernels."""
    monkeypatch.setenv("DMGLAB_HOME", str(tmp_path))
    said = last_line(
        "import sys; from trainer_core.cli.main import main;"
        f"print(main({command.split()!r}), sorted({{'torch', 'warp'}} & set(sys.modules)))"
    )
    assert said == "0 []"


READERS_OF_ENVIRONMENT = {
    "gui/__main__.py",
    "gui/shell/qt_check.py",
    "emulator/hot_code/background_search.py",
    "trainer_core/runners/remote/courier.py",
    "trainer_core/wire/environment.py",
    "trainer_core/wire/process_guard.py",
    "trainer_core/host/process_start.py",
    "trainer_core/cli/main.py",
    "trainer_core/host/worker.py",
    "trainer_core/player.py",
    "trainer_core/runners/rllm/worker.py",
}
"""Programs, what they do first, and the one file that says what the environment means."""


def test_only_programs_read_the_environment() -> None:
    found = {
        str(path.relative_to(CHECKOUT))
        for package in FORBIDDEN
        for path in sources(package)
        if re.search(r"\bos\.(environ|getenv|putenv)\b", path.read_text(encoding="utf-8"))
    }
    assert found == READERS_OF_ENVIRONMENT


def test_nothing_calls_what_torch_keeps_private() -> None:
    """Such a function may be gone in the next version. One behind another name counts too."""
    private = re.compile(r"\btorch(\.\w+)*\._[a-z]|\._(fused|foreach)_")
    assert private.search("kernels._fused_adam_(weights)")
    found = [path for package in FORBIDDEN for path in sources(package) if private.search(path.read_text("utf-8"))]
    assert found == []


IMPORTS = {
    "emulator": "import emulator, emulator.__main__; emulator.Emulator",
    "trainer_core": "import trainer_core.cli.main, trainer_core.host.validation_process, trainer_core.host.worker, "
    "trainer_core.play.league.contestant_process, trainer_core.player",
    "gui": "import gui.app, gui.__main__",
}
"""Of each package what its programs load; only a program's `main` may change its process."""


@pytest.mark.parametrize("package", FORBIDDEN)
def test_importing_a_package_changes_neither_environment_nor_collector(package: str) -> None:
    said = last_line(
        "import gc, os; before = dict(os.environ), gc.isenabled(), gc.get_threshold();"
        f"{IMPORTS[package]}; print((dict(os.environ), gc.isenabled(), gc.get_threshold()) == before)"
    )
    assert said == "True"


def last_line(code: str) -> str:
    """What a new Python prints last when it runs `code`."""
    result = subprocess.run([sys.executable, "-c", code], cwd=CHECKOUT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip().splitlines()[-1]


def test_no_two_test_files_share_a_name() -> None:
    """pytest cannot collect both, which a run of either alone does not show."""
    names = [path.name for path in (CHECKOUT / "tests").rglob("test_*.py")]
    assert len(names) > 100
    assert sorted(set(names)) == sorted(names), {n for n in names if names.count(n) > 1}


def test_nothing_that_a_compiler_made_is_tracked() -> None:
    if not (CHECKOUT / ".git").exists() or not shutil.which("git"):
        pytest.skip("no git checkout, or no git to ask")
    said = subprocess.run(["git", "ls-files"], cwd=CHECKOUT, capture_output=True, text=True)
    tracked = said.stdout.splitlines()
    assert "README.md" in tracked, said.stderr
    assert not [name for name in tracked if name.endswith((".o", ".meta", ".cubin", ".pyc"))]
