"""Two columns of the run table about the runs on show: what they differ in, and their values at the crosshair."""

from __future__ import annotations

from collections import Counter

from PySide6.QtCore import QObject, QTimer, Signal

from gui.features.runs.columns import differing
from gui.kit.plot_shapes import place_text, short_number, value_text
from gui.kit.words import tr
from gui.state.metric_series import CLOCK
from gui.state.seed_groups import flat
from gui.state.telemetry import TelemetryModel

DIFFERS, CROSSHAIR = "Differs in", "At the crosshair"
ABOUT_SHOWN = (DIFFERS, CROSSHAIR)
"""Names of the two columns, which are empty for a run that is not on show."""
OWN_COLUMN = {"task", "algo", "device", "tasks"}
"""Configuration fields that the table shows anyway."""
SHORT = {
    "learning_rate": "lr",
    "ent_coef": "entropy",
    "num_envs": "envs",
    "num_steps": "rollout",
    "obs_source": "obs",
    "seconds": "limit",
    "target_success": "target",
}
"""Short words for configuration fields; others are written as they are, without underscores."""
LATER_MS = 50
"""Milliseconds for which changes are collected: the crosshair moves sixty times a second."""


class ShownRuns(QObject):
    changed = Signal()
    """Texts of the two columns have changed."""

    def __init__(self, telemetry: TelemetryModel) -> None:
        super().__init__()
        self._telemetry = telemetry
        self._differences: dict[str, str] | None = None
        self._values: dict[str, float | None] = {}
        """Values by run id at the last crosshair, which rows stay sorted by after it left."""
        later = QTimer(self, singleShot=True, interval=LATER_MS)
        later.timeout.connect(self._renew)
        for signal in (telemetry.crosshair_moved, telemetry.pins_changed, telemetry.focus_changed, telemetry.run_told):
            signal.connect(lambda *_: later.isActive() or later.start())

    def _renew(self) -> None:
        self._differences = None
        if self._telemetry.crosshair is not None:
            self._values = {}
        self.changed.emit()

    def is_one(self) -> bool:
        """Return whether fewer than two runs are on show, which have nothing to compare."""
        return len(self._telemetry.shown()) < 2

    def head(self) -> str:
        """Return the title of the column of values, such as `Success at 30.7k`."""
        x, line = self._telemetry.crosshair, self._telemetry.crosshair_line
        if x is None or line is None:
            return tr(CROSSHAIR)
        by_clock = self._telemetry.x_axis == CLOCK
        place = place_text(x, by_clock=True) if by_clock else short_number(x)  # the crosshair shows all its digits
        return tr("{title} at {place}", title=line.title, place=place)

    def text(self, run_id: str, column: str) -> str:
        """Return the text of a run in one of the columns ABOUT_SHOWN."""
        if column == DIFFERS:
            return self.differences().get(run_id, "")
        line, value = self._telemetry.crosshair_line, self.value(run_id)
        return "" if line is None or value is None else value_text(value, is_percent=line.is_percent)

    def value(self, run_id: str) -> float | None:
        """Return a run's value at the last crosshair; None if it is not on show or has none there."""
        model = self._telemetry
        if run_id not in self._values and model.crosshair is not None and model.crosshair_line is not None:
            run = model.runs.get(run_id) if run_id in model.slots else None
            value = None if run is None else model.value_at(run, model.crosshair_line.metric, model.crosshair)
            self._values[run_id] = value
        return self._values.get(run_id)

    def differences(self) -> dict[str, str]:
        """Return the settings in which the runs on show differ, as text by run id: `seed 3 · lr 1e-3`.

        A value that more than half of them have is left out.
        """
        if self._differences is None:
            self._differences = {}
            runs = [self._telemetry.runs.get(run_id) for run_id in self._telemetry.shown()]
            told = {run.run_id: flat(run.meta.config) for run in runs if run is not None and run.meta is not None}
            names = [name for name in differing(told.values()) if name.rpartition(".")[2] not in OWN_COLUMN]
            common = {name: Counter(one.get(name) for one in told.values()).most_common(1)[0] for name in names}
            usual = {name: value for name, (value, count) in common.items() if 2 * count > len(told)}
            for run_id, one in told.items():
                own = [name for name in names if name in one and one[name] != usual.get(name)]
                self._differences[run_id] = " \u00b7 ".join(f"{_short(name)} {_number(one[name])}" for name in own)
        return self._differences


def _short(name: str) -> str:
    last = name.rpartition(".")[2]
    return tr(SHORT.get(last, last.replace("_", " ")))


def _number(text: str) -> str:
    """Return the text of a small number as 1e-3, of a whole one without its point; other texts unchanged."""
    try:
        value = float(text)
    except ValueError:
        return text
    if not 0 < value < 0.01:
        return text.removesuffix(".0")
    return f"{value:.2e}".replace(".00e", "e").replace("0e", "e").replace("e-0", "e-")
