"""Words such as "4 min ago" go on by the clock, though nothing else changes."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QAbstractItemView

EVERY_MS = 20_000


def keep_ages(view: QAbstractItemView) -> QTimer:
    """Paint the rows on show again now and then; hidden views are painted when they are shown."""
    clock = QTimer(view, interval=EVERY_MS)
    clock.timeout.connect(view.viewport().update)
    clock.start()
    return clock
