"""Whether a run fits, before anything of it is allocated."""

from __future__ import annotations

import psutil
import torch

from trainer_core.preflight import memory_estimate
from trainer_core.protocol.config import RunConfig
from trainer_core.protocol.errors import ConfigError

SHARE = 0.9


def check_memory(config: RunConfig, available: int | None = None) -> int:
    """The estimate in bytes. Raises ConfigError that names a number of machines that would fit."""
    if available is None:
        available = available_bytes(torch.device(config.device))
    need = memory_estimate(config)
    if need <= SHARE * available:
        return need
    fits = config.num_envs
    while fits > 1 and memory_estimate(config, fits) > SHARE * available:
        fits //= 2
    needs = f"{need / 2**30:.1f} GiB needed, {available / 2**30:.1f} GiB free on {config.device}"
    if memory_estimate(config, fits) > SHARE * available:
        raise ConfigError(f"{needs}; not even one machine fits: free some memory")
    raise ConfigError(f"{needs}; num_envs={fits} would fit")


def available_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    return psutil.virtual_memory().available
