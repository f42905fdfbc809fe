"""`dmglab bench train`: environment steps per second after warm-up, and the cost of logging."""

from __future__ import annotations

import dataclasses
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from trainer_core.cli.launch_ranks import spread
from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.host.control import Control
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.lab.tasks import Task
from trainer_core.runs.log_writer import RunWriter
from trainer_core.wire.config import RunConfig
from trainer_core.wire.environment import is_rank
from trainer_core.wire.errors import ConfigError

if TYPE_CHECKING:
    from trainer_core.host.native import NativeTrainee
    from trainer_core.host.ranks import Ranks
    from trainer_core.host.run import Host

RATIO_ROUNDS = 5
SHOWN = ("task", "algo", "num_envs", "num_steps", "stack_k", "num_minibatches", "update_epochs", "policy", "amp")


@dataclass(frozen=True)
class Options:
    """Options of `dmglab bench train`."""

    run: RunConfig = field(default_factory=RunConfig)
    updates: int = 10
    """Updates to measure."""
    warm_up: int = 3
    """Updates before the measurement."""
    logging_ratio: bool = False
    """Compare updates with and without their records, in turns, in this process."""
    max_mem_delta: int = -1
    """Fail if CUDA allocations grow by more bytes than this after the warm-up; -1 = no limit."""
    min_sps: float = 0.0
    """Fail below this number of environment steps per second, all GPUs together."""
    gpus: int = 1
    """Number of processes, one for each GPU (or part of the CPU); num_envs is per process."""
    home: Home = None


def run(argv: list[str]) -> dict[str, Any]:
    """Measure; return one record, in which `ok` is False if a limit is broken."""
    options = parse(Options, "bench train", argv)
    if options.updates < 1 or options.warm_up < 0 or options.gpus < 1:
        raise ConfigError("updates and gpus must be at least 1 and warm_up at least 0")
    from trainer_core.envs.startable import check_startable

    home = home_paths(options.home)
    if options.gpus > 1 and not is_rank():
        check_startable(options.run, home)
        return spread(["bench", "train", *argv], options.gpus)
    from trainer_core.cli.local_run import own_device
    from trainer_core.host.ranks import Ranks

    ranks = Ranks()
    options = dataclasses.replace(options, run=own_device(options.run, ranks))
    tasks = check_startable(options.run, home)
    with tempfile.TemporaryDirectory() as folder:
        training = _prepare(options.run, home, RunPaths(Path(folder) / "bench"), ranks, tasks)
        try:
            found = _measure(training, options)
            if options.logging_ratio:
                found |= _compare_logging(training, options.updates)
        finally:
            training.close()
            training.writer.close()
    ranks.close()
    return found if ranks.is_first else {}


def _prepare(config: RunConfig, home: HomePaths, paths: RunPaths, ranks: Ranks, tasks: dict[str, Task]) -> Host:
    """Return a run that is ready to train; its log goes to a temporary folder."""
    from trainer_core.host.native import native_host

    training = native_host(config, paths, home, RunWriter(paths), Control(), ranks=ranks, tasks=tasks)
    training.prepare()
    return training


def _trainee(training: Host) -> NativeTrainee:
    return cast("NativeTrainee", training.trainee)


def _measure(training: Host, options: Options) -> dict[str, Any]:
    from trainer_core.host.provenance import device_name

    config, trainer = options.run, _trainee(training).trainer
    device = trainer.device
    if device.type == "cuda":
        from emulator.frame_launcher import wait_for_threaded_code

        wait_for_threaded_code(f"cuda:{device.index or 0}")
    for _ in range(options.warm_up):
        trainer.run_update()
    before, steps_before = _settle(device), trainer.opt_steps
    trainer.stopwatch.take()
    began = time.perf_counter()
    for _ in range(options.updates):
        trainer.run_update()
    grown = _settle(device) - before
    elapsed = time.perf_counter() - began
    split = trainer.stopwatch.take()
    ranks = training.ranks.world
    steps = options.updates * config.batch_size * ranks
    learnt = (trainer.opt_steps - steps_before) * config.minibatch_size * ranks
    found: dict[str, Any] = {
        "ok": True,
        "what": "train",
        "device": config.device,
        "device_name": device_name(device),
        "gpus": ranks,
        "env_steps_per_sec": steps / elapsed,
        "ms_per_step": 1000 * elapsed / (options.updates * config.num_steps),
        "samples_learnt_per_sec": learnt / split["learn"],
        "env_steps_per_sec_without_learning": steps / max(elapsed - split["learn"], 1e-9),
        "cuda_peak_growth_bytes": grown,
        "time_split": split,
        "config": {k: v for k, v in dataclasses.asdict(config).items() if k in SHOWN},
    }
    return found | _broken_limit(found, options)


def _broken_limit(found: dict[str, Any], options: Options) -> dict[str, Any]:
    """Return the fields `ok` and `error` of a record that breaks a limit, else nothing."""
    grown, speed = found["cuda_peak_growth_bytes"], found["env_steps_per_sec"]
    if 0 <= options.max_mem_delta < grown:
        error = f"CUDA allocations grew by {grown} bytes after warm-up"
    elif speed < options.min_sps:
        error = f"{speed:,.0f} environment steps/s, fewer than {options.min_sps:,.0f}"
    else:
        return {}
    return {"ok": False, "error": error}


def _compare_logging(training: Host, updates: int) -> dict[str, Any]:
    """Return the ratio of the speeds with and without records: the median of RATIO_ROUNDS pairs."""
    trainee = _trainee(training)
    trainer = trainee.trainer

    def quiet() -> None:
        trainer.run_update()

    def logged() -> None:
        losses = trainer.run_update()
        with trainer.stopwatch("log"):
            trainee.log(losses)

    ratios = []
    for turn in range(RATIO_ROUNDS):
        pair = (quiet, logged) if turn % 2 == 0 else (logged, quiet)
        seconds = {work: _time(work, updates, trainer.device) for work in pair}
        ratios.append(seconds[quiet] / seconds[logged])
    return {"logging_ratio": statistics.median(ratios), "logging_ratios": ratios}


def _time(work: Callable[[], None], updates: int, device: Any) -> float:
    _settle(device)
    began = time.perf_counter()
    for _ in range(updates):
        work()
    _settle(device)
    return time.perf_counter() - began


def _settle(device: Any) -> int:
    """Wait for the device; return the peak of CUDA allocations in bytes, 0 on a CPU."""
    import torch

    if device.type != "cuda":
        return 0
    torch.cuda.synchronize(device)
    return torch.cuda.memory_stats(device)["allocated_bytes.all.peak"]
