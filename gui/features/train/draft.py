"""Contents of the training form for any runner: texts as typed, errors by field, the resulting order."""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

from PySide6.QtCore import QObject, Signal

from gui.kit.words import in_language, tr
from gui.state.config_fields import FieldSpec, field_specs
from trainer_core.lab.presets import PRESETS
from trainer_core.runners.catalog import NATIVE, AgentRunner
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.spec import NEUTRAL, RunSpec

DEFAULT_TASK = RunConfig().task
"""Task selected for runners without a default task of their own."""
FIRST_PRESET = "laptop"
"""Preset whose values are the form's defaults until `set_preset` names another."""


class ConfigDraft(QObject):
    """Contents of the training form, as text by field, kept for each runner.

    `spec` is the resulting order to the runner, None while a text is invalid.
    """

    changed = Signal(str)
    """Name of the field that changed; empty when any field may have changed."""
    runner_changed = Signal()
    """Another runner was selected, which has other fields."""

    def __init__(
        self,
        runner: AgentRunner = NATIVE,
        ask_task: Callable[[str, str], Mapping[str, Any]] = lambda task, warm_start: {},
    ) -> None:
        """Take the runner, and `ask_task`, which returns a task's own default values for a task id and a warm start."""
        super().__init__()
        self.runner = runner
        self._preset = FIRST_PRESET
        self._ask_task = ask_task
        self._asked: tuple[tuple[str, str], Mapping[str, Any]] | None = None
        self._kept: dict[str, dict[str, str]] = {}
        self._texts = dict(self._defaults({}))
        self._errors: dict[str, str] = {}
        self._spec: RunSpec | None = None
        self._config: Any = None
        self._check()

    @property
    def fields(self) -> tuple[FieldSpec, ...]:
        return field_specs(self.runner.config_type)

    @property
    def spec(self) -> RunSpec | None:
        """RunSpec of the form: the order from which the runner starts a run; None while a text is invalid."""
        return self._spec

    @property
    def config(self) -> Any:
        """Configuration object of the order, of the runner's `config_type`; None while a text is invalid."""
        return self._config

    @property
    def errors(self) -> dict[str, str]:
        """Error message by field; the key "" has errors that concern several fields."""
        return dict(self._errors)

    @property
    def reason(self) -> str:
        """First error in one line, which is why there is no order; empty when there is one."""
        return next(iter(self._errors.values()), "")

    def set_runner(self, runner: AgentRunner) -> None:
        """Select another runner. Typed texts of fields that both runners have are kept.

        Fields at their default get the new runner's default, as the same value may mean something else there: 0
        environment steps is no limit for one runner and far too many for another.
        """
        before, typed = self._texts, {name for name in self._texts if self.is_changed(name)}
        self._kept[self.runner.id] = before
        self.runner = runner
        defaults, kept = self._defaults({}), self._kept.get(runner.id, {})
        self._texts = {**defaults, **{name: kept[name] for name in defaults if name in kept}}
        for name in NEUTRAL:
            if name in before and name in self._texts and name != "task":
                self._texts[name] = before[name] if name in typed else defaults[name]
        with_its_task = dict(self._texts)
        if "task" in typed or before["task"] == DEFAULT_TASK:
            ours, theirs = before["task"].split("/")[0], defaults["task"].split("/")[0]
            if defaults["task"] == DEFAULT_TASK or ours == theirs:  # else it has tasks of its own
                self._texts["task"] = before["task"]
        self._follow_task(with_its_task)
        self._check()
        self.runner_changed.emit()
        self.changed.emit("")

    def text(self, name: str) -> str:
        return self._texts[name]

    def set_text(self, name: str, text: str) -> None:
        if self._texts[name] != text:
            before = dict(self._texts)
            self._texts[name] = text
            moved = self._follow_task(before)
            self._check()
            self.changed.emit("" if moved else name)

    def set_values(self, values: dict[str, Any]) -> None:
        """Set several fields at once, from a preset, a remedy or another run's configuration."""
        before = dict(self._texts)
        for spec in self.fields:
            if spec.name in values:
                self._texts[spec.name] = spec.show(values[spec.name])
        self._follow_task(before, told=values)
        self._check()
        self.changed.emit("")

    def holds(self, values: dict[str, Any]) -> bool:
        """Return whether the form has these values, such as those of a preset."""
        return all(
            self._texts[spec.name] == spec.show(values[spec.name]) for spec in self.fields if spec.name in values
        )

    def set_preset(self, name: str) -> None:
        """Take the default values from the preset `name`. Fields that have the old default get the new one."""
        before, old = dict(self._texts), self._defaults()
        self._preset = name
        if self.runner.id == NATIVE.id:
            now = self._defaults()
            self._texts = {field: now[field] if text == old[field] else text for field, text in before.items()}
            self._check()
        if before != self._texts:
            self.changed.emit("")

    @property
    def preset(self) -> str:
        """Name of the preset with the form's default values."""
        return self._preset

    def summary(self) -> str:
        """Return the order in one line, such as "Laptop preset, 64 Game Boys, PPO, seed 3, 2 changed".

        The fields have changed against the preset, or the defaults of another library's trainer.
        """
        changed = sum(self.is_changed(name) for name in self._texts if name != "task")
        if self.runner.id != NATIVE.id:
            return _joined((self.runner.title,), changed)
        parts = (
            tr("{title} preset", title=tr(PRESETS[self._preset].title).split(" (")[0]),
            tr("{count} Game Boys", count=in_language(self._texts["num_envs"])),
            self._texts["algo"].upper(),
            tr("seed {seed}", seed=self._texts["seed"]),
        )
        return _joined(parts, changed)

    def state(self) -> dict[str, dict[str, str]]:
        """Return the texts by field for each runner selected so far, for `put_state`."""
        return {**{one: dict(texts) for one, texts in self._kept.items()}, self.runner.id: dict(self._texts)}

    def changes(self) -> dict[str, dict[str, str]]:
        """Return the part of `state` that differs from the defaults, short enough to save at each key press."""
        changed = {name: text for name, text in self._texts.items() if self.is_changed(name)}
        return {**self.state(), self.runner.id: changed}

    def put_state(self, state: dict[str, dict[str, str]]) -> None:
        """Restore texts from `state`; unknown fields are ignored."""
        self._kept = {one: texts for one, texts in state.items() if one != self.runner.id}
        texts = state.get(self.runner.id, {})
        known = self._defaults(texts)
        self._texts = {**known, **{name: texts[name] for name in known if name in texts}}
        self._check()
        self.changed.emit("")

    def reset(self, name: str) -> None:
        self.set_text(name, self._defaults()[name])

    def is_changed(self, name: str) -> bool:
        return self._texts[name] != self._defaults()[name]

    def differences(self) -> dict[str, Any]:
        """Return the values by field that differ from the runner's defaults; the task is always included."""
        if self._spec is None:
            return {}
        values = self._spec.to_dict()
        return {
            spec.name: values[spec.name]
            for spec in self.fields
            if spec.name == "task" or values[spec.name] != spec.default
        }

    def wishes(self, texts: Mapping[str, str] | None = None) -> Mapping[str, Any]:
        """Return the default values by field that the form's task sets; `texts` replaces the form's contents."""
        texts = self._texts if texts is None else texts
        if self.runner.id != NATIVE.id or "task" not in texts:
            return {}
        key = texts["task"], texts.get("warm_start", "")
        if self._asked is None or self._asked[0] != key:
            self._asked = key, self._ask_task(*key)
        return self._asked[1]

    def _defaults(self, texts: Mapping[str, str] | None = None) -> Mapping[str, str]:
        usual = _default_texts(self.runner.config_type, self._preset if self.runner.id == NATIVE.id else "")
        wishes = self.wishes(texts)
        wished = {name: self._field(name).show(value) for name, value in wishes.items()}
        return {**usual, **wished} if wished else usual

    def _follow_task(self, before: Mapping[str, str], told: Container[str] = ()) -> bool:
        """Set fields that have the previous task's default to the default of the task chosen now.

        `before` are the texts with the previous task; fields in `told` are left alone. Return whether a field changed.
        """
        was, now = self._defaults(before), self._defaults()
        moved = {
            name: now[name]
            for name in now
            if was[name] != now[name] and name not in told and before[name] == self._texts[name] == was[name]
        }
        self._texts.update(moved)
        return bool(moved)

    def _field(self, name: str) -> FieldSpec:
        return next(spec for spec in self.fields if spec.name == name)

    def _check(self) -> None:
        values, errors = {}, {}
        for spec in self.fields:
            try:
                values[spec.name] = spec.parse(self._texts[spec.name])
            except ConfigError as error:
                errors[spec.name] = str(error)
        self._spec = self._config = None
        if not errors:
            try:
                spec = RunSpec.from_dict(self.runner.id, values)
                self._config = self.runner.configure(spec)
                self._spec = spec
            except ConfigError as error:
                errors[self._field_of(str(error))] = str(error)
        self._errors = errors

    def _field_of(self, message: str) -> str:
        return next((spec.name for spec in self.fields if message.startswith(spec.name)), "")


def _joined(parts: Iterable[str], changed: int) -> str:
    return " \u00b7 ".join((*parts, *([tr("{count} changed", count=changed)] if changed else [])))


@functools.cache
def _default_texts(config_type: type, preset: str) -> Mapping[str, str]:
    """Return the default text of each field: that of the preset, if it has the field, else the field's own.

    Cached, because every row of the form reads them at each change.
    """
    values = PRESETS[preset].fields if preset else {}
    return {spec.name: spec.show(values.get(spec.name, spec.default)) for spec in field_specs(config_type)}
