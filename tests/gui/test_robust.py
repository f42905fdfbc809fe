"""What goes wrong around the app: full disks, busy children, second thoughts, odd numbers."""

# pyright: reportOptionalMemberAccess=false, reportPossiblyUnboundVariable=false
from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from gui.app import App
from gui.features.checkpoints.controller import CheckpointsController
from gui.features.play.controller import PlayController
from gui.features.train.controller import TrainingController
from gui.features.train.draft import ConfigDraft
from gui.shell.shutdown import Shutdown
from gui.state.bridge import cause_of
from gui.state.checkpoints import CheckpointList
from gui.state.run_notes import Note, RunNotes
from gui.state.session import Mode, Session
from tests.gui.conftest import QtBot
from tests.support.made_checkpoints import make_checkpoint
from tests.support.processes import group_of
from tests.support.scripted_native import scripted_native
from trainer_core.lab.paths import HomePaths
from trainer_core.runs.life import RunLife
from trainer_core.service import import_checkpoint
from trainer_core.service.child import start_child
from trainer_core.wire import records
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import LabError
from trainer_core.wire.spec import RunSpec


def banners(app: App) -> list[str]:
    return [banner.accessibleName() for banner in app.window.banners.banners]


def test_a_configuration_comes_back_from_the_form_as_it_was() -> None:
    config = RunConfig.from_dict(
        {
            **RunConfig(task="tiny_goal").to_dict(),
            "learning_rate": 0.00031415926535,
            "gamma": 0.9912345678,
            "seed": 2**32 - 5,
            "seconds": 1234567.5,
        }
    )
    draft = ConfigDraft()
    draft.set_values(config.to_dict())
    assert draft.config == config
    draft.set_text("learning_rate", "0.0005")
    assert draft.text("learning_rate") == "0.0005"


def test_an_import_is_repeated_after_its_run_went_on(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    folder = make_checkpoint(tmp_path / "mail")
    run, target = import_checkpoint(folder, app.bridge.home)
    make_checkpoint(target.parent / "000000009999", b"trained further")
    log = app.bridge.home.run(run.run_id).train_log
    log.write_bytes(log.read_bytes() + log.read_bytes().splitlines(keepends=True)[1])
    app[CheckpointsController].import_folder(folder)
    qtbot.waitUntil(lambda: banners(app))  # by now a scan may have selected a checkpoint already
    assert app[CheckpointList].selected.folder == target
    assert len(app[CheckpointList].cards) == 2
    assert banners(app)[0].startswith("Imported")


def test_the_window_closes_at_once_and_a_deaf_child_ends_later(qtbot: QtBot, make_app) -> None:
    app = make_app(updates=100_000, interval_s=0.01, ignore_stop=True, ignore_term=True, child=True)
    training = app[TrainingController]
    training.set_consent(True)
    training.start()
    qtbot.waitUntil(lambda: training.record and training.record.env_steps)
    pid = training.record.pid
    app[Shutdown].begin()
    assert not app.window.isVisible()
    assert group_of(pid)
    qtbot.waitUntil(lambda: app[Shutdown].has_ended)
    assert not group_of(pid)


def deploy_in_turn(app: App, *tasks: str) -> Path:
    """Ask for one player a task, none waiting for the one before; the last one's folder."""
    for task in tasks:
        folder = app.bridge.home.root / f"c{len(list(app.bridge.home.root.glob('c*')))}"
        folder.mkdir(parents=True)
        app[PlayController].deploy(task, folder)
    return folder


def test_players_that_are_replaced_while_they_start_end_without_a_word(qtbot: QtBot, app: App) -> None:
    playing = app[PlayController]
    app[Session].set_mode(Mode.AGENT)
    folder = deploy_in_turn(app, "leave", "tiny_goal", "leave", "tiny_goal")
    qtbot.waitUntil(lambda: playing.is_active and not playing.busy)
    assert playing.request.checkpoint == str(folder)
    playing.play_human()
    qtbot.wait(60)
    playing.stop()
    qtbot.waitUntil(lambda: not playing.is_active)
    qtbot.wait(200)
    assert not banners(app)
    assert not playing.error


def test_weights_go_to_the_player_that_stays_not_to_the_one_that_is_replaced(qtbot: QtBot, app: App) -> None:
    playing = app[PlayController]
    app[Session].set_mode(Mode.AGENT)
    deploy_in_turn(app, "tiny_goal")
    qtbot.waitUntil(lambda: playing.is_active and not playing.busy)
    folder = deploy_in_turn(app, "leave", "tiny_goal")
    qtbot.waitUntil(lambda: not playing.busy)
    assert playing.request.checkpoint == str(folder)
    folder = deploy_in_turn(app, "tiny_goal")
    qtbot.waitUntil(lambda: not playing.busy)
    assert playing.request.checkpoint == str(folder), "new weights are named too"
    assert not banners(app)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full device here")
def test_a_full_disk_under_a_workers_log_costs_the_log_only(tmp_path: Path) -> None:
    home, runner = HomePaths(tmp_path), scripted_native(updates=50, interval_s=0.0)
    spec = RunSpec.of(RunConfig(task="tiny_goal"), runner.id)
    RunLife.begin(home, "r", spec, algo="ppo")
    seen: list[records.Event] = []
    said: list[str] = []

    async def train() -> int | None:
        child = await start_child(
            ["bash", "-c", 'echo noise >&2; echo more >&2; exec "$@"', "-", *runner.command(home.run("r").root)],
            cwd=tmp_path,
            env=dict(os.environ),
            log_path=Path("/dev/full"),
            decode=runner.parse,
            on_event=seen.append,
            on_bad_line=print,
            on_output=said.extend,
            on_exit=lambda code: None,
        )
        return await child.wait(20.0)

    asyncio.run(train())
    assert sum(isinstance(event, records.UpdateRecord) for event in seen) == 50
    assert sum("No space left on device" in line for line in said) == 1


def test_a_failure_of_the_disk_is_one_banner_with_its_cause(qtbot: QtBot, app: App) -> None:
    error = OSError(28, "No space left on device", "/home/me/curve.png")
    assert cause_of(error) == "/home/me/curve.png: No space left on device"

    async def write() -> None:
        raise error

    app.bridge.spawn(write(), title="Export")
    app.bridge.spawn(write(), title="Export")
    qtbot.waitUntil(lambda: banners(app))
    app.bridge.tell_unexpected(error)
    app.bridge.tell_unexpected(error)
    assert banners(app) == [
        "Export (E06): The disk is full: /home/me/curve.png: No space left on device",
        "The action failed (E06): The disk is full: /home/me/curve.png: No space left on device",
    ]


def test_notes_are_kept_or_refused_and_damage_is_put_aside(tmp_path: Path) -> None:
    home = HomePaths(tmp_path)
    notes = RunNotes(home)
    notes.put("r", Note(("good", "long"), "the one to show"))
    assert RunNotes(home).line("r") == "#good #long the one to show"
    for damage in (b"{", b'{"r": 3}', b"\xff\xfe", b"[]", b"[" * 99_999):
        notes.path.write_bytes(damage)
        assert RunNotes(home).line("r") == ""
        assert notes.path.with_suffix(".damaged").read_bytes() == damage
    notes.path.with_suffix(".tmp").mkdir()
    with pytest.raises(LabError, match="note was not saved"):
        notes.put("r", Note((), "other"))
    assert notes.line("r") == "#good #long the one to show"
