"""Order the test files by how near they stand to a module: nearest first, by imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOMS = {
    "emulator": ("tests/emulator", "tests/games"),
    "trainer_core": ("tests/trainer_core", "tests/runners"),
    "gui": ("tests/gui",),
}
"""Whose tests are run to the last file before a mutant of the package counts as survived."""


def nearest_tests(checkout: Path, path: str) -> list[str]:
    """Return the test files that reach `path` by imports, nearest first, then its room's others.

    A file that only names the module, in a text or a command line, stands at distance 1.
    """
    graph = {name: set(_imports(checkout / name)) for name in _sources(checkout)}
    distance, front = {path: 0}, [path]
    while front:
        front = [
            name
            for name, imported in graph.items()
            if name not in distance and any(one in distance for one in imported)
        ]
        step = max(distance.values()) + 1
        distance |= dict.fromkeys(front, step)
    module = path.removesuffix(".py").replace("/", ".")
    tests = sorted(name for name in graph if Path(name).name.startswith("test_"))
    rooms = ROOMS[path.split("/")[0]]
    ranked = []
    for name in tests:
        far = distance.get(name, 99)
        text = (checkout / name).read_text(encoding="utf-8")
        if module in text or path in text:
            far = 1
        is_home = name.startswith(rooms)
        if is_home or far < 3:
            named = text.count(Path(path).stem)
            ranked.append((far, not is_home, -named, len(text), name))
    return [name for *_, name in sorted(ranked)]


def _sources(checkout: Path) -> Iterator[str]:
    for package in (*ROOMS, "tests"):
        for path in sorted((checkout / package).rglob("*.py")):
            yield str(path.relative_to(checkout))


def _imports(path: Path) -> Iterator[str]:
    """Yield the files of a checkout that a file's import lines may mean."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            stem = name.replace(".", "/")
            yield f"{stem}.py"
            yield f"{stem}/__init__.py"
