"""Columns of the run table: built-in ones, and fields of run configurations."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Generator, Iterable
from typing import Annotated

import msgspec
from PySide6.QtCore import QObject, Signal

from gui.kit.settings import Settings
from gui.state.seed_groups import flat
from trainer_core.lab.checkpoint_manifest import list_checkpoints, read_meta
from trainer_core.lab.paths import HomePaths
from trainer_core.wire.errors import CheckpointError
from trainer_core.wire.regular_files import read_regular

MOST_BYTES = 1 << 20
"""Largest size in bytes of a run's config.json that is read."""
KEY = "runs/columns"
OFFLINE = "offline_dataset"
"""Field that is added to the configuration of a run that learns from data: the dataset's name and hash."""
MOST_PIXELS = 10_000


def differing(told: Iterable[dict[str, str]]) -> list[str]:
    """Return the fields that have at least two different values among the configurations `told`.

    A field that some of the configurations lack is compared among the others.
    """
    values: dict[str, set[str]] = {}
    for one in told:
        for name, text in one.items():
            values.setdefault(name, set()).add(text)
    return [name for name, found in values.items() if len(found) > 1]


class RunConfigs:
    """Cache of run configurations as text by field; each file is read at the first use.

    An unreadable file counts as an empty configuration.
    """

    def __init__(self, home: HomePaths) -> None:
        self._home = home
        self._known: dict[str, dict[str, str]] = {}

    def peek(self, run_id: str, name: str) -> str:
        """Return a field of a run's configuration from the cache; empty if it is not cached or lacks the field."""
        return self._known.get(run_id, {}).get(name, "")

    def find(self, run_id: str, name: str) -> str:
        """Return a field like `peek`; `name` is in lower case, and may be only the last part of a dotted name."""
        for field, text in self._known.get(run_id, {}).items():
            if name in (field.lower(), field.lower().rpartition(".")[2]):
                return text
        return ""

    def read(self, run_id: str) -> dict[str, str]:
        """Return a run's configuration as text by field, from the cache or the file.

        A missing configuration is not cached, as the run may write it later.
        """
        known = self._known.get(run_id)
        if known is None:
            known = self._read(run_id)
            if known and known.get(OFFLINE, "?"):
                self._known[run_id] = known
        return known

    def _read(self, run_id: str) -> dict[str, str]:
        path = self._home.run(run_id).config
        try:
            told = json.loads(read_regular(path, MOST_BYTES))
            found = flat(told.get("run", told))
        except (OSError, ValueError, AttributeError, RecursionError):
            return {}
        return found | {OFFLINE: self._learned_from(run_id)} if "data" in found else found

    def _learned_from(self, run_id: str) -> str:
        """Return the dataset that a run's newest checkpoint names; empty without one."""
        for folder in reversed(list_checkpoints(self._home.run(run_id))):
            with contextlib.suppress(CheckpointError):
                return read_meta(folder).offline_dataset
        return ""

    def reading(self, run_ids: Iterable[str]) -> Generator[None]:
        """Read the configurations of these runs into the cache, one per step of the generator."""
        for run_id in run_ids:
            self.read(run_id)
            yield

    def differing(self, run_ids: Iterable[str]) -> list[str]:
        """Return the fields whose values differ among these runs, in the order of the first run's configuration."""
        return differing([self.read(run_id) for run_id in run_ids])


class _Columns(msgspec.Struct):
    """Saved choice of columns."""

    fields: list[str] = []
    hidden: list[str] = msgspec.field(default_factory=lambda: ["Device"])
    widths: dict[str, Annotated[int, msgspec.Meta(ge=0, le=MOST_PIXELS)]] = {}
    sort: tuple[str, bool] | None = None


class RunColumns(QObject):
    """The user's choice of columns, widths and sorting, saved in the settings."""

    changed = Signal()

    def __init__(self, settings: Settings, configs: RunConfigs) -> None:
        super().__init__()
        self._settings, self.configs = settings, configs
        kept = settings.decoded(KEY, _Columns, _Columns())
        self.fields = kept.fields
        """Configuration fields that are shown as columns."""
        self.hidden = set(kept.hidden)
        self.widths = kept.widths
        """Width in pixels of columns that the user resized."""
        self.sort = kept.sort or ("Started", True)
        """Name of the column that rows are sorted by, and True for descending order."""

    def _keep(self) -> None:
        kept = {"fields": self.fields, "hidden": sorted(self.hidden), "widths": self.widths, "sort": list(self.sort)}
        self._settings.set(KEY, json.dumps(kept))

    def toggle_field(self, name: str) -> None:
        """Show or hide the column of a configuration field."""
        if name in self.fields:
            self.fields.remove(name)
        else:
            self.fields.append(name)
        self._keep()
        self.changed.emit()

    def toggle_hidden(self, name: str) -> None:
        self.hidden ^= {name}
        self._keep()
        self.changed.emit()

    def set_width(self, name: str, width: int) -> None:
        self.widths[name] = width
        self._keep()

    def set_sort(self, name: str, is_falling: bool) -> None:
        self.sort = (name, is_falling)
        self._keep()


def by_value(text: str) -> tuple[int, float, str]:
    """Return a sort key for the text of a configuration field: numbers by value, before other texts."""
    try:
        return 0, float(text), ""
    except ValueError:
        return 1, 0.0, text
