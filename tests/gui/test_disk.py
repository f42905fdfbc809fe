"""Disk use: what runs take, the rule that selects old ones, archive and restore by the tool."""

# pyright: reportOptionalMemberAccess=false, reportArgumentType=false
from __future__ import annotations

import time

from PySide6.QtWidgets import QPushButton

from gui.app import App
from gui.features.disk.controller import ArchivesController, DiskRow, old_rows
from gui.features.disk.dialog import COLUMNS as DISK_COLUMNS
from gui.features.disk.dialog import DiskDialog
from gui.features.disk.storage import StorageController
from gui.features.runs.dock import RunsDock
from gui.features.runs.model import COLUMNS
from gui.features.train.controller import TrainingController
from gui.kit.labels import size_text
from gui.state.checkpoints import CheckpointList
from tests.gui.conftest import QtBot, replaced
from trainer_core.lab.paths import HomePaths
from trainer_core.wire.run_record import RunRecord, RunState


def test_the_newest_and_the_young_are_spared() -> None:
    now = time.time()
    run = RunRecord(
        run_id="r",
        runner="native",
        task="t",
        algo="ppo",
        device="cpu",
        state=RunState.FINISHED,
        created_at=0.0,
        config_sha256="",
    )
    rows = [
        DiskRow(replaced(run, run_id=str(days), finished_at=now - 86_400 * days), "", 1, 0) for days in (50, 40, 35, 1)
    ]
    moving = DiskRow(replaced(run, state=RunState.RUNNING), "", 1, 0)
    gone = DiskRow(run, "", 0, 0)
    chosen = old_rows([*rows, moving, gone], days=30, keep=2, now=now)
    assert [row.run.run_id for row in chosen] == ["50", "40"]
    assert [size_text(size) for size in (12_300, 1.24e6, 3.4e8, 2.5e9)] == ["12 kB", "1.2 MB", "340 MB", "2.5 GB"]


def test_a_run_goes_into_an_archive_and_comes_back(qtbot: QtBot, make_app, monkeypatch) -> None:
    app: App = make_app(updates=3, interval_s=0.0)
    training, archives = app[TrainingController], app[ArchivesController]
    training.set_consent(True)
    training.start()
    qtbot.waitUntil(lambda: training.record and training.record.state is RunState.FINISHED)
    run_id = training.run_id
    app.actions["diskUse"].trigger()
    dialog = app.window.findChild(DiskDialog, "diskDialog")
    qtbot.waitUntil(lambda: archives.rows and not archives.working)
    assert dialog.table.rowCount() == 1
    assert archives.rows[0].total > 0
    assert not dialog.archive_button.isEnabled()
    assert app.actions["archiveRun"].isEnabled()
    assert not app.actions["restoreRun"].isVisible()
    dialog.days.setValue(0)
    dialog.keep.setValue(0)
    dialog.select_old()
    assert dialog.archive_button.text().startswith("Archive 1, ")
    dialog.archive_button.click()
    folder = app.bridge.home.run(run_id).root
    qtbot.waitUntil(lambda: not archives.working and not folder.exists())
    assert len(list(archives.folder.glob("*.tar.gz"))) == 1
    qtbot.waitUntil(lambda: app.bridge.service.runs[run_id].reason.startswith("archived:"))
    qtbot.waitUntil(lambda: not any(card.run_id == run_id for card in app[CheckpointList].cards))
    table = app[RunsDock].proxy
    qtbot.waitUntil(lambda: table.row_of(run_id) < 0)
    assert not app.actions["archiveRun"].isEnabled()
    app[RunsDock].filter.setText("archived")
    qtbot.waitUntil(lambda: table.row_of(run_id) == 0)
    assert table.index(0, COLUMNS.index("State")).data() == "Archived"
    app.actions["restoreRun"].trigger()
    qtbot.waitUntil(lambda: not archives.working and folder.is_dir())
    qtbot.waitUntil(lambda: any(card.run_id == run_id for card in app[CheckpointList].cards))
    app[RunsDock].filter.clear()
    assert table.row_of(run_id) == 0
    tidy_and_move(app, dialog, run_id, qtbot)
    dialog.close()
    assert archives.free_bytes > 0
    monkeypatch.setattr(archives._bridge, "home", HomePaths(app.bridge.home.root / "gone"))
    assert archives.free_bytes == 0, "a home that is not there, or not reached"
    monkeypatch.undo()


def tidy_and_move(app: App, dialog: DiskDialog, run_id: str, qtbot: QtBot) -> None:
    archives, storage, home = app[ArchivesController], app[StorageController], app.bridge.home
    nas = home.root.parent / "nas"
    dialog.tidies.click()
    assert storage.read()[0].policy.on
    home.storage_profiles.write_text(
        f"[policy]\non = true\nkeep = 0\nprune_after_days = 1e-9\n[profiles.nas]\nfolder = '{nas}'\n"
    )
    storage.move([run_id], "nas")
    qtbot.waitUntil(lambda: (nas / run_id).is_dir() and not archives.working)
    qtbot.waitUntil(lambda: any(card.place == "nas (local)" for card in app[CheckpointList].cards))
    assert dialog.table.item(0, DISK_COLUMNS.index("Kept")).text() == "nas (local)"
    dialog.findChild(QPushButton, "diskPreview").click()
    qtbot.waitUntil(lambda: dialog.told.text().startswith("1 into the trash: "))
    storage.tidy()
    qtbot.waitUntil(lambda: storage.trashed == 1 and not archives.working)
    qtbot.waitUntil(lambda: dialog.undo_button.isEnabled())
    assert dialog.undo_button.text() == "Restore 1 from trash"
    dialog.undo_button.click()
    qtbot.waitUntil(lambda: storage.trashed == 0 and not archives.working)
    assert (home.run(run_id).config).is_file()
