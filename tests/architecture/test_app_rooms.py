"""The app: `kit` below `state` below the features below `gui.app`; features know only those before them."""

from __future__ import annotations

import functools

from gui.app import FEATURES
from scripts.app_imports import app_imports, crossings, room_of
from tests.support.imports import pictured_rooms, sources

BELOW = {"kit": set(), "state": {"kit"}, "shell": {"kit", "state"}}
"""Which rooms the files of a room may import, beside their own; features may import kit and state."""
MOST_CROSSINGS = 0.09
"""Of the app's imports, those from feature to feature; 78 % crossed a folder when folders were kinds of classes."""
VERBS = ("plan", "start", "stop", "pause", "unpause", "resume", "request", "open", "history")
CALLERS = ("controller", "wall", "welcome")
"""Files of features that talk to services, beside those of `state`."""


@functools.cache
def imports() -> list[tuple[str, str]]:
    return list(app_imports())


def test_rooms_import_downwards() -> None:
    order = [module.__name__.rsplit(".", 1)[1] for module in FEATURES]
    allowed = BELOW | {
        f"features.{name}": {"kit", "state", *(f"features.{other}" for other in order[:place])}
        for place, name in enumerate(order)
    }
    wrong = [
        f"{name} imports {other}"
        for name, other in imports()
        if (room := room_of(name)) in allowed and room_of(other) not in {room, *allowed[room]}
    ]
    assert not wrong, "\n".join(sorted(wrong))


def test_every_feature_is_in_the_app() -> None:
    rooms = {room_of(name).removeprefix("features.") for name, _ in imports() if room_of(name).startswith("features.")}
    assert rooms == {module.__name__.rsplit(".", 1)[1] for module in FEATURES}


def test_the_page_on_architecture_shows_every_room() -> None:
    rooms = pictured_rooms("gui")
    assert list(rooms) == ["app", "shell", "features", "state", "kit"]
    assert rooms["features"].split() == [module.__name__.rsplit(".", 1)[1] for module in FEATURES]


def test_few_imports_lead_from_feature_to_feature() -> None:
    """`python scripts/app_imports.py` lists them."""
    crossed = crossings(imports())
    assert crossed, "the script finds none at all"
    assert len(crossed) <= MOST_CROSSINGS * len(imports()), f"{len(crossed)} of {len(imports())}"


def test_only_the_start_knows_the_app() -> None:
    assert {name for name, other in imports() if other == "gui.app"} == {"gui.__main__"}
    assert {name for name, other in imports() if other == "gui.shell.window"} == {"gui.app"}


def test_no_module_of_the_app_imports_itself_by_a_detour() -> None:
    left: dict[str, set[str]] = {}
    for name, other in imports():
        left.setdefault(name, set()).add(other)
    while free := [name for name, found in left.items() if not found & left.keys()]:
        for name in free:
            del left[name]
    assert not left, f"each of these waits for another one of them: {sorted(left)}"


def test_services_are_called_by_controllers_and_their_bridge_only() -> None:
    """A widget that talks to a process would need a test of its own for every way that can fail."""
    wrong = [
        f"{path}: {verb}"
        for path in sources("gui")
        if path.stem not in CALLERS and path.parent.name != "state"
        for verb in VERBS
        if f"service.{verb}(" in path.read_text(encoding="utf-8")
    ]
    assert not wrong, "\n".join(wrong)
