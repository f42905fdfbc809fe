"""The emulator's floors: every file imports from its own floor and from those below, never in a
circle. The order is that of emulator/__init__.py."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.support.imports import CHECKOUT, import_statements, pictured_rooms

FLOORS = (
    ("constants",),
    ("rom",),
    ("state",),
    ("kernels.intrinsics",),
    ("kernels.memory",),
    ("kernels.ppu",),
    ("kernels.io",),
    ("kernels.sm83",),
    ("launch",),
    ("hot_code",),
    ("frame_launcher",),
    ("device_access",),
    ("emulator",),
    ("sound",),
    ("",),
    ("tools", "hot_code.search"),
    ("verify",),
    ("__main__",),
)
"""Rooms and files below `emulator`, lowest first; "" is the package itself, its public face. The
longest name that fits counts: the search plays the ROM, so it stands above `Emulator`."""
EXECUTORS = ("native", "threaded", "uniform", "uniform_cpu")


def sources() -> dict[str, Path]:
    """File of each module of the emulator, by its name below `emulator`."""
    package = CHECKOUT / "emulator"
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(path: Path, modules: dict[str, Path]) -> set[str]:
    """Modules of the emulator that a file imports, at the top or inside a function."""
    found = set()
    for node in import_statements(path):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: an import relative to its folder is not checked here"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            if name.split(".")[0] == "emulator":
                below = name.removeprefix("emulator").removeprefix(".")
                found.add(below if below in modules else below.rpartition(".")[0])
    return found


def floor_of(module: str) -> int:
    """Index into FLOORS; a module of no floor fails the test that asks."""
    fitting = [
        (len(room), index)
        for index, rooms in enumerate(FLOORS)
        for room in rooms
        if module == room or (room and module.startswith(f"{room}."))
    ]
    if fitting:
        return max(fitting)[1]
    raise AssertionError(f"emulator.{module} has no floor: put it into FLOORS")


def test_no_file_of_the_emulator_imports_from_a_floor_above_it() -> None:
    modules = sources()
    assert len(modules) > 50
    wrong = [
        f"emulator.{module} imports emulator.{name}"
        for module, path in modules.items()
        if path.stat().st_size and module != "kernels"
        for name in imports(path, modules)
        if floor_of(name) > floor_of(module)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_page_on_architecture_shows_every_room() -> None:
    rooms = list(pictured_rooms("emulator"))
    kernels = re.findall(r"\w+", pictured_rooms("emulator")["kernels"])
    for folder, names in (("", rooms), ("kernels", kernels)):
        package = CHECKOUT / "emulator" / folder
        assert {path.parent.name for path in package.glob("*/__init__.py")} == set(names)
        floors = [floor_of(f"{folder}.{name}".removeprefix(".")) for name in names if name != "kernels"]
        assert floors == sorted(floors, reverse=True)


def test_the_files_of_the_emulator_import_each_other_in_no_circle() -> None:
    modules = sources()
    graph = {module: imports(path, modules) for module, path in modules.items()}
    left = dict(graph)
    while free := [module for module, names in left.items() if not names & left.keys() - {module}]:
        for module in free:
            del left[module]
    assert not left, f"in or above a circle: {sorted(left)}"


def test_kernels_of_an_executor_are_loaded_by_whoever_has_it() -> None:
    """Warp reads the text of every function: `kernels_of` loads what a process needs."""
    modules = sources()
    executors = {f"launch.{name}" for name in EXECUTORS}
    loaders = {module for module, path in modules.items() if imports(path, modules) & executors}
    assert loaders - executors == {"hot_code.compile_gpu", "hot_code.compile_cpu"}
