"""Tell Gymnasium of our environments once it is loaded, whether before or after `import dmglab`.

`gymnasium.make("dmglab:DMGLab-v0")` imports dmglab by itself; Gymnasium 1.0 gave up entry points of
plug-ins. Importing it here instead would cost every command a fifth of a second.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def register_with_gymnasium() -> None:
    """Register now, or as soon as something imports gymnasium."""
    if "gymnasium" in sys.modules:
        _register(sys.modules["gymnasium"])
    else:
        sys.meta_path.insert(0, _WaitForGymnasium())


def _register(gymnasium: ModuleType) -> None:
    gymnasium.register(
        id="DMGLab-v0",
        entry_point="trainer_core.envs.gymnasium_env:DmgLabEnv",
        vector_entry_point="trainer_core.envs.gymnasium_vector:DmgLabVectorEnv",
    )


class _WaitForGymnasium:
    """A finder that stands in front of all others until gymnasium is looked for."""

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "gymnasium":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        load = spec.loader.exec_module

        def load_and_register(module: ModuleType) -> None:
            load(module)
            _register(module)

        spec.loader.exec_module = load_and_register
        return spec
