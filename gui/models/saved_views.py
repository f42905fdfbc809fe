"""Ways of looking at curves that a person gave a name, kept from one start to the next."""

from __future__ import annotations

import json
from typing import Any

from PySide6.QtCore import QObject, Signal

from gui.models.kept_json import kept_json
from gui.settings import Settings

KEY = "curves/views"
MOST = 100
"""Views that are kept; the oldest go first."""


class SavedViews(QObject):
    changed = Signal()

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        found: dict[str, Any] = kept_json(settings, KEY, dict[str, Any], {})
        self._views: dict[str, dict[str, Any]] = {
            name: view for name, view in found.items() if isinstance(view, dict)
        }

    def names(self) -> list[str]:
        return list(self._views)

    def __getitem__(self, name: str) -> dict[str, Any]:
        """What `put` was given; nothing of a view that is not there."""
        return self._views.get(name, {})

    def put(self, name: str, view: dict[str, Any]) -> None:
        """Keep a view, in the place of one of the same name."""
        kept = {other: old for other, old in self._views.items() if other != name}
        self._keep({**dict(list(kept.items())[1 - MOST :]), name: view})

    def drop(self, name: str) -> None:
        self._keep({other: view for other, view in self._views.items() if other != name})

    def _keep(self, views: dict[str, dict[str, Any]]) -> None:
        self._views = views
        self._settings.set(KEY, json.dumps(views))
        self.changed.emit()
