"""Tests of other libraries and servers: heavy, and only where somebody asks for them."""

from __future__ import annotations

import os
from typing import Any

import pytest

EXTRAS = "DMGLAB_EXTRAS"
LEFT_OUT = "need ./test --extras"


def need_extras() -> None:
    """Skip the test, or the module, unless extras were asked for."""
    if not os.environ.get(EXTRAS):
        pytest.skip(LEFT_OUT, allow_module_level=True)


def extra_library(name: str, remedy: str = "") -> Any:
    """Return the module, if extras were asked for and it is installed; skip else."""
    need_extras()
    return pytest.importorskip(name, reason=remedy or f"python -m pip install {name}")
