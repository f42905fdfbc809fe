"""`dmglab bench KIND`: training here, the machines in trainer_core.bench (MODULES lists them).

`train`: environment steps per second after warm-up, and what logging costs.
"""

from __future__ import annotations

import dataclasses
import importlib
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from trainer_core.cli.options import home_paths, parse
from trainer_core.protocol.config import RunConfig
from trainer_core.protocol.errors import ConfigError
from trainer_core.protocol.paths import HomePaths, RunPaths

if TYPE_CHECKING:
    from trainer_core.training import TrainingRun

RATIO_ROUNDS = 5
SHOWN = ("task", "algo", "num_envs", "num_steps", "stack_k", "num_minibatches", "update_epochs",
         "policy", "amp")  # fmt: skip


MODULES = {"env": "env_bench", "load": "load", "curve": "curve", "cycles": "cycles",
           "peers": "peers"}  # fmt: skip
"""Kinds that live in trainer_core.bench, each with options of its own."""


@dataclass(frozen=True)
class Options:
    what: Annotated[
        Literal["train", "env", "load", "curve", "cycles", "peers"], tyro.conf.Positional
    ] = "train"
    """train: rollout and learning; env: the machines alone; load: whether their work is honest;
    curve: against N and frames a step; cycles: open and close; peers: beside PyBoy."""
    run: RunConfig = field(default_factory=RunConfig)
    updates: int = 10
    """Updates to measure."""
    warm_up: int = 3
    """Updates before the clock starts."""
    logging_ratio: bool = False
    """Measure updates with their records against updates without, in turns, in this one process."""
    max_mem_delta: int = -1
    """Fail when CUDA allocations grow by more bytes than this after warm-up; -1 = only report."""
    home: Path | None = None
    """Where tasks lie; default DMGLAB_HOME or var/ of the checkout."""


def run(argv: list[str]) -> dict[str, Any]:
    if argv and argv[0] in MODULES:
        return importlib.import_module(f"trainer_core.bench.{MODULES[argv[0]]}").run(argv[1:])
    options = parse(Options, "bench", argv)
    if options.what != "train":
        raise ConfigError(f"put {options.what!r} right behind `bench`")
    if options.updates < 1 or options.warm_up < 0:
        raise ConfigError("updates must be at least 1 and warm_up at least 0")
    from trainer_core.startable import check_startable

    home = home_paths(options.home)
    check_startable(options.run, home)
    with tempfile.TemporaryDirectory() as folder:
        training = _prepare(options.run, home, RunPaths(Path(folder) / "bench"))
        try:
            found = _measure(training, options)
            if options.logging_ratio:
                found |= _compare_logging(training, options.updates)
        finally:
            training.close()
            training.writer.close()
    return found


def _prepare(config: RunConfig, home: HomePaths, paths: RunPaths) -> TrainingRun:
    """A run that is ready to train; its log goes to a folder that is thrown away."""
    from trainer_core.control import Control
    from trainer_core.ranks import Ranks
    from trainer_core.run_dir import RunWriter
    from trainer_core.training import TrainingRun

    training = TrainingRun(config, paths, home, RunWriter(paths), Control(), Ranks())
    training.prepare(["bench"])
    return training


def _measure(training: TrainingRun, options: Options) -> dict[str, Any]:
    from trainer_core.provenance import device_name

    config, trainer = options.run, training.trainer
    assert trainer is not None
    device = trainer.device

    for _ in range(options.warm_up):
        trainer.run_update()
    before = _settle(device)
    trainer.stopwatch.take()
    began = time.perf_counter()
    for _ in range(options.updates):
        trainer.run_update()
    grown = _settle(device) - before
    elapsed = time.perf_counter() - began
    fits = options.max_mem_delta < 0 or grown <= options.max_mem_delta
    return {
        "ok": fits,
        **({} if fits else {"error": f"CUDA allocations grew by {grown} bytes after warm-up"}),
        "what": options.what,
        "device": config.device,
        "device_name": device_name(device),
        "env_steps_per_sec": options.updates * config.batch_size / elapsed,
        "ms_per_step": 1000 * elapsed / (options.updates * config.num_steps),
        "cuda_peak_growth_bytes": grown,
        "time_split": trainer.stopwatch.take(),
        "config": {k: v for k, v in dataclasses.asdict(config).items() if k in SHOWN},
    }


def _compare_logging(training: TrainingRun, updates: int) -> dict[str, Any]:
    """Speed with records over speed without: the median of RATIO_ROUNDS pairs, in turns."""
    trainer = training.trainer
    assert trainer is not None

    def quiet() -> None:
        trainer.run_update()

    def logged() -> None:
        losses = trainer.run_update()
        with trainer.stopwatch("log"):
            training.log(losses)

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
    """Wait for the device; returns the peak of CUDA allocations in bytes, 0 on a CPU."""
    import torch

    if device.type != "cuda":
        return 0
    torch.cuda.synchronize(device)
    return torch.cuda.memory_stats(device)["allocated_bytes.all.peak"]
