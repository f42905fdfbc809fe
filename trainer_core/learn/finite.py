"""Checks for NaN, infinity and very large losses, which stop a run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch

from trainer_core.wire.errors import LabError

EXPLODED = 1e8
"""Bound beyond which a loss or gradient norm never recovers."""


class NonFiniteLossError(LabError):
    """Error that learning produced NaN, infinity or a number beyond EXPLODED."""


def check_weights(weights: Iterable[torch.Tensor], update: int) -> None:
    """Raise NonFiniteLossError naming `update` if a weight is NaN or infinite; called before weights are saved."""
    if not all(bool(each.isfinite().all()) for each in weights):
        raise NonFiniteLossError(f"weights are not finite at update {update}")


def check_finite(scalars: dict[str, Any], update: int) -> None:
    """Raise NonFiniteLossError naming the first scalar that is NaN, infinite or too large."""
    named = {**scalars, **scalars["metrics"]}
    for name, value in named.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise NonFiniteLossError(f"{name} is {value} at update {update}")
    for name in ("policy_loss", "value_loss", "grad_norm"):
        if abs(named.get(name, 0.0)) > EXPLODED:
            raise NonFiniteLossError(f"{name} grew to {named[name]:.3g} at update {update}")
