"""Our own trainer in a job on a Ray cluster: the courier stands for its worker."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable
from pathlib import Path

from trainer_core.lab.paths import HomePaths
from trainer_core.lab.task_checks import check_algorithm, check_warm_start
from trainer_core.runners.native import NATIVE, NativeRunner
from trainer_core.runners.remote.jobs import ClusterError, RayJobs
from trainer_core.wire.checks import Check, Found
from trainer_core.wire.config import RunConfig
from trainer_core.wire.spec import RunSpec


class RemoteRunner(NativeRunner):
    """Runner of a spec whose option `on` names a cluster."""

    def check_options(self, spec: RunSpec, found: Found, home: HomePaths) -> Iterable[Check]:
        config = spec.configure(RunConfig)
        if (caution := check_algorithm(config)) is not None:
            yield caution
        if config.warm_start:
            yield check_warm_start(config.warm_start)
        try:
            version = RayJobs(config.on).version()
        except ClusterError as error:
            yield Check(name="Cluster", status="fail", detail=str(error), fix="Start Ray there, or open the tunnel")
        else:
            yield Check(name="Cluster", status="ok", detail=f"Ray {version} at {config.on}")

    def command(self, run_dir: Path) -> list[str]:
        return [sys.executable, "-m", "trainer_core.runners.remote.courier", str(run_dir)]

    def can_go_on(self, run_dir: Path) -> bool:
        return True  # its job may still train


REMOTE = RemoteRunner(
    **{field.name: getattr(NATIVE, field.name) for field in dataclasses.fields(NATIVE)}
    | {
        "title": "DMG Lab on a Ray cluster",
        "capabilities": NATIVE.capabilities.but(pause=False, checkpoints=False, watch=False),
        "modules": (),
        "waits": False,
    }
)
