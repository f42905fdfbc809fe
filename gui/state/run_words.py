"""States of a run as text, and as a mark."""

from __future__ import annotations

import re

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.kit import theme
from gui.kit.icons import paint_icon
from gui.kit.painting import guarded
from gui.kit.style_sheet import MARK
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
_TIME_LIMIT = re.compile(r"time limit of ([\d.e+]+) s")
_STEPS = re.compile(r"(\d+) environment steps")
_REACHED = re.compile(r"validation reached ([\d.]+) in greedy play, [\d.]+ leaving loops, [\d.]+ sampled$")
_MARKS = {
    RunState.PREFLIGHT: ("ring", "accent"),
    RunState.STARTING: ("ring", "accent"),
    RunState.RUNNING: ("dot", "accent"),
    RunState.PAUSING: ("dot", "warn"),
    RunState.PAUSED: ("bars", "warn"),
    RunState.STOPPING: ("dot", "warn"),
    RunState.FINISHED: ("tick", "good"),
    RunState.STOPPED: ("square", "muted"),
    RunState.FAILED: ("cross", "bad"),
    RunState.LOST: ("ring", "warn"),
}


def reason_words(reason: str) -> str:
    """Return why a run ended in the language of the app; a reason that is not known stays as it is."""
    known = {
        "stopped by you": tr("stopped by you"),
        "the app was closed": tr("the app was closed"),
        "the demo's minute is over": tr("the demo ended after a minute"),
        "taken out of the queue": tr("removed from the queue"),
        "forced: killed, it ignored stop and SIGTERM": tr("ended by force: it did not answer"),
        "the app or the computer stopped while this ran": tr("the app or the computer stopped during the run"),
    }
    if (limit := _TIME_LIMIT.fullmatch(reason)) is not None:
        return tr("time limit of {seconds} s", seconds=limit[1])
    if (steps := _STEPS.fullmatch(reason)) is not None:
        return tr("{steps:,} steps", steps=int(steps[1]))
    if (rates := _REACHED.match(reason)) is not None:
        return tr("{rate:.0%} on held-out starts", rate=float(rates[1]))
    return known.get(reason, reason)


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


def mark_of(state: RunState) -> tuple[str, str]:
    """Return the icon and the theme colour of the mark of a run's state."""
    return _MARKS.get(state, ("ring", "muted"))


class Badge(QWidget):
    """Label with the mark and the word of a run's state; `text()` returns the word."""

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
            name, tone = mark_of(self._state)
            if self._override:  # no data for long, or a validation
                name, tone = ("dot", "warn") if warns else ("half", tone)
            paint_icon(painter, QRect(2, (self.height() - MARK) // 2, MARK, MARK), name, tone)
            color = theme.current().warn if warns else theme.current().text
            painter.setPen(QColor(color))
            painter.drawText(self.rect().adjusted(16, 0, 0, 0), Qt.AlignmentFlag.AlignVCenter, self.text())
