"""Fixtures of the emulator's tests."""

from __future__ import annotations

import pytest
import warp as wp

wp.config.log_level = wp.LOG_WARNING


def devices() -> list[str]:
    """`cpu`, and the first CUDA device where there is one."""
    return ["cpu", "cuda:0"] if wp.get_cuda_device_count() else ["cpu"]


@pytest.fixture(params=devices(), scope="session")
def device(request: pytest.FixtureRequest) -> str:
    """Name of each device of this machine in turn."""
    return request.param
