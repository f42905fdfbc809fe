"""Fields of a configuration for a form, and the equivalent command line.

Label, group, range and choices are a field's metadata (`wire.fields.described`), the help is the string under the
field. A field without metadata is shown by its name and type.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import shlex
import textwrap
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from gui.kit.words import in_language, tr
from trainer_core.lab.presets import PRESETS, preset_config
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.spec import NEUTRAL

GROUPS = {"basics": "Basics", "env": "Game and pictures", "learning": "Learning", "logging": "Checkpoints and logs"}
_KINDS = (bool, int, float, str)
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """Description of one configuration field for a form."""

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
    is_folder: bool = False
    """True if the text is the path of a folder."""
    is_file: bool = False
    """True if the text is the path of a file."""
    is_dataset: bool = False
    """True if the text may be the name of a kept dataset."""

    def parse(self, text: str) -> Any:
        """Return the value of a typed text. Raises ConfigError with a message for the user."""
        text = text.strip()
        if self.kind is bool:
            return text.lower() in ("true", "1", "yes", "on")
        if self.kind is str:
            if not text and self.default != "":
                raise ConfigError(tr("{label} is empty", label=tr(self.label)))
            return text
        number = _number(text, self.label)
        if self.kind is int and not isinstance(number, int):
            if number != int(number):
                raise ConfigError(tr("{label} must be a whole number", label=tr(self.label)))
            number = int(number)
        if self.kind is float:
            number = float(number)
        if self.minimum is not None and number < self.minimum:
            raise ConfigError(
                tr("{label} must be at least {show}", label=tr(self.label), show=self.words(self.minimum))
            )
        if self.maximum is not None and number > self.maximum:
            raise ConfigError(tr("{label} must be at most {show}", label=tr(self.label), show=self.words(self.maximum)))
        return number

    def show(self, value: Any) -> str:
        """Return the text of a value, which `parse` turns into the value again."""
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, float):
            short = f"{value:g}"
            return short if float(short) == value else repr(value)
        return f"{value:,}" if isinstance(value, int) and self.name != "seed" else str(value)

    def words(self, value: Any) -> str:
        """Return the text of a value with the separators of the app's language."""
        return in_language(self.show(value)) if self.kind in (int, float) else self.show(value)


def _number(text: str, label: str) -> float:
    """Return the number in `text`: an int if it is written as one, else a float."""
    plain = text.replace(",", "").replace("_", "").replace(" ", "").lower()
    if plain.removeprefix("-").isdecimal() and len(plain) < 40:
        return int(plain)
    scale = {"k": 1e3, "m": 1e6}.get(plain[-1:], 1.0)
    try:
        number = float(plain[:-1] if scale != 1.0 else plain) * scale
        int(number)  # refuses nan and infinity
    except (ValueError, OverflowError):
        raise ConfigError(tr("{label} must be a number, got {what!r}", label=label, what=text)) from None
    return number


@cache
def field_specs(config_type: type = RunConfig) -> tuple[FieldSpec, ...]:
    """Return the fields of the dataclass `config_type`, after the fields common to all runners that it lacks.

    A field whose type does not fit in a line of text (list, mapping) is left out and keeps its default.
    """
    declared = {field.name for field in dataclasses.fields(config_type)}
    neutral = [spec for spec in _declared(RunConfig) if spec.name in NEUTRAL]
    return (*(spec for spec in neutral if spec.name not in declared), *_declared(config_type))


@cache
def _declared(config_type: type) -> tuple[FieldSpec, ...]:
    helps, hints = _docstrings(config_type), typing.get_type_hints(config_type)
    found = []
    for field in dataclasses.fields(config_type):
        kind, choices = _kind(hints[field.name])
        default = _default(field)
        if kind is None or not isinstance(default, _KINDS):
            continue
        meta = field.metadata
        found.append(
            FieldSpec(
                name=field.name,
                label=meta.get("label") or field.name.replace("_", " ").capitalize(),
                group=meta.get("group") or "basics",
                kind=kind,
                default=default,
                help=helps.get(field.name, ""),
                minimum=meta.get("min"),
                maximum=meta.get("max"),
                unit=meta.get("unit", ""),
                choices=tuple(meta.get("choices") or choices),
                is_folder=bool(meta.get("is_folder")),
                is_file=bool(meta.get("is_file")),
                is_dataset=bool(meta.get("is_dataset")),
            )
        )
    return tuple(found)


def _kind(hint: Any) -> tuple[type | None, tuple[str, ...]]:
    """Return the type of a field's values for the form, and the choices if its type lists them."""
    if typing.get_origin(hint) is typing.Literal:
        values = typing.get_args(hint)
        is_text = all(isinstance(value, str) for value in values)
        return (str, values) if is_text else (None, ())
    return (hint, ()) if hint in _KINDS else (None, ())


def _default(field: dataclasses.Field[Any]) -> Any:
    """Return a field's default value; None if it has none, in which case the field cannot be shown."""
    if field.default is not dataclasses.MISSING:
        return field.default
    made = field.default_factory
    return made() if made is not dataclasses.MISSING else None


def _docstrings(config_type: type) -> dict[str, str]:
    """Return the string under each field in the source, which is its help; also for base classes."""
    found: dict[str, str] = {}
    for kind in reversed(config_type.__mro__):
        if dataclasses.is_dataclass(kind):
            found |= _own_docstrings(kind)
    return found


def _own_docstrings(kind: type) -> dict[str, str]:
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError):  # no source code: no help, no failure
        return {}
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


def guest_line(runner: str, values: dict[str, Any]) -> str:
    """Return the command `dmglab train --runner` with the values that differ from the runner's defaults."""
    return shlex.join(["dmglab", "train", "--runner", runner, *_options(values)])


def train_line(config: RunConfig, wishes: Mapping[str, Any] = NOTHING) -> str:
    """Return the command `dmglab train` for a configuration: the nearest preset, and all values that differ.

    `wishes` are default values set by the task.
    """
    found = {name: differences(config, name, wishes) for name in PRESETS}
    name = min(found, key=lambda preset: len(found[preset]))
    return shlex.join(["dmglab", "train", "--preset", name, *_options(found[name])])


def _options(values: dict[str, Any]) -> list[str]:
    """Return values by field as command line arguments."""
    words = []
    for field, value in values.items():
        option = field.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        else:
            words += [f"--{option}", repr(value) if isinstance(value, float) else str(value)]
    return words


def differences(config: RunConfig, preset: str, wishes: Mapping[str, Any] = NOTHING) -> dict[str, Any]:
    """Return the values that differ from the preset and the task's default values `wishes`.

    The task is always included.
    """
    base = dataclasses.replace(preset_config(preset), **wishes)
    fields = (field.name for field in dataclasses.fields(config))
    return {
        name: getattr(config, name) for name in fields if name == "task" or getattr(config, name) != getattr(base, name)
    }
