"""The trainer's rooms: every module imports from its own floor and from those below, never in a
circle. The order is that of ARCHITECTURE.md."""

from __future__ import annotations

import re

from tests.support.imports import CHECKOUT, imported_modules, sources

PACKAGE = "trainer_core"
FLOORS = (
    (
        "protocol",
        "owned",
        "leash",
        "process_start",
        "environment",
        "waiting_worker",
        "proofs.faults",
    ),
    ("envs", "imports"),
    ("runs", "preflight"),
    ("runners", "exports", "algo"),
    ("preflight.checks", "arc", "service"),
    ("envs.build", "sweeps", "keeper"),
    ("train", "faces"),
    ("worker", "play"),
    ("player",),
    ("guests",),
    ("cli",),
    ("proofs",),
)
"""Rooms and modules below `trainer_core`, lowest first; the longest name that fits counts.
`runners` is what the catalog of runners loads, `guests` the processes of other libraries."""


def test_modules_of_the_trainer_import_downwards() -> None:
    graph = imports()
    guests = graph.keys() - reached(graph, "runners.catalog")
    assert len(graph) > 200
    wrong = [
        f"{module} imports {name}"
        for module, names in graph.items()
        for name in names
        if floor_of(name, guests) > floor_of(module, guests)
    ]
    assert not wrong, "\n".join(sorted(wrong))


def test_modules_of_the_trainer_import_each_other_in_no_circle() -> None:
    left = imports()
    while free := [module for module, names in left.items() if not names & left.keys()]:
        for module in free:
            del left[module]
    assert not left, f"in or above a circle: {sorted(left)}"


def test_the_page_on_architecture_shows_every_room() -> None:
    page = (CHECKOUT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    picture = page.split("## Who may import whom")[1].split("## Flow 1")[0]
    for package in (PACKAGE, "emulator", "gui"):
        rooms = [path.parent.name for path in (CHECKOUT / package).glob("*/__init__.py")]
        assert len(rooms) > 4
        missing = [room for room in rooms if not re.search(rf"\b{room}\b", picture)]
        assert not missing, f"{package}: {missing}"


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


def reached(graph: dict[str, set[str]], start: str) -> set[str]:
    """Modules that are loaded with `start`."""
    found, waiting = set(), [start]
    while waiting:
        if (module := waiting.pop()) not in found:
            found.add(module)
            waiting += graph[module]
    return found


def floor_of(module: str, guests: set[str]) -> int:
    """Index into FLOORS; a module of no floor fails the test that asks."""
    if module.startswith("runners.") and module in guests:
        module = "guests"
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        for floor, rooms in enumerate(FLOORS):
            if name in rooms:
                return floor
    raise AssertionError(f"{PACKAGE}.{module} has no floor: put it into FLOORS")
