"""Files that a person drops on the window."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtWidgets import QWidget


class DropTarget(QObject):
    """Takes drops of local files on `window`; others are refused, as Qt does by itself."""

    dropped = Signal(object)
    """A Path."""

    def __init__(self, window: QWidget) -> None:
        super().__init__(window)
        window.setAcceptDrops(True)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.DragEnter, QEvent.Type.Drop):
            paths = [
                Path(url.toLocalFile())
                for url in event.mimeData().urls()  # type: ignore[attr-defined]
                if url.isLocalFile()
            ]
            if paths:
                event.acceptProposedAction()  # type: ignore[attr-defined]
                if event.type() == QEvent.Type.Drop:
                    self.dropped.emit(paths[0])
                return True
        return super().eventFilter(watched, event)
