"""Runs in jobs of a real Ray cluster of two nodes on this computer, through a token that it asks for."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.extras import extra_library
from trainer_core.lab.checkpoint_manifest import list_checkpoints, verify
from trainer_core.lab.paths import CHECKOUT, HomePaths
from trainer_core.runners.remote.jobs import ClusterError, RayJobs
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.log_reader import read_history
from trainer_core.wire.environment import child_environment, python_path
from trainer_core.wire.run_record import RunRecord

extra_library("ray", "python -m pip install 'dmglab[ray]'")
PATIENCE_S = 300.0


def until(condition: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < deadline, condition
        time.sleep(0.2)
    return found


def free_ports(count: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


class Cluster:
    """A head and a second node with one CPU each; `home` has the runs of this computer."""

    def __init__(self, folder: Path, temporary: Path) -> None:
        self.home = HomePaths(folder)
        gcs, port, agent = free_ports(3)
        self.address = f"ray+http://127.0.0.1:{port}"
        here = os.path.dirname(sys.executable)
        self.environment = child_environment(
            RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(16), RAY_USAGE_STATS_ENABLED="0",
            PATH=f"{here}:{os.environ['PATH']}", PYTHONPATH=python_path(str(CHECKOUT)), DMGLAB_HOME=str(folder),
        )  # fmt: skip
        os.environ["RAY_AUTH_TOKEN"] = self.environment["RAY_AUTH_TOKEN"]
        self.head = self._node("--head", f"--port={gcs}", f"--dashboard-port={port}", f"--temp-dir={temporary}")
        until(self._answers)
        self.second = self._node(f"--address=127.0.0.1:{gcs}", f"--dashboard-agent-listen-port={agent}")
        until(lambda: self._nodes() == 2)

    def _node(self, *more: str) -> subprocess.Popen[bytes]:
        words = ["ray", "start", "--block", "--num-cpus=1", "--object-store-memory=80000000", *more]
        return subprocess.Popen(words, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _answers(self) -> bool:
        try:
            return bool(RayJobs(self.address).version())
        except ClusterError:
            return False

    def _nodes(self) -> int:
        found = RayJobs(self.address)._object("GET", "/nodes?view=summary")
        return sum(node["raylet"].get("state") == "ALIVE" for node in found["data"]["summary"])

    def dmglab(self, *words: str) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-m", "dmglab", *words]
        return subprocess.Popen(argv, env=self.environment, stdout=subprocess.PIPE, cwd=CHECKOUT)

    def train(self, name: str, *more: str) -> subprocess.Popen[bytes]:
        words = ["--task", "tiny_goal", "--num-envs", "8", "--checkpoint-every", "50", "--eval-every", "0", *more]
        return self.dmglab("train", "--on", self.address, "--name", name, *words)

    def run(self, name: str) -> RunRecord | None:
        return next((run for run in RunRegistry(self.home).reconcile().values() if run.name == name), None)

    def checkpoints(self, name: str) -> list[Path]:
        run = self.run(name)
        return list_checkpoints(self.home.run(run.run_id)) if run else []


def kill(node: subprocess.Popen[bytes]) -> None:
    """End a node as a power cut does."""
    for process in (*psutil.Process(node.pid).children(recursive=True), psutil.Process(node.pid)):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    node.wait()


def result(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    out, _ = process.communicate(timeout=PATIENCE_S)
    return json.loads(out)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    before = dict(os.environ)
    made = Cluster(tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("r"))
    yield made
    for node in (made.second, made.head):
        if node.poll() is None:
            kill(node)
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.slow
def test_a_run_is_followed_again_stopped_and_resumed_and_lost_with_its_node(cluster: Cluster) -> None:
    first = cluster.train("one")
    until(lambda: cluster.checkpoints("one"))
    first.kill()  # its courier ends with it, the job goes on
    until(lambda: (run := cluster.run("one")) and run.state.is_end)
    runs = {"one": cluster.dmglab("resume", "one"), "two": cluster.train("two")}  # the second takes the other node
    until(lambda: cluster.checkpoints("two"))
    kill(cluster.second)
    lost, left = until(lambda: [name for name in runs if runs[name].poll() is not None])[0], {*runs}
    left.remove(lost)
    found = result(runs[lost])
    assert (found["state"], "Job supervisor actor died" in found["reason"]) == ("lost", True)
    (name,) = left
    runs[name].send_signal(signal.SIGINT)
    assert result(runs[name])["state"] == "stopped"
    before = cluster.run(name)
    assert before is not None
    further = result(cluster.dmglab("resume", name, "--total-env-steps", str(before.env_steps + 2000)))
    assert (further["state"], further["env_steps"] > before.env_steps) == ("finished", True)
    for name in runs:
        run = cluster.run(name)
        assert run is not None
        assert cluster.checkpoints(name)
        for folder in cluster.checkpoints(name):
            verify(folder)
        seqs = [event.seq for event in read_history(cluster.home.run(run.run_id).train_log).events]
        assert seqs == list(range(len(seqs)))
