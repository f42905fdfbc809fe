"""Export to other dashboards: TensorBoard in the user's browser, offline files of Weights & Biases (W&B).

Nothing is uploaded or downloaded here; the TensorBoard server ends with the app.
"""

from __future__ import annotations

import asyncio
import importlib.util
import socket
import sys
from pathlib import Path

from PySide6.QtCore import QObject, QUrl
from PySide6.QtGui import QDesktopServices, QGuiApplication

from gui.features.runs.controller import RunsController
from gui.kit.words import tr
from gui.state.bridge import Bridge, in_thread
from gui.state.notices import FILE_OPENED, Notices
from gui.state.session import Navigation, Place
from gui.state.telemetry import TelemetryModel
from trainer_core.runs.wandb_run import WandbRun, read_wandb
from trainer_core.service import Imported, Job, RunChanged, import_curves, run_job

LISTEN_S, LOOK_S = 60.0, 0.2
"""Seconds to wait until TensorBoard listens before opening the browser, and seconds between two tries."""
INSTALL_TENSORBOARD = "pip install 'dmglab[tensorboard]'"
MOST_TOLD = 3
"""Most names of incompletely imported runs in one message."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def answers(port: int) -> bool:
    """Wait until a server listens at local `port`; return False if none does within LISTEN_S."""
    for _ in range(round(LISTEN_S / LOOK_S)):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(LOOK_S)
            continue
        writer.close()
        return True
    return False


class Dashboards(QObject):
    def __init__(
        self, bridge: Bridge, telemetry: TelemetryModel, runs: RunsController, navigation: Navigation, notices: Notices
    ) -> None:
        super().__init__()
        self._runs, self._navigation = runs, navigation
        self._bridge, self._telemetry, self._notices = bridge, telemetry, notices
        self._server: Job | None = None
        bridge.run_changed.connect(self._on_run_changed)

    def open_tensorboard(self) -> None:
        """Open the run in focus in TensorBoard; if that is not installed, show the folder of exported files."""
        folder = self._bridge.home.run(self._telemetry.focus).root
        argv = [sys.executable, "-m", "trainer_core.formats.tensorboard", str(folder)]
        self._bridge.spawn(
            run_job(argv), title=tr("TensorBoard"), then=lambda result: self._on_exported(Path(result["folder"]))
        )

    def _on_exported(self, folder: Path) -> None:
        if importlib.util.find_spec("tensorboard") is None:
            text = tr(
                "Saved in {folder}. To see it in the browser: {command}", folder=folder, command=INSTALL_TENSORBOARD
            )
            self._notices.tell(tr("TensorBoard log saved"), text)
            return
        self.close()
        port = free_port()
        argv = [
            sys.executable,
            "-m",
            "tensorboard.main",
            "--logdir",
            str(folder),
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        ]
        self._bridge.spawn(run_job(argv, on_start=self._on_server), title=tr("TensorBoard"), failed=self._on_failed)
        url = QUrl(f"http://127.0.0.1:{port}")
        self._notices.tell(tr("TensorBoard is starting"), url.toString())
        self._bridge.spawn(
            answers(port), title=tr("TensorBoard"), then=lambda there: QDesktopServices.openUrl(url) if there else None
        )

    def _on_run_changed(self, notice: RunChanged) -> None:
        """Tell, once a run that was sent to W&B has ended, whether all of it is there."""
        run_id = notice.record.run_id
        sender = self._bridge.service.senders.get(run_id)
        if sender is None or not notice.record.state.is_end:
            return

        def wait() -> WandbRun | None:
            sender.wait()
            return read_wandb(self._bridge.home.run(run_id))

        self._bridge.spawn(in_thread(wait), title=tr("Weights & Biases"), then=self._on_sent)

    def _on_sent(self, run: WandbRun | None) -> None:
        if run is None or run.state == "sent":
            return
        self._notices.tell(tr("Not all of {name} was sent to Weights & Biases", name=run.name), run.reason, "warn")

    def open_wandb(self) -> None:
        """Open the page of the run in focus at W&B in the browser, or tell why there is none."""
        run = self._bridge.home.run(self._telemetry.focus)
        self._bridge.spawn(in_thread(read_wandb, run), title=tr("Weights & Biases"), then=self._on_wandb_read)

    def _on_wandb_read(self, run: WandbRun | None) -> None:
        if run is not None and run.url:
            QDesktopServices.openUrl(QUrl(run.url))
        else:
            why = run.words if run else tr("Tick Send this run to Weights & Biases before a run starts")
            self._notices.tell(tr("This run has no page on Weights & Biases"), why)

    def export_wandb(self) -> None:
        """Export the run in focus as an offline W&B run, or as JSON if the wandb package is not installed."""
        run = self._bridge.home.run(self._telemetry.focus).root
        has_client = importlib.util.find_spec("wandb") is not None
        module = "wandb_offline" if has_client else "wandb_history"
        argv = [sys.executable, "-m", f"trainer_core.formats.{module}", str(run)]
        self._bridge.spawn(
            run_job(argv),
            title=tr("Weights & Biases"),
            then=lambda result: self._on_wandb(Path(result["folder"]), has_client),
        )

    def _on_wandb(self, folder: Path, has_client: bool) -> None:
        line = f"wandb sync {folder}" if has_client else "pip install 'dmglab[wandb]'"
        self._notices.tell(
            tr("Exported for W&B"),
            f"{folder}; {line}",
            "good",
            tr("Copy the command"),
            lambda: QGuiApplication.clipboard().setText(line),
        )

    def import_curves(self, path: Path) -> None:
        """Import the logs of another training tool at `path` as runs and show their curves."""
        self._bridge.spawn(
            in_thread(import_curves, path, self._bridge.home),
            title=tr("The curves were not imported"),
            then=self._on_imported,
        )

    def _on_imported(self, done: Imported) -> None:
        for run in done.runs:
            self._runs.take_in(run)
        if len(done.runs) > 1:
            self._runs.show_all([run.run_id for run in done.runs])
        self._navigation.show(Place.CURVES)
        last = done.runs[-1]
        text = tr("{task}, {env_steps:,} steps", task=last.name, env_steps=last.env_steps)
        if len(done.runs) > 1:
            text = tr("{count} runs", count=len(done.runs))
        if done.lost:
            text += "; " + "; ".join(done.lost[:MOST_TOLD])
        self._notices.tell(tr("Curves imported"), text, "warn" if done.lost else "good", subject=FILE_OPENED)

    def _on_server(self, job: Job) -> None:
        self._server = job

    def _on_failed(self, reason: str) -> None:
        if reason != "cancelled":
            self._bridge.problem.emit(tr("TensorBoard"), reason)

    def close(self) -> None:
        """Stop the TensorBoard server."""
        if self._server is not None:
            self._server.cancel()
            self._server = None
