"""Fields of meta records and checkpoint manifests that describe a run and its origin."""

from __future__ import annotations

import platform
import subprocess
import sys
from importlib import metadata
from typing import Any

import torch

from trainer_core.envs.build import TaskFacts
from trainer_core.host.progress import Counters, RunProgress
from trainer_core.host.trainee import Trainee
from trainer_core.lab.checkpoint_manifest import CheckpointMeta
from trainer_core.lab.paths import CHECKOUT
from trainer_core.wire.records import trace_of
from trainer_core.wire.spec import RunSpec


def meta_of(spec: RunSpec, facts: TaskFacts, trainee: Trainee) -> dict[str, Any]:
    """Return the fields of a new run's meta record."""
    return {
        "runner": spec.runner,
        "task": spec.task,
        "algo": spec.options["algo"],
        "config": spec.to_dict(),
        "argv": sys.orig_argv,
        "git_sha": git_sha(),
        "rom_sha256": facts.rom_sha256,
        "starts_sha256": facts.starts_sha256,
        "goal_sha256": facts.goal_sha256,
        "codec": facts.codec,
        "observation_rule": facts.observation_rule,
        "stack_k": trainee.obs_shape[0],
        "frames_per_step": facts.frames_per_step,
        "release_after_frames": facts.release_after_frames,
        "num_envs": trainee.num_envs,
        "seed": spec.seed,
        "device": spec.device,
        "device_name": device_name(torch.device(spec.device)),
        "versions": versions() | trainee.versions,
    }


def describe(
    spec: RunSpec, facts: TaskFacts, trainee: Trainee, now: Counters, progress: RunProgress, *, run_id: str, reason: str
) -> CheckpointMeta:
    """Return the manifest of a checkpoint of the current state, without its files."""
    return CheckpointMeta(
        runner=spec.runner,
        run_id=run_id,
        trace_id=trace_of(run_id, now.update),
        task=spec.task,
        env_steps=now.env_steps,
        update=now.update,
        policy=trainee.policy,
        obs_shape=trainee.obs_shape,
        num_actions=trainee.num_actions,
        codec=facts.codec,
        observation_rule=facts.observation_rule,
        config=spec.to_dict(),
        hashes=facts.hashes,
        success_rate=progress.success,
        leaving_success_rate=progress.leaving,
        sampled_success_rate=progress.sampled,
        validated_env_steps=progress.validated_env_steps,
        offline_dataset=trainee.offline_dataset,
        reason=reason,
    )


def git_sha() -> str:
    """Return the checkout's commit, with `+` when files differ from it; "" without a repository."""
    if CHECKOUT is None:  # a repository around site-packages is another project's
        return ""
    try:
        head = _git("rev-parse", "HEAD")
        dirty = _git("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return ""
    return head + ("+" if dirty else "")


def versions() -> dict[str, str]:
    return {
        "python": platform.python_version(),
        "torch": str(torch.__version__),
        "warp": _version("warp-lang"),
        "cuda": torch.version.cuda or "",
        "driver": _driver_version(),
        "numpy": _version("numpy"),
        "dmglab": _version("dmglab"),
    }


def device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as cpuinfo:
            for line in cpuinfo:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(CHECKOUT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _driver_version() -> str:
    try:
        with open("/proc/driver/nvidia/version", encoding="utf-8") as file:
            words = file.readline().split()
    except OSError:
        return ""
    return next((word for word in words if word[0].isdigit() and "." in word), "")
