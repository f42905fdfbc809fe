"""Labels with a role (the style sheet colours it), labels that elide, rules, and named inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractSpinBox, QFrame, QLabel, QPushButton, QSizePolicy, QSpinBox, QToolButton, QWidget

from gui.widgets.icons import icon
from gui.widgets.painting import guarded

Box = TypeVar("Box", bound=QAbstractSpinBox)


def label(text: str = "", role: str = "", *, wrap: bool = False) -> QLabel:
    made = QLabel(text)
    if role:
        made.setProperty("role", role)
    made.setWordWrap(wrap)
    made.setTextFormat(Qt.TextFormat.PlainText)
    return made


def set_role(widget: QWidget, name: str, value: object) -> None:
    """Set a property that the style sheet looks at, and let it look again."""
    if widget.property(name) != value:
        widget.setProperty(name, value)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def rule() -> QFrame:
    line = QFrame()
    line.setProperty("role", "rule")
    return line


def button(
    text: str,
    object_name: str = "",
    *,
    primary: bool = False,
    tip: str = "",
    clicked: Callable[[], object] | None = None,
) -> QPushButton:
    made = QPushButton(text)
    made.setObjectName(object_name)
    made.setAccessibleName(text)
    made.setToolTip(tip)
    made.setAutoDefault(False)
    if primary:
        made.setProperty("primary", True)
    if clicked is not None:
        made.clicked.connect(lambda: clicked())
    return made


def icon_button(
    name: str,
    text: str,
    object_name: str = "",
    *,
    checkable: bool = False,
    flat: bool = True,
    clicked: Callable[[], object] | None = None,
) -> QToolButton:
    """A button that is only a picture; `text` is its tooltip and its accessible name."""
    made = QToolButton()
    made.setIcon(icon(name))
    made.setIconSize(QSize(14, 14))
    made.setObjectName(object_name)
    made.setAccessibleName(text)
    made.setToolTip(text)
    made.setCheckable(checkable)
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)
    if flat:
        made.setProperty("flat", True)
    if clicked is not None:
        made.clicked.connect(lambda: clicked())
    return made


class ElidedLabel(QLabel):
    """One line that ends in an ellipsis instead of widening its dock; the tooltip has it all."""

    def __init__(self, text: str = "", role: str = "", mode=Qt.TextElideMode.ElideRight) -> None:
        super().__init__()
        self.setText(text)
        self._mode = mode
        if role:
            self.setProperty("role", role)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def setText(self, text: str) -> None:
        super().setText(text)
        self.setToolTip(text)

    def minimumSizeHint(self) -> QSize:
        return QSize(24, super().minimumSizeHint().height())

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            text = QFontMetrics(self.font()).elidedText(self.text(), self._mode, self.width())
            painter.setPen(self.palette().color(self.foregroundRole()))
            painter.drawText(self.rect(), self.alignment() | Qt.AlignmentFlag.AlignVCenter, text)


def indented(box: Box) -> Box:
    """Its text begins where a combo box's does: the style sheet's padding does not reach it."""
    box.lineEdit().setTextMargins(4, 0, 0, 0)
    return box


def spin_box(name: str, accessible: str, least: int, most: int, value: int) -> QSpinBox:
    made = indented(QSpinBox())
    made.setObjectName(name)
    made.setAccessibleName(accessible)
    made.setRange(least, most)
    made.setValue(value)
    return made
