"""Trials on a Ray cluster: one Ray actor for each, which Ray places, queues and watches.

Ray decides where and when a trial runs and reports lost nodes. The actor is a `TrialSlot`, which also runs trials on
one computer, and the rules that end a trial are the same. Ray is imported only for `--ray`.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from trainer_core.lab.paths import CHECKOUT, HomePaths
from trainer_core.sweeps.slot import unborn
from trainer_core.sweeps.sweep import Sweep, Trial
from trainer_core.wire.addresses import is_host, shown_address
from trainer_core.wire.environment import python_path, tell_libraries_unless_told
from trainer_core.wire.errors import ConfigError, FailureError, LabError
from trainer_core.wire.run_record import RunRecord

ANSWER_S = 10.0
MAX_LIVES = 3
"""Maximum number of times a trial is started when its node is lost."""


def connect(address: str) -> Any:
    """Return the module `ray`, connected to the cluster at `address`; `local` starts one here.

    Raises ConfigError when Ray is not installed or no cluster answers.
    """
    tell_libraries_unless_told(RAY_ENABLE_UV_RUN_RUNTIME_ENV="0")
    try:
        import ray  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise ConfigError(
            "--ray needs Ray: python -m pip install 'dmglab[ray]', on every node; without --ray the sweep runs on this "
            "computer"
        ) from None
    _check_answer(address)
    # A checkout is used at its path (the nodes share it, as they share the home).
    shared = [str(CHECKOUT)] if CHECKOUT else []
    path = python_path(*shared)
    try:
        ray.init(
            address=None if address == "local" else address,
            runtime_env={"env_vars": {"PYTHONPATH": path}} if path else None,
            include_dashboard=False if address == "local" else None,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        said = " ".join(str(error).split())[:200]
        raise ConfigError(f"no Ray cluster at {address!r}: {said}") from None
    return ray


def _check_answer(address: str) -> None:
    """Raise ConfigError when no server listens there; Ray itself takes a minute to report that."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if address in ("local", "auto"):
        return
    if not colon or not port.isdigit() or not is_host(host):
        raise ConfigError(f"--ray wants auto, local, HOST:PORT or ray://HOST:PORT, got {shown_address(address)}")
    try:
        socket.create_connection((host, int(port)), timeout=ANSWER_S).close()
    except (OSError, OverflowError) as error:
        raise ConfigError(f"no Ray cluster at {address}: {error}") from None


class RaySlots:
    """Places for trials on a cluster: as many as it has room for, at most `most`."""

    def __init__(
        self, ray: Any, home: HomePaths, sweep: Sweep, *, cpus: float, gpus: float, most: int, actor: type
    ) -> None:
        """Set up; `actor` is TrialSlot, or a test's replacement."""
        self.places = most or len(sweep.trials)
        self._ray, self._home, self._sweep = ray, home, sweep
        self._device = "cuda:0" if gpus else "cpu"  # Ray shows only an actor's own GPUs to it
        self._make = ray.remote(actor).options(num_cpus=cpus, num_gpus=gpus, max_restarts=0)
        self._check_resources(cpus, gpus)
        self._busy: dict[int, Any] = {}
        self._placed: set[int] = set()
        self._given_up: dict[int, str] = {}

    def _check_resources(self, cpus: float, gpus: float) -> None:
        """Raise ConfigError when no node could ever take a trial; Ray would wait for ever."""
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        fit = (n for n in nodes if n.get("CPU", 0) >= cpus and n.get("GPU", 0) >= gpus)
        if not any(fit):
            raise ConfigError(
                f"no node of the Ray cluster has {cpus:g} CPUs and {gpus:g} GPUs for a trial: "
                "say fewer with --cpus-per-trial and --gpus-per-trial"
            )

    async def run(self, trial: Trial, began: Callable[[str], None]) -> RunRecord:
        """Run the trial on any node to its end; return its record. Raises LabError when it cannot continue."""
        lost = self._ray.exceptions.RayActorError
        for _ in range(MAX_LIVES):
            actor = self._make.remote(str(self._home.root), self._sweep.sweep_id)
            self._busy[trial.number] = actor
            try:
                began(await _awaited(actor.node.remote()))
                self._placed.add(trial.number)
                found = await _awaited(actor.run.remote(trial.number, self._device))
                return msgspec.json.decode(found, type=RunRecord)
            except lost:
                if reason := self._given_up.get(trial.number):
                    return unborn(self._sweep, trial, reason)
                began("")
            except self._ray.exceptions.RayTaskError as error:
                raise _as_lab_error(error, self._home.root) from None
            finally:
                self._placed.discard(trial.number)
                self._busy.pop(trial.number, None)
                del actor  # the last handle: Ray ends it and frees its place
        raise FailureError(f"trial {trial.number} lost its node {MAX_LIVES} times")

    async def stop(self, trial: Trial, reason: str) -> None:
        """Stop the trial by the ladder; one that still waits for a place is removed."""
        if (actor := self._busy.get(trial.number)) is None:
            return
        if trial.number not in self._placed:
            self._given_up[trial.number] = reason
            self._ray.kill(actor)
            return
        try:
            await _awaited(actor.stop.remote(reason))
        except self._ray.exceptions.RayError:  # its node is lost, and the trial with it
            return

    async def close(self) -> None:
        await asyncio.to_thread(self._ray.shutdown)


async def _awaited(ref: Any) -> Any:
    return await ref


def _as_lab_error(error: Any, home: Path) -> LabError:
    cause = getattr(error, "cause", error)
    if isinstance(cause, LabError):
        text = str(cause)
        if "no sweep" in text:
            text = f"a node does not see {home}: share that folder among the nodes, same path"
        return LabError(text)
    return LabError(f"on a node: {type(cause).__name__}: {' '.join(str(cause).split())[:300]}")
