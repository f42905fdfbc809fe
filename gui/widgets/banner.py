"""A line that tells what happened and what to do, inside the window: never a modal box."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from gui.widgets.labels import ElidedLabel, button, icon_button, label, set_role

WIDTH, TOP = 560, 36
LIFE_MS = {"info": 6000, "good": 6000, "warn": 15000, "error": 0}
"""How long a banner stays; 0 until it is closed."""
MOST = 3


class Banner(QFrame):
    dismissed = Signal(object)

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
        row.addWidget(ElidedLabel(text, "muted"), 1)
        if act is not None:
            self._act = act
            row.addWidget(button(action, clicked=self._on_act))
        row.addWidget(icon_button("close", "Dismiss", clicked=self._dismiss))
        self.setAccessibleName(f"{title}: {text}")
        if LIFE_MS.get(tone):
            QTimer.singleShot(LIFE_MS[tone], self, self._dismiss)

    def _on_act(self) -> None:
        self._dismiss()
        self._act()

    def _dismiss(self) -> None:
        self.dismissed.emit(self)


class BannerArea(QWidget):
    """Shows the newest three banners over the top of `host`, so that nothing is pushed aside."""

    def __init__(self, host: QWidget) -> None:
        super().__init__(host)
        self._host = host
        self.banners: list[Banner] = []
        self.setObjectName("bannerArea")
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(4)
        host.installEventFilter(self)
        self.hide()

    def show_message(
        self, title: str, text: str = "", tone: str = "info",
        action: str = "", act: Callable[[], None] | None = None,
    ) -> Banner:  # fmt: skip
        while len(self.banners) >= MOST:
            self._remove(self.banners[0])
        banner = Banner(title, text, tone, action, act)
        banner.dismissed.connect(self._remove)
        self.banners.append(banner)
        self._column.addWidget(banner)
        self._place()
        return banner

    def _remove(self, banner: Banner) -> None:
        if banner in self.banners:
            self.banners.remove(banner)
            self._column.removeWidget(banner)
            banner.hide()
            banner.deleteLater()
            self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._place()
        return super().eventFilter(watched, event)

    def _place(self) -> None:
        """Under the tab bar, centred, no wider than reads well."""
        self.setVisible(bool(self.banners))
        width = min(WIDTH, self._host.width() - 16)
        height = self._column.sizeHint().height()
        self.setGeometry((self._host.width() - width) // 2, TOP, width, height)
        self.raise_()
