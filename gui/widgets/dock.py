"""A dock with a flat title bar of our own and room for a control in it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDockWidget, QHBoxLayout, QWidget

from gui.widgets.labels import icon_button, label
from gui.words import tr


class Dock(QDockWidget):
    """`head` is the layout at the title's right. The window that it is added to owns it."""

    def __init__(self, title: str, object_name: str) -> None:
        super().__init__(title)
        self.setObjectName(object_name)
        # A click on its text, too, takes the keys from the game that they went to before.
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        bar = QWidget()
        bar.setProperty("role", "titlebar")
        bar.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        row = QHBoxLayout(bar)
        row.setContentsMargins(12, 4, 4, 4)
        row.setSpacing(4)
        row.addWidget(label(title, "title"))
        row.addStretch(1)
        self.head = QHBoxLayout()
        self.head.setSpacing(4)
        row.addLayout(self.head)
        close = icon_button("close", tr("Close {title}", title=title), clicked=self.close)
        # The keyboard closes docks by their shortcuts; a Space after Start must not.
        close.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        row.addWidget(close)
        bar.setFixedHeight(30)
        self.setTitleBarWidget(bar)
