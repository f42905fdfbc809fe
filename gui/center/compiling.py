"""What stands in the middle while a run's kernels compile: what it is, how far, for how long."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QProgressBar, QVBoxLayout, QWidget

from gui.controllers.compiling import Compiling
from gui.widgets.labels import label
from gui.words import tr

CARD_WIDTH = 420
SHARES = 1000
"""Steps of the bar."""


class CompilingCard(QWidget):
    """Speaks of the run that `run_id` names, while that waits for its kernels."""

    turned = Signal(bool)
    """It has something to show from now on, or no longer."""

    def __init__(self, compiling: Compiling, run_id: Callable[[], str], name: str) -> None:
        super().__init__()
        self._compiling, self._run_id = compiling, run_id
        self.is_on = False
        self.setObjectName(name)
        card = QFrame()
        card.setProperty("role", "card")
        card.setFixedWidth(CARD_WIDTH)
        inner = QVBoxLayout(card)
        inner.setContentsMargins(24, 24, 24, 24)
        inner.setSpacing(8)
        inner.addWidget(label(tr("Compiling the Game Boy, once"), "heading"))
        why = tr("This computer has no compiled kernels yet. They are kept: the next start takes seconds.")
        about = label(why, "muted", wrap=True)
        about.setFixedWidth(CARD_WIDTH - 2 * 24)
        about.setMinimumHeight(about.heightForWidth(CARD_WIDTH - 2 * 24))
        inner.addWidget(about)
        self.bar = QProgressBar()
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(tr("How much is compiled"))
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
            self.bar.setRange(0, SHARES if found.progress > 0 else 0)  # 0 to 0 only shows activity
            self.bar.setValue(round(SHARES * found.progress))
            seconds = time.monotonic() - found.began
            self.words.setText(
                tr("{detail}; {seconds:.0f} s so far, usually 10 to 60 s", detail=found.detail, seconds=seconds)
            )
        if (found is not None) != self.is_on:
            self.is_on = found is not None
            (self._clock.start if self.is_on else self._clock.stop)()
            self.turned.emit(self.is_on)
