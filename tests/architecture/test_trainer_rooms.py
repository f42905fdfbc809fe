"""The trainer's rooms: each folder imports from folders below it only, never in a circle."""

from __future__ import annotations

from tests.support.imports import CHECKOUT, imported_modules, pictured_rooms, sources

PACKAGE = "trainer_core"
FLOORS = (
    "wire", "lab", "runs", "formats", "envs", "learn", "host", "author", "runners", "play",
    "service", "sweeps", "cli",
)  # fmt: skip
"""Folders of `trainer_core`, lowest first."""
PROGRAMS = {"worker": "runners", "player": "play"}
"""Modules beside the folders, which nobody imports, and the highest folder that each may use."""


def test_folders_of_the_trainer_import_downwards() -> None:
    graph = imports()
    assert len(graph) > 200
    wrong = [
        f"{module} imports {name}"
        for module, names in graph.items()
        for name in names
        if name in PROGRAMS or floor_of(name) > floor_of(module)
    ]
    assert not wrong, "\n".join(sorted(wrong))


def test_modules_of_the_trainer_import_each_other_in_no_circle() -> None:
    left = imports()
    while free := [module for module, names in left.items() if not names & left.keys()]:
        for module in free:
            del left[module]
    assert not left, f"in or above a circle: {sorted(left)}"


def test_the_page_on_architecture_shows_every_room() -> None:
    assert list(pictured_rooms(PACKAGE)) == list(reversed(FLOORS))
    assert {path.parent.name for path in (CHECKOUT / PACKAGE).glob("*/__init__.py")} == set(FLOORS)


def imports() -> dict[str, set[str]]:
    """Modules below `trainer_core` that each of them imports, at the top or inside a function.

    Packages that import nothing of ours are no modules: they only hold others.
    """
    modules = {}
    for path in sources(PACKAGE):
        parts = path.relative_to(CHECKOUT / PACKAGE).with_suffix("").parts
        if parts[-1] != "__init__":
            modules[".".join(parts)] = path
        elif any(name.startswith(f"{PACKAGE}.") for name in imported_modules(path)):
            modules[".".join(parts[:-1])] = path
    return {
        module: {
            below
            for name in imported_modules(path)
            if (below := name.removeprefix(f"{PACKAGE}.")) in modules and below != module
        }
        for module, path in modules.items()
    }


def floor_of(module: str) -> int:
    """Index into FLOORS of the folder that `module` lies in."""
    return FLOORS.index(PROGRAMS.get(module, module.split(".")[0]))
