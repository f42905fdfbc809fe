"""Installation of trainers that are not installed yet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from PySide6.QtCore import QObject, Signal

from gui.kit.words import tr
from gui.state.bridge import Bridge, in_thread
from gui.state.notices import Notices
from gui.state.session import Session
from trainer_core.runners.catalog import AgentRunner, Installation
from trainer_core.service import Job, run_job
from trainer_core.wire.errors import LabError


class RunnersController(QObject):
    """Installation of trainers, one at a time; it goes on when another trainer is selected."""

    changed = Signal()

    def __init__(self, bridge: Bridge, session: Session, notices: Notices) -> None:
        super().__init__()
        self._bridge, self._session, self._notices = bridge, session, notices
        self.installing: AgentRunner | None = None
        self.progress = 0.0
        """Progress of the installation, 0 to 1."""
        self._job: Job | None = None
        self._cancelled = False
        session.runner_changed.connect(lambda runner: self.changed.emit())

    @property
    def wanted(self) -> Installation | None:
        """The selected trainer's missing installation; None when the trainer is ready."""
        return self._session.runner.installation(self._bridge.home)

    @property
    def has_choice(self) -> bool:
        """True if more than one trainer is installed, or one of the plug-ins cannot be used, which the list tells."""
        runners = [runner for runner in self._session.runners if runner.trains]
        ready = sum(runner.installation(self._bridge.home) is None for runner in runners)
        return ready > 1 or bool(self._session.broken_runners)

    def refusal(self) -> str:
        """Return why the selected trainer cannot be installed now; empty when it can."""
        if self.installing is not None:
            return tr("{title} is being installed", title=self.installing.title)
        return "" if self.wanted else tr("{title} is ready", title=self._session.runner.title)

    def install(self) -> None:
        """Install the selected trainer into a Python environment of its own."""
        wanted = self.wanted
        if wanted is not None and self.installing is None:
            self.installing, self.progress = self._session.runner, 0.0
            self._cancelled = False
            self.changed.emit()
            self._bridge.spawn(self._install(self.installing, wanted))

    def cancel(self) -> None:
        """Cancel the running installation and delete its files."""
        self._cancelled = True
        if self._job is not None:
            self._job.cancel()

    def remove_refusal(self) -> str:
        """Return why the selected trainer cannot be uninstalled now; empty when it can."""
        runner, live = self._session.runner, self._bridge.service.runs.values()
        if self.installing is not None:
            return tr("{trainer} is being installed", trainer=self.installing.title)
        if any(run.runner == runner.id and not run.state.is_end for run in live):
            return tr("{trainer} has a running run; stop it first", trainer=runner.title)
        return "" if runner.removal(self._bridge.home) else tr("This trainer is not installed")

    def remove(self) -> None:
        """Delete the selected trainer's Python environment; its runs and checkpoints stay."""
        runner = self._session.runner
        removal = runner.removal(self._bridge.home)
        if removal is not None and not self.remove_refusal():
            self._bridge.spawn(self._remove(runner, removal))

    async def _remove(self, runner: AgentRunner, removal: Callable[[], None]) -> None:
        try:
            await in_thread(removal)
            self._notices.tell(tr("{trainer} was removed", trainer=runner.title), "", "good")
        except (LabError, OSError) as error:
            told = tr("{trainer} was not removed", trainer=runner.title)
            self._notices.tell(told, str(error), "error")
        self.changed.emit()
        self._session.runner_changed.emit(self._session.runner)

    async def _install(self, runner: AgentRunner, wanted: Installation) -> None:
        try:
            await run_job(wanted.argv, on_progress=self._on_progress, on_start=self._on_start)
            self._notices.tell(tr("{title} is ready", title=runner.title), str(wanted.folder), "good")
        except (LabError, OSError) as error:
            await in_thread(self._discard, wanted)
            if not self._cancelled:
                self._notices.tell(
                    tr("{title} was not installed", title=runner.title),
                    str(error),
                    "error",
                    tr("Try again"),
                    self.install,
                )
        except asyncio.CancelledError:
            wanted.discard()
            raise
        finally:
            self.installing = self._job = None
            self.changed.emit()
            self._session.runner_changed.emit(self._session.runner)

    @staticmethod
    def _discard(wanted: Installation) -> None:
        try:
            wanted.discard()
        except (LabError, OSError):
            return  # the next installation begins with this

    def _on_start(self, job: Job) -> None:
        self._job = job
        if self._cancelled:
            job.cancel()

    def _on_progress(self, share: float) -> None:
        self.progress = share
        self.changed.emit()
