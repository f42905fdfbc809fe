"""Process that validates copies of a run's weights on the CPU while the learner continues.

`ValidationProcess` is the learner's end of the connection. It imports no torch, since it starts while the learner's
torch still loads. `python -m trainer_core.host.validation_process LINK WEIGHTS` is the other end. Messages are JSON on
a socket; weights are in a file that both have open, so that the learner never waits. The process ends with the
learner's.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from socket import socketpair
from typing import TYPE_CHECKING, Any, BinaryIO

from trainer_core.host.process_start import begin_process, load_torch
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.wire import records
from trainer_core.wire.config import RunConfig
from trainer_core.wire.environment import OF_RANKS, child_environment, cores_of_rank, python_path, rank_place
from trainer_core.wire.process_guard import die_with_parent, family, kill_group

if TYPE_CHECKING:
    from trainer_core.learn.policy import PixelActorCritic

SPARE_CORES = 4
"""Cores, the learner's own included, that `auto` requires to start this process."""
LONGEST_S = 300.0
"""Time limit of one validation; a process that takes longer is considered hung and is ended."""
MOST_THREADS = 4
"""Maximum number of torch threads in the process; the consoles have their own threads."""
KINDS: dict[str, type[records.Record]] = {kind.__name__: kind for kind in (records.EvalRecord, records.EpisodeRecord)}


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """Result of one validation by a `Validator`."""

    records: list[tuple[type[records.Record], dict[str, Any]]]
    rates: dict[str, float]
    """Fields of `progress.Rates`, which is not imported here since it would import torch."""


def wanted(config: RunConfig) -> bool:
    """Return whether the configuration asks for a validation process for this run.

    Only rank 0 validates. With several ranks all wait at every step for the slowest, so the setting `auto` leaves the
    cores to them.
    """
    if not config.eval_every or not rank_place().is_first:
        return False
    if config.validate_on != "auto":
        return config.validate_on == "cpu"
    if rank_place().world > 1:
        return False
    return config.device.startswith("cuda") and cores_of_rank() >= SPARE_CORES


def started(config: RunConfig) -> ValidationProcess | None:
    """Return a process for this run, None if it is not wanted or cannot be started."""
    with contextlib.suppress(OSError):
        return ValidationProcess() if wanted(config) else None
    return None


class ValidationProcess:
    """Child process that plays one copy of the weights at a time; only `wait` and `close` block."""

    def __init__(self) -> None:
        """Start the process; raises OSError. Call it on a long-lived thread: the process ends with that thread."""
        ours, theirs = socketpair()
        self._weights: BinaryIO = tempfile.TemporaryFile(prefix="dmglab-weights-")  # noqa: SIM115
        self._link = Connection(ours.detach())
        self.is_idle = self.is_over = False
        """`is_idle`: loaded and not playing; `is_over`: ended, or killed because it hung."""
        self._begun = 0.0
        shared = (theirs.fileno(), self._weights.fileno())
        root = str(Path(__file__).resolve().parents[2])
        environment = child_environment(
            without=OF_RANKS, **family(), PYTHONPATH=python_path(root), CUDA_VISIBLE_DEVICES=""
        )
        try:
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__, *map(str, shared)],
                pass_fds=shared,
                env=environment,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
            )
        finally:
            theirs.close()

    def set_up(self, config: RunConfig, home: HomePaths, paths: RunPaths, policy: Any) -> None:
        """Send the configuration and the shape of `policy`, the learner's network."""
        told = {
            "config": dataclasses.replace(config, device="cpu", policy=policy.kind).to_dict(),
            "home": str(home.root.resolve()),
            "run": str(paths.root.resolve()),
            "network": [policy.obs_shape, policy.num_actions],
        }
        self._send(told)

    def begin(self, update: int, env_steps: int, weights: bytes) -> None:
        """Start a validation of these weights (safetensors); call it only while `is_idle`.

        If they cannot be written completely (full disk), the process is ended: `take` then returns None and the learner
        validates itself.
        """
        try:
            written = os.pwrite(self._weights.fileno(), weights, 0)
        except OSError:
            written = 0
        if written != len(weights):
            self.close()
            return
        self.is_idle, self._begun = False, time.monotonic()
        self._send({"update": update, "env_steps": env_steps, "bytes": len(weights)})

    def take(self) -> Result | None:
        """Return a validation result that has arrived, else None; update `is_idle` and `is_over`."""
        if self.is_over:
            return None
        try:
            while self._link.poll():
                told = json.loads(self._link.recv_bytes())
                self.is_idle = True
                if "records" in told:
                    found = [(KINDS[kind], fields) for kind, fields in told.pop("records")]
                    self._begun = 0.0
                    return Result(records=found, **told)
        except (EOFError, OSError):
            self.close()
        if self._begun and time.monotonic() - self._begun > LONGEST_S:
            self.close()
        return None

    def wait(self, seconds: float) -> None:
        """Wait for a message, at most `seconds`."""
        if not self.is_over:
            with contextlib.suppress(OSError):
                self._link.poll(seconds)

    def close(self) -> None:
        """Kill the process, which holds no data that could be lost."""
        if self.is_over:
            return
        self.is_over, self.is_idle = True, False
        self._link.close()
        kill_group(self._child.pid)
        self._child.wait()
        self._weights.close()

    def _send(self, message: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # the process has ended, which `take` notices
            self._link.send_bytes(json.dumps(message).encode())


# -- the process ------------------------------------------------------------------------------


class _Player:
    """Model for the Validator: a network whose weights are replaced before each validation."""

    def __init__(self, policy: PixelActorCritic) -> None:
        self.forward = policy


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Redirect standard error, of C code too, to /dev/null."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def serve(link: Connection, weights: BinaryIO) -> None:
    """Load torch and the game, report readiness, then run the requested validations.

    Raises EOFError when the learner's process is gone.
    """
    with _silent():  # Warp reports missing GPUs
        load_torch()
    import safetensors.torch
    import torch

    from trainer_core.host.validator import Validator
    from trainer_core.learn.policy import policy_for

    told = json.loads(link.recv_bytes())
    obs_shape, num_actions = told["network"]
    torch.set_num_threads(max(1, min(MOST_THREADS, cores_of_rank() - 1)))
    config = RunConfig.from_dict(told["config"])
    policy = policy_for(config, tuple(obs_shape), num_actions).eval()
    validator = Validator(config, HomePaths(Path(told["home"])), _Player(policy), RunPaths(Path(told["run"])))
    validator.load()
    link.send_bytes(b"{}")
    while True:
        order = json.loads(link.recv_bytes())
        weights.seek(0)
        policy.load_state_dict(safetensors.torch.load(weights.read(order["bytes"])))
        found = list(validator.validate(order["update"], order["env_steps"]))
        result = {
            "records": [(kind.__name__, fields) for kind, fields in found],
            "rates": dataclasses.asdict(validator.rates),
        }
        link.send_bytes(json.dumps(result).encode())


def main() -> None:
    die_with_parent()
    begin_process()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(OSError):
        os.nice(5)
    link = Connection(int(sys.argv[1]))
    with contextlib.suppress(EOFError, OSError), open(int(sys.argv[2]), "rb", buffering=0) as file:
        serve(link, file)
    os._exit(0)


if __name__ == "__main__":
    main()
