"""The desktop's own notifications: what happened by itself while the window was not in front.

`notify-send` speaks to whatever shows notifications; without it a tray icon's message is tried, and
where there is neither the window's entry in the task bar asks for attention, or nothing happens.
"""

from __future__ import annotations

import shutil

from PySide6.QtCore import QObject, QProcess
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget

from gui.models.notices import Notice, Notices
from gui.settings import Settings
from trainer_core.lab.paths import ASSETS

SETTING = "desktop/notices"
ICON = ASSETS / "icons" / "dmglab.png"


class DesktopNotices(QObject):
    """Passes on notices that are news, unless somebody looks at the window."""

    def __init__(self, notices: Notices, settings: Settings) -> None:
        super().__init__()
        self._settings = settings
        self._window: QWidget | None = None
        self._tray: QSystemTrayIcon | None = None
        notices.told.connect(self._on_told)

    def watch(self, window: QWidget) -> None:
        self._window = window

    def _on_told(self, notice: Notice) -> None:
        window = self._window
        if not notice.is_news or window is None or window.isActiveWindow():
            return
        if not self._settings.flag(SETTING, True):
            return
        QApplication.alert(window)
        if tool := shutil.which("notify-send"):
            urgency = "critical" if notice.tone == "error" else "normal"
            words = ["--app-name=DMG Lab", f"--icon={ICON}", f"--urgency={urgency}", "--"]
            QProcess.startDetached(tool, [*words, notice.title, notice.text])
        elif QSystemTrayIcon.isSystemTrayAvailable() and QSystemTrayIcon.supportsMessages():
            if self._tray is None:
                self._tray = QSystemTrayIcon(QIcon(str(ICON)), self)
                self._tray.show()
            self._tray.showMessage(notice.title, notice.text, QIcon(str(ICON)))
