"""A line that tells what happened and what to do, inside the window: never a modal box."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from gui.widgets.labels import ElidedLabel, button, icon_button, label, set_role

LIFE_MS = {"info": 6000, "good": 6000, "warn": 15000, "error": 0}
"""How long a banner stays; 0 until it is closed."""


class Banner(QFrame):
    def __init__(
        self, title: str, text: str, tone: str, action: str, act: Callable[[], None] | None
    ) -> None:
        super().__init__()
        self.setProperty("role", "banner")
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 4, 4, 4)
        row.setSpacing(8)
        head = label(title)
        set_role(head, "role", {"info": "", "good": "good", "warn": "warn"}.get(tone, "error"))
        row.addWidget(head)
        detail = ElidedLabel(text, "muted")
        detail.setToolTip(text)
        row.addWidget(detail, 1)
        if act is not None:
            row.addWidget(button(action, clicked=lambda: (act(), self.deleteLater())))
        row.addWidget(icon_button("close", "Dismiss", clicked=self.deleteLater))
        self.setAccessibleName(f"{title}: {text}")
        if LIFE_MS.get(tone):
            QTimer.singleShot(LIFE_MS[tone], self, self.deleteLater)


class BannerArea(QWidget):
    """Shows the newest three banners, newest last."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("bannerArea")
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(8, 0, 8, 8)
        self._column.setSpacing(4)

    def show_message(
        self, title: str, text: str = "", tone: str = "info",
        action: str = "", act: Callable[[], None] | None = None,
    ) -> Banner:  # fmt: skip
        while self._column.count() >= 3:
            item = self._column.takeAt(0)
            if item is not None and (old := item.widget()) is not None:
                old.deleteLater()
        banner = Banner(title, text, tone, action, act)
        self._column.addWidget(banner)
        return banner
