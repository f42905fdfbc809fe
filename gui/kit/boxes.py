"""Layouts, names, timers and other parts that many widgets have, in one line each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLayout, QScrollArea, QVBoxLayout, QWidget

Part = QWidget | QLayout | int
Margins = tuple[int, int, int, int]
Some = TypeVar("Some", bound=QWidget)
NONE = (0, 0, 0, 0)


def vbox(owner: QWidget | None = None, *, margins: Margins = NONE, spacing: int | None = None) -> QVBoxLayout:
    """Return a column, of the widget `owner` or to be put into another layout; None is the style's spacing."""
    return _set(QVBoxLayout() if owner is None else QVBoxLayout(owner), margins, spacing)


def hbox(owner: QWidget | None = None, *, margins: Margins = NONE, spacing: int | None = None) -> QHBoxLayout:
    """Return a row, of the widget `owner` or to be put into another layout; None is the style's spacing."""
    return _set(QHBoxLayout() if owner is None else QHBoxLayout(owner), margins, spacing)


Box = TypeVar("Box", bound=QBoxLayout)


def _set(made: Box, margins: Margins, spacing: int | None) -> Box:
    made.setContentsMargins(*margins)
    if spacing is not None:
        made.setSpacing(spacing)
    return made


def put(box: QBoxLayout, *parts: Part | tuple[Part, int]) -> None:
    """Add widgets and layouts, or pairs of one and its stretch factor; a number alone is room that stretches."""
    for each in parts:
        part, stretch = each if isinstance(each, tuple) else (each, 0)
        if isinstance(part, int):
            box.addStretch(part)
        elif isinstance(part, QLayout):
            box.addLayout(part, stretch)
        else:
            box.addWidget(part, stretch)


def named(widget: Some, object_name: str, accessible: str = "") -> Some:
    """Return the widget after giving it an objectName, and an accessible name unless that is empty."""
    widget.setObjectName(object_name)
    if accessible:
        widget.setAccessibleName(accessible)
    return widget


def titlebar(widget: QWidget) -> None:
    """Give a widget the look of a dock's title bar."""
    widget.setProperty("role", "titlebar")
    widget.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)


def later(owner: QObject, do: Callable[[], object], wait_ms: int = 0) -> QTimer:
    """Return a timer of `owner`, not yet started, that calls `do` once."""
    made = QTimer(owner, singleShot=True, interval=wait_ms)
    made.timeout.connect(do)
    return made


def every(owner: QObject, wait_ms: int, do: Callable[[], object]) -> QTimer:
    """Return a started timer of `owner` that calls `do` again and again."""
    made = QTimer(owner, interval=wait_ms)
    made.timeout.connect(do)
    made.start()
    return made


def keep_room(widget: QWidget) -> None:
    """Keep the room of a widget while it is hidden, so that nothing moves when it comes or goes."""
    policy = widget.sizePolicy()
    policy.setRetainSizeWhenHidden(True)
    widget.setSizePolicy(policy)


def scrolling(body: QWidget) -> QScrollArea:
    """Return a frameless view that scrolls `body` up and down, and that Tab skips."""
    area = QScrollArea()
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setFrameShape(QScrollArea.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setWidget(body)
    return area
