"""TensorBoard in the user's own browser: export the run's events, start the server, open the page.

Nothing is embedded, nothing is fetched; the server ends with the app.
"""

from __future__ import annotations

import importlib.util
import socket
import sys
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, QUrl
from PySide6.QtGui import QDesktopServices

from gui.bridge import Bridge
from gui.models.notices import Notices
from gui.models.run_telemetry import TelemetryModel
from gui.words import tr
from trainer_core.service import Job, run_job

OPEN_AFTER_MS = 4000
"""TensorBoard needs this long to listen; the browser would show an error before."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Dashboards(QObject):
    def __init__(self, bridge: Bridge, telemetry: TelemetryModel, notices: Notices) -> None:
        super().__init__()
        self._bridge, self._telemetry, self._notices = bridge, telemetry, notices
        self._server: Job | None = None

    def open_tensorboard(self) -> None:
        """Export the run in focus and show it; without TensorBoard say where the files are."""
        folder = self._bridge.home.run(self._telemetry.focus).root
        argv = [sys.executable, "-m", "trainer_core.exports.tensorboard", str(folder)]
        self._bridge.spawn(
            run_job(argv),
            title=tr("TensorBoard"),
            then=lambda result: self._on_exported(Path(result["folder"])),
        )

    def _on_exported(self, folder: Path) -> None:
        if importlib.util.find_spec("tensorboard") is None:
            text = tr("{folder}; to see them: pip install tensorboard", folder=folder)
            self._notices.tell(tr("Events written"), text)
            return
        self.close()
        port = free_port()
        argv = [sys.executable, "-m", "tensorboard.main", "--logdir", str(folder),
                "--host", "127.0.0.1", "--port", str(port)]  # fmt: skip
        self._bridge.spawn(
            run_job(argv, on_start=self._on_server), title=tr("TensorBoard"), failed=self._on_failed
        )
        url = QUrl(f"http://127.0.0.1:{port}")
        QTimer.singleShot(OPEN_AFTER_MS, self, lambda: QDesktopServices.openUrl(url))
        self._notices.tell(tr("TensorBoard starts"), url.toString())

    def _on_server(self, job: Job) -> None:
        self._server = job

    def _on_failed(self, reason: str) -> None:
        if reason != "cancelled":
            self._bridge.problem.emit(tr("TensorBoard"), reason)

    def close(self) -> None:
        """End the server."""
        if self._server is not None:
            self._server.cancel()
            self._server = None
