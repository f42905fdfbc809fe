"""Trainers of other libraries in the app: their form, what they lack, their checkpoints."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox

from gui.app import App
from gui.features.agents.pages import BeliefsTab, EpisodesTab
from gui.features.curves.dock import TelemetryDock
from gui.features.runners.controller import RunnersController
from gui.features.train.controller import TrainingController
from gui.features.train.datasets import DatasetsController
from gui.features.train.draft import ConfigDraft
from gui.features.train.form import ConfigForm
from gui.kit import object_names as names
from gui.state.checkpoints import run_cards, verify
from gui.state.config_fields import field_specs
from gui.state.notices import Notices
from gui.state.session import Session
from gui.state.telemetry import TelemetryModel
from tests.gui.conftest import QtBot, click, find, foreign_record, replaced, set_up, show_dock, there
from tests.support.echo_runner import EchoConfig
from tests.support.made_checkpoints import make_checkpoint
from tests.support.made_records import run_record
from trainer_core.lab import checkpoint_manifest
from trainer_core.lab.datasets import SIGNATURE, DatasetCache
from trainer_core.lab.paths import RunPaths
from trainer_core.runners.base import AgentRunner, Installation
from trainer_core.runners.catalog import find_runner, registered_runners
from trainer_core.wire import records


@dataclass(frozen=True)
class _Odd:
    """Options that say nothing of themselves."""

    algo: str = "counting"
    deep_copies: int = 3
    layers: list[int] = field(default_factory=list)


@pytest.mark.parametrize("runner", registered_runners(), ids=lambda runner: runner.id)
def test_the_form_draws_every_option_of_a_runner_and_writes_its_order(qapp, runner) -> None:
    draft = ConfigDraft(runner)
    assert draft.reason == ""
    assert draft.spec is not None
    assert draft.spec.runner == runner.id
    assert runner.configure(draft.spec) == draft.config
    drawn = {spec.name for spec in draft.fields}
    assert drawn >= {option.name for option in dataclasses.fields(runner.config_type)}
    form = ConfigForm(draft)
    assert form.editor("seed").objectName() == "field_seed"
    helps = [spec.name for spec in draft.fields if not spec.help]
    assert not helps, "every field says what it is for"


def test_options_that_say_nothing_are_drawn_by_name_and_type() -> None:
    specs = {spec.name: spec for spec in field_specs(_Odd)}
    assert specs["deep_copies"].label == "Deep copies"
    assert specs["deep_copies"].kind is int
    assert "layers" not in specs, "no line of text means a list"
    neutral = {spec.name for spec in field_specs(EchoConfig)}
    assert {"task", "device", "seed", "episodes"} <= neutral


def test_each_runner_keeps_its_own_texts_and_all_share_what_every_run_has(qapp) -> None:
    native, sb3, *_ = registered_runners()
    draft = ConfigDraft(native)
    draft.set_values({"num_envs": 64, "seconds": 30.0})
    draft.set_runner(sb3)
    assert draft.text("num_envs") == "32"
    assert draft.text("seconds") == "30"
    draft.set_text("batch_size", "1")
    assert "at least 2" in draft.reason
    draft.set_runner(native)
    assert draft.reason == ""
    assert draft.text("num_envs") == "64"


def test_a_default_of_one_runner_is_not_typed_into_another(qapp) -> None:
    draft = ConfigDraft()
    assert draft.text("total_env_steps") == "0"  # no limit, here
    draft.set_runner(find_runner("spade_bdi"))
    assert draft.text("total_env_steps") == "4,000"
    draft.set_text("total_env_steps", "500")
    draft.set_text("task", "tiny_goal")
    draft.set_runner(find_runner("corl"))
    assert (draft.text("total_env_steps"), draft.text("task")) == ("500", "offline")
    draft.set_runner(find_runner("sb3"))
    assert draft.text("task") == "pocket_quest/leave_bedroom"
    draft.set_text("task", "arc/sl01")
    draft.set_runner(find_runner("arc"))
    assert draft.text("task") == "arc/sl01"


def choose(app: App, runner_id: str) -> None:
    box = find(app, names.AGENT_CATALOG, QComboBox)
    box.setCurrentIndex(box.findData(runner_id))
    box.activated.emit(box.currentIndex())


def test_a_chosen_guest_says_that_it_is_not_here_and_offers_to_install(qtbot: QtBot, app: App) -> None:
    app.bridge.service.runners += registered_runners()[1:]
    set_up(qtbot, app)
    assert not find(app, "missingRunner").isVisible()
    choose(app, "sb3")
    assert find(app, "missingRunner").isVisible()
    assert find(app, "installRunnerButton").isEnabled()
    assert not find(app, names.PRESET_BOX).isVisible()
    line = find(app, "equivalentLine").text()
    assert line.startswith("dmglab train --runner sb3 --task")
    choose(app, "native")
    assert not find(app, "missingRunner").isVisible()
    assert find(app, names.PRESET_BOX).isVisible()


def test_a_broken_plug_in_stands_in_the_list_and_cannot_be_chosen(
    make_app: Callable[..., App], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reason = "runner snapped of toys cannot be used: ValueError: no"
    monkeypatch.setattr("gui.state.session.broken_runners", lambda: {"snapped": reason})
    box = find(make_app(tmp_path / "home"), names.AGENT_CATALOG, QComboBox)
    row = box.count() - 1
    assert box.itemText(row) == "snapped: cannot be used"
    assert box.itemData(row, Qt.ItemDataRole.ToolTipRole) == reason
    assert not box.model().flags(box.model().index(row, 0)) & Qt.ItemFlag.ItemIsEnabled


@pytest.mark.parametrize("ends", ["cancelled", "done", "failed"])
def test_an_installation_shows_progress_and_can_be_cancelled(
    qtbot: QtBot, app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    last = {"cancelled": "time.sleep(60)", "done": "", "failed": "sys.exit('no network')"}[ends]
    code = f"import sys, time; print('{{\"progress\": 0.5}}', flush=True); {last}"
    made = tmp_path / "partial"
    made.mkdir()
    wanted = Installation((sys.executable, "-c", code), tmp_path / "env", 1 << 30, made.rmdir)
    monkeypatch.setattr(AgentRunner, "installation", lambda runner, home: wanted)
    monkeypatch.setattr(type(app[Session].runner), "installation", lambda *_: wanted)
    told = []
    app[Notices].told.connect(told.append)
    runners = app[RunnersController]
    runners.changed.emit()
    click(app, "installRunnerButton")
    qtbot.waitUntil(lambda: runners.progress == 0.5 or runners.installing is None)
    if ends == "cancelled":
        assert find(app, "installProgress").value() == 500
        click(app, "cancelInstallButton")
    qtbot.waitUntil(lambda: runners.installing is None)
    titles = {"cancelled": [], "done": ["DMG Lab is ready"], "failed": ["DMG Lab was not installed"]}
    assert [notice.title for notice in told] == titles[ends]
    assert made.exists() == (ends == "done"), "what it wrote is removed unless it is whole"


def test_a_checkpoint_of_another_library_is_verified_by_its_own_files(tmp_path: Path) -> None:
    paths = RunPaths(tmp_path)
    folder = make_checkpoint(paths.checkpoints / "000000004096")
    meta = checkpoint_manifest.read_meta(folder)
    (folder / checkpoint_manifest.POLICY).rename(folder / "model.zip")
    sha = meta.files[checkpoint_manifest.POLICY]
    meta = msgspec.structs.replace(meta, runner="sb3", files={"model.zip": sha})
    (folder / checkpoint_manifest.META).write_bytes(msgspec.json.encode(meta))
    (card,) = run_cards(run_record("r"), paths)
    assert (card.integrity, card.size_bytes, card.sha256) == ("unverified", 7, sha)
    assert verify(card).integrity == "verified"
    (folder / "model.zip").write_bytes(b"other")
    assert verify(card).integrity == "mismatch"
    (folder / "model.zip").unlink()
    assert verify(card).integrity == "missing"


def _episode(answer: str, reward: float) -> str:
    """As rLLM's EpisodeLogger writes it."""
    said = [{"role": "user", "content": "3,3=6"}, {"role": "assistant", "content": answer}]
    step = {"observation": None, "reward": reward, "chat_completions": said}
    found = {
        "task": {"question": "3,3=6", "target": 6},
        "is_correct": str(reward == 1.0),
        "trajectories": [{"reward": reward, "steps": [step]}],
    }
    return json.dumps(found)


def test_the_episodes_of_a_language_model_are_read_step_by_step(qtbot: QtBot, app: App) -> None:
    model, tab = app[TelemetryModel], app[EpisodesTab]
    tabs = app[TelemetryDock].tabs
    model.set_focus("r")
    assert not tab.is_wanted
    model.run("r").meta = records.MetaRecord(
        run_id="r",
        seq=0,
        time=0.0,
        runner="rllm",
        task="countdown",
        algo="grpo",
        config={},
        argv=[],
        seed=1,
        device="cpu",
    )
    show_dock(qtbot, app, names.TELEMETRY_DOCK)
    qtbot.waitUntil(lambda: tabs.isTabVisible(tabs.indexOf(tab)))
    tabs.setCurrentWidget(tab)
    kept = app.bridge.home.run("r").root / "episodes"
    early, late = kept / "val_step_50_epoch_0", kept / "val_step_100_epoch_0"
    early.mkdir(parents=True)
    (early / "episode_hash0_a.json").write_text(_episode("<answer>3*3</answer>", 0.1))
    (early / "episode_hash0_b.json").write_text(_episode("<answer>3+3</answer>", 1.0))
    for name, rubbish in (("c", "[1]"), ("d", "{"), ("e", '{"trajectories": [{"steps": [7]}]}')):
        (early / f"episode_hash0_{name}.json").write_text(rubbish)
    qtbot.waitUntil(lambda: tab.table.topLevelItemCount() == 2)
    assert tab.heading.text() == "1 of 2 right"
    row = there(tab.table.topLevelItem(0))
    assert [row.text(place) for place in range(3)] == ["3,3=6", "<answer>3*3</answer>", "✗ 0.10"]
    late.mkdir()
    (late / "episode_hash0_a.json").write_text(_episode("3", 0.0))
    qtbot.waitUntil(lambda: tab.heading.text() == "0 of 1 right")
    tab.choice.setCurrentIndex(1)
    assert tab.heading.text() == "1 of 2 right"
    (kept / "val_step_150_epoch_0").mkdir()
    qtbot.waitUntil(lambda: tab.choice.count() == 3)
    assert (tab.choice.currentText(), tab.heading.text()) == ("Step 50, validation", "1 of 2 right")


def test_the_mind_of_a_finished_run_is_read_from_its_log(qtbot: QtBot, app: App) -> None:
    model, tab, tabs = app[TelemetryModel], app[BeliefsTab], app[TelemetryDock].tabs
    model.run("r").meta = records.MetaRecord(run_id="r", seq=0, time=0.0, runner="spade_bdi")
    mind = records.Mind(episode=3, step=9, beliefs=["door(open)"], intentions=["leave"], messages=["a tell b to c"])
    model.take("r", records.decode(records.encode(replaced(foreign_record(1, reward=1.0), mind=mind))))
    model.set_focus("r")
    show_dock(qtbot, app, names.TELEMETRY_DOCK)
    qtbot.waitUntil(lambda: tabs.isTabVisible(tabs.indexOf(tab)))
    tabs.setCurrentWidget(tab)
    qtbot.waitUntil(lambda: tab.sections[0].childCount() == 1)
    assert [there(section.child(0)).text(0) for section in tab.sections] == ["door(open)", "leave", "a tell b to c"]
    assert tab.heading.text().endswith("episode 3, step 9")


def test_the_dock_tells_the_state_of_the_dataset_and_offers_those_that_are_kept(qtbot: QtBot, app: App) -> None:
    app.bridge.service.runners += registered_runners()[1:]
    set_up(qtbot, app)
    cache, datasets, badge = DatasetCache(app.bridge.home), app[DatasetsController], find(app, "datasetBadge")
    assert not find(app, "datasetBar").isVisible()
    file = app.bridge.home.root / "hopper-medium-v2.hdf5"
    file.write_bytes(SIGNATURE + b"steps")
    kept = cache.keep(cache.find(str(file)))
    choose(app, "corl")
    qtbot.waitUntil(lambda: find(app, "field_data", QComboBox).count() == 1)
    assert badge.text() == "No dataset is chosen"
    draft = app[TrainingController].draft
    for text, words, can_download in (
        ("nonsense", "No such dataset", False),
        ("~nobody-of-that-name", "No such dataset", False),
        ("hopper-random-v2", "Not downloaded yet", True),
        (str(file), "Copied and checked when the run begins", False),
        ("hopper-medium-v2", "intact, ", False),
        (kept.sha256[:12], "intact, ", False),
    ):
        draft.set_text("data", text)
        assert (badge.text()[: len(words)], app.actions["downloadDataset"].isEnabled()) == (words, can_download)
    kept.file.write_bytes(b"other steps")
    datasets.reload()
    qtbot.waitUntil(lambda: badge.text().startswith("changed since"))
    app.actions["verifyDataset"].trigger()
    qtbot.waitUntil(lambda: badge.text().startswith("damaged"), timeout=20_000)
