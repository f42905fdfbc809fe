"""Registration of the environments with Gymnasium, whether it is imported before or after dmglab.

`gymnasium.make("dmglab:dmglab/TASK-v0")` imports dmglab by itself; Gymnasium 1.0 removed entry
points of plug-ins. Importing Gymnasium here would delay every command by a fifth of a second.
"""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

ENV = "trainer_core.envs.gymnasium_env:DmgLabEnv"
VECTOR_ENV = "trainer_core.envs.gymnasium_vector:DmgLabVectorEnv"


def register_with_gymnasium() -> None:
    """Register the environments now, or at the first import of gymnasium."""
    if "gymnasium" in sys.modules:
        _register(sys.modules["gymnasium"])
    else:
        sys.meta_path.insert(0, _WaitForGymnasium())


def env_id(task: str) -> str:
    """Return the Gymnasium id of a task, like `dmglab/pocket_quest.leave_bedroom-v0`."""
    return f"dmglab/{task.replace('/', '.')}-v0"


def _register(gymnasium: ModuleType) -> None:
    """Register `DMGLab-v0`, which takes any task as an argument, and one id for each existing task."""
    gymnasium.register(id="DMGLab-v0", entry_point=ENV, vector_entry_point=VECTOR_ENV)
    for task in _task_ids():
        gymnasium.register(id=env_id(task), entry_point=ENV, vector_entry_point=VECTOR_ENV, kwargs={"task": task})


def _task_ids() -> list[str]:
    """Return the ids of the shipped tasks and the data folder's tasks from folder names, without reading files."""
    from trainer_core.lab.manifest_checks import is_task_id
    from trainer_core.lab.paths import HomePaths, default_home
    from trainer_core.lab.tasks import BUILT_IN_TASKS, task_roots
    from trainer_core.wire.regular_files import folders_with

    roots = task_roots(HomePaths(default_home()))
    found = {folder.relative_to(root).as_posix() for root in roots for folder in folders_with(root, "task.toml")}
    return [*BUILT_IN_TASKS, *sorted(filter(is_task_id, found))]


class _WaitForGymnasium:
    """First finder of `sys.meta_path` until gymnasium is imported; it then registers the environments."""

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
