"""Size and place of the main window, whole on the screen, floating docks in front; widths of docks by its size."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, QObject, QRect, QSize, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDockWidget, QMainWindow


@dataclass(frozen=True, slots=True)
class WindowSize:
    """Widths of the docks in windows at least `least` pixels wide; `name` is the screen that such a window fills."""

    name: str
    least: int
    left: int
    right: int
    is_split: bool = False
    """True if the docks at the right stand below each other instead of behind each other."""


WINDOW_SIZES = (
    WindowSize("1920", 1880, 304, 440, is_split=True),
    WindowSize("1440", 1400, 288, 400),
    WindowSize("1280", 1240, 272, 352),
    WindowSize("1024", 0, 256, 304),
)
FIRST_SIZE = (1440, 900)
"""Greatest size of the first window."""
FRAME = QSize(8, 40)
"""Assumed size of the desktop's frame around a window, rather too large than too small."""
FRAME_TOLD_MS = (0, 100, 500)
"""Milliseconds after showing the window at which its frame is measured, as the desktop adds it late."""


class ScreenFit(QObject):
    def __init__(self, window: QMainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._shown = QSize()
        self._is_first = False
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Put the window on the screen when it leaves full screen: one that began in it had no frame until then."""
        if event.type() == QEvent.Type.WindowStateChange and self._window.windowState() == Qt.WindowState.WindowNoState:
            for wait_ms in FRAME_TOLD_MS:
                QTimer.singleShot(wait_ms, self, self.clamp)
        return super().eventFilter(watched, event)

    def place(self, is_restored: bool) -> None:
        """Give a window without a saved place the size of the screen, and move any other one onto it."""
        self._is_first = not is_restored
        if self._is_first:
            self._window.resize(*FIRST_SIZE)
        self.clamp(QSize() if is_restored else FRAME)

    def after_show(self) -> None:
        """Take the frame into account that the desktop puts around the window, and raise floating docks above it."""
        self._shown = self._window.size()
        for wait_ms in FRAME_TOLD_MS:
            QTimer.singleShot(wait_ms, self, self._on_frame)

    def _on_frame(self) -> None:
        for dock in self._window.findChildren(QDockWidget):
            if dock.isFloating() and not dock.isHidden():
                dock.raise_()  # the window was shown after them
        if self._window.size() == self._shown:  # else the user chose another one
            if self._is_first and self._window.frameGeometry().height() > self._window.height():
                self._is_first = False  # the frame is known now, and may be smaller than assumed
                self._window.resize(*FIRST_SIZE)
            self.clamp()
            self._shown = self._window.size()

    def clamp(self, assumed: QSize | None = None) -> None:
        """Move and shrink the window, including its frame, until all of it is on the screen.

        `assumed` is the least size of the frame, for the time before the desktop reports it.
        """
        window, frame = self._window, self._window.frameGeometry()
        screens = [screen.availableGeometry() for screen in QGuiApplication.screens()]
        home = QGuiApplication.primaryScreen().availableGeometry()
        room = next((room for room in screens if room.intersects(frame)), home)
        border = (frame.size() - window.size()).expandedTo(assumed or QSize())
        window.setMinimumSize(window.minimumSize().boundedTo(room.size() - border))
        if not room.contains(QRect(frame.topLeft(), window.size() + border)):
            window.resize(window.size().boundedTo(room.size() - border))
            wide, high = window.width() + border.width(), window.height() + border.height()
            left = min(max(frame.left(), room.left()), room.right() + 1 - wide)
            top = min(max(frame.top(), room.top()), room.bottom() + 1 - high)
            window.move(left, top)
