"""Where the person is to look next. Controllers ask, the window shows."""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import QObject, Signal


class Place(StrEnum):
    """The tabs in the middle, by their titles and in their order."""

    LIVE = "Live"
    CURVES = "Curves"
    WALL = "Env wall"
    REPLAY = "Replay"
    GAMES = "Games"
    LEAGUE = "League"


class Navigation(QObject):
    place_wanted = Signal(object)
    """A Place."""
    place_changed = Signal()
    """Another tab is on show."""
    dock_wanted = Signal(str)
    """objectName of a dock that is to be shown and raised."""
    welcome_changed = Signal(bool)
    game_wanted = Signal()
    """The game's screen is to have the keyboard."""

    def __init__(self) -> None:
        super().__init__()
        self.welcome = True
        """The welcome page is in front of the game's screen until something runs."""
        self.place = Place.LIVE
        """The tab on show."""

    def note_place(self, place: Place) -> None:
        """That this tab is on show now."""
        self.place = place
        self.place_changed.emit()

    def show(self, place: Place) -> None:
        self.place_wanted.emit(place)

    def show_dock(self, object_name: str) -> None:
        self.dock_wanted.emit(object_name)

    def show_welcome(self) -> None:
        self.welcome = True
        self.show(Place.LIVE)
        self.welcome_changed.emit(True)

    def leave_welcome(self) -> None:
        if self.welcome:
            self.welcome = False
            self.welcome_changed.emit(False)

    def show_game(self) -> None:
        self.leave_welcome()
        self.show(Place.LIVE)
