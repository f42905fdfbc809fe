"""DMG Lab: the one name of it that is public. Everything else may change with any version.

Importing it loads nothing; Gymnasium then knows the environment `DMGLab-v0`. In a checkout
`emulator`, `trainer_core` and `gui` lie beside this folder; in an installation they lie in a folder
below it, so that they meet nobody else's packages of these names, and are found after all others
(docs/adr/0026-one-package-and-plug-ins.md).
"""

from __future__ import annotations

import sys
from pathlib import Path

from dmglab.registration import register_with_gymnasium

__all__ = ["__version__"]

__version__: str

_HERE = Path(__file__).resolve().parent
_SHELF = _HERE / "own-packages"
"""What setup.py makes in a wheel. With its dash it is no package: no module gets a second name."""
IS_INSTALLED = _SHELF.is_dir()
PACKAGES = str(_SHELF if IS_INSTALLED else _HERE.parent)
"""The folder that our packages lie in."""

if PACKAGES not in sys.path:
    sys.path.append(PACKAGES)
register_with_gymnasium()


def __getattr__(name: str) -> str:
    if name != "__version__":
        raise AttributeError(f"module 'dmglab' has no attribute {name!r}")
    if IS_INSTALLED:
        from importlib.metadata import version

        return version("dmglab")
    import tomllib  # a checkout's metadata may be older than it, or not there

    with (_HERE.parent / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["project"]["version"]


def __dir__() -> list[str]:
    return __all__
