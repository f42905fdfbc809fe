"""End of the app, after all processes that it started have ended."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from PySide6.QtCore import QCoreApplication, QObject, Signal

from gui.kit.settings import Settings
from gui.kit.words import tr
from gui.state.bridge import Bridge

log = logging.getLogger(__name__)


class Shutdown(QObject):
    began = Signal()
    """The app is about to end; the window is still visible, so that its layout can be saved."""
    finished = Signal()
    """All processes have ended."""

    def __init__(self, bridge: Bridge, settings: Settings) -> None:
        super().__init__()
        self._bridge, self._settings = bridge, settings
        self.ends: list[Callable[[], Awaitable[object]]] = []
        """Coroutine functions that end a feature's processes; they are run at the same time."""
        self.has_ended = False

    @property
    def has_begun(self) -> bool:
        return self._bridge.closing

    def running(self) -> int:
        """Return the number of active training runs that the end of the app would stop."""
        service = self._bridge.service
        return sum(service.is_live(run_id) for run_id in service.runs)

    def begin(self, keep: bool = False) -> None:
        """Stop all processes, then quit the app; returns at once.

        With `keep`, training runs save and continue in a process independent of the app. A process that is busy in
        native code may need all steps of the stop, up to a kill.
        """
        if self.has_begun:
            return
        self._bridge.closing = True
        self.began.emit()
        self._settings.save()
        self._bridge.spawn(self._end_processes(keep), title=tr("Closing"))

    async def _end_processes(self, keep: bool) -> None:
        try:
            ends = [end() for end in self.ends]
            closing = self._bridge.service.close(keep=keep)
            for result in await asyncio.gather(*ends, closing, return_exceptions=True):
                if isinstance(result, BaseException):
                    log.error("a process did not end as asked: %s", result)
        finally:
            self._bridge.close()
            self.has_ended = True
            self.finished.emit()
            QCoreApplication.quit()
