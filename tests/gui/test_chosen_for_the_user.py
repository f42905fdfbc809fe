"""What the app chooses and what it leaves out until it makes sense; nothing of it is out of reach."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QComboBox

from gui.app import App
from gui.features.checkpoints.controller import CheckpointsController
from gui.features.train.controller import TrainingController
from gui.features.train.dock import TrainingDock
from gui.kit import object_names as names
from gui.kit.settings import Settings
from gui.state.checkpoints import CheckpointList
from gui.state.session import Operation, Session
from tests.gui.conftest import QtBot, click, find, replaced, set_up
from tests.support.made_checkpoints import make_checkpoint
from tests.support.made_records import run_record
from trainer_core.runners.catalog import registered_runners
from trainer_core.service import import_checkpoint
from trainer_core.wire.run_record import RunState


def put_nvidia_smi(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr("gui.features.train.hardware.torch_has_cuda", lambda: True)


def test_the_form_begins_with_the_preset_that_fits_the_gpu(
    qtbot: QtBot, app: App, make_app, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    training, box = app[TrainingController], find(app, names.PRESET_BOX, QComboBox)
    assert box.currentText() == "Laptop"
    assert find(app, "fittingPreset").text().endswith("no GPU: 32 Game Boys")
    training.draft.set_text("seed", "7")
    click(app, names.CONSENT_CHECK)
    put_nvidia_smi(tmp_path, "echo '0, GPU-1, NVIDIA H200, 143771'", monkeypatch)
    training.hardware.look()
    qtbot.waitUntil(lambda: box.currentText() == "Big GPU")
    assert find(app, "fittingPreset").text() == "NVIDIA H200, 140 GiB: 8,192 Game Boys"
    device = find(app, "field_device", QComboBox)
    assert (device.currentText(), training.draft.config.device) == ("H200, 140 GiB", "cuda:0")
    assert (training.draft.config.num_envs, training.draft.config.seed) == (8192, 7)
    assert training.demo_preset == "gpu"
    assert not training.consent, "it was given to another command"
    app[Settings].save()
    apps = [app, make_app(home=app.bridge.home.root)]
    again = apps[1][TrainingController]
    assert again.draft.config.num_envs == 8192, "from its first moment on"
    again.choose_preset("laptop")
    again.hardware.changed.emit()
    assert find(apps[1], "fittingPreset").text() == "NVIDIA H200, 140 GiB: Big GPU fits"
    assert (again.draft.config.num_envs, again.draft.config.device) == (32, "cpu"), "what the user chose stays"


def test_a_torch_for_cpus_and_a_small_gpu_begin_as_without_one(
    qtbot: QtBot, app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hardware, words = app[TrainingController].hardware, find(app, "fittingPreset")
    put_nvidia_smi(tmp_path, "echo '0, GPU-1, NVIDIA MX150, 2048'", monkeypatch)
    hardware.look()
    qtbot.waitUntil(lambda: "small GPU NVIDIA MX150, 2.0 GiB: 32 Game Boys" in words.text())
    put_nvidia_smi(tmp_path, "echo '0, GPU-1, NVIDIA H200, 143771'", monkeypatch)
    monkeypatch.setattr("gui.features.train.hardware.torch_has_cuda", lambda: False)
    hardware.look()
    qtbot.waitUntil(lambda: "PyTorch here cannot use NVIDIA H200" in words.text())
    assert app[TrainingController].draft.config.device == "cpu"


def test_each_trainer_keeps_its_own_train_new_or_use_trained(app: App) -> None:
    session = app[Session]
    app.bridge.service.runners += registered_runners()[1:]
    session.set_runner("sb3")
    click(app, names.USE_TRAINED_BUTTON)
    session.set_runner("native")
    assert session.operation is Operation.TRAIN
    assert find(app, names.TRAIN_NEW_BUTTON).isChecked()
    session.set_runner("sb3")
    assert session.operation is Operation.USE
    assert find(app, names.USE_TRAINED_BUTTON).isChecked()


def test_what_makes_no_sense_yet_comes_with_its_time_or_with_more(qtbot: QtBot, app: App, tmp_path: Path) -> None:
    training, dock = app[TrainingController], app[TrainingDock]
    trainer, sweep = find(app, names.AGENT_CATALOG), find(app, "newSweepButton")

    def shown() -> list[bool]:
        return [trainer.isVisible(), sweep.isVisible(), "warm_start" in dock.form._rows]

    set_up(qtbot, app)
    assert shown() == [False] * 3
    app.actions["moreOptions"].trigger()
    assert shown() == [True] * 3
    click(app, "moreOptionsButton")
    assert shown() == [False] * 3
    app.bridge.service.runs["r"] = replaced(run_record("r", RunState.FINISHED), task="tiny_goal")
    dock.show_what_helps()
    assert shown() == [False, True, False]
    run, _ = import_checkpoint(make_checkpoint(tmp_path / "mail"), app.bridge.home)
    app.bridge.service.runs[run.run_id] = run
    app[CheckpointsController].look_at(run.run_id)
    qtbot.waitUntil(lambda: app[CheckpointList].rowCount())
    assert shown() == [False, True, True]
    training.draft.set_text("warm_start", "/somewhere")
    app[CheckpointList].cards.clear()
    dock.show_what_helps()
    assert shown() == [False, True, True], "a value is never hidden"


def test_the_field_for_a_cluster_comes_with_more_and_stays_once_used(qtbot: QtBot, app: App) -> None:
    training, dock = app[TrainingController], app[TrainingDock]
    set_up(qtbot, app)
    assert "on" not in dock.form._rows
    app.actions["moreOptions"].trigger()
    training.draft.set_text("on", "ray+http://192.0.2.7:8265")
    assert "ssh -N -L" in training.reason()
    training.draft.set_text("on", "ray+http://127.0.0.1:8265")
    assert training.plan is not None
    assert "remote.courier" in training.plan.command_line
    click(app, "moreOptionsButton")
    training.draft.set_text("on", "")
    assert "on" in dock.form._rows
    app.bridge.service.runs["r"] = run_record("r", RunState.RUNNING)
    training.show("r")
    assert training.capabilities.pause
    app.bridge.home.run("r").root.mkdir(parents=True)
    app.bridge.home.run("r").job.write_text("{}")
    assert not training.capabilities.pause
    assert app.bridge.service.can_go_on(app.bridge.service.runs["r"])
