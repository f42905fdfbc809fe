"""Python's garbage, collected on the UI thread alone.

Python collects on whichever thread allocates next. Widgets that lie in a cycle, as those of a
closed dialog do, would then be destroyed by a thread that reads a file: Qt crashes.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

INTERVAL_MS = 250


class Collector(QObject):
    """Collects in turns of the event loop, as often as Python's own thresholds ask for it."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self, interval=INTERVAL_MS)
        self._timer.timeout.connect(collect_if_due)
        self._timer.start()


def collect_if_due() -> None:
    """Collect the oldest generation whose count is above its threshold, on this thread."""
    due = [count > most for count, most in zip(gc.get_count(), gc.get_threshold(), strict=True)]
    if due[0]:
        gc.collect(2 if due[1] and due[2] else 1 if due[1] else 0)
