"""Guards for paint methods: an error is reported once and never blocks the window.

A painter that is still open when `paintEvent` raises blocks every later paint of its widget, and Qt warns about it at
each. So painters are opened by `with`, and a failure shows a placeholder.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from gui.kit.words import tr

PLACEHOLDER = "Could not be painted; the log says why"
_WRAPPED = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap
_told: set[tuple[type, type, str, int]] = set()
"""(owner's type, error type, file, line) of failures already reported, though painted again."""


def guarded(paint: Callable[[Any, QPaintEvent], None]) -> Callable[[Any, QPaintEvent], None]:
    """Decorate a `paintEvent`: report a failure once, and paint a placeholder instead."""

    @functools.wraps(paint)
    def paint_event(widget: QWidget, event: QPaintEvent) -> None:
        try:
            paint(widget, event)
        except Exception as error:
            tell_once(widget, error)
            _paint_placeholder(widget)

    return paint_event


def guarded_item(paint: Callable[..., None]) -> Callable[..., None]:
    """Decorate the `paint` of a delegate or an icon, whose painter belongs to Qt."""

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
    """Restore the painter's state at the end, also after an error."""
    painter.save()
    try:
        yield
    finally:
        painter.restore()


def tell_once(owner: object, error: Exception) -> None:
    """Report a failure through the handler of unexpected errors, unless it was reported before."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    file, line = (trace.tb_frame.f_code.co_filename, trace.tb_lineno) if trace else ("", 0)
    key = (type(owner), type(error), file, line)
    if key not in _told:
        _told.add(key)
        sys.excepthook(type(error), error, error.__traceback__)


def _paint_placeholder(widget: QWidget) -> None:
    canvas = widget.viewport() if isinstance(widget, QAbstractScrollArea) else widget
    colors, room = widget.palette(), QRect(canvas.rect()).adjusted(4, 2, -4, -2)
    with QPainter(canvas) as painter:
        painter.fillRect(canvas.rect(), colors.color(QPalette.ColorRole.Window))
        painter.setPen(colors.color(QPalette.ColorRole.PlaceholderText))
        painter.drawText(room, _WRAPPED, tr(PLACEHOLDER))
