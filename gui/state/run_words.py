"""States of a run as text, and as a coloured dot."""

from __future__ import annotations

import re

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.kit import theme
from gui.kit.painting import guarded
from gui.kit.words import tr
from trainer_core.wire.records import NOT_CONFIRMED, VALIDATING
from trainer_core.wire.run_record import RunState

WORDS = {
    RunState.IDLE: "Idle",
    RunState.QUEUED: "Queued",
    RunState.PREFLIGHT: "Preflight",
    RunState.STARTING: "Starting",
    RunState.RUNNING: "Running",
    RunState.PAUSING: "Pausing",
    RunState.PAUSED: "Paused",
    RunState.STOPPING: "Stopping",
    RunState.FINISHED: "Finished",
    RunState.STOPPED: "Stopped",
    RunState.FAILED: "Failed",
    RunState.LOST: "Lost",
}
_PLAYED = re.compile(rf"{VALIDATING} (\d+) of (\d+) episodes")
_UNCONFIRMED = re.compile(rf"greedy ([\d.]+), sampled ([\d.]+): {NOT_CONFIRMED}$")
_TONES = {
    RunState.RUNNING: "accent",
    RunState.FINISHED: "good",
    RunState.FAILED: "bad",
    RunState.LOST: "bad",
    RunState.PAUSING: "warn",
    RunState.PAUSED: "warn",
    RunState.STOPPING: "warn",
    RunState.STARTING: "accent",
    RunState.PREFLIGHT: "accent",
}
_HOLLOW = {RunState.IDLE, RunState.QUEUED, RunState.STOPPED, RunState.PREFLIGHT, RunState.STARTING}


def validating_words(detail: str) -> str:
    """Return how many episodes of a validation are over, from a heartbeat's detail; empty for any other detail."""
    found = _PLAYED.match(detail)
    return tr("Validating {over} of {episodes}", over=found[1], episodes=found[2]) if found else ""


def unconfirmed_words(detail: str) -> str:
    """Return a text on a validation that reached the target without confirmation; empty for any other detail."""
    found = _UNCONFIRMED.match(detail)
    if found is None:
        return ""
    greedy, sampled = map(float, found.groups())
    return tr("greedy {greedy:.2f}, sampled {sampled:.2f}: not confirmed", greedy=greedy, sampled=sampled)


def without_middle(name: str, letters: int) -> str:
    """Return a name of at most `letters` characters, with the middle left out: long names often differ at the end."""
    if len(name) <= letters:
        return name
    return f"{name[: letters // 2]}\u2026{name[-(letters - letters // 2 - 1) :]}"


def tone(state: RunState) -> str:
    """Return the name of the theme colour of a run's state."""
    return _TONES.get(state, "muted")


def paint_dot(painter: QPainter, x: float, y: float, state: RunState, is_silent: bool = False) -> None:
    """Paint a dot of 8 pixels around (x, y): filled while a run is active, hollow before and after.

    `is_silent` replaces the colour of a healthy run by that of a warning.
    """
    color = QColor(getattr(theme.current(), "warn" if is_silent else tone(state)))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(color)
    painter.setBrush(Qt.BrushStyle.NoBrush if state in _HOLLOW else color)
    painter.drawEllipse(int(x) - 4, int(y) - 4, 8, 8)


class Badge(QWidget):
    """Label with the dot and the word of a run's state; `text()` returns the word."""

    def __init__(self) -> None:
        super().__init__()
        self._state = RunState.IDLE
        self._override, self._is_warning = "", True
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("Run state: Idle"))

    def text(self) -> str:
        return self._override or tr(WORDS[self._state])

    @property
    def state(self) -> RunState:
        return self._state

    def set_state(self, state: RunState, override: str = "", *, is_warning: bool = True) -> None:
        """Show a state; the text `override` replaces its word, in the warning colour if `is_warning`."""
        if (state, override) != (self._state, self._override):
            self._state, self._override, self._is_warning = state, override, is_warning
            self.setAccessibleName(tr("Run state: {what}", what=self.text()))
            self.updateGeometry()
            self.update()

    def sizeHint(self) -> QSize:
        metrics = self.fontMetrics()
        return QSize(metrics.horizontalAdvance(self.text()) + 20, metrics.height() + 4)

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            warns = bool(self._override) and self._is_warning
            paint_dot(painter, 6, self.height() / 2, self._state, warns)
            color = theme.current().warn if warns else theme.current().text
            painter.setPen(QColor(color))
            painter.drawText(self.rect().adjusted(16, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, self.text())
