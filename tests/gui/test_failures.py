"""The failure catalogue: each code knows the cause as its source words it, and a button helps."""

# pyright: reportOptionalMemberAccess=false, reportArgumentType=false
from __future__ import annotations

import errno
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
from PySide6.QtCore import QDir

from gui.app import App
from gui.features.curves.dock import TelemetryDock
from gui.features.header.view import RunHeader
from gui.features.log.dock import LogDock
from gui.features.play.controller import PlayController
from gui.features.runs.controller import RunsController
from gui.features.train.controller import TrainingController
from gui.kit.dialogs import begin_folder
from gui.shell import qt_check
from gui.shell.notices import Banner
from gui.state.failures import CATALOGUE, failure_of, failure_of_check, install_line
from gui.state.telemetry import TelemetryModel
from tests.gui.conftest import QtBot, click, replaced
from tests.support.made_checkpoints import make_checkpoint
from tests.support.made_homes import make_home
from tests.support.made_records import run_record
from trainer_core.lab import checkpoint_manifest
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.roms import rom_path
from trainer_core.lab.tasks import list_tasks, verify_file
from trainer_core.runners.catalog import NATIVE
from trainer_core.runs.log_writer import disk_error
from trainer_core.service import RunChanged
from trainer_core.service.hosted_run import end_of
from trainer_core.service.preflight import check_device, check_python
from trainer_core.wire import records
from trainer_core.wire.checks import Check
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import LabError
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import NATIVE_ID, RunSpec


def refused(work: Callable[[], object]) -> str:
    with pytest.raises(LabError) as caught:
        work()
    return str(caught.value)


def no_gpu(folder: Path) -> str:
    spec = RunSpec.of(RunConfig(task="tiny_goal", device="cuda:0"), NATIVE_ID)
    return check_device({"python": "3.11", "gpus": []}, spec, NATIVE).detail


def no_module(folder: Path) -> str:
    found = {"python": "3.11", "modules": dict.fromkeys(NATIVE.modules)}
    return check_python(found, NATIVE).detail


def unknown_rom(folder: Path) -> str:
    home = HomePaths(folder)
    task = list_tasks(home)[0]
    replace = msgspec.structs.replace
    foreign = replace(task, manifest=replace(task.manifest, rom=replace(task.manifest.rom, path="")))
    return refused(lambda: rom_path(foreign, home))


def other_rom(folder: Path) -> str:
    (folder / "goal.npz").write_bytes(b"another game's")
    return refused(lambda: verify_file(folder / "goal.npz", "0" * 64, "goal"))


def full_disk(folder: Path) -> str:
    return str(disk_error(folder, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))


def read_only(folder: Path) -> str:
    return str(disk_error(folder, OSError(errno.EROFS, os.strerror(errno.EROFS))))


def killed(folder: Path) -> str:
    kept = SimpleNamespace(error="", stopping=None, child=SimpleNamespace(last_words=lambda: ""))
    return end_of(-signal.SIGKILL, kept)[1]


def ran_away(folder: Path) -> str:
    from trainer_core.learn.finite import check_finite

    return refused(lambda: check_finite({"metrics": {"policy_loss": float("nan")}}, 7))


def damaged(folder: Path) -> str:
    made = make_checkpoint(folder / "c")
    (made / checkpoint_manifest.POLICY).write_bytes(b"Weights")
    return refused(lambda: checkpoint_manifest.verify(made, (checkpoint_manifest.POLICY,)))


def newer(folder: Path) -> str:
    line = b'{"type":"update","v":99,"run_id":"r","seq":0,"time":0,"env_steps":1,'
    line += b'"wall_time_s":0,"sps":1}'
    return refused(lambda: records.decode(line))


SOURCES: dict[str, Callable[[Path], str]] = {
    "E01": no_gpu,
    "E02": lambda folder: "The NVIDIA driver on your system is too old (found version 11040).",
    "E03": no_module,
    "E04": unknown_rom,
    "E05": other_rom,
    "E06": full_disk,
    "E07": lambda folder: "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total",
    "E08": lambda folder: "Warp NVRTC compilation error 6: NVRTC_ERROR_COMPILATION",
    "E09": killed,
    "E10": ran_away,
    "E11": damaged,
    "E12": newer,
    "E13": read_only,
    "E14": lambda folder: "the gamepad is gone: its buttons are released",
    "E15": lambda folder: qt_check.refusal((3, 11), (6, 12)),
}
"""What makes the cause of each code: our own code where the words are ours."""


@pytest.mark.parametrize("code", SOURCES)
def test_a_cause_has_its_code(code: str, tmp_path: Path) -> None:
    failure = failure_of(SOURCES[code](tmp_path))
    assert failure is not None
    assert failure.code == code


def test_every_code_has_its_source_and_what_nobody_knows_has_none() -> None:
    assert {entry.code for entry in CATALOGUE} == SOURCES.keys()
    assert failure_of("IndexError: list index out of range") is None
    assert install_line(qt_check.refusal((3, 12), (6, 12))) == ""
    memory = Check(name="Memory", status="fail", detail="needs about 9 GiB of 4 GiB on cpu")
    found = failure_of_check(memory)
    assert found is not None
    assert found.code == "E07"


def test_every_code_is_one_banner_with_a_button_that_can_be_pressed(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    """The context that a button needs is there: a failed run with a receipt, a game that plays."""
    training = app[TrainingController]
    fail_a_run(qtbot, app)
    app[PlayController].play_human()
    qtbot.waitUntil(lambda: app[PlayController].is_active)
    for code, cause in SOURCES.items():
        app.bridge.problem.emit("It failed", cause(tmp_path / code if code != "E05" else tmp_path))
        banner = app.window.banners.banners[-1]
        assert banner.title == f"It failed ({code})"
        assert banner.button is not None, f"{code} offers nothing"
        assert banner.button.text()
    assert training.state is RunState.FAILED


def fail_a_run(qtbot: QtBot, app: App) -> None:
    """A run that ends by signal 9 and told of a receipt before: a process, its log, its index."""
    training = app[TrainingController]
    training.set_consent(True)
    training.start()
    qtbot.waitUntil(lambda: training.record and training.record.env_steps)
    os.kill(training.record.pid, signal.SIGKILL)
    qtbot.waitUntil(lambda: training.state is RunState.FAILED)
    telemetry = app[TelemetryModel]
    app.bridge.event_received.emit(
        training.run_id,
        records.ErrorRecord(
            run_id=training.run_id,
            seq=10**6,
            time=0.0,
            kind="NonFiniteLossError",
            message="policy_loss is nan at update 7",
            receipt="receipts/7",
        ),
    )
    assert telemetry.runs[telemetry.focus].error is not None


def test_a_killed_training_says_so_and_one_click_halves_its_game_boys(qtbot: QtBot, app: App) -> None:
    fail_a_run(qtbot, app)
    banner = app.window.banners.banners[-1]
    assert banner.title == f"{app[TrainingController].record.name} failed (E09)"
    assert "killed by signal 9" in banner.accessibleName()
    click(app, "fixRunButton")
    told = app[TelemetryModel].runs[app[TrainingController].run_id].meta
    assert told is not None
    assert int(app[TrainingController].draft.text("num_envs")) == told.config["num_envs"] // 2


@pytest.mark.parametrize("checkpoint", ["", "checkpoints/000000001024"])
def test_a_lost_run_offers_to_go_on_where_it_has_something_to_go_on_from(
    qtbot: QtBot, make_app: Callable[..., App], tmp_path: Path, checkpoint: str
) -> None:
    home = HomePaths(tmp_path / "home")
    run = run_record("r-lost", RunState.RUNNING, env_steps=10, name="mine", pid=2**22 + 1)
    run = msgspec.structs.replace(run, last_checkpoint=checkpoint)
    home.run(run.run_id).root.mkdir(parents=True)
    home.runs_index.write_bytes(msgspec.json.encode(run) + b"\n")
    app = make_app(home.root)
    banners = [one for one in app.window.findChildren(Banner) if one.title == "mine was lost"]
    assert [one.button is not None for one in banners] == [bool(checkpoint)]
    assert ("no checkpoint" in banners[0].accessibleName()) == (not checkpoint)
    app[RunsController].show(run.run_id)
    ran = app[RunHeader].ran
    qtbot.waitUntil(lambda: (ran.head.text(), ran.value.text()) == ("Ran for", "\u2013"))


def test_plots_of_a_run_whose_folder_was_deleted_say_so(
    qtbot: QtBot, make_app: Callable[..., App], tmp_path: Path
) -> None:
    home = make_home(tmp_path / "home", 3, 2)
    app = make_app(home.root)
    for run_id, words in (("run-00000", "folder was deleted"), ("run-00001", "is archived")):
        shutil.rmtree(home.run(run_id).root)
        if words == "is archived":
            record = app.bridge.service.runs[run_id]
            archived = msgspec.structs.replace(record, reason="archived: away.zip")
            app.bridge.service.runs[run_id] = archived
        app[RunsController].show(run_id)
        card = app[TelemetryDock].cards["reward_mean"]
        qtbot.waitUntil(lambda words=words, card=card: words in card._empty.text())


@pytest.mark.parametrize("state", [RunState.FAILED, RunState.LOST])
def test_a_run_whose_folder_vanished_is_told_with_its_words(app: App, state: RunState) -> None:
    run = app.bridge.service.runs["r-1"] = run_record("r-1", RunState.RUNNING)
    app.bridge.run_changed.emit(RunChanged(run))
    words = "the run's folder is gone: it was moved or deleted while it trained"
    app.bridge.run_changed.emit(RunChanged(replaced(run, state=state, reason=words)))
    (banner,) = app.window.banners.banners
    assert words in banner.accessibleName()


def test_no_shell_command_is_the_cure_in_a_window(app: App) -> None:
    app.bridge.problem.emit("The player", "no ROM is registered: dmglab rom add PATH")
    (banner,) = app.window.banners.banners
    assert "dmglab" not in banner.accessibleName()
    assert "Open your own copy once" in banner.accessibleName()
    app[LogDock].flush()
    assert "dmglab rom add" in app[LogDock].view.toPlainText()


def test_dialogs_for_files_begin_at_the_persons_own_folder(tmp_path: Path) -> None:
    assert begin_folder() == QDir.homePath()
    assert begin_folder("plot.png") == f"{QDir.homePath()}/plot.png"
    assert begin_folder(str(tmp_path)) == str(tmp_path)
