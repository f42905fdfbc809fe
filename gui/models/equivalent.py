"""The command line that would train the same: shorter to read than a configuration file."""

from __future__ import annotations

import dataclasses
import shlex
from typing import Any

from trainer_core.protocol.config import RunConfig
from trainer_core.protocol.presets import PRESETS, preset_config


def guest_line(runner: str, values: dict[str, Any]) -> str:
    """`dmglab train --runner` with the values that are not that runner's defaults."""
    return shlex.join(["dmglab", "train", "--runner", runner, *_options(values)])


def train_line(config: RunConfig) -> str:
    """`dmglab train` with the preset that is nearest and what differs from it."""
    name = min(PRESETS, key=lambda preset: len(differences(config, preset)))
    return shlex.join(["dmglab", "train", "--preset", name, *_options(differences(config, name))])


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


def differences(config: RunConfig, preset: str) -> dict[str, Any]:
    """The values of `config` that the preset has otherwise; the task is always told."""
    base = preset_config(preset)
    fields = (field.name for field in dataclasses.fields(config))
    return {
        name: getattr(config, name)
        for name in fields
        if name == "task" or getattr(config, name) != getattr(base, name)
    }
