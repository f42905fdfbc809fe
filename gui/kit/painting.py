"""Guards for paint methods: an exception is reported once, and the window stays usable.

A QPainter that is still active when `paintEvent` raises blocks later paints of its widget. So painters are opened by
`with`, and after an exception a placeholder is painted.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from gui.kit import theme
from gui.kit.style_sheet import CHIP_RADIUS, GAP
from gui.kit.words import tr

PLACEHOLDER = "Could not be drawn; the reason is in the log"
_WRAPPED = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
_told: set[tuple[type, type, str, int]] = set()
"""(owner's type, exception type, file, line) of failures already reported."""


def guarded(paint: Callable[[Any, QPaintEvent], None]) -> Callable[[Any, QPaintEvent], None]:
    """Decorate a `paintEvent`: an exception is reported once, and a placeholder is painted instead."""

    @functools.wraps(paint)
    def paint_event(widget: QWidget, event: QPaintEvent) -> None:
        try:
            paint(widget, event)
        except Exception as error:
            tell_once(widget, error)
            _paint_placeholder(widget)

    return paint_event


def guarded_item(paint: Callable[..., None]) -> Callable[..., None]:
    """Decorate the `paint` method of a delegate or icon: an exception is reported once."""

    @functools.wraps(paint)
    def paint_item(owner: object, painter: QPainter, *place: Any) -> None:
        with saved(painter):
            try:
                paint(owner, painter, *place)
            except Exception as error:
                tell_once(owner, error)

    return paint_item


@contextlib.contextmanager
def saved(painter: QPainter) -> Iterator[None]:
    """Save the painter's state, and restore it at the end of the `with` block, also after an exception."""
    painter.save()
    try:
        yield
    finally:
        painter.restore()


def tell_once(owner: object, error: Exception) -> None:
    """Report an exception as unexpected, unless one from the same place was reported before."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    file, line = (trace.tb_frame.f_code.co_filename, trace.tb_lineno) if trace else ("", 0)
    key = (type(owner), type(error), file, line)
    if key not in _told:
        _told.add(key)
        sys.excepthook(type(error), error, error.__traceback__)


def paint_keys(painter: QPainter, room: QRect, keys: str) -> int:
    """Paint the names of keys as a chip at the right of `room`, in the painter's font; return the chip's left edge."""
    colors, metrics = theme.current(), painter.fontMetrics()
    chip = QRect(0, 0, metrics.horizontalAdvance(keys) + GAP, metrics.height() + 4)
    chip.moveCenter(room.center())
    chip.moveRight(room.right())
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QColor(colors.ctl))
    painter.drawRoundedRect(QRectF(chip).adjusted(0.5, 0.5, -0.5, -0.5), CHIP_RADIUS, CHIP_RADIUS)
    painter.setPen(QColor(colors.muted))
    painter.drawText(chip, Qt.AlignmentFlag.AlignCenter, keys)
    return chip.left()


def _paint_placeholder(widget: QWidget) -> None:
    canvas = widget.viewport() if isinstance(widget, QAbstractScrollArea) else widget
    colors, room = widget.palette(), QRect(canvas.rect()).adjusted(4, 2, -4, -2)
    with QPainter(canvas) as painter:
        painter.fillRect(canvas.rect(), colors.color(QPalette.ColorRole.Window))
        painter.setPen(colors.color(QPalette.ColorRole.PlaceholderText))
        painter.drawText(room, _WRAPPED, tr(PLACEHOLDER))
