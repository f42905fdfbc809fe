"""The contract between the app and its features: a function from `Context` to `Feature`.

`gui.app` calls `feature(context)` of every folder of `gui.features`, in the order of its list. A feature makes its
parts (models and controllers), adds them to the context, defines its commands, and returns its docks, tabs and hooks.
It may use the parts of the features before it, by their class: `context[PlayController]`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QDockWidget, QMainWindow, QMenu, QWidget

from gui.kit.actions import ActionRegistry
from gui.kit.screen import Palette
from gui.kit.settings import Settings
from gui.state.appearance import Appearance
from gui.state.bridge import Bridge
from gui.state.checkpoints import CheckpointList
from gui.state.log_buffer import LogBuffer
from gui.state.new_files import NewFiles
from gui.state.notices import Notices
from gui.state.session import Navigation, Place, Session
from gui.state.telemetry import TelemetryModel, ViewMemory
from trainer_core.lab.paths import HomePaths

RECENT = "Recent games"
"""Title of the menu that the games feature fills."""
Part = TypeVar("Part")


def nothing() -> None:
    """Do nothing: the default of a feature's hooks."""


@dataclass(frozen=True, slots=True)
class DockSpec:
    """Dock at an edge of the window."""

    make: Callable[[], QDockWidget]
    keys: str
    """Shortcut that shows and hides the dock."""


@dataclass(frozen=True, slots=True)
class TabSpec:
    """Tab in the middle of the window."""

    place: Place
    make: Callable[[], QWidget]


@dataclass(frozen=True, slots=True)
class Choice:
    """Option in the settings dialog."""

    key: str
    """Key of the setting."""
    words: str
    help: str
    default: bool = True
    changed: Callable[[], object] = nothing
    """Called after the user turned it on or off."""


@dataclass(frozen=True, slots=True)
class Feature:
    """Docks, tabs and hooks of a feature; every field may be left out."""

    docks: Sequence[DockSpec] = ()
    tabs: Sequence[TabSpec] = ()
    """Tabs; docks and tabs are made after the parts and commands of all features, which they show."""
    first_page: Callable[[], QWidget] | None = None
    """Makes the page in the live tab until a game plays; one feature has it."""
    finish: Callable[[], None] = nothing
    """Connects parts to docks and tabs, once those of all features are made."""
    open_home: Callable[[], None] = nothing
    """Shows the home's contents from earlier sessions, once the window is complete."""
    take_path: Callable[[Path], bool] = lambda path: False
    """Opens a file or folder, and returns whether it did; the last feature is asked first."""
    ends: Sequence[Callable[[], Awaitable[object]]] = ()
    """Coroutine functions that end the feature's processes, called when the app ends."""
    choices: Sequence[Choice] = ()
    """Options in the settings dialog."""
    settings_pages: Sequence[tuple[str, Callable[[], QWidget]]] = ()
    """(title, maker) of further pages in the settings dialog."""
    keys: Sequence[tuple[str, str]] = ()
    """(keys, text) of keys without a command, for the list of shortcuts."""


class Context:
    """Shared objects of all features: the window, services, state, and each other's parts by class."""

    def __init__(self, home: HomePaths, settings: Settings, window: QMainWindow) -> None:
        self._parts: dict[type, object] = {}
        self.home, self.window = home, window
        self.settings = self.add(settings)
        self.bridge = self.add(Bridge(home))
        self.actions = self.add(ActionRegistry(window, settings))
        self.session = self.add(Session(home, settings))
        self.navigation = self.add(Navigation())
        self.notices = self.add(Notices())
        self.log = self.add(LogBuffer())
        self.palette = self.add(Palette())
        self.appearance = self.add(Appearance(settings, self.palette))
        self.checkpoints = self.add(CheckpointList())
        self.telemetry = self.add(TelemetryModel())
        self.view = self.add(ViewMemory(self.telemetry, settings))
        self.files = self.add(NewFiles(self.bridge, self.notices))
        self.docks: list[QDockWidget] = []
        """Every dock, in the order of menus; empty until the commands of all features are defined."""
        self.menus: dict[str, QMenu] = {}
        """Menus that a feature fills itself, by their English titles in `gui.shell.menus`."""

    def add(self, part: Part) -> Part:
        """Store a part under its class, and return it. Raises ValueError for a second one of a class."""
        if type(part) in self._parts:
            raise ValueError(f"there is a {type(part).__name__} already")
        self._parts[type(part)] = part
        return part

    def __getitem__(self, kind: type[Part]) -> Part:
        """Return the part of this class. Raises LookupError when no feature so far has added one."""
        part = self._parts.get(kind)
        if part is None:
            raise LookupError(f"no {kind.__name__} yet: its feature comes later in gui.app, or adds none")
        assert isinstance(part, kind)
        return part

    def own(self, owner: QObject) -> None:
        """Delete every part when this owner is deleted, so that no timer of a part fires later."""
        for part in self._parts.values():
            if isinstance(part, QObject) and not isinstance(part, QWidget):
                part.setParent(owner)
