"""Named starting points for the training form: values that differ from RunConfig's defaults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Preset:
    id: str
    title: str
    help: str
    values: dict[str, Any]


PRESETS = (
    Preset(
        "cpu",
        "CPU, first stage",
        "64 machines on this computer's processor.",
        {"device": "cpu", "num_envs": 64, "seconds": 300.0, "target_success": 0.95},
    ),
    Preset(
        "gpu",
        "One GPU, 8,192 machines",
        "The shape that was measured on one H200.",
        {"device": "cuda:0", "num_envs": 8192, "num_minibatches": 8, "seconds": 300.0},
    ),
    Preset(
        "demo",
        "Demo, half a minute",
        "A run that shows something soon.",
        {"device": "cpu", "num_envs": 64, "seconds": 60.0, "checkpoint_every": 10},
    ),
)
