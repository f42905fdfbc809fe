"""What the app remembers between starts: one INI file in the home, typed access to it."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QSettings

from trainer_core.protocol.paths import HomePaths

LAYOUT_VERSION = 3
"""Raise it whenever docks are added, removed or renamed: an older layout is then ignored."""


class Settings:
    """Values with defaults; a damaged file reads as the defaults."""

    def __init__(self, home: HomePaths) -> None:
        self._file = QSettings(str(home.settings / "app.ini"), QSettings.Format.IniFormat)

    def text(self, key: str, default: str = "") -> str:
        value = self._file.value(key, default)
        return value if isinstance(value, str) else default

    def number(self, key: str, default: float) -> float:
        try:
            return float(str(self._file.value(key, default)))
        except ValueError:
            return default

    def flag(self, key: str, default: bool) -> bool:
        return self.text(key, "true" if default else "false") == "true"

    def set(self, key: str, value: str | float | bool) -> None:
        if isinstance(value, bool):
            value = "true" if value else "false"
        self._file.setValue(key, str(value))

    def blob(self, key: str) -> QByteArray:
        value = self._file.value(key)
        return value if isinstance(value, QByteArray) else QByteArray()

    def set_blob(self, key: str, value: QByteArray) -> None:
        self._file.setValue(key, value)

    def remove(self, key: str) -> None:
        self._file.remove(key)

    def save(self) -> None:
        self._file.sync()
