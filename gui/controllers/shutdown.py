"""The end: every process that this app started ends first, then the app."""

from __future__ import annotations

import asyncio
import logging

from PySide6.QtCore import QCoreApplication, QObject, Signal

from gui.bridge import Bridge
from gui.controllers.archives import ArchivesController
from gui.controllers.dashboards import Dashboards
from gui.controllers.playing import PlayController
from gui.controllers.roll import RollController
from gui.controllers.sweeping import SweepController
from gui.settings import Settings
from gui.words import tr

log = logging.getLogger(__name__)


class Shutdown(QObject):
    began = Signal()
    """The window still has its sizes: remember them now; it is hidden right after."""
    finished = Signal()
    """No process is left."""

    def __init__(
        self,
        bridge: Bridge,
        settings: Settings,
        playing: PlayController,
        dashboards: Dashboards,
        roll: RollController,
        archives: ArchivesController,
        sweeps: SweepController,
    ) -> None:
        super().__init__()
        self._bridge, self._settings = bridge, settings
        self._playing, self._dashboards, self._roll = playing, dashboards, roll
        self._archives, self._sweeps = archives, sweeps
        self.has_ended = False

    @property
    def has_begun(self) -> bool:
        return self._bridge.closing

    def running(self) -> int:
        """Trainings that would be stopped."""
        service = self._bridge.service
        return sum(service.is_live(run_id) for run_id in service.runs)

    def begin(self, keep: bool = False) -> None:
        """Stop every process, then quit; returns at once.

        With `keep` trainings save and go on in a detached host. A child that is busy in native
        code may take the whole ladder to end. Nobody has to watch.
        """
        if self.has_begun:
            return
        self._bridge.closing = True
        self.began.emit()
        self._settings.save()
        self._bridge.spawn(self._end_processes(keep), title=tr("Closing"))

    async def _end_processes(self, keep: bool) -> None:
        try:
            self._dashboards.close()
            player, roll = self._playing.player, self._roll.player
            service = self._bridge.service
            ends = (
                self._playing.end(),
                player.ahead.end(),
                roll.stop(),
                roll.ahead.end(),
                service.close(keep=keep),
                self._archives.close(),
                self._sweeps.close(),
            )
            for result in await asyncio.gather(*ends, return_exceptions=True):
                if isinstance(result, BaseException):
                    log.error("a process did not end as asked: %s", result)
        finally:
            self._bridge.close()
            self.has_ended = True
            self.finished.emit()
            QCoreApplication.quit()
