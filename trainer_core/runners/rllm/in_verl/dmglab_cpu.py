"""Replacements for VERL's CUDA calls on a computer without a GPU. Imported before dmglab_rollout.

VERL's FSDP workers run over gloo with one process per worker; Ray is told that there are as many GPUs as workers, since
VERL places workers by GPU.
"""

# pyright: reportMissingImports=false

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from verl.utils import distributed
from verl.utils.device import is_cuda_available


def _none(*_: Any, **__: Any) -> int:
    return 0


def take_the_cpu() -> None:
    distributed.initialize_global_process_group_ray = partial(
        distributed.initialize_global_process_group_ray, backend="cpu:gloo"
    )
    for name in ("max_memory_allocated", "max_memory_reserved", "memory_allocated", "memory_reserved", "empty_cache"):
        if not hasattr(torch.cpu, name):
            setattr(torch.cpu, name, _none)
    for name in ("get_rng_state", "set_rng_state"):
        setattr(torch.cpu, name, getattr(torch, name))

    from verl.workers import engine  # noqa: F401  # registers the engines
    from verl.workers.engine.base import EngineRegistry

    for backends in EngineRegistry._engines.values():
        for devices in backends.values():
            if "cuda" in devices:
                devices.setdefault("cpu", devices["cuda"])


if not is_cuda_available:
    take_the_cpu()
