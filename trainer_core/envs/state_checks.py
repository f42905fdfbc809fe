"""Checks that a checkpoint's content is a state of this run, before any of it is used.

A checkpoint may come from other people, and its hashes from whoever changed it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch import Tensor

from trainer_core.wire.errors import CheckpointError


def check_keys(state: object, keys: Collection[str], what: str, optional: Collection[str] = ()) -> None:
    """Raise CheckpointError unless `state` is a dict of `keys`, of which `optional` may be missing."""
    if not isinstance(state, dict):
        raise CheckpointError(f"{what} is {_kind(state)}, not a dictionary")
    if missing := sorted(set(keys) - state.keys() - set(optional)):
        raise CheckpointError(f"{what} lacks {', '.join(missing)}")
    if unknown := sorted(str(name) for name in state.keys() - set(keys)):
        raise CheckpointError(f"{what} holds {unknown[0][:80]!r}, which this version does not know")


def check_like(state: object, like: Mapping[str, Any], what: str, optional: Collection[str] = ()) -> None:
    """Raise CheckpointError unless `state` has the keys of `like` and values of the same kinds.

    A tensor must have the same dtype and shape, any other value the same type. Tensors of `like` may be on the meta
    device.
    """
    check_keys(state, like.keys(), what, optional)
    assert isinstance(state, dict)
    for name, value in state.items():
        if _kind(value) != _kind(like[name]):
            raise CheckpointError(f"{what}: {name} is {_kind(value)}, this run needs {_kind(like[name])}")


def check_range(tensor: Tensor, low: float, high: float, what: str) -> None:
    """Raise CheckpointError, calling the tensor `what`, unless every value is in [low, high]; NaN is not."""
    if not bool(((tensor >= low) & (tensor <= high)).all()):
        raise CheckpointError(f"{what} holds values outside {low:g} to {high:g}")


def restore_generator(generator: torch.Generator, state: Tensor, what: str) -> None:
    """Restore a random generator from `state`. Raises CheckpointError for a state of another device's generator."""
    try:
        generator.set_state(state.cpu())
    except (AttributeError, RuntimeError, TypeError):
        raise CheckpointError(f"{what} is no state of a random generator of this device") from None


def meta_bytes(*shape: int) -> Tensor:
    """Return a uint8 tensor of that shape on the meta device, without memory, as an expected value for `check_like`."""
    return torch.empty(shape, dtype=torch.uint8, device="meta")


def _kind(value: object) -> str:
    if isinstance(value, Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return type(value).__name__
