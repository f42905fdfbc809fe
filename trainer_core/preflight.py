"""Checks before a run: each ok, warn or fail with what to do. Probes run in a subprocess.

Nothing here imports torch or warp; a probe that hangs is a finding after three seconds, not a wait.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import msgspec
import psutil

from trainer_core.protocol.config import RunConfig
from trainer_core.protocol.errors import LabError, TaskError
from trainer_core.protocol.paths import CHECKOUT, HomePaths
from trainer_core.protocol.tasks import BUILT_IN_TASKS, find_task, verify_file
from trainer_core.runners.catalog import NATIVE, Runner

Status = Literal["ok", "warn", "fail"]
PROBE_TIMEOUT_S = 3.0
DISK_FAIL_BYTES, DISK_WARN_BYTES = 500 << 20, 2 << 30
MACHINE_BYTES = 48 << 10
WORKER_BYTES = 700 << 20
"""Resident size of a worker that has loaded torch and warp and trains nothing."""
OBSERVATION_BYTES = 72 * 80


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One finding. `fix` says what to do; `remedy` names a change that an app can make itself."""

    name: str
    status: Status
    detail: str
    fix: str = ""
    remedy: dict[str, Any] = {}
    """RunConfig fields with the values that would help."""


async def run_checks(
    config: RunConfig, home: HomePaths, runner: Runner = NATIVE
) -> AsyncIterator[Check]:
    """Every check, in the order in which a person would ask; the probe runs meanwhile."""
    probe = asyncio.create_task(_probe(runner))
    try:
        yield check_home(home)
        yield check_disk(home)
        yield await asyncio.to_thread(check_task, config, home)
        found = await probe
        yield check_python(found, runner)
        yield check_device(found, config, runner)
        yield check_memory(found, config)
    finally:
        probe.cancel()


def check_home(home: HomePaths) -> Check:
    try:
        home.runs.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=home.runs):
            pass
    except OSError as error:
        return Check(
            name="Data folder",
            status="fail",
            detail=f"{home.root} cannot be written: {error.strerror}",
            fix="Start with --home and a folder that you may write to",
        )
    return Check(name="Data folder", status="ok", detail=_short(home.root))


def check_disk(home: HomePaths) -> Check:
    folder = next(path for path in (home.root, *home.root.parents) if path.exists())
    free = shutil.disk_usage(folder).free
    status: Status = "ok"
    if free < DISK_WARN_BYTES:
        status = "fail" if free < DISK_FAIL_BYTES else "warn"
    fix = "" if status == "ok" else "Free some space, or start with --home on another disk"
    return Check(name="Disk", status=status, detail=f"{_size(free)} free", fix=fix)


def check_task(config: RunConfig, home: HomePaths) -> Check:
    if config.task in BUILT_IN_TASKS:
        return Check(name="Task", status="ok", detail=f"{config.task}, built in")
    try:
        task = find_task(config.task, home)
        verify_file(task.starts_path, task.manifest.starts.sha256, "file of start states")
        verify_file(task.goal_path, task.manifest.goal.sha256, "goal template")
        if task.rom_path is not None:
            verify_file(task.rom_path, task.manifest.rom.sha256, "ROM")
    except TaskError as error:
        return Check(
            name="Task",
            status="fail",
            detail=str(error),
            fix="Pick another task, or restore the file that is named",
        )
    return Check(name="Task", status="ok", detail=f"{task.id}, files match their hashes")


def check_python(found: dict[str, Any], runner: Runner) -> Check:
    if "error" in found:
        return Check(
            name="Python",
            status="warn",
            detail=f"the interpreter was not asked: {found['error']}",
            fix="Go on if the machine is only busy; otherwise try again",
        )
    missing = [name for name in runner.modules if found["modules"].get(name) is None]
    if missing:
        extra = " ".join(missing)
        return Check(
            name="Python",
            status="fail",
            detail=f"{extra} cannot be found by {sys.executable}",
            fix=f"{Path(sys.executable).name} -m pip install 'dmglab[train]'",
        )
    versions = ", ".join(f"{name} {version}" for name, version in found["modules"].items())
    return Check(name="Python", status="ok", detail=f"{found['python']}, {versions}")


def check_device(found: dict[str, Any], config: RunConfig, runner: Runner) -> Check:
    gpus = found.get("gpus", [])
    if config.device == "cpu":
        if runner.capabilities.requires_cuda:
            return Check(
                name="Device",
                status="fail",
                detail=f"{runner.title} needs a CUDA device",
                fix="Pick cuda:0" if gpus else "Use a machine with an NVIDIA GPU",
                remedy={"device": "cuda:0"} if gpus else {},
            )
        if gpus:
            return Check(
                name="Device",
                status="warn",
                detail=f"CPU chosen, {gpus[0]['name']} is idle",
                fix="Use cuda:0",
                remedy={"device": "cuda:0"},
            )
        return Check(name="Device", status="ok", detail=f"CPU, {os.cpu_count()} cores")
    number = int(config.device.partition(":")[2] or 0)
    if number < len(gpus):
        gpu = gpus[number]
        return Check(name="Device", status="ok", detail=f"{gpu['name']}, {_size(gpu['bytes'])}")
    if "error" in found:
        return Check(name="Device", status="warn", detail=f"{config.device} was not asked")
    detail = "no CUDA device" if not gpus else f"only {len(gpus)} CUDA device(s)"
    return Check(
        name="Device",
        status="fail",
        detail=f"{detail}; {config.device} was chosen",
        fix="Use the CPU with fewer machines",
        remedy={"device": "cpu", "num_envs": min(config.num_envs, 64)},
    )


def check_memory(found: dict[str, Any], config: RunConfig) -> Check:
    need = memory_estimate(config)
    on_gpu = config.device != "cpu"
    number = int(config.device.partition(":")[2] or 0) if on_gpu else 0
    if on_gpu:
        gpus = found.get("gpus", [])
        if number >= len(gpus):
            return Check(name="Memory", status="warn", detail=f"{_size(need)} needed, GPU unknown")
        have = gpus[number]["bytes"]
    else:
        have = psutil.virtual_memory().available
    detail = f"about {_size(need)} of {_size(have)}"
    if need <= have * 0.9:
        return Check(name="Memory", status="ok", detail=detail)
    fits = config.num_envs
    while fits > 1 and memory_estimate(config, fits) > have * 0.8:
        fits //= 2
    return Check(
        name="Memory",
        status="fail",
        detail=f"needs {detail}",
        fix=f"Use {fits:,} machines",
        remedy={"num_envs": fits},
    )


def memory_estimate(config: RunConfig, num_envs: int | None = None) -> int:
    """Bytes of machines, rollout and one minibatch's activations; a bound, not a promise."""
    envs = config.num_envs if num_envs is None else num_envs
    picture = config.stack_k * OBSERVATION_BYTES
    rollout = envs * (config.num_steps + 1) * (picture + 64)
    minibatch = envs * config.num_steps // max(1, config.num_minibatches)
    # A Nature CNN keeps about 12 float32 activations per input pixel for its backward pass.
    activations = min(minibatch, 32768) * OBSERVATION_BYTES * 12
    return WORKER_BYTES + envs * MACHINE_BYTES + rollout + activations


_PROBE = """
import ctypes, importlib.metadata as metadata, importlib.util as util, json, platform, sys
modules = {}
for name in sys.argv[1:]:
    spec = util.find_spec(name)
    try:
        version = metadata.version({"warp": "warp-lang"}.get(name, name))
    except metadata.PackageNotFoundError:
        version = "?"
    modules[name] = version if spec else None
gpus = []
try:
    cuda = ctypes.CDLL("libcuda.so.1")
    count = ctypes.c_int()
    if cuda.cuInit(0) == 0 and cuda.cuDeviceGetCount(ctypes.byref(count)) == 0:
        for index in range(count.value):
            name, size = ctypes.create_string_buffer(100), ctypes.c_size_t()
            cuda.cuDeviceGetName(name, 100, index)
            cuda.cuDeviceTotalMem_v2(ctypes.byref(size), index)
            gpus.append({"name": name.value.decode(), "bytes": size.value})
except OSError:
    pass
print(json.dumps({"python": platform.python_version(), "modules": modules, "gpus": gpus}))
"""


async def _probe(runner: Runner) -> dict[str, Any]:
    """What the trainer's interpreter finds: versions and CUDA devices; `error` when it cannot."""
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            _PROBE,
            *runner.modules,
            cwd=str(CHECKOUT),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        return {"error": error.strerror}
    try:
        out, err = await asyncio.wait_for(process.communicate(), PROBE_TIMEOUT_S)
    except (TimeoutError, asyncio.CancelledError) as error:
        process.kill()
        if isinstance(error, asyncio.CancelledError):
            raise
        return {"error": f"no answer within {PROBE_TIMEOUT_S:g} s"}
    try:
        return json.loads(out)
    except ValueError:
        text = err.decode("utf-8", "replace").strip()
        return {"error": text.splitlines()[-1] if text else "it said nothing"}


def raise_on_failure(checks: list[Check]) -> None:
    """For shells: LabError with the first failed check and its fix."""
    for check in checks:
        if check.status == "fail":
            raise LabError(f"{check.name}: {check.detail}. {check.fix}".rstrip(". ") + ".")


def _size(count: float) -> str:
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if count >= 100 or unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError


def _short(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
