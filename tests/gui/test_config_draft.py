"""The form says what a field may be before the configuration is asked."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLineEdit

from gui.features.train.draft import DEFAULT_TASK, ConfigDraft
from gui.features.train.form import ConfigForm
from gui.state.config_fields import field_specs, train_line


@pytest.mark.parametrize(
    ("name", "text"), [("threads", "100000"), ("seed", "1" + "0" * 26), ("gamma", "1.5"), ("eval_episodes", "1000m")]
)
def test_a_value_beyond_its_range_names_label_and_limit(qapp, name: str, text: str) -> None:
    spec = next(spec for spec in field_specs() if spec.name == name)
    assert spec.maximum is not None
    draft = ConfigDraft()
    draft.set_text(name, text)
    assert draft.config is None
    assert draft.errors == {name: f"{spec.label} must be at most {spec.show(spec.maximum)}"}
    draft.set_text(name, "nan")
    assert "must be a number" in draft.reason
    draft.reset(name)
    assert draft.config is not None


def test_a_new_run_is_what_the_command_line_would_train(qapp) -> None:
    draft = ConfigDraft()
    assert train_line(draft.config) == f"dmglab train --preset laptop --task {DEFAULT_TASK}"
    assert not any(draft.is_changed(spec.name) for spec in draft.fields)
    draft.set_text("obs_source", "screen")
    assert draft.is_changed("obs_source")
    draft.reset("obs_source")
    assert draft.text("obs_source") == "marked"


def test_what_a_task_wants_is_its_default(qapp) -> None:
    wanted = {"far": {"gamma": 0.99, "stack_k": 2}}
    draft = ConfigDraft(ask_task=lambda task, warm_start: wanted.get(task, {}))
    draft.set_text("task", "far")
    assert (draft.config.gamma, draft.config.stack_k) == (0.99, 2)
    assert not draft.is_changed("gamma")
    assert train_line(draft.config, draft.wishes()) == "dmglab train --preset laptop --task far"
    draft.set_text("gamma", "0.97")  # what others have by default: here it has to be told
    line = train_line(draft.config, draft.wishes())
    assert line == "dmglab train --preset laptop --task far --gamma 0.97"
    again = ConfigDraft(ask_task=lambda task, warm_start: wanted.get(task, {}))
    again.put_state({draft.runner.id: draft.changes()[draft.runner.id]})
    assert (again.config.gamma, again.config.stack_k) == (0.97, 2)
    again.set_values({"task": "near"})
    assert (again.config.gamma, again.config.stack_k) == (0.97, 1)
    again.set_values({"task": "far", "gamma": 0.97})  # another run's: as it was
    assert (again.config.gamma, again.config.stack_k) == (0.97, 2)
    again.reset("gamma")
    assert again.config.gamma == 0.99


def test_limits_have_units_that_a_person_thinks_in(qapp) -> None:
    draft = ConfigDraft()
    form = ConfigForm(draft)
    draft.set_values({"seconds": 0.0, "total_env_steps": 0, "target_success": 0.0})
    limits = ("seconds", "total_env_steps", "target_success")
    editors = [editor for editor in map(form.editor, limits) if isinstance(editor, QLineEdit)]
    assert [editor.placeholderText() for editor in editors] == ["No limit"] * 3
    assert [editor.text() for editor in editors] == [""] * 3
    draft.set_values({"seconds": 900.0, "total_env_steps": 1000, "target_success": 0.95})
    assert [editor.text() for editor in editors] == ["15", "1,000", "95"]
    for typed, seconds in (("2.", 120.0), ("90 s", 90.0), ("1 h", 3600.0), ("", 0.0)):
        editors[0].setText(typed)
        editors[0].textEdited.emit(typed)
        assert draft.config.seconds == seconds
        assert editors[0].text() == typed, "nothing is rewritten under the cursor"
    editors[2].textEdited.emit("soon")
    assert "must be a number" in draft.reason


def test_a_preset_is_the_ground_that_changes_are_counted_from(qapp) -> None:
    draft = ConfigDraft()
    assert draft.summary() == "Laptop preset · 32 Game Boys · PPO · seed 1"
    draft.set_text("seed", "3")
    draft.set_preset("big_gpu")
    assert (draft.config.num_envs, draft.config.device, draft.config.seed) == (8192, "cuda:0", 3)
    assert draft.summary() == "Big GPU preset · 8,192 Game Boys · PPO · seed 3 · 1 changed"
    draft.set_preset("laptop")
    assert (draft.config.checkpoint_every, draft.config.seed) == (20, 3)
