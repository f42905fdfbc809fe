"""A heading that opens and closes what is under it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QSizePolicy, QToolButton, QVBoxLayout, QWidget

from gui.widgets.icons import icon
from gui.widgets.labels import label
from gui.words import tr


class Section(QWidget):
    """`body` is the layout to fill, `head` the heading's with a muted `note` at its right."""

    def __init__(self, title: str, *, is_open: bool) -> None:
        super().__init__()
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.setSpacing(4)
        self.head = head = QHBoxLayout()
        head.setSpacing(8)
        self._toggle = QToolButton()
        self._toggle.setText(title)
        self._toggle.setAccessibleName(title)
        self._toggle.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self._toggle.setProperty("flat", True)
        self._toggle.setCheckable(False)
        self._toggle.setSizePolicy(QSizePolicy.Policy.Minimum, QSizePolicy.Policy.Fixed)
        self._toggle.clicked.connect(lambda: self.set_open(not self.is_open))
        self.note: QLabel = label("", "muted")
        head.addWidget(self._toggle)
        head.addStretch(1)
        head.addWidget(self.note)
        outer.addLayout(head)
        self._content = QWidget()
        self.body = QVBoxLayout(self._content)
        self.body.setContentsMargins(4, 0, 0, 4)
        self.body.setSpacing(4)
        outer.addWidget(self._content)
        self.is_open = is_open
        self.set_open(is_open)

    def set_open(self, is_open: bool) -> None:
        self.is_open = is_open
        self._content.setVisible(is_open)
        self._toggle.setIcon(icon("down" if is_open else "right", "muted"))
        self._toggle.setAccessibleDescription(tr("open") if is_open else tr("closed"))
