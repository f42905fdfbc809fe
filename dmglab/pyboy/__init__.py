"""PyBoy 2's surface for one console of DMG Lab: programs that are written for PyBoy run on it.

    from dmglab.pyboy import PyBoy, WindowEvent     # in place of: from pyboy import PyBoy

`install()` puts this package in the place of `pyboy`, so that a program runs as it is. What is here and what to use for
the rest: docs/guide/from_pyboy.md. The real PyBoy is never imported.
"""

from __future__ import annotations

import importlib
import sys

from trainer_core.wire.errors import missing_library

try:
    from dmglab.pyboy.facade import PyBoy
except ModuleNotFoundError as error:
    if not (missing := missing_library(error)):
        raise
    raise ImportError(f"dmglab.pyboy needs {missing}", name=error.name) from None
from dmglab.pyboy.memory import PyBoyMemoryView, PyBoyRegisterFile
from dmglab.pyboy.plugins.base_plugin import PyBoyGameWrapper, register_game_wrapper
from dmglab.pyboy.utils import WindowEvent

__all__ = [
    "PyBoy",
    "PyBoyGameWrapper",
    "PyBoyMemoryView",
    "PyBoyRegisterFile",
    "WindowEvent",
    "install",
    "register_game_wrapper",
]
_MODULES = (
    "utils plugins plugins.base_plugin core core.interaction api api.constants api.gameshark api.memory_scanner"
    " api.screen api.sound api.sprite api.tile api.tilemap"
)


def install() -> None:
    """Put this package in the place of `pyboy` in this process. Raises ImportError if PyBoy is imported already."""
    there = sys.modules.get("pyboy")
    if there is not None and there is not sys.modules[__name__]:
        raise ImportError("pyboy is imported already: call dmglab.pyboy.install() before")
    sys.modules["pyboy"] = sys.modules[__name__]
    sys.modules["pyboy.pyboy"] = importlib.import_module(f"{__name__}.facade")
    for name in _MODULES.split():
        sys.modules[f"pyboy.{name}"] = importlib.import_module(f"{__name__}.{name}")
