"""The rooms of the app import downwards only: app, views, commands, controllers, models."""

from __future__ import annotations

import functools
from pathlib import Path

from tests.support.imports import CHECKOUT, imported_modules, sources

LOWER = ("bridge", "words", "settings", "theme", "keymap", "object_names", "actions")
"""Single modules that every room may know."""
ROOMS = {
    "models": {"models", *LOWER},
    "widgets": {"widgets", "models", *LOWER},
    "controllers": {"controllers", "models", "widgets.screen", *LOWER},
    "docks": {"docks", "controllers", "models", "widgets", *LOWER},
    "center": {"center", "controllers", "models", "widgets", *LOWER},
}
"""What the modules of a room may import of the app, by the beginning of the name after gui."""


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(CHECKOUT).with_suffix("").parts).removesuffix(".__init__")


@functools.cache
def imports() -> dict[str, frozenset[str]]:
    """Modules of the app that each module of it imports, those for type checkers included."""
    modules = {module_name(path): path for path in sources("gui")}
    return {name: imported_modules(path) & modules.keys() for name, path in modules.items()}


def test_only_the_composition_knows_the_window() -> None:
    knowing = {name for name, found in imports().items() if "gui.main_window" in found}
    assert knowing == {"gui.app"}


def test_only_the_start_knows_the_composition() -> None:
    assert {name for name, found in imports().items() if "gui.app" in found} == {"gui.__main__"}


def test_no_module_of_the_app_imports_itself_by_a_detour() -> None:
    left = {name: set(found) for name, found in imports().items()}
    while free := [name for name, found in left.items() if not found & left.keys()]:
        for name in free:
            del left[name]
    assert not left, f"each of these waits for another one of them: {sorted(left)}"


def test_rooms_import_downwards() -> None:
    wrong = [
        f"{name} imports {found}"
        for name, targets in imports().items()
        for found in targets
        if (room := name.split(".")[1:2]) and room[0] in ROOMS and found != "gui"
        if not any(found == f"gui.{allowed}" or found.startswith(f"gui.{allowed}.") for allowed in ROOMS[room[0]])
    ]
    assert not wrong, "\n".join(sorted(wrong))


def test_services_are_called_by_controllers_and_their_bridge_only() -> None:
    """A widget that talks to a process would need a test of its own for every way that can fail."""
    verbs = ("plan", "start", "stop", "pause", "unpause", "resume", "request", "open", "history")
    wrong = [
        f"{path.relative_to(CHECKOUT)}: {verb}"
        for path in sources("gui")
        if path.parent.name in ("docks", "widgets", "models") or path.name == "main_window.py"
        for verb in verbs
        if f"service.{verb}(" in path.read_text(encoding="utf-8")
    ]
    assert not wrong, "\n".join(wrong)
