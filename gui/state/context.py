"""Interface between the app and its features: each feature is a function from `Context` to `Feature`.

`gui.app` calls `feature(context)` of each package in `gui.features`, in a fixed order. A feature makes its models and
controllers (its parts), adds them to the context, defines its commands, and returns its docks, tabs and hooks. It may
use the parts of earlier features by class: `context[PlayController]`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QDockWidget, QMainWindow, QMenu, QWidget

from gui.kit.actions import ActionRegistry
from gui.kit.dialogs import keep_folders
from gui.kit.screen import Palette
from gui.kit.settings import Settings
from gui.state.appearance import Appearance
from gui.state.bridge import Bridge
from gui.state.checkpoints import CheckpointList
from gui.state.log_buffer import LogBuffer
from gui.state.new_files import NewFiles
from gui.state.notices import Notices
from gui.state.session import Navigation, Place, Session
from gui.state.situation import Situations
from gui.state.telemetry import TelemetryModel, ViewMemory
from trainer_core.lab.paths import HomePaths

RECENT = "Recent games"
"""Title of the menu that the games feature fills."""
Part = TypeVar("Part")


def nothing() -> None:
    """Do nothing; the default value of a feature's hooks."""


@dataclass(frozen=True, slots=True)
class DockSpec:
    """Dock at an edge of the main window."""

    make: Callable[[], QDockWidget]
    keys: str
    """Shortcut that shows or hides the dock."""


@dataclass(frozen=True, slots=True)
class TabSpec:
    """Tab in the middle of the main window."""

    place: Place
    make: Callable[[], QWidget]


@dataclass(frozen=True, slots=True)
class Choice:
    """Check box in the settings dialog."""

    key: str
    """Key in the settings."""
    words: str
    help: str
    default: bool = True
    changed: Callable[[], object] = nothing
    """Function that is called after the user changed the setting."""


@dataclass(frozen=True, slots=True)
class Feature:
    """Docks, tabs and hooks of a feature; all fields are optional."""

    docks: Sequence[DockSpec] = ()
    tabs: Sequence[TabSpec] = ()
    """Tabs. Docks and tabs are made after the parts and commands of all features."""
    bars: Sequence[Callable[[], QWidget]] = ()
    """Functions that make the fixed bars below the menu bar, after the docks and tabs."""
    first_page: Callable[[], QWidget] | None = None
    """Function that makes the page shown in the live tab until a game plays; only one feature has one."""
    finish: Callable[[], None] = nothing
    """Function that connects the feature's parts with docks and tabs, after all of these were made."""
    open_home: Callable[[], None] = nothing
    """Function that shows the contents of the home folder, after the window was built."""
    take_path: Callable[[Path], bool] = lambda path: False
    """Function that opens a file or folder and returns whether it could; the last feature is asked first."""
    ends: Sequence[Callable[[], Awaitable[object]]] = ()
    """Coroutine functions that end the feature's processes when the app ends."""
    choices: Sequence[Choice] = ()
    """Check boxes in the settings dialog."""
    settings_pages: Sequence[tuple[str, Callable[[], QWidget]]] = ()
    """(title, function that makes the page) of further pages in the settings dialog."""
    keys: Sequence[tuple[str, str]] = ()
    """(keys, text) of keys that belong to no command, for the list of shortcuts."""


class Context:
    """Shared objects of all features: window, services, state, and each feature's parts by class."""

    def __init__(self, home: HomePaths, settings: Settings, window: QMainWindow) -> None:
        self._parts: dict[type, object] = {}
        self.home, self.window = home, window
        self.settings = self.add(settings)
        keep_folders(settings)
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
        for part in (self.bridge, self.checkpoints, self.telemetry):
            part.task_title = self.session.task_title
        self.situations = self.add(Situations(self.bridge, self.session, self.navigation, self.telemetry))
        self.view = self.add(ViewMemory(self.telemetry, settings))
        self.files = self.add(NewFiles(self.bridge, self.notices))
        self.docks: list[QDockWidget] = []
        """All docks in the order of the menus; empty until the commands of all features are defined."""
        self.menus: dict[str, QMenu] = {}
        """Menus that a feature fills itself, by their English title in `gui.shell.menus`."""

    def add(self, part: Part) -> Part:
        """Store a part (model or controller) by its class, and return it. Raises ValueError for a second one."""
        if type(part) in self._parts:
            raise ValueError(f"there is a {type(part).__name__} already")
        self._parts[type(part)] = part
        return part

    def __getitem__(self, kind: type[Part]) -> Part:
        """Return the part of class `kind`. Raises LookupError when no feature has added one so far."""
        part = self._parts.get(kind)
        if part is None:
            raise LookupError(f"no {kind.__name__} yet: its feature comes later in gui.app, or adds none")
        assert isinstance(part, kind)
        return part

    def own(self, owner: QObject) -> None:
        """Delete all parts when `owner` is deleted, so that none of their timers fires later."""
        for part in self._parts.values():
            if isinstance(part, QObject) and not isinstance(part, QWidget):
                part.setParent(owner)
