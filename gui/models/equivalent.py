"""The command line that would train the same: shorter to read than a configuration file."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from trainer_core.lab.presets import PRESETS, preset_config
from trainer_core.wire.config import RunConfig

NOTHING: Mapping[str, Any] = MappingProxyType({})


def guest_line(runner: str, values: dict[str, Any]) -> str:
    """`dmglab train --runner` with the values that are not that runner's defaults."""
    return shlex.join(["dmglab", "train", "--runner", runner, *_options(values)])


def train_line(config: RunConfig, wishes: Mapping[str, Any] = NOTHING) -> str:
    """`dmglab train` with the preset that is nearest and what differs from it and the task."""
    found = {name: differences(config, name, wishes) for name in PRESETS}
    name = min(found, key=lambda preset: len(found[preset]))
    return shlex.join(["dmglab", "train", "--preset", name, *_options(found[name])])


def _options(values: dict[str, Any]) -> list[str]:
    """Values by field as words of a command line."""
    words = []
    for field, value in values.items():
        option = field.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{option}" if value else f"--no-{option}")
        else:
            words += [f"--{option}", repr(value) if isinstance(value, float) else str(value)]
    return words


def differences(config: RunConfig, preset: str, wishes: Mapping[str, Any] = NOTHING) -> dict[str, Any]:
    """Return the values that the preset with the task's `wishes` has otherwise; the task always."""
    base = dataclasses.replace(preset_config(preset), **wishes)
    fields = (field.name for field in dataclasses.fields(config))
    return {
        name: getattr(config, name) for name in fields if name == "task" or getattr(config, name) != getattr(base, name)
    }
