"""`dmglab doctor`: report devices, versions, compiled kernels and caches of this machine."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from trainer_core.cli.desktop import install_desktop_file, remove_desktop_file
from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.cli.output import Result
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.tasks import BUILT_IN_TASKS, broken_tasks, list_tasks
from trainer_core.runners.catalog import NATIVE, broken_runners
from trainer_core.service.preflight import check_home
from trainer_core.wire.environment import desktop

PACKAGES = (
    "dmglab",
    "torch",
    "warp-lang",
    "numpy",
    "safetensors",
    "gymnasium",
    "matplotlib",
    "pillow",
    "msgspec",
    "pyside6-essentials",
)


@dataclass(frozen=True)
class Options:
    compile: bool = False
    """Compile missing kernels and measure the start of a new process."""
    install_desktop: bool = False
    """Add the app and its icon to the menu of the desktop."""
    remove_desktop: bool = False
    """Remove the app and its icon from the menu of the desktop."""
    home: Home = None


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "doctor", argv)
    home = home_paths(options.home)
    problems: list[str] = []
    found = {
        "python": {"version": platform.python_version(), "executable": sys.executable},
        "system": _system(),
        "packages": {name: _version(name) for name in PACKAGES},
        "devices": _devices(problems),
        "kernels": _kernels(problems),
        "home": _home(home, problems),
        "tasks": [*BUILT_IN_TASKS, *(task.id for task in list_tasks(home))],
        "broken_tasks": broken_tasks(home),
        "broken_runners": broken_runners(),
    }
    missing = [name for name in NATIVE.modules if not _importable(name)]
    if missing:
        problems.append(f"{', '.join(missing)} not installed: pip install 'dmglab[train]'")
    if options.compile and not problems:
        from emulator.tools.warmup import warm_up

        found["start_s"] = warm_up(str(found["devices"][-1]["name"]))
    if options.install_desktop:
        found["installed"] = install_desktop_file()
    if options.remove_desktop:
        found["removed"] = remove_desktop_file()
    verdict: dict[str, Any] = {"ok": not problems}
    if problems:
        verdict["error"] = "; ".join(problems)
    return Result({**verdict, **found, "problems": problems}, describe(found))


def describe(found: dict[str, Any]) -> str:
    """Return the report as a table of two columns, for a person."""
    rows = [("python", f"{found['python']['version']}  {found['python']['executable']}")]
    system = found["system"]
    memory, free = system["memory_bytes"], system["memory_free_bytes"]
    rows += [
        ("system", system["platform"]),
        ("cores", f"{system['cores']}, {system['threads']} threads"),
        ("memory", f"{memory / 2**30:.1f} GiB, {free / 2**30:.1f} free"),
        ("display", system["display"] or "none"),
    ]
    rows += [(name, version or "not installed") for name, version in found["packages"].items()]
    for device in found["devices"]:
        more = (device.get("model", ""), device.get("driver", "") and f"driver {device['driver']}")
        rows.append((f"device {device['name']}", "  ".join(filter(None, more))))
    if kernels := found["kernels"]:
        size = f"{kernels['cache_bytes'] / 2**20:.0f} MiB"
        text = f"{len(kernels['modules'])} modules of ours, {size} in {kernels['cache']}"
        rows.append(("kernels", text))
    home = found["home"]
    rows.append(("home", f"{home['path']}  {home['free_bytes'] / 2**30:.1f} GiB free"))
    rows.append(("tasks", f"{len(found['tasks'])}; `dmglab task list` names them"))
    rows += [("broken runner", reason) for reason in found["broken_runners"].values()]
    if "start_s" in found:
        rows.append(("start", ", ".join(f"{key} {s}" for key, s in found["start_s"].items())))
    for verb in ("installed", "removed"):
        rows += [(verb, path) for path in found.get(verb, ["nothing"] if verb in found else [])]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {text}".rstrip() for name, text in rows)


def _system() -> dict[str, Any]:
    return {
        "platform": platform.platform(),
        "cores": psutil.cpu_count(logical=False),
        "threads": psutil.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "memory_free_bytes": psutil.virtual_memory().available,
        "display": desktop().display,
    }


def _devices(problems: list[str]) -> list[dict[str, Any]]:
    """Return the cpu, then every CUDA device that torch sees."""
    try:
        import torch

        from trainer_core.host.provenance import device_name, versions
    except ImportError:
        return [{"name": "cpu"}]
    found: list[dict[str, Any]] = [{"name": "cpu", "model": device_name(torch.device("cpu"))}]
    driver = versions()["driver"]
    if driver and not torch.cuda.is_available():
        way = "" if torch.version.cuda else "; DMGLAB_TORCH=cuda ./run installs a build with CUDA"
        problems.append(f"driver {driver} is there, but torch {torch.__version__} finds no GPU{way}")
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        found.append(
            {
                "name": f"cuda:{index}",
                "model": properties.name,
                "driver": driver,
                "cuda": torch.version.cuda,
                "memory_bytes": properties.total_memory,
                "capability": f"{properties.major}.{properties.minor}",
            }
        )
    return found


def _kernels(problems: list[str]) -> dict[str, Any]:
    """Return the state of Warp's cache of compiled kernels and of DMG Lab's modules in it."""
    try:
        import warp as wp

        from emulator.launch.warp_start import start_warp
    except ImportError:
        return {}
    start_warp()
    cache = Path(wp.config.kernel_cache_dir or "")
    if not os.access(cache, os.W_OK):
        problems.append(f"{cache}: kernels cannot be cached there; set WARP_CACHE_PATH")
    ours = sorted(folder.name for folder in cache.glob("wp_emulator*") if folder.is_dir())
    return {
        "cache": str(cache),
        "modules": ours,
        "cache_bytes": sum(file.stat().st_size for file in cache.rglob("*") if file.is_file()),
        "warp_devices": [str(device) for device in wp.get_devices()],
    }


def _home(home: HomePaths, problems: list[str]) -> dict[str, Any]:
    check = check_home(home)
    if check.status != "ok":
        problems.append(f"{check.detail}; choose another folder with --home")
        return {"path": str(home.root), "free_bytes": 0}
    return {"path": str(home.root), "free_bytes": shutil.disk_usage(home.root).free}


def _importable(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
