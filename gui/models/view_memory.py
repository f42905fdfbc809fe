"""How curves are looked at, kept between starts: axis, smoothing, seeds, pinned runs."""

from __future__ import annotations

import json
from typing import Annotated

import msgspec
from PySide6.QtCore import QObject

from gui.models.metric_series import X_AXES
from gui.models.navigation import Place
from gui.models.run_telemetry import TelemetryModel
from gui.models.seed_groups import APART, SPREADS
from gui.settings import Settings

KIND = "curves/smoothing_kind"
COLORS, TAB = "curves/colors", "view/tab"
AXIS, SMOOTHING, SPREAD, OUTLIERS, PINNED = (
    "curves/x_axis",
    "curves/smoothing",
    "curves/seeds",
    "curves/outliers",
    "curves/pinned",
)
MOST_SLOTS = 256
_Slot = Annotated[int, msgspec.Meta(ge=0, lt=MOST_SLOTS)]


class ViewMemory(QObject):
    """Puts what was kept into the model once, and writes down every change after that."""

    def __init__(self, telemetry: TelemetryModel, settings: Settings) -> None:
        super().__init__()
        self._telemetry, self._settings = telemetry, settings
        axis, spread = settings.text(AXIS), settings.text(SPREAD)
        telemetry.x_axis = axis if axis in X_AXES else telemetry.x_axis
        telemetry.spread = spread if spread in SPREADS else APART
        telemetry.trims_outliers = settings.flag(OUTLIERS, False)
        telemetry.set_smoothing_kind(settings.text(KIND))
        telemetry.set_smoothing(settings.number(SMOOTHING, telemetry.smoothing))
        telemetry.chosen_slots = settings.decoded(COLORS, dict[str, _Slot], {})
        telemetry.view_changed.connect(self._on_view)
        telemetry.pins_changed.connect(self._on_pins)

    def pinned(self) -> list[str]:
        """The runs that were pinned when the app was closed."""
        return self._settings.decoded(PINNED, list[str], [])

    def tab(self) -> Place | None:
        """The tab that was in front when the app was closed."""
        found = self._settings.text(TAB)
        return Place(found) if found in list(Place) else None

    def keep_tab(self, place: Place) -> None:
        self._settings.set(TAB, place.value)

    def _on_view(self) -> None:
        self._settings.set(AXIS, self._telemetry.x_axis)
        self._settings.set(SMOOTHING, self._telemetry.smoothing)
        self._settings.set(KIND, self._telemetry.smoothing_kind)
        self._settings.set(SPREAD, self._telemetry.spread)
        self._settings.set(OUTLIERS, self._telemetry.trims_outliers)

    def _on_pins(self) -> None:
        self._settings.set(PINNED, json.dumps(self._telemetry.pinned))
        self._settings.set(COLORS, json.dumps(self._telemetry.chosen_slots))
