"""Situation that decides which panels are on show: first start, set-up, training, watching, curves, play."""

from __future__ import annotations

from enum import StrEnum

from PySide6.QtCore import QObject, Signal

from gui.state.bridge import Bridge
from gui.state.session import Mode, Navigation, Place, Session
from gui.state.telemetry import TelemetryModel
from trainer_core.service import RunChanged


class Situation(StrEnum):
    FIRST = "first"
    """No run yet: only the welcome card is on show."""
    SETUP = "setup"
    """The user fills in the form of the next run."""
    RUN = "run"
    """A run is on show, active or ended."""
    WATCH = "watch"
    """A policy plays, or a recording is on show."""
    CURVES = "curves"
    PLAY = "play"
    """The user has the buttons, alone or together with a policy."""


class Situations(QObject):
    """The present situation, derived from the tab in front, the mode, the runs and the player."""

    changed = Signal()
    """Another situation, or the first run of the home."""
    folded_changed = Signal()

    def __init__(self, bridge: Bridge, session: Session, navigation: Navigation, telemetry: TelemetryModel) -> None:
        super().__init__()
        self._bridge, self._session, self._navigation, self._telemetry = bridge, session, navigation, telemetry
        self._is_setup = False
        self.is_left_folded = True
        """True while the left dock is hidden, so that the strip and the menu bar have its choices."""
        self._active: set[str] = set()
        self.now = Situation.FIRST
        self._told: tuple[Situation, bool, bool] | None = None
        session.mode_changed.connect(lambda mode: self.renew())
        navigation.place_changed.connect(self.renew)
        navigation.welcome_changed.connect(lambda is_shown: self.renew())
        telemetry.focus_changed.connect(lambda run_id: self.renew())
        bridge.run_changed.connect(self._on_run_changed)

    @property
    def has_runs(self) -> bool:
        return bool(self._bridge.service.runs)

    @property
    def is_training(self) -> bool:
        """True while the run on show has not ended."""
        run = self._bridge.service.runs.get(self._telemetry.focus)
        return run is not None and not run.state.is_end

    @property
    def is_busy(self) -> bool:
        """True while any run has not ended."""
        return bool(self._active)

    def open_home(self) -> None:
        """Take in the runs that earlier sessions left."""
        self._active = {run_id for run_id, run in self._bridge.service.runs.items() if not run.state.is_end}
        self.renew()

    def renew(self) -> None:
        """Derive the situation again, after a change that has no signal here."""
        self.now = self._found()
        told = (self.now, self.has_runs, self.is_busy)
        if told != self._told:
            self._told = told
            self.changed.emit()

    def begin_setup(self) -> None:
        """Enter the set-up of the next run; a tab that shows no game is left."""
        self._is_setup = True
        self._navigation.leave_welcome()
        if self._navigation.place is Place.WALL:
            self._navigation.show(Place.LIVE)
        self.renew()

    def end_setup(self) -> None:
        self._is_setup = False
        self.renew()

    def note_left(self, is_folded: bool) -> None:
        """Record whether the left dock is hidden."""
        if is_folded != self.is_left_folded:
            self.is_left_folded = is_folded
            self.folded_changed.emit()

    def _on_run_changed(self, notice: RunChanged) -> None:
        run = notice.record
        if run.state.is_end:
            self._active.discard(run.run_id)
        elif run.run_id not in self._active:
            self._active.add(run.run_id)
            self._is_setup = False
        self.renew()

    def _found(self) -> Situation:
        place, is_playing = self._navigation.place, self._navigation.plays()
        if place is Place.CURVES:
            return Situation.CURVES
        if self._session.mode is not Mode.AGENT:
            return Situation.PLAY
        if place is Place.REPLAY or (place is Place.LIVE and is_playing):
            return Situation.WATCH
        if self._is_setup:
            return Situation.SETUP
        is_first = self._navigation.welcome and place is Place.LIVE and not self.has_runs
        return Situation.FIRST if is_first else Situation.RUN
