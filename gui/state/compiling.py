"""Compilation of GPU and CPU kernels before a run's first update, which takes long only on a new computer."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QProgressBar, QVBoxLayout, QWidget

from gui.kit.boxes import vbox
from gui.kit.labels import label
from gui.kit.words import tr
from gui.state.bridge import Bridge
from gui.state.telemetry import TelemetryModel
from trainer_core.service import RunChanged
from trainer_core.wire import records

CARD_WIDTH = 420
BAR_STEPS = 1000
"""Steps of the progress bar."""


@dataclass(slots=True)
class Compilation:
    """Last progress report of a training worker on its compilation."""

    detail: str
    progress: float
    """Progress 0 to 1, from the usual duration of each part; 0 or less while unknown."""
    began: float
    """`time.monotonic()` of the first report."""


class Compiling(QObject):
    """Compilations by run id, from the first report until the run's first update or its end."""

    changed = Signal(str)
    """Id of the run whose compilation changed."""

    def __init__(self, bridge: Bridge, telemetry: TelemetryModel) -> None:
        super().__init__()
        self._telemetry = telemetry
        self._runs: dict[str, Compilation] = {}
        bridge.event_received.connect(self._on_event)
        bridge.run_changed.connect(self._on_run_changed)

    def of(self, run_id: str) -> Compilation | None:
        return self._runs.get(run_id)

    def _on_event(self, run_id: str, event: records.Event) -> None:
        if isinstance(event, records.UpdateRecord):
            self._forget(run_id)
        elif isinstance(event, records.StateEvent) and event.detail.startswith(records.COMPILING):
            self._learn(run_id, event)

    def _learn(self, run_id: str, event: records.StateEvent) -> None:
        shown = self._telemetry.runs.get(run_id)
        if shown is not None and shown.last_update is not None:
            return  # it has curves: one more part delays nothing visible
        known = self._runs.get(run_id)
        detail = event.detail.removeprefix(records.COMPILING).removeprefix(": ")
        self._runs[run_id] = Compilation(detail, event.progress, known.began if known else time.monotonic())
        self._telemetry.tell_wait(run_id, tr("Compiling the Game Boy, once"))
        self.changed.emit(run_id)

    def _on_run_changed(self, notice: RunChanged) -> None:
        if notice.record.state.is_end:
            self._forget(notice.record.run_id)

    def _forget(self, run_id: str) -> None:
        if self._runs.pop(run_id, None) is not None:
            self._telemetry.tell_wait(run_id)
            self.changed.emit(run_id)


class CompilingCard(QWidget):
    """Widget with the progress of the compilation of run `run_id`."""

    turned = Signal(bool)
    """True when the widget gets something to show, False when it has nothing any more."""

    def __init__(self, compiling: Compiling, run_id: Callable[[], str], name: str) -> None:
        super().__init__()
        self._compiling, self._run_id = compiling, run_id
        self.is_on = False
        self.setObjectName(name)
        card = QFrame()
        card.setProperty("role", "card")
        card.setFixedWidth(CARD_WIDTH)
        inner = vbox(card, margins=(24, 24, 24, 24), spacing=8)
        inner.addWidget(label(tr("Compiling the Game Boy, once"), "title"))
        why = tr("The first start on this computer compiles the Game Boy. Later starts take seconds.")
        about = label(why, "muted", wrap=True)
        about.setFixedWidth(CARD_WIDTH - 2 * 24)
        about.setMinimumHeight(about.heightForWidth(CARD_WIDTH - 2 * 24))
        inner.addWidget(about)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(tr("Progress of compiling"))
        inner.addWidget(self.bar)
        self.words = label("", "muted")
        inner.addWidget(self.words)
        outer = QVBoxLayout(self)
        outer.addWidget(card, 0, Qt.AlignmentFlag.AlignCenter)
        self._clock = QTimer(self, interval=1000)
        self._clock.timeout.connect(self.refresh)
        compiling.changed.connect(lambda run_id: self.refresh())

    def refresh(self) -> None:
        found = self._compiling.of(self._run_id())
        if found is not None:
            self.bar.setRange(0, BAR_STEPS if found.progress > 0 else 0)  # 0 to 0 only shows activity
            self.bar.setValue(round(BAR_STEPS * found.progress))
            seconds = time.monotonic() - found.began
            self.words.setText(
                tr("{detail}; {seconds:.0f} s so far, usually 10 to 60 s", detail=found.detail, seconds=seconds)
            )
        if (found is not None) != self.is_on:
            self.is_on = found is not None
            (self._clock.start if self.is_on else self._clock.stop)()
            self.turned.emit(self.is_on)
