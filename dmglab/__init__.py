"""DMG Lab from Python: batches of thousands of Game Boys, tasks as environments, training, policies.

This package is the public API; names below `emulator`, `trainer_core` and `gui` may change with
any version. Importing it takes milliseconds: the libraries of a name (Warp, torch) are loaded when
the name is first used. It registers every task with Gymnasium as `dmglab/TASK-v0`, with dots for
the slashes of TASK. docs/reference/python.md lists everything on one page.

In a checkout `emulator`, `trainer_core` and `gui` lie beside this folder. In an installation they
lie in a folder below it, which is searched last, so that they hide no other packages of the same
names (docs/adr/0026-one-package-and-plug-ins.md).
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmglab.registration import register_with_gymnasium

if TYPE_CHECKING:
    from dmglab.console import GameBoy, Memory
    from dmglab.environments import BatchedEnv, make, make_sb3, make_torchrl
    from dmglab.library import make_task, roms, tasks
    from dmglab.policies import Policy, load_policy
    from dmglab.training import Checkpoint, Run, runs, train
    from emulator import Cartridge, Emulator, EmulatorError, Snapshot, Symbols
    from emulator.sound import Channels
    from trainer_core.envs.ram_terms import RamTerms
    from trainer_core.wire.errors import LabError

__all__ = [
    "BatchedEnv",
    "Cartridge",
    "Channels",
    "Checkpoint",
    "Emulator",
    "EmulatorError",
    "GameBoy",
    "LabError",
    "Memory",
    "Policy",
    "RamTerms",
    "Run",
    "Snapshot",
    "Symbols",
    "__version__",
    "load_policy",
    "make",
    "make_sb3",
    "make_task",
    "make_torchrl",
    "roms",
    "runs",
    "tasks",
    "train",
]

__version__: str

_HERE = Path(__file__).resolve().parent
_SHELF = _HERE / "own-packages"
"""Folder that setup.py makes in a wheel. Its dash keeps it from being a package with a second name for each module."""
IS_INSTALLED = _SHELF.is_dir()
PACKAGES = str(_SHELF if IS_INSTALLED else _HERE.parent)
"""Folder of the packages `emulator`, `trainer_core` and `gui`."""
_MODULE_OF = {
    "GameBoy": "dmglab.console",
    "Memory": "dmglab.console",
    "BatchedEnv": "dmglab.environments",
    "make": "dmglab.environments",
    "make_sb3": "dmglab.environments",
    "make_torchrl": "dmglab.environments",
    "Policy": "dmglab.policies",
    "RamTerms": "trainer_core.envs.ram_terms",
    "load_policy": "dmglab.policies",
    "Checkpoint": "dmglab.training",
    "Run": "dmglab.training",
    "runs": "dmglab.training",
    "make_task": "dmglab.library",
    "roms": "dmglab.library",
    "tasks": "dmglab.library",
    "train": "dmglab.training",
    "Cartridge": "emulator",
    "Channels": "emulator.sound",
    "Emulator": "emulator",
    "EmulatorError": "emulator",
    "Snapshot": "emulator",
    "Symbols": "emulator",
    "LabError": "trainer_core.wire.errors",
}


if PACKAGES not in sys.path:
    sys.path.append(PACKAGES)
register_with_gymnasium()


def __getattr__(name: str) -> Any:
    """Load a public name at its first use and keep it in the module."""
    if name == "__version__":
        found: Any = _version()
    elif name in _MODULE_OF:
        found = _load(name)
    else:
        raise AttributeError(f"module 'dmglab' has no attribute {name!r}; it has {', '.join(__all__)}")
    globals()[name] = found
    return found


def _load(name: str) -> Any:
    """Return the object of a public name. Raises ImportError naming the missing library to install."""
    from trainer_core.wire.environment import tell_libraries_unless_told
    from trainer_core.wire.errors import missing_library

    # Without this, torch's threads (torch may be loaded now) keep cores busy while they wait for each other.
    tell_libraries_unless_told(OMP_WAIT_POLICY="PASSIVE")
    try:
        found = getattr(importlib.import_module(_MODULE_OF[name]), name)
    except ModuleNotFoundError as error:
        if not (missing := missing_library(error)):
            raise
        raise ImportError(f"dmglab.{name} needs {missing}", name=error.name) from None
    if "warp" in sys.modules:
        from trainer_core.envs.compile_progress import tell_on_stderr

        tell_on_stderr()
    return found


def _version() -> str:
    if IS_INSTALLED:
        from importlib.metadata import version

        return version("dmglab")
    import tomllib  # installed metadata may be absent or older than the checkout

    with (_HERE.parent / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["project"]["version"]


def __dir__() -> list[str]:
    return __all__
