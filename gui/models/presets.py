"""What the preset box offers: the documented presets, and a short demo."""

from __future__ import annotations

from trainer_core.protocol.presets import PRESETS, Preset

DEMO = Preset(
    "Demo (1 minute)",
    "A short run on this computer: checkpoints come early, it ends by itself.",
    {
        **PRESETS["laptop"].fields,
        "seconds": 60.0, "eval_every": 10, "checkpoint_every": 10, "target_success": 0.95,
    },
    {**PRESETS["laptop"].why, "seconds": "long enough for the first stage on two cores"},
)  # fmt: skip


def all_presets() -> dict[str, Preset]:
    return {**PRESETS, "demo": DEMO}
