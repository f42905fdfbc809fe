"""The short run that the first page offers."""

from __future__ import annotations

from trainer_core.lab.presets import PRESETS, Preset

DEMO_S = 60.0
"""Seconds of training that a demo has, from its first update on; the app keeps this clock."""
DEMO = Preset(
    "Demo (1 minute)",
    "A short run on this computer: early checkpoints, ends a minute after its first update.",
    {**PRESETS["laptop"].fields, "seconds": 900.0, "eval_every": 10, "checkpoint_every": 10, "target_success": 0.95},
    {**PRESETS["laptop"].why, "seconds": "a bound with a cold kernel cache; the app ends it after a minute of updates"},
)
