"""Disk use: the size of each run, archives that free space, and restoring runs from them."""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal

from gui.features.checkpoints.controller import CheckpointsController
from gui.features.runs.model import RunList
from gui.kit.dialogs import show_file
from gui.kit.labels import size_text
from gui.kit.words import tr
from gui.state.bridge import Bridge
from gui.state.notices import Notices
from trainer_core.service import Job, RunChanged, run_job
from trainer_core.wire.errors import LabError
from trainer_core.wire.run_record import ARCHIVED, STORAGE_TAG, TRASHED, RunRecord, is_archived

DAY_S = 86_400
CLOSE_S = 3.0
"""Longest wait in seconds for a killed `dmglab` process to end."""


@dataclass(frozen=True, slots=True)
class DiskRow:
    """One run in the table of disk use; sizes are in bytes."""

    run: RunRecord
    label: str
    total: int
    checkpoints: int

    @property
    def is_movable(self) -> bool:
        """True if the run can be archived: it has ended and its folder exists."""
        return self.run.state.is_end and self.total > 0


def old_rows(rows: Iterable[DiskRow], days: float, keep: int, now: float | None = None) -> list[DiskRow]:
    """Return the runs that `dmglab archive --older-than DAYS --keep N` would archive.

    These ended more than `days` before `now` (seconds since 1970) and are not among the `keep` newest ones.
    """
    ended = sorted((row for row in rows if row.is_movable), key=lambda row: row.run.finished_at)
    spared = ended[: len(ended) - keep] if keep else ended
    limit = (now or time.time()) - days * DAY_S
    return [row for row in spared if row.run.finished_at < limit]


class ArchivesController(QObject):
    changed = Signal()
    """The rows, the free disk space or the work in progress changed."""

    def __init__(self, bridge: Bridge, runs: RunList, checkpoints: CheckpointsController, notices: Notices) -> None:
        super().__init__()
        self._bridge, self._runs, self.task_title = bridge, runs, bridge.task_title
        self._checkpoints, self._notices = checkpoints, notices
        self.rows: list[DiskRow] = []
        """Disk use of each run, the largest first."""
        self.working = ""
        """Text on the work in progress; empty when there is none."""
        self._job: Job | None = None
        self._task: asyncio.Task[dict[str, Any]] | None = None
        self._cancelled = False
        bridge.run_changed.connect(self._on_run_changed)

    @property
    def free_bytes(self) -> int:
        try:
            return shutil.disk_usage(self._bridge.home.root).free
        except OSError:
            return 0

    @property
    def folder(self) -> Path:
        return self._bridge.home.archives

    # -- measuring --------------------------------------------------------------------------

    def measure(self) -> None:
        """Measure the size of each run in a process of its own, and then update the rows."""
        self.work(("runs", "--disk"), tr("Measuring"), tr("Disk"), self._on_measured)

    def work(self, words: tuple[str, ...], telling: str, title: str, then: Callable[[dict[str, Any]], object]) -> None:
        """Run `dmglab WORDS` unless something is under way, then call `then` with its result and measure again."""

        def done(result: dict[str, Any]) -> None:
            self._tell("")
            then(result)
            if words[0] != "runs":
                self.measure()

        if not self.working:
            self._cancelled = False
            self._tell(telling)
            self._bridge.spawn(self._tool(*words), title=title, then=done, failed=self._on_failed)

    def _on_measured(self, result: dict[str, Any]) -> None:
        known = self._bridge.service.runs
        rows = [
            DiskRow(known[row["run_id"]], self._runs.label(row["run_id"]), row["bytes"], row["checkpoints"])
            for row in result["runs"]
            if row["run_id"] in known
        ]
        self.rows = sorted(rows, key=lambda row: -row.total)
        self.changed.emit()

    # -- archiving and restoring ------------------------------------------------------------

    def archive(self, run_ids: list[str]) -> None:
        """Write each run to an archive, compare the archive with the run, then delete the run's folder."""
        if run_ids and not self.working:
            self._cancelled = False
            self._tell(tr("Archiving"))
            self._bridge.spawn(
                self._archive_all(run_ids), title=tr("Archive"), then=self._on_archived, failed=self._on_failed
            )

    async def _archive_all(self, run_ids: list[str]) -> tuple[int, int]:
        """Move these runs one by one into archives; return (number of archived runs, bytes saved)."""
        saved = done = 0
        for number, run_id in enumerate(run_ids, 1):
            self._tell(tr("Archiving {number} of {count}", number=number, count=len(run_ids)))
            try:
                found = await self._tool("archive", run_id, "--remove")
            except LabError as error:
                if self._cancelled:
                    break
                raise LabError(f"{self._runs.label(run_id)}: {error}") from None
            row = found["runs"][0]
            saved += row["bytes"] - row["archive_bytes"]
            done += 1
        return done, saved

    def _on_archived(self, result: tuple[int, int]) -> None:
        done, saved = result
        self._tell("")
        if done:
            self._notices.tell(
                tr("Archived"),
                tr("{done} runs, {saved} freed", done=done, saved=size_text(saved)),
                "good",
                tr("Open folder"),
                self.open_folder,
            )
        self.measure()

    def cancel(self) -> None:
        """Cancel archiving or restoring; the run being handled stays as it was."""
        self._cancelled = True
        if self._job is not None:
            self._job.cancel()

    async def close(self) -> None:
        """Cancel archiving or restoring, and wait up to CLOSE_S for the process to end."""
        self.cancel()
        if self._task is not None:
            await asyncio.wait([self._task], timeout=CLOSE_S)

    def take_path(self, path: Path) -> bool:
        """Restore the run that this archive holds; return whether its name is that of an archive."""
        if is_one := path.name.endswith(".tar.gz"):
            self.restore(path)
        return is_one

    def restore(self, file: Path) -> None:
        """Restore a run from its archive, checking the hash of every file."""
        words = ("archive", "restore", str(file))
        self.work(words, tr("Restoring {name}", name=file.name), tr("Restore"), self.on_restored)

    def on_restored(self, result: dict[str, Any]) -> None:
        """Tell which runs are back, and show their checkpoints."""
        for run_id in result["restored"]:
            self._notices.tell(tr("Restored"), self._bridge.name_of(run_id), "good")
            self._checkpoints.look_at(run_id)

    def open_folder(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        show_file(self.folder)

    # -- the run in focus -------------------------------------------------------------------

    def archive_refusal(self, runs: list[RunRecord]) -> str:
        """Return why these runs cannot be archived now; empty when they can."""
        if not runs:
            return tr("Select a run first")
        if not all(run.state.is_end for run in runs):
            return tr("The run has not ended")
        if any(map(is_archived, runs)):
            return tr("The run is already archived")
        return self.working

    def restore_refusal(self, runs: list[RunRecord]) -> str:
        """Return why these runs cannot be restored now; empty for exactly one archived run."""
        if len(runs) != 1 or not is_archived(runs[0]):
            return tr("The run is not archived")
        return self.working

    def restore_run(self, runs: list[RunRecord]) -> None:
        run = runs[0]
        if run.reason.startswith(TRASHED):
            self.work(("storage", "undo", run.run_id), tr("Restoring"), tr("Restore"), self.on_restored)
        else:
            self.restore(Path(run.reason.removeprefix(ARCHIVED)))

    # -- the tool ---------------------------------------------------------------------------

    async def _tool(self, verb: str, *words: str) -> dict[str, Any]:
        argv = [sys.executable, "-m", "trainer_core.cli.main", verb, *words, "--home", str(self._bridge.home.root)]
        try:
            self._task = asyncio.ensure_future(run_job(argv, on_start=self._on_start))
            return await self._task
        finally:
            self._job = self._task = None

    def _on_start(self, job: Job) -> None:
        self._job = job

    def _on_failed(self, reason: str) -> None:
        self._tell("")
        if not self._cancelled:
            self._bridge.problem.emit(tr("Disk"), reason)
            self.measure()

    def _tell(self, working: str) -> None:
        self.working = working
        self.changed.emit()

    def _on_run_changed(self, notice: RunChanged) -> None:
        """Update the checkpoint list after a run was archived (remove its checkpoints), restored or moved."""
        run, model = notice.record, self._checkpoints.model
        place = run.tags.get(STORAGE_TAG, "")
        for card in [card for card in model.cards if card.run_id == run.run_id and card.place != place]:
            model.put(replace(card, place=place))
        if is_archived(run):
            model.drop_missing(run.run_id)
