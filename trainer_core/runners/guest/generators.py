"""State of the global random generators that libraries use, as plain values for a checkpoint."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import torch


def state() -> dict[str, Any]:
    """Return torch's and numpy's generator states, in a form that loads with `weights_only`."""
    return {"torch": torch.get_rng_state(), "numpy": json.dumps(_numpy_state())}


def load_state(found: dict[str, Any]) -> None:
    """Restore what `state` returned."""
    torch.set_rng_state(found["torch"])
    kind, key, *rest = json.loads(found["numpy"])
    np.random.set_state((kind, np.array(key, np.uint32), *rest))


def _numpy_state() -> list[Any]:
    kind, key, *rest = np.random.get_state()
    return [kind, key.tolist(), *rest]  # type: ignore[union-attr]
