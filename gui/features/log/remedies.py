"""Commands that help after a known failure of the run on show."""

from __future__ import annotations

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication

from gui.features.runs.controller import RunsController
from gui.features.train.controller import TrainingController
from gui.kit.dialogs import show_file
from gui.kit.words import tr
from gui.state.bridge import Bridge
from gui.state.failures import Failure, failure_of, install_line
from gui.state.notices import Notices
from gui.state.session import Navigation
from gui.state.telemetry import TelemetryModel
from trainer_core.wire.run_record import RunState

STEPS = "last_steps.npz"
"""File in a receipt (saved data of a failure, trainer_core.host.receipts) with the last steps, for the replay."""
FEW = 64
"""Number of parallel Game Boys that keeps a CPU busy."""


class Remedies(QObject):
    def __init__(
        self,
        bridge: Bridge,
        training: TrainingController,
        runs: RunsController,
        telemetry: TelemetryModel,
        notices: Notices,
        navigation: Navigation,
    ) -> None:
        super().__init__()
        self._bridge, self._training, self._runs = bridge, training, runs
        self._telemetry, self._notices = telemetry, notices
        self._navigation = navigation
        bridge.problem.connect(self._on_problem)
        self._last_problem = ""

    @property
    def cause(self) -> str:
        """Error text of the run on show; empty when it did not fail."""
        run = self._training.record
        failed = run is not None and run.state in (RunState.FAILED, RunState.LOST)
        return run.reason if failed and run is not None else ""

    def failure(self) -> Failure | None:
        """Return the catalogue's entry for the failure of the run on show; None without a known failure."""
        return failure_of(self.cause) if self.cause else None

    # -- changed configuration --------------------------------------------------------------

    def use_cpu(self) -> None:
        """Set the training form to the CPU, and to FEW parallel Game Boys."""
        self._take_up()
        self._write({"device": "cpu", "num_envs": min(self._game_boys(), FEW)})

    def use_fewer(self) -> None:
        """Set the training form to half as many parallel Game Boys."""
        self._take_up()
        self._write({"num_envs": max(1, self._game_boys() // 2)})

    def fewer_refusal(self) -> str:
        return "" if self._game_boys() > 1 else tr("The form has no number of Game Boys to halve")

    def _take_up(self) -> None:
        """Copy the configuration of the failed run on show, if there is one, into the training form."""
        if self.cause and not self._runs.reuse_refusal():
            self._runs.reuse_config()

    def _write(self, values: dict[str, object]) -> None:
        known = {spec.name for spec in self._training.draft.fields}
        draft = self._training.draft
        draft.set_values({name: value for name, value in values.items() if name in known})
        self._training.train_new()

    def _game_boys(self) -> int:
        try:
            return int(self._training.draft.text("num_envs").replace(",", ""))
        except (KeyError, ValueError):
            return 0

    # -- files and lines --------------------------------------------------------------------

    def open_receipt(self) -> None:
        """Show in the replay the steps before the failure, from the run's receipt, at the failing step.

        A receipt of an older version has no steps: its folder is opened instead.
        """
        folder = self._bridge.home.run(self._telemetry.focus).root / self._receipt()
        if (folder / STEPS).is_file():
            self._navigation.path_wanted.emit(folder)
            return
        show_file(folder)

    def receipt_refusal(self) -> str:
        return "" if self._receipt() else tr("The run has no error record")

    def _receipt(self) -> str:
        run = self._telemetry.runs.get(self._telemetry.focus)
        return run.error.receipt if run is not None and run.error is not None else ""

    def copy_install(self) -> None:
        """Copy the command that installs the missing package to the clipboard."""
        line = self._install_line()
        QGuiApplication.clipboard().setText(line)
        self._notices.tell(tr("Copied"), line, "good")

    def install_refusal(self) -> str:
        return "" if self._install_line() else tr("Nothing is missing")

    def _install_line(self) -> str:
        told = [self.cause, self._last_problem]
        told += [check.fix for check in self._training.checks if check.status == "fail"]
        missing = (failure_of(cause) for cause in told if cause)
        if any(found is not None and found.code == "E03" for found in missing):
            told.append(self._training.draft.runner.install)
        return next(filter(None, map(install_line, told)), "")

    def _on_problem(self, title: str, cause: str) -> None:
        self._last_problem = cause
