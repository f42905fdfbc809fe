"""Storage profiles and the policy for old runs, carried out by `dmglab storage` in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from gui.features.disk.controller import ArchivesController
from gui.kit.dialogs import show_file
from gui.kit.labels import size_text
from gui.kit.words import tr
from gui.state.bridge import Bridge
from gui.state.notices import Notices
from trainer_core.lab.storage_profiles import HOME_ITSELF, Storage, make_template, read_storage, switch_policy
from trainer_core.wire.errors import LabError

EVERY_MS = 3_600_000
"""Time between two applications of the policy while the app runs."""
ACTIONS = {
    "compress": "{count} to compress",
    "move": "{count} to move",
    "archive": "{count} to archive",
    "prune": "{count} into the trash",
    "delete": "{count} to delete for good",
}
"""Text of the number of steps of each action of the policy."""


class StorageController(QObject):
    changed = Signal()
    """The plan changed."""

    def __init__(self, bridge: Bridge, archives: ArchivesController, notices: Notices) -> None:
        super().__init__()
        self._bridge, self._archives, self._notices = bridge, archives, notices
        self.plan_words = ""
        """What the policy would do, in words; empty before `preview`."""
        self._timer = QTimer(self, interval=EVERY_MS)
        self._timer.timeout.connect(self.tidy)

    def read(self) -> tuple[Storage, str]:
        """Return profiles and policy, and the problem of a file that cannot be read."""
        try:
            return read_storage(self._bridge.home), ""
        except LabError as error:
            return Storage(), str(error)

    @property
    def places(self) -> list[str]:
        """Names of the places that a run can be moved to."""
        return [*self.read()[0].profiles, HOME_ITSELF]

    def tidy(self) -> None:
        """Apply the policy if it is switched on; from then on every hour."""
        self._timer.start()
        found, problem = self.read()
        if problem:
            self._bridge.problem.emit(tr("Storage"), problem)
        elif found.policy.on:
            self.apply()

    def apply(self) -> None:
        self._archives.work(("storage", "apply"), tr("Tidying old runs"), tr("Storage"), self._on_applied)

    def _on_applied(self, result: dict[str, Any]) -> None:
        self._set_plan("")
        if not (steps := result["steps"]):
            return
        has_pruned = any(step["action"] == "prune" for step in steps)
        self._notices.tell(
            tr("Old runs tidied"),
            _words(result),
            "good",
            tr("Undo") if has_pruned else "",
            self.undo if has_pruned else None,
        )

    def preview(self) -> None:
        """Ask what the policy would do; `plan_words` has the answer."""
        words = ("storage", "apply", "--dry-run")
        self._archives.work(
            words, tr("Looking for old runs"), tr("Storage"), lambda found: self._set_plan(_words(found))
        )

    def _set_plan(self, words: str) -> None:
        self.plan_words = words
        self.changed.emit()

    def undo(self) -> None:
        """Take all runs out of the trash."""
        self._archives.work(("storage", "undo"), tr("Restoring"), tr("Storage"), self._archives.on_restored)

    def move(self, run_ids: list[str], to: str) -> None:
        """Move runs to a profile or back; each is copied, compared, and only then deleted."""
        if run_ids:
            words = ("storage", "move", *run_ids, "--to", to)
            self._archives.work(words, tr("Moving to {place}", place=to), tr("Storage"), self._on_moved)

    def _on_moved(self, result: dict[str, Any]) -> None:
        for run_id, folder in result["moved"].items():
            self._notices.tell(
                tr("Moved"), tr("{run} is in {folder}", run=self._bridge.name_of(run_id), folder=folder), "good"
            )

    def switch(self, on: bool) -> None:
        self._do(lambda: switch_policy(self._bridge.home, on))
        self.changed.emit()

    def edit(self) -> None:
        """Open the file of profiles and policy, made if it is missing, with the desktop's editor."""
        self._do(lambda: show_file(make_template(self._bridge.home)))

    def _do(self, action: Callable[[], object]) -> None:
        try:
            action()
        except (LabError, OSError) as error:
            self._bridge.problem.emit(tr("Storage"), str(error))

    @property
    def trashed(self) -> int:
        """Number of runs in the trash."""
        folder: Path = self._bridge.home.trash
        return sum(1 for _ in folder.iterdir()) if folder.is_dir() else 0


def _words(found: dict[str, Any]) -> str:
    steps = [step["action"] for step in found["steps"]]
    parts = [tr(words, count=steps.count(action)) for action, words in ACTIONS.items() if action in steps]
    return f"{', '.join(parts)}: {size_text(found['bytes'])}" if parts else tr("Nothing is old enough")
