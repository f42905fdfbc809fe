"""Docks that the user showed or hid otherwise than a situation does, by situation and window size."""

from __future__ import annotations

import json
from collections.abc import Iterable

from gui.kit import object_names as names
from gui.kit.settings import Settings

FOLDS = "layout/folds"
"""Setting with the choices; docks are named by their objectNames."""


class Folds:
    """Choices by a key such as "run/1440", remembered; docks that were opened stay until the app ends."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._kept = settings.decoded(FOLDS, dict[str, dict[str, bool]], {})
        self._opened: set[str] = set()

    def wanted(self, key: str, usual: set[str], left: set[str], every: Iterable[str]) -> set[str]:
        """Return the docks to show: the `usual` ones of a situation, changed by the user's choices.

        The docks at the `left` come and go with the agent dock.
        """
        chosen = self._kept.get(key, {}) | dict.fromkeys(self._opened, True)
        wanted = {name for name in every if chosen.get(name, name in usual)}
        if names.AGENT_DOCK in wanted:
            return wanted | {name for name in left if chosen.get(name, True)}
        return wanted - left

    def note(self, key: str, closed: set[str], opened: set[str], left: set[str]) -> None:
        """Remember that the user closed and opened these docks."""
        kept = self._kept.setdefault(key, {})
        kept |= dict.fromkeys(closed, False) | dict.fromkeys(opened, True)
        self._opened |= opened - left
        self._opened -= closed
        if opened & left and names.AGENT_DOCK not in closed:
            self._opened.add(names.AGENT_DOCK)
            kept[names.AGENT_DOCK] = True
        self._save()

    def fold(self, key: str, name: str) -> None:
        """Hide a dock again that another one takes the place of."""
        self._opened.discard(name)
        self._kept.setdefault(key, {})[name] = False
        self._save()

    def forget(self, key: str, name: str) -> None:
        """Let the situation decide about a dock again."""
        self._kept.get(key, {}).pop(name, None)

    def clear(self) -> None:
        self._kept.clear()
        self._opened.clear()
        self._save()

    def _save(self) -> None:
        self._settings.set(FOLDS, json.dumps(self._kept))
