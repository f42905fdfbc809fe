"""`dmglab sweep`: train many settings side by side; Ctrl-C saves, --resume continues."""

from __future__ import annotations

import asyncio
import dataclasses
import secrets
import signal
import time
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import tyro

from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.cli.output import Result, say, table
from trainer_core.cli.train import defaults_for
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.task_checks import check_task, check_warm_start
from trainer_core.runs.index import RunRegistry
from trainer_core.sweeps import space
from trainer_core.sweeps.cluster import RaySlots, connect
from trainer_core.sweeps.conductor import Conductor, Slots
from trainer_core.sweeps.results import HEADS, cells, ranking
from trainer_core.sweeps.slot import LocalSlots, TrialSlot
from trainer_core.sweeps.sweep import (
    LEAST_FACTOR,
    LEAST_RUNG,
    MOST_FACTOR,
    MOST_RUNG,
    EarlyStop,
    Sweep,
    Trial,
    check_metric,
    load_sweep,
    save_sweep,
    sweep_file,
)
from trainer_core.wire.checks import require
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import check_device, limits

KEPT_ON_RESUME = ("home", "jobs", "devices", "ray", "cpus_per_trial", "gpus_per_trial", "resume", "show")


@dataclass(frozen=True)
class Options:
    """Train every setting under every seed; the options of `dmglab train` apply to each trial."""

    run: RunConfig = field(default_factory=RunConfig)
    vary: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """NAME=A,B,C or NAME=LOW..HIGH or NAME=log:LOW..HIGH; once for each option that varies."""
    search: Literal["grid", "random"] = "grid"
    """All combinations of the listed values, or --trials random settings."""
    trials: int = field(default=0, metadata=limits(0, space.MAX_TRIALS))
    """Number of settings of --search random."""
    search_seed: int = 1
    """Seed of the random settings."""
    seeds: tuple[int, ...] = (1,)
    """Seeds; every setting is trained once with each."""
    early_stop: Literal["halving", "median", "none"] = "halving"
    """Rule that ends bad trials early: asynchronous successive halving, or the median rule."""
    metric: str = "success"
    """Measure of a trial: success (greedy, on the validation starts) or the name of a metric."""
    mode: Literal["max", "min"] = "max"
    """Better direction of the metric."""
    first_rung: int = field(default=8192, metadata=limits(LEAST_RUNG, MOST_RUNG))
    """Environment steps before the first decision about a trial."""
    factor: int = field(default=3, metadata=limits(LEAST_FACTOR, MOST_FACTOR))
    """Halving keeps one trial of this number at each rung; the rungs grow by the same factor."""
    jobs: int = field(default=0, metadata=limits(0, 1024))
    """Trials at a time on each device; 0 = one, and on Ray as many as the cluster takes."""
    devices: tuple[str, ...] = ()
    """Devices of this computer for the trials; default --device."""
    ray: str = ""
    """Address of a Ray cluster (auto, HOST:PORT, ray://HOST:PORT; local starts one here)."""
    cpus_per_trial: float = field(default=1.0, metadata=limits(0.01, 1024))
    """CPUs of a trial on Ray."""
    gpus_per_trial: float = field(default=0.0, metadata=limits(0, 64))
    """GPUs of a trial on Ray; 0 with a cuda device = 1."""
    resume: str = ""
    """Continue a sweep: its id, or latest."""
    show: str = ""
    """Show the results of a sweep so far: its id, or latest."""
    preset: str = "auto"
    """laptop, gpu, big_gpu, a2c or m5, as for train."""
    name: str = ""
    """Name of the sweep in lists."""
    home: Home = None


def run(argv: list[str]) -> dict[str, Any]:
    default = Options(run=defaults_for(argv))
    options = parse(Options, "sweep", argv, default)
    home = home_paths(options.home)
    if options.resume or options.show:
        _check_only_place(options, default)
        sweep = load_sweep(home, options.resume or options.show)
    else:
        sweep = define(options, home)
    if options.show:
        return _result(home, sweep, "", {})
    slots = _slots(options, home, sweep)
    if not options.resume:
        save_sweep(home, sweep)
    _say(f"sweep {sweep.sweep_id}: {len(sweep.trials)} trials, {slots.places} at a time")
    conductor = Conductor(home, sweep, slots, _say)
    asyncio.run(_conduct(conductor))
    return _result(home, sweep, conductor.stop_reason, conductor.errors)


def define(options: Options, home: HomePaths) -> Sweep:
    """Return a new sweep from the options, after a check of every trial. Raises ConfigError."""
    config = options.run
    if not config.has_limit:
        raise ConfigError("a trial without a limit never ends: give --total-env-steps, --seconds or --target-success")
    if not options.seeds or len(set(options.seeds)) < len(options.seeds):
        raise ConfigError("--seeds wants at least one number, each once")
    check_metric(options.metric)
    axes = space.parse_axes(options.vary)
    if options.search == "random":
        if not options.trials:
            raise ConfigError("--search random wants --trials N: how many settings to draw")
        settings = space.draws(axes, options.trials, options.search_seed)
    elif options.trials:
        raise ConfigError("--trials is for --search random; a grid has as many as it has")
    else:
        settings = space.grid(axes)
    if len(settings) * len(options.seeds) > space.MAX_TRIALS:
        raise ConfigError(f"more than {space.MAX_TRIALS:,} trials: vary less, or fewer seeds")
    sweep_id = f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    rows = [(setting, seed) for setting in range(len(settings)) for seed in options.seeds]
    trials = [
        Trial(number=number, setting=setting, seed=seed, values=settings[setting], run_id=f"{sweep_id}-t{number:03d}")
        for number, (setting, seed) in enumerate(rows)
    ]
    stop = EarlyStop(
        rule=options.early_stop,
        metric=options.metric,
        mode=options.mode,
        first_rung=options.first_rung,
        factor=options.factor,
    )
    sweep = Sweep(
        sweep_id=sweep_id,
        name=options.name,
        created_at=time.time(),
        search=options.search,
        vary=list(options.vary),
        base=config.to_dict(),
        early_stop=stop,
        trials=trials,
    )
    _check_trials(sweep, home)
    return sweep


def _check_trials(sweep: Sweep, home: HomePaths) -> None:
    """Check every trial. Raises ConfigError for the first one that cannot be trained."""
    for trial in sweep.trials:
        try:
            sweep.spec(trial).configure(RunConfig)
        except ConfigError as error:
            raise ConfigError(f"trial {trial.number}, {trial.values}: {error}") from None
    require(check_task(sweep.base["task"], home))
    for folder in {sweep.spec(trial).options["warm_start"] for trial in sweep.trials}:
        if folder:
            require(check_warm_start(folder))


def _check_only_place(options: Options, default: Options) -> None:
    """Check the options of --resume and --show. Raises ConfigError for one that would change the sweep."""
    for spec in dataclasses.fields(options):
        if spec.name not in KEPT_ON_RESUME and getattr(options, spec.name) != getattr(default, spec.name):
            said = "an option of train" if spec.name == "run" else f"--{spec.name}"
            raise ConfigError(
                f"{said.replace('_', '-')} cannot change a sweep that is there; only --jobs, "
                "--devices, --ray and what a trial asks of it may be given"
            )
    if options.resume and options.show:
        raise ConfigError("either --resume or --show")


def _slots(options: Options, home: HomePaths, sweep: Sweep) -> Slots:
    device = str(sweep.base["device"])
    if not options.ray:
        devices = options.devices or (device,)
        for name in devices:
            check_device(name)
            if name != "cpu":
                from trainer_core.envs.startable import find_device  # loads torch

                find_device(name)  # a missing device would fail every trial
        if len(set(devices)) < len(devices):
            raise ConfigError("--devices names one twice: say --jobs for several trials on each")
        return LocalSlots(devices, options.jobs or 1, lambda: TrialSlot(str(home.root), sweep.sweep_id))
    if options.devices:
        raise ConfigError("--devices are this computer's; on Ray say --gpus-per-trial")
    gpus = options.gpus_per_trial or (1.0 if device.startswith("cuda") else 0.0)
    return RaySlots(
        connect(options.ray), home, sweep, cpus=options.cpus_per_trial, gpus=gpus, most=options.jobs, actor=TrialSlot
    )


async def _conduct(conductor: Conductor) -> None:
    loop = asyncio.get_running_loop()

    def stop(reason: str) -> None:
        _say("stopping: every trial is saved first; Ctrl-C again ends them sooner")
        conductor.stop(reason)

    for number, reason in ((signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated"), (signal.SIGHUP, "hung up")):
        if signal.getsignal(number) is not signal.SIG_IGN:
            loop.add_signal_handler(number, stop, reason)
    await conductor.run()


def _result(home: HomePaths, sweep: Sweep, stop_reason: str, errors: dict[int, str]) -> dict[str, Any]:
    rows = ranking(home, sweep, RunRegistry(home).reconcile())
    trials = [trial for row in rows for trial in row["trials"]]
    failed = [trial for trial in trials if trial["state"] == "failed" and not trial["done"]]
    done = sum(trial["done"] for trial in trials)
    found = {
        "ok": True,
        "sweep_id": sweep.sweep_id,
        "sweep": str(sweep_file(home, sweep.sweep_id)),
        "state": "finished" if done == len(trials) else "unfinished",
        "reason": stop_reason,
        "trials": len(trials),
        "done": done,
        "ended_early": sum(bool(t["ended_early"]) for t in trials),
        "metric": sweep.early_stop.metric,
        "settings": rows,
    }
    text = table(HEADS, cells(rows, sweep.early_stop.mode))
    if stop_reason:
        text += f"\nContinue with `dmglab sweep --resume {sweep.sweep_id}`."
    if not failed and not errors:
        return Result(found, text)
    first = next(iter(errors.values()), "") or failed[0]["reason"]
    count = len({trial["trial"] for trial in failed} | set(errors))
    return Result(found | {"ok": False, "error": f"{count} of {len(trials)} trials failed: {first}"}, text)


def _say(text: str) -> None:
    say(text)
