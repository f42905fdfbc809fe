"""Our own trainer as a runner: `trainer_core.worker` trains, `trainer_core.player` plays."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from trainer_core.lab.memory_estimate import available_for, check_memory
from trainer_core.lab.paths import HomePaths, child_folder
from trainer_core.lab.task_checks import check_algorithm, check_clips, check_tasks, check_warm_start
from trainer_core.lab.task_lists import MOST_TASKS
from trainer_core.runners.base import AgentRunner
from trainer_core.wire.algorithms import ALGORITHMS
from trainer_core.wire.capabilities import ELSEWHERE, FULL
from trainer_core.wire.checks import Check, Found
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.spec import NATIVE_ID, RunSpec


class NativeRunner(AgentRunner):
    """Runner of our own algorithms (wire.algorithms), with RunConfig's options."""

    def placed(self, spec: RunSpec) -> AgentRunner:
        return REMOTE if spec.is_remote else self

    def check_task(self, spec: RunSpec, home: HomePaths) -> Check:
        """Check one task, or several that one policy learns side by side."""
        try:
            envs = spec.configure(RunConfig).num_envs
        except ConfigError:  # check_options reports it
            envs = MOST_TASKS
        return check_tasks(spec.task, home, envs)

    def check_options(self, spec: RunSpec, found: Found, home: HomePaths) -> Iterable[Check]:
        config = spec.configure(RunConfig)
        yield from filter(None, (check_algorithm(config), check_clips(config)))
        yield check_memory(config, available_for(config.device, found), home)
        if config.warm_start:
            yield check_warm_start(config.warm_start)

    def command(self, run_dir: Path) -> list[str]:
        return [sys.executable, "-m", "trainer_core.worker", str(run_dir)]

    def play(self, player_dir: Path) -> list[str]:
        return [sys.executable, "-m", "trainer_core.player", str(player_dir)]

    def folder(self, run_dir: Path) -> Path:
        return child_folder()


class RemoteRunner(NativeRunner):
    """Runner of a spec whose option `on` names a Ray cluster: the courier stands for the worker."""

    def check_options(self, spec: RunSpec, found: Found, home: HomePaths) -> Iterable[Check]:
        from trainer_core.runners.remote.jobs import TOKEN, ClusterError, RayJobs

        fix = "Start Ray there, or open the tunnel"
        config = spec.configure(RunConfig)
        yield from filter(None, (check_algorithm(config), check_clips(config)))
        if config.warm_start:
            yield check_warm_start(config.warm_start)
        try:
            version = RayJobs(config.on).version()
        except ClusterError as error:
            yield Check(name="Cluster", status="fail", detail=str(error), fix="" if TOKEN in str(error) else fix)
        else:
            yield Check(name="Cluster", status="ok", detail=f"Ray {version} at {config.on}")

    def command(self, run_dir: Path) -> list[str]:
        return [sys.executable, "-m", "trainer_core.runners.remote.courier", str(run_dir)]


NATIVE = NativeRunner(
    id=NATIVE_ID,
    title="DMG Lab",
    summary=" and ".join(row.title for row in ALGORITHMS.values()) + " on thousands of Game Boys in one process.",
    capabilities=FULL,
    algorithms=tuple(ALGORITHMS),
    config_type=RunConfig,
    modules=("torch", "warp"),
    install=f"{Path(sys.executable).name} -m pip install 'dmglab[train]'",
    waits=True,
    writes_log=True,
)
REMOTE = RemoteRunner(
    id=NATIVE_ID,
    title="DMG Lab on a Ray cluster",
    summary=NATIVE.summary,
    capabilities=ELSEWHERE,
    algorithms=NATIVE.algorithms,
    config_type=RunConfig,
    writes_log=True,
)
