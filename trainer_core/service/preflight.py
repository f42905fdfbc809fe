"""Checks before a run: each ok, warn or fail with a remedy. This file has their list and order.

| question              | owner                          | asked by                                |
|-----------------------|--------------------------------|-----------------------------------------|
| data folder, disk     | this file                      | app, doctor                             |
| interpreter, modules  | `AgentRunner.readiness`        | app, in the runner's own interpreter    |
| device                | this file; startable for torch | app from the probe; CLI, worker         |
| task, warm start      | lab.task_checks                | app, CLI, worker                        |
| memory                | lab.memory_estimate            | app, CLI, worker                        |
| algorithm             | lab.task_checks                | app, CLI                                |
| ROM opens             | envs.startable                 | CLI, worker                             |
| W&B, if it is ticked  | service.wandb_sender           | app, CLI                                |
| cluster answers       | runners.native                 | app, CLI                                |

Nothing here imports torch or warp; a probe that hangs is a finding after its patience, not a wait.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from trainer_core.lab.guest_environment import PROBE_PATIENCE_S
from trainer_core.lab.memory_estimate import device_number
from trainer_core.lab.paths import HomePaths, child_folder
from trainer_core.lab.tasks import BUILT_IN_TASKS
from trainer_core.lab.trust import require_own_environment
from trainer_core.runners.base import AgentRunner
from trainer_core.service.wandb_sender import check_wandb
from trainer_core.wire.checks import Check, Found, Status, size
from trainer_core.wire.environment import child_environment
from trainer_core.wire.errors import ConfigError, LabError
from trainer_core.wire.process_guard import kill_group
from trainer_core.wire.spec import RunSpec

__all__ = ["BUILT_IN_TASKS", "Check", "run_checks"]

DISK_FAIL_BYTES, DISK_WARN_BYTES = 500 << 20, 2 << 30


async def run_checks(spec: RunSpec, home: HomePaths, runner: AgentRunner, wandb: str = "") -> AsyncIterator[Check]:
    """Yield every check, in the order a person would ask, while the runner's interpreter is probed.

    `wandb` is PROJECT/NAME at W&B if the run is to be sent there.
    """
    runner = runner.at(home).placed(spec)
    probe = asyncio.create_task(_probe(runner))
    try:
        yield check_home(home)
        yield check_disk(home)
        yield await asyncio.to_thread(runner.check_task, spec, home)
        found = await probe
        yield check_python(found, runner)
        if not spec.is_remote:
            yield check_device(found, spec, runner)
        for check in await asyncio.to_thread(_check_options, runner, spec, found, home):
            yield check
        if wandb:
            yield await asyncio.to_thread(check_wandb, wandb)
    finally:
        probe.cancel()
        await asyncio.wait([probe])


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
    return Check(name="Disk", status=status, detail=f"{size(free)} free", fix=fix)


def check_python(found: Found, runner: AgentRunner) -> Check:
    """Check the runner's own interpreter and the modules that it needs there."""
    if found.get("absent"):
        return Check(
            name="Python",
            status="fail",
            detail=f"{runner.title} has no interpreter {runner.interpreter}",
            fix=runner.install or "Install it again",
        )
    if "python" not in found:
        return Check(
            name="Python",
            status="warn",
            detail=f"the interpreter was not asked: {found.get('error', 'no answer')}",
            fix="Go on if the computer is only busy; otherwise try again",
        )
    modules = found.get("modules", {})
    missing = [name for name in runner.modules if modules.get(name) is None]
    if missing:
        return Check(
            name="Python",
            status="fail",
            detail=f"{' '.join(missing)} cannot be found by {runner.interpreter}",
            fix=runner.install,
        )
    versions = ", ".join([found["python"], *(f"{name} {modules[name]}" for name in modules)])
    return Check(name="Python", status="ok", detail=versions)


def check_device(found: Found, spec: RunSpec, runner: AgentRunner) -> Check:
    gpus = found.get("gpus", [])
    if spec.device == "cpu":
        if runner.capabilities.requires_cuda:
            return Check(
                name="Device",
                status="fail",
                detail=f"{runner.title} needs a CUDA device",
                fix="Pick cuda:0" if gpus else "Use a computer with an NVIDIA GPU",
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
    number = device_number(spec.device)
    if number < len(gpus):
        gpu = gpus[number]
        return Check(name="Device", status="ok", detail=f"{gpu['name']}, {size(gpu['bytes'])}")
    if "python" not in found:
        return Check(name="Device", status="warn", detail=f"{spec.device} was not asked")
    detail = "no CUDA device" if not gpus else f"only {len(gpus)} CUDA device(s)"
    envs = spec.options.get("num_envs")
    fewer = {"num_envs": min(envs, 64)} if isinstance(envs, int) else {}
    return Check(
        name="Device",
        status="fail",
        detail=f"{detail}; {spec.device} was chosen",
        fix="Use the CPU with fewer Game Boys" if fewer else "Use the CPU",
        remedy={"device": "cpu", **fewer},
    )


def _check_options(runner: AgentRunner, spec: RunSpec, found: Found, home: HomePaths) -> list[Check]:
    try:
        return list(runner.check_options(spec, found, home))
    except ConfigError as error:
        return [Check(name="Options", status="fail", detail=str(error))]


async def _probe(runner: AgentRunner) -> Found:
    """Return what the runner's interpreter reports about itself; only `error` when it does not answer.

    The process is started at once and awaited in a thread: a start of asyncio's own that is cancelled half-way may
    never return (Python 3.11, once its loop is closing).
    """
    argv = runner.readiness()
    try:
        require_own_environment(argv[0])
        process = subprocess.Popen(
            argv,
            cwd=child_folder(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=child_environment(argv[0]),
            start_new_session=True,
        )
    except FileNotFoundError as error:
        return {"error": str(error.strerror), "absent": True}
    except OSError as error:
        return {"error": str(error.strerror)}
    except LabError as error:
        return {"error": str(error)}
    try:
        return await asyncio.to_thread(_answer, process)
    except asyncio.CancelledError:
        _kill(process)  # this ends the thread as well
        raise


def _answer(process: subprocess.Popen[bytes]) -> Found:
    try:
        out, err = process.communicate(timeout=PROBE_PATIENCE_S)
    except subprocess.TimeoutExpired:
        _kill(process)
        process.communicate()
        return {"error": f"no answer within {PROBE_PATIENCE_S:g} s"}
    try:
        return json.loads(out)
    except ValueError:
        text = err.decode("utf-8", "replace").strip()
        return {"error": text.splitlines()[-1] if text else "it said nothing"}


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the probing process and its children: a wrapper around an interpreter is a process of its own."""
    if process.poll() is None:
        kill_group(process.pid)


def _short(path: Path) -> str:
    home = Path.home()
    return f"~/{path.relative_to(home)}" if path.is_relative_to(home) else str(path)
