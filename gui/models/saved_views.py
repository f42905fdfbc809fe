"""Ways of looking at curves that a person gave a name, kept from one start to the next."""

from __future__ import annotations

import contextlib
import json
from typing import Annotated, Any, TypedDict

import msgspec
from PySide6.QtCore import QObject, Signal

from gui.settings import Settings

KEY = "curves/views"
MOST = 100
"""Views that are kept; the oldest go first."""


class View(TypedDict, total=False):
    """Axes, smoothing, plots and runs that were on show; an older app knew fewer of them."""

    axis: str
    smoothing: Annotated[float, msgspec.Meta(ge=0, lt=1)]
    kind: str
    spread: str
    outliers: bool
    focus: str
    pinned: list[str]
    filter: str
    plot_filter: str
    plots: dict[str, list[str]]


class SavedViews(QObject):
    changed = Signal()

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self._views: dict[str, dict[str, Any]] = {}
        for name, view in settings.decoded(KEY, dict[str, msgspec.Raw], {}).items():
            with contextlib.suppress(msgspec.MsgspecError, RecursionError):  # one, not all of them
                self._views[name] = dict(msgspec.json.decode(view, type=View))

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
