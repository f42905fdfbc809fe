"""Plots: which fills the page, which are hidden or logarithmic, and their files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject

from gui.controllers.new_files import NewFiles
from gui.models.navigation import Navigation, Place
from gui.models.plot_choices import PlotChoices
from gui.models.run_telemetry import TelemetryModel
from gui.models.seed_groups import APART
from gui.words import tr


class CurvesController(QObject):
    """Verbs are about the plot that `choices` speaks of."""

    def __init__(
        self, telemetry: TelemetryModel, choices: PlotChoices, navigation: Navigation, files: NewFiles
    ) -> None:
        super().__init__()
        self._telemetry, self.choices = telemetry, choices
        self._navigation, self._files = navigation, files
        self.draw: Callable[[str, str], bytes] = lambda metric, kind: b""
        """The view's: a plot as the bytes of a png, svg or csv file."""
        self.on_page: Callable[[], list[tuple[str, list[str]]]] = list
        """The view's: title and plots of each group that is on the page."""

    def refusal(self) -> str:
        """Why there is no plot to speak of; empty when there is one."""
        return "" if self.choices.current else tr("Click on a plot first")

    def follow_refusal(self) -> str:
        zoomed = self._telemetry.x_range is not None
        return "" if zoomed else tr("Everything is on show and new data is followed")

    def follow(self) -> None:
        self._telemetry.set_x_range(None)

    def toggle_outliers(self) -> None:
        self._telemetry.set_trims_outliers(not self._telemetry.trims_outliers)

    def smooth_by(self, kind: str) -> None:
        self._telemetry.set_smoothing_kind(kind)

    def toggle_spread(self, spread: str) -> None:
        """Runs of one configuration as one curve with a band, or each its own again."""
        telemetry = self._telemetry
        telemetry.set_spread(APART if telemetry.spread == spread else spread)

    def toggle_maximised(self) -> None:
        choices = self.choices
        choices.maximise("" if choices.is_maximised else choices.current)
        self._navigation.show(Place.CURVES)

    def maximise(self, metric: str) -> None:
        """Fill the page of curves with one plot."""
        self.choices.maximise(metric)
        self._navigation.show(Place.CURVES)

    def toggle_log(self) -> None:
        self.choices.toggle_log(self.choices.current)

    def toggle_pinned(self) -> None:
        self.choices.toggle_pinned(self.choices.current)

    def hide(self) -> None:
        self.choices.maximise("")
        self.choices.drop(self.choices.current)

    def file_name(self, kind: str) -> str:
        """What a file of the plot is called unless someone says otherwise."""
        return f"{self.choices.current.replace('/', '_')}.{kind}"

    def export(self, kind: str, path: Path) -> None:
        """Write the plot; the confirmation opens its folder."""
        content = self.draw(self.choices.current, kind)
        self._files.write(path, lambda: content, tr("Plot written"))
