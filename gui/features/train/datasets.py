"""Datasets of offline learning: state of the one in the form; download, check, deletion in their own processes."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QProgressBar, QWidget

from gui.features.train.draft import ConfigDraft
from gui.kit.actions import ActionRegistry, action_button
from gui.kit.boxes import hbox, named, put
from gui.kit.labels import ElidedLabel, ago, set_role, size_text
from gui.kit.words import number, tr
from gui.state.bridge import Bridge, in_thread
from gui.state.notices import Notices
from trainer_core.lab.dataset_download import address_of
from trainer_core.lab.datasets import DatasetCache, Kept
from trainer_core.service import Job, RunChanged, run_job
from trainer_core.wire.errors import ConfigError, LabError

COMMAND = (sys.executable, "-m", "trainer_core.cli.main", "datasets")
_STATES = {
    "intact": ("intact, {size}, checked {ago}", "good"),
    "changed": ("changed since it was checked {ago}: check it again", "warn"),
    "damaged": ("damaged: its hash is not the one it was kept under", "error"),
    "missing": ("its file is missing", "error"),
}
"""Text and colour role of each state of a kept dataset."""


class DatasetsController(QObject):
    changed = Signal()

    def __init__(self, bridge: Bridge, draft: ConfigDraft, notices: Notices) -> None:
        super().__init__()
        self._bridge, self._draft, self._notices = bridge, draft, notices
        self.entries: list[Kept] = []
        self.doing = ""
        """What a running process does, in words; empty without one."""
        self.progress = 0.0
        self._job: Job | None = None
        draft.runner_changed.connect(self.reload)
        draft.changed.connect(lambda name: self.changed.emit())
        bridge.run_changed.connect(self._on_run)

    @property
    def is_wanted(self) -> bool:
        """True if the form's trainer learns from a dataset."""
        return any(spec.is_dataset for spec in self._draft.fields)

    @property
    def name(self) -> str:
        """Text of the form's dataset."""
        return self._draft.text("data").strip() if self.is_wanted else ""

    @property
    def kept(self) -> Kept | None:
        """The kept dataset that the form names."""
        name = self.name
        by_hash = len(name) >= 12
        found = (kept for kept in self.entries if name == kept.name or (by_hash and kept.sha256.startswith(name)))
        return next(found, None)

    def offers(self) -> dict[str, str]:
        """Return the texts of the kept datasets by what the form takes for them."""
        names = [kept.name for kept in self.entries]
        return {
            kept.name if names.count(kept.name) == 1 else kept.sha256[:16]: f"{kept.name}, {size_text(kept.size_bytes)}"
            for kept in self.entries
        }

    def badge(self) -> tuple[str, str]:
        """Return the state of the form's dataset as text, and the text's colour role."""
        kept = self.kept
        if self.doing:
            return f"{self.doing} {number(self.progress, '.0%')}", "muted"
        if kept is not None:
            words, role = _STATES[kept.state]
            return tr(words, size=size_text(kept.size_bytes), ago=ago(kept.checked_at)), role
        if not self.name:
            return tr("No dataset is chosen"), "muted"
        with contextlib.suppress(OSError, RuntimeError, ValueError):  # a long name, an unknown ~user, a NUL
            if Path(self.name).expanduser().exists():
                return tr("Copied and checked when the run begins"), "muted"
        return (tr("Not downloaded yet"), "muted") if not self.download_refusal() else (tr("No such dataset"), "warn")

    # -- commands ---------------------------------------------------------------------------

    def download_refusal(self) -> str:
        if not self.is_wanted:
            return tr("The chosen trainer learns from no dataset")
        if self.doing:
            return self.doing
        if self.kept is not None and self.kept.state == "intact":
            return tr("This dataset is kept already")
        try:
            address_of(self.name)
        except ConfigError as error:
            return str(error)
        return ""

    def verify_refusal(self) -> str:
        return self.doing or ("" if self.entries else tr("No dataset is kept"))

    def download(self) -> None:
        """Download the dataset that the form names; a cut download goes on where it was."""
        if not self.download_refusal():
            self._start(tr("Downloading"), "download", self.name)

    def verify(self) -> None:
        """Compute the hash of the form's dataset again, or of all kept ones."""
        if not self.verify_refusal():
            self._start(tr("Checking"), "verify", *([self.kept.sha256] if self.kept else []))

    def prune(self) -> None:
        """Find the datasets that no run has learned from, and offer their deletion."""
        if not self.verify_refusal():
            self._start(tr("Searching"), "prune")

    def cancel(self) -> None:
        """End the running process; what was downloaded so far is kept."""
        if self._job is not None:
            self._job.cancel()

    def reload(self) -> None:
        """Read which datasets are kept, in a thread."""
        if self.is_wanted:
            work = in_thread(DatasetCache(self._bridge.home).entries)
            self._bridge.spawn(work, title=tr("Dataset"), then=self._on_entries)

    def _on_entries(self, found: list[Kept]) -> None:
        self.entries = found
        self.changed.emit()

    def _on_run(self, notice: RunChanged) -> None:
        if notice.record.state.is_end:
            self.reload()

    def _start(self, doing: str, verb: str, *words: str) -> None:
        self.doing, self.progress = doing, 0.0
        self.changed.emit()
        self._bridge.spawn(self._run(verb, *words))

    async def _run(self, verb: str, *words: str) -> None:
        argv = (*COMMAND, verb, *words, "--home", str(self._bridge.home.root))
        try:
            found = await run_job(argv, on_progress=self._on_progress, on_start=self._on_start)
            self._tell(verb, found)
        except (LabError, OSError) as error:
            if not (self._job and self._job.cancelled):
                self._notices.tell(tr("Dataset"), str(error), "error")
        finally:
            self.doing, self._job = "", None
            self.reload()
            self.changed.emit()

    def _tell(self, verb: str, found: dict[str, Any]) -> None:
        names = ", ".join(row["name"] for row in found.get("datasets", [])) or found.get("name", "")
        if verb == "download":
            if self.is_wanted:
                self._draft.set_text("data", names)
            self._notices.tell(tr("{name} is downloaded", name=names), found["sha256"], "good")
        elif verb == "verify":
            self._notices.tell(tr("The hashes are right"), names, "good")
        elif not names:
            self._notices.tell(tr("Runs have learned from every kept dataset"))
        elif not found["deleted"]:
            told = tr("No run has learned from these datasets"), f"{names}, {size_text(found['bytes'])}"
            doomed = [row["sha256"] for row in found["datasets"]]
            self._notices.tell(
                *told, "warn", tr("Delete them"), lambda: self._start(tr("Deleting"), "prune", *doomed, "--yes")
            )
        else:
            self._notices.tell(tr("Datasets were deleted"), f"{names}, {size_text(found['bytes'])}", "good")

    def _on_start(self, job: Job) -> None:
        self._job = job

    def _on_progress(self, share: float) -> None:
        self.progress = share
        self.changed.emit()


class DatasetBar(QWidget):
    """State of the form's dataset, with what helps."""

    def __init__(self, datasets: DatasetsController, actions: ActionRegistry) -> None:
        super().__init__()
        self.setObjectName("datasetBar")
        self._datasets = datasets
        row = hbox(self, margins=(12, 0, 12, 0), spacing=8)
        self.badge = named(ElidedLabel("", "muted"), "datasetBadge", tr("State of the dataset"))
        self.bar = QProgressBar()
        self.bar.setAccessibleName(tr("Progress with the dataset"))
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
        self.bar.setFixedWidth(72)
        put(row, (self.badge, 1), self.bar)
        for name in ("downloadDataset", "verifyDataset", "cancelDataset"):
            made = action_button(actions[name], f"{name}Button")
            made.setProperty("flat", True)
            row.addWidget(made)
        datasets.changed.connect(self.renew)
        self.renew()

    def renew(self) -> None:
        datasets = self._datasets
        self.setVisible(datasets.is_wanted)
        self.bar.setVisible(bool(datasets.doing))
        self.bar.setValue(round(datasets.progress * 1000))
        words, role = datasets.badge()
        self.badge.setText(words)
        self.badge.setToolTip(f"{words}\n{datasets.kept.sha256}" if datasets.kept else words)
        set_role(self.badge, "role", role)


def define_datasets(registry: ActionRegistry, datasets: DatasetsController) -> None:
    add, follows = registry.add, (datasets.changed,)
    add(
        "downloadDataset",
        tr("Download the dataset"),
        datasets.download,
        short=tr("Download"),
        tip=tr("Fetch the dataset that the form names from Minari or D4RL; its hash is pinned"),
        refusal=datasets.download_refusal,
        is_there=lambda: datasets.is_wanted and not datasets.doing and not datasets.download_refusal(),
        follows=follows,
    )
    add(
        "verifyDataset",
        tr("Check the dataset's hash"),
        datasets.verify,
        short=tr("Check"),
        tip=tr("Compute the hash of the form's dataset again, or of all kept ones"),
        refusal=datasets.verify_refusal,
        is_there=lambda: datasets.kept is not None and not datasets.doing,
        follows=follows,
    )
    add(
        "pruneDatasets",
        tr("Delete unused datasets..."),
        datasets.prune,
        tip=tr("List the kept datasets that no run has learned from, and ask before they are deleted"),
        refusal=datasets.verify_refusal,
        follows=follows,
    )
    add(
        "cancelDataset",
        tr("Cancel the work on the dataset"),
        datasets.cancel,
        short=tr("Cancel"),
        tip=tr("What was downloaded so far is kept for the next try"),
        refusal=lambda: "" if datasets.doing else tr("Nothing is being done with a dataset"),
        is_there=lambda: bool(datasets.doing),
        follows=follows,
    )
