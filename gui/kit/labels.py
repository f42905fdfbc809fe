"""Labels, buttons and number boxes; texts for ages, counts and sizes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TypeVar

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QFontMetrics, QKeySequence, QPainter, QPaintEvent, QShortcut
from PySide6.QtWidgets import (
    QAbstractItemView,
    QAbstractSpinBox,
    QComboBox,
    QFrame,
    QLabel,
    QLineEdit,
    QPushButton,
    QSizePolicy,
    QSpinBox,
    QStyle,
    QStyleOptionComboBox,
    QToolButton,
    QWidget,
)

from gui.kit.boxes import every, named
from gui.kit.icons import icon, paint_icon
from gui.kit.painting import guarded, paint_keys
from gui.kit.style_sheet import GAP, ICON
from gui.kit.theme import small_font
from gui.kit.words import number, tr

Box = TypeVar("Box", bound=QAbstractSpinBox)
LABEL_WIDTH = 104
"""Width in pixels of the column of labels in a form."""
AGES_MS = 20_000
"""Milliseconds between two repaints of texts such as "5 min ago"."""


def label(text: str = "", role: str = "", *, wrap: bool = False) -> QLabel:
    made = QLabel(text)
    if role:
        made.setProperty("role", role)
    made.setWordWrap(wrap)
    made.setTextFormat(Qt.TextFormat.PlainText)
    return made


def set_role(widget: QWidget, name: str, value: object) -> None:
    """Set a widget property that the style sheet uses as a selector, and apply the style again."""
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
    made = named(QPushButton(text), object_name, text)
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
    """Return a button with only an icon; `text` is its tooltip and its accessible name."""
    made = QToolButton()
    made.setIcon(icon(name))
    made.setIconSize(QSize(ICON, ICON))
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


def search_field(object_name: str, accessible: str, hint: str) -> QLineEdit:
    """Return a text field with a magnifier, and a cross that clears it."""
    made = named(QLineEdit(), object_name, accessible)
    made.setPlaceholderText(hint)
    made.setClearButtonEnabled(True)
    made.addAction(icon("search", "muted"), QLineEdit.ActionPosition.LeadingPosition)
    return made


def clear_by_escape(field: QLineEdit, scope: QWidget) -> None:
    """Let Escape clear the field while it has a text and the focus is in `scope`."""
    keys = QShortcut(QKeySequence(Qt.Key.Key_Escape), scope)
    keys.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
    keys.activated.connect(field.clear)
    keys.setEnabled(False)
    field.textChanged.connect(lambda text: keys.setEnabled(bool(text)))


class KeyButton(QPushButton):
    """Button that shows its key as a chip beside its text."""

    def __init__(self, text: str, keys: str) -> None:
        super().__init__(text)
        self._keys = keys
        self.setProperty("keys", True)
        self.setAutoDefault(False)
        self.setAccessibleName(text)

    def sizeHint(self) -> QSize:
        hint = super().sizeHint()
        return QSize(hint.width() + QFontMetrics(small_font()).horizontalAdvance(self._keys) + 2 * GAP, hint.height())

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        with QPainter(self) as painter:
            painter.setFont(small_font())
            paint_keys(painter, self.rect().adjusted(0, 0, -GAP, 0), self._keys)


class Icon(QWidget):
    """Icon of 16x16 that follows the theme."""

    def __init__(self, name: str, color: str = "") -> None:
        super().__init__()
        self._name, self._color = name, color
        self.setFixedSize(ICON, ICON)

    @guarded
    def paintEvent(self, event: QPaintEvent) -> None:
        with QPainter(self) as painter:
            paint_icon(painter, self.rect(), self._name, self._color)


class ElidedLabel(QLabel):
    """One-line label that shortens its text with an ellipsis; the tooltip has the full text."""

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


class ElidedBox(QComboBox):
    """Combo box that shortens the chosen text with an ellipsis where it does not fit; its list shows texts whole."""

    def initStyleOption(self, option: QStyleOptionComboBox) -> None:
        super().initStyleOption(option)
        parts = QStyle.ComplexControl.CC_ComboBox, option, QStyle.SubControl.SC_ComboBoxEditField, self
        room = self.style().subControlRect(*parts).width() - 2  # the style leaves a pixel at each side
        option.currentText = QFontMetrics(self.font()).elidedText(self.currentText(), Qt.TextElideMode.ElideRight, room)

    def showPopup(self) -> None:
        """Open the list, as wide as its longest text."""
        self.view().setMinimumWidth(self.view().sizeHintForColumn(0) + 4 * GAP)
        super().showPopup()


def indented(box: Box) -> Box:
    """Indent the text of a number box as far as that of a combo box."""
    box.lineEdit().setTextMargins(4, 0, 0, 0)
    return box


def spin_box(name: str, accessible: str, least: int, most: int, value: int) -> QSpinBox:
    made = named(indented(QSpinBox()), name, accessible)
    made.setRange(least, most)
    made.setValue(value)
    return made


def choice_box(name: str, accessible: str, items: Iterable[tuple[object, str]], chosen: object = None) -> QComboBox:
    """Return a drop-down list of (value, text) with the value `chosen`, else the first one, selected."""
    made = named(ElidedBox(), name, accessible)
    for value, text in items:
        made.addItem(text, value)
    made.setCurrentIndex(max(0, made.findData(chosen)))
    return made


def keep_ages(view: QAbstractItemView) -> QTimer:
    """Repaint a view regularly while it is visible, so that the ages in its rows stay correct."""
    clock = every(view, AGES_MS, view.viewport().update)
    return clock


def ago(when: float, now: float | None = None) -> str:
    """Return the time since `when`, in seconds since 1970, as a short text."""
    seconds = max(0.0, (now or time.time()) - when)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return tr("{count} {unit} ago", count=int(seconds // size), unit=tr(unit))
    return tr("just now")


def count_text(value: int) -> str:
    if value >= 1_000_000:
        return number(value / 1e6, ".1f") + "M"
    return number(value)


def size_text(size: float) -> str:
    """Return a number of bytes as text: 1.2 GB, 340 MB, 12 kB."""
    for unit, least in (("GB", 1e9), ("MB", 1e6)):
        if size >= least:
            value = size / least
            return f"{number(value, '.1f' if value < 10 else '.0f')} {unit}"
    return f"{size / 1e3:.0f} kB"
