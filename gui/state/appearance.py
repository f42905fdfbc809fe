"""Appearance: theme of the widgets, and colours of the Game Boy's four shades."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QApplication

from gui.kit import theme
from gui.kit.focus_ring import FocusRings
from gui.kit.screen import Palette
from gui.kit.settings import Settings
from trainer_core.wire.shades import DEFAULT_SCREEN, SCREENS


class Appearance(QObject):
    theme_changed = Signal()
    screen_changed = Signal()

    def __init__(self, settings: Settings, palette: Palette) -> None:
        super().__init__()
        self._settings, self._palette = settings, palette
        self.rings = FocusRings(self)
        palette.is_lcd = settings.flag("view/lcd", False)
        palette.is_whole = settings.flag("view/whole_pixels", False)
        self._show_screen(settings.text("view/screen", DEFAULT_SCREEN))

    @property
    def theme(self) -> str:
        return theme.current().name

    def set_theme(self, name: str) -> None:
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        theme.apply_theme(app, name)
        self._settings.set("view/theme", name)
        self.theme_changed.emit()

    def set_screen(self, name: str) -> None:
        """Set the colours of the Game Boy screen by a key of SCREENS; an unknown key means the default."""
        self._show_screen(name)
        self._settings.set("view/screen", self.screen)
        self.screen_changed.emit()

    def _show_screen(self, name: str) -> None:
        self.screen = name if name in SCREENS else DEFAULT_SCREEN
        self._palette.set_colors(SCREENS[self.screen])

    @property
    def is_lcd(self) -> bool:
        """True if pictures imitate the LCD of the console."""
        return self._palette.is_lcd

    @property
    def is_whole(self) -> bool:
        """True if a game's pixel is a whole number of screen pixels."""
        return self._palette.is_whole

    def toggle_whole(self) -> None:
        self._palette.is_whole = not self._palette.is_whole
        self._settings.set("view/whole_pixels", self._palette.is_whole)
        self.screen_changed.emit()

    def toggle_lcd(self) -> None:
        self._palette.is_lcd = not self._palette.is_lcd
        self._settings.set("view/lcd", self._palette.is_lcd)
        self.screen_changed.emit()
