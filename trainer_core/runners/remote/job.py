"""Program of a job on the cluster, `dmglab.programs.job RUN_ID VERSION`: trains the run that came in its folder.

The worker's events go to the job's output, which Ray writes to a file. A link in Ray's folder of log files makes the
run's folder readable through the dashboard.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.runners.native import NATIVE
from trainer_core.runners.remote.parcel import HOME
from trainer_core.runs.config_file import read_run_config, write_config
from trainer_core.wire.spec import RunSpec

LOOK_S = 1.0
"""Seconds between two looks whether Ray still runs."""


def main() -> int:
    """Train to the end of the run; return the worker's exit status."""
    run_id, version, job = sys.argv[1:]
    if version != importlib.import_module("dmglab").__version__:
        return 1  # the first line of the output told which one this is
    here = Path.cwd()
    run = here / HomePaths(Path(HOME)).run(run_id).root
    run.joinpath("checkpoints").mkdir(exist_ok=True)
    (here.parents[2] / "logs" / job).symlink_to(run)
    _find_warm_start(RunPaths(run))
    told: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: told.append(number))  # Ray sends it to the worker too, which saves
    parent = os.getppid()
    worker = subprocess.Popen(
        NATIVE.command(run), cwd=NATIVE.folder(run), stdin=subprocess.PIPE, start_new_session=True
    )
    assert worker.stdin is not None
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return worker.wait(LOOK_S)
        if os.getppid() != parent and not told:  # Ray was killed
            worker.stdin.close()  # the worker saves and ends


def _find_warm_start(paths: RunPaths) -> None:
    """Write the place of the checkpoint that came along into the run's configuration."""
    config = read_run_config(paths)
    if config.warm_start:
        warm_start = str(Path(config.warm_start).absolute())
        write_config(paths, RunSpec.of(dataclasses.replace(config, warm_start=warm_start)))
