"""A RunConfig that is being written: texts as typed, errors by field, the result when it is valid.

The fields of RunConfig draw everything: label, group, range, choices, unit, docstring as help.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import textwrap
from dataclasses import dataclass
from functools import cache
from typing import Any

from PySide6.QtCore import QObject, Signal

from trainer_core.protocol import config as config_module
from trainer_core.protocol.config import RunConfig
from trainer_core.protocol.errors import ConfigError

GROUPS = {"basics": "Basics", "env": "Environment", "learning": "Learning", "logging": "Records"}


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """What a form needs to know about one field."""

    name: str
    label: str
    group: str
    kind: type
    default: Any
    help: str
    minimum: float | None
    maximum: float | None
    unit: str
    choices: tuple[str, ...]

    def parse(self, text: str) -> Any:
        """The value that `text` means. Raises ConfigError in words for a person."""
        text = text.strip()
        if self.kind is bool:
            return text.lower() in ("true", "1", "yes", "on")
        if self.kind is str:
            if not text and self.name != "warm_start":
                raise ConfigError(f"{self.label} is empty")
            return text
        number = _number(text, self.label)
        if self.kind is int and not isinstance(number, int):
            if number != int(number):
                raise ConfigError(f"{self.label} must be a whole number")
            number = int(number)
        if self.kind is float:
            number = float(number)
        if self.minimum is not None and number < self.minimum:
            raise ConfigError(f"{self.label} must be at least {self.show(self.minimum)}")
        if self.maximum is not None and number > self.maximum:
            raise ConfigError(f"{self.label} must be at most {self.show(self.maximum)}")
        return number

    def show(self, value: Any) -> str:
        """The text that means `value`."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, float):
            short = f"{value:g}"
            return short if float(short) == value else repr(value)
        return f"{value:,}" if isinstance(value, int) and self.name != "seed" else str(value)


def _number(text: str, label: str) -> float:
    """A float, or an int of any size where the text is one."""
    plain = text.replace(",", "").replace("_", "").replace(" ", "").lower()
    if plain.removeprefix("-").isdecimal() and len(plain) < 40:
        return int(plain)
    scale = {"k": 1e3, "m": 1e6}.get(plain[-1:], 1.0)
    try:
        number = float(plain[:-1] if scale != 1.0 else plain) * scale
        int(number)  # refuses nan and infinity
    except (ValueError, OverflowError):
        raise ConfigError(f"{label} must be a number, got {text!r}") from None
    return number


@cache
def field_specs() -> tuple[FieldSpec, ...]:
    """The fields of RunConfig in their order."""
    helps = _docstrings()
    kinds = {"bool": bool, "int": int, "float": float}
    found = []
    for spec in dataclasses.fields(RunConfig):
        meta = spec.metadata
        found.append(
            FieldSpec(
                name=spec.name,
                label=meta["label"],
                group=meta["group"],
                kind=kinds.get(str(spec.type), str),
                default=spec.default,
                help=helps.get(spec.name, ""),
                minimum=meta.get("min"),
                maximum=meta.get("max"),
                unit=meta.get("unit", ""),
                choices=tuple(meta.get("choices") or ()),
            )
        )
    return tuple(found)


def _docstrings() -> dict[str, str]:
    """The string under each field, which Python itself throws away."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(config_module.RunConfig)))
    body = tree.body[0].body  # type: ignore[attr-defined]
    found = {}
    for field, after in itertools.pairwise(body):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            found[field.target.id] = inspect.cleandoc(str(after.value.value))
    return found


class ConfigDraft(QObject):
    """Texts by field name; `config` is None while something is wrong."""

    changed = Signal(str)
    """Name of the field that changed, empty when all of them may have."""

    def __init__(self) -> None:
        super().__init__()
        self._texts = {spec.name: spec.show(spec.default) for spec in field_specs()}
        self._errors: dict[str, str] = {}
        self._config: RunConfig | None = None
        self._check()

    @property
    def config(self) -> RunConfig | None:
        return self._config

    @property
    def errors(self) -> dict[str, str]:
        """Message by field; the empty name holds what concerns several fields."""
        return dict(self._errors)

    @property
    def reason(self) -> str:
        """Why there is no config yet, in one line; empty when there is one."""
        return next(iter(self._errors.values()), "")

    def text(self, name: str) -> str:
        return self._texts[name]

    def set_text(self, name: str, text: str) -> None:
        if self._texts[name] != text:
            self._texts[name] = text
            self._check()
            self.changed.emit(name)

    def set_values(self, values: dict[str, Any]) -> None:
        """Take several values at once: a preset, a remedy, another run's configuration."""
        specs = {spec.name: spec for spec in field_specs()}
        for name, value in values.items():
            if name in specs:
                self._texts[name] = specs[name].show(value)
        self._check()
        self.changed.emit("")

    def reset(self, name: str) -> None:
        spec = next(spec for spec in field_specs() if spec.name == name)
        self.set_text(name, spec.show(spec.default))

    def is_changed(self, name: str) -> bool:
        spec = next(spec for spec in field_specs() if spec.name == name)
        return self._texts[name] != spec.show(spec.default)

    def _check(self) -> None:
        values, errors = {}, {}
        for spec in field_specs():
            try:
                values[spec.name] = spec.parse(self._texts[spec.name])
            except ConfigError as error:
                errors[spec.name] = str(error)
        self._config = None
        if not errors:
            try:
                self._config = RunConfig.from_dict(values)
            except ConfigError as error:
                errors[_field_of(str(error))] = str(error)
        self._errors = errors


def _field_of(message: str) -> str:
    return next((spec.name for spec in field_specs() if message.startswith(spec.name)), "")
