"""Table of a run's scalar metrics: title, help, unit, bounds, reduction and plot of each.

The app takes a metric's title, help, range and place from its row, the validator its bounds, and the trainer its
reduction. A metric without a row (another trainer's, in `UpdateRecord.metrics`) is recorded, checked and drawn as well,
under its own name.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
from dataclasses import dataclass
from typing import Literal

import msgspec
from msgspec import UNSET

from trainer_core.wire.records import EvalRecord, Record, UpdateRecord

Group = Literal["overview", "policy", "env", "perf", "counter", "tasks", "other"]
"""Page of the app on which a metric's curve is shown; counter: an x axis; tasks: a metric of one of several tasks."""
Reduction = Literal["mean", "std", "ratio", "sum", "min", "max", "last", "loss", "run"]
"""Reduction of the steps between two records to one number. mean, std, min, max: over environment steps; sum: a count;
ratio: one sum over another, 0 where that is 0; last: computed on the last rollout alone; loss: mean over optimizer
steps; run: known to the run, not measured on a device."""

TIME_PREFIX, MACHINE_PREFIX = "time/", "machine/"
PHASE = "phase"
"""Metric of runs that learn from a dataset first: 0 offline, 1 online."""
TASK_METRICS = ("success_rate", "success_rate_demo_starts", "episode_return", "episode_length")
"""Metrics that a run of several tasks also reports for each task, as `<metric>/<task>`."""


@dataclass(frozen=True, slots=True)
class Metric:
    """Description of one scalar metric. `low` and `high` bound its values; None = no bound."""

    name: str
    title: str
    group: Group = "other"
    reduction: Reduction = "run"
    help: str = ""
    beside: str = ""
    """Metric in whose plot this one is drawn as a further curve; empty = a plot of its own."""
    label: str = ""
    """Name of the curve in a plot of several; empty = the title."""
    unit: str = ""
    low: float | None = None
    high: float | None = None

    @property
    def is_share(self) -> bool:
        """True if the metric is a share, whose axis always goes from 0 to 1."""
        return (self.low, self.high) == (0.0, 1.0)


def _counter(name: str, title: str, help: str, unit: str = "") -> Metric:
    return Metric(name=name, title=title, help=help, group="counter", unit=unit, low=0.0)


_share = functools.partial(Metric, low=0.0, high=1.0)


METRICS: tuple[Metric, ...] = (
    _counter("update", "Updates", "Updates of the policy so far."),
    _counter("env_steps", "Environment steps", "Steps of all environments so far."),
    _counter("opt_steps", "Optimizer steps", "Optimizer steps so far."),
    _counter("wall_time_s", "Wall time", "Seconds of training, including resumed parts.", "s"),

    Metric("reward_mean", "Reward per step", "overview", "mean", "Mean reward per environment step.",
           label="reward"),
    _share("success_rate", "Success", "overview", "ratio",
           "Successes per ended training episode that began at the task's own starts, or a few "
           "random presses after one; 0 when none ended.", label="training"),
    _share("success_rate_demo_starts", "Success along demonstrations", "overview", "ratio",
           "The same for episodes that began along a demonstration: these begin near the goal, so it is high early.",
           "success_rate", "along demonstrations"),
    Metric("episode_return", "Return per episode", "env", "ratio",
           "Rewards of the episodes from the task's own starts per such episode that ended; 0 when "
           "none ended.", label="own starts"),
    Metric("episode_length", "Length of episodes", "env", "ratio",
           "Steps of the episodes from the task's own starts per such episode that ended; 0 when none "
           "ended.", label="own starts", unit="steps", low=0.0),
    _share("done_rate", "Episode ends per step", "overview", "mean",
           "Share of environment steps that reached the goal.", label="goal"),
    _share("trunc_rate", "Time limits per step", "overview", "mean",
           "Share of environment steps that reached the time limit.", "done_rate", "time limit"),
    Metric("entropy_mean", "Entropy of the policy", "overview", "mean",
           "Mean entropy of the policy; with 7 actions, ln 7 = 1.946 is uniform.",
           label="entropy", unit="nats"),
    Metric("dist_p50", "Distance to goal", "overview", "last",
           "Median distance to the goal in the last rollout.", label="median", low=0.0),
    Metric("dist_p10", "Distance to goal, nearest tenth", "overview", "last",
           "10th percentile of the distance to the goal.", "dist_p50", "nearest tenth", low=0.0),
    Metric("dist_p90", "Distance to goal, farthest tenth", "overview", "last",
           "90th percentile of the distance to the goal.", "dist_p50", "farthest tenth", low=0.0),

    Metric("value_mean", "Value", "policy", "mean", "Mean prediction of the critic.", label="mean"),
    Metric("value_std", "Value deviation", "policy", "std",
           "Standard deviation of the critic's predictions.", "value_mean", "std", low=0.0),
    Metric("value_loss", "Value loss", "policy", "loss",
           "Half the mean squared error of the critic.", label="loss", low=0.0),
    Metric("policy_loss", "Policy loss", "policy", "loss", "Loss that the policy's gradient minimises.",
           label="loss"),
    Metric("entropy_loss", "Entropy loss", "policy", "loss",
           "Negative mean entropy: falls as the policy spreads.", label="loss", unit="nats"),
    Metric("approx_kl", "Approximate KL", "policy", "loss",
           "Change of the policy by an update: Schulman's (r - 1) - ln r.", label="KL"),
    _share("clipfrac", "Clipped share", "policy", "loss",
           "Share of samples whose probability ratio was clipped.", label="ratio"),
    _share("vf_clipfrac", "Clipped values", "policy", "loss",
           "Share of samples whose value change was clipped.", "clipfrac", "value"),
    Metric("explained_variance", "Explained variance", "policy", "last",
           "1 - Var(return - value) / Var(return); 1 is a perfect critic.", label="EV", high=1.0),
    Metric("grad_norm", "Gradient norm", "policy", "loss", "Global norm of the gradient before clipping.",
           label="norm", low=0.0),
    Metric("learning_rate", "Learning rate", "policy", "run", "Learning rate of the next update.", label="rate",
           low=0.0),
    Metric("advantage_mean", "Advantage", "policy", "mean", "Mean advantage estimate.",
           label="mean"),
    Metric("advantage_min", "Lowest advantage", "policy", "min", "Lowest advantage estimate.",
           "advantage_mean", "min"),
    Metric("advantage_max", "Highest advantage", "policy", "max", "Highest advantage estimate.",
           "advantage_mean", "max"),
    Metric("return_mean", "Return", "policy", "mean", "Mean return that the critic learns.",
           label="mean"),
    Metric("return_min", "Lowest return", "policy", "min", "Lowest return.", "return_mean", "min"),
    Metric("return_max", "Highest return", "policy", "max", "Highest return.",
           "return_mean", "max"),
    Metric("vpred_mean", "Value prediction", "policy", "mean",
           "Mean value that the critic predicted, beside the return.", "return_mean", "predicted"),
    Metric("value_min", "Lowest value", "policy", "min", "Lowest prediction of the critic.",
           "value_mean", "min"),
    Metric("value_max", "Highest value", "policy", "max", "Highest prediction of the critic.",
           "value_mean", "max"),

    _share("reset_rate", "Resets per step", "env", "mean",
           "Share of environment steps that ended an episode.", label="resets"),
    Metric("episodes", "Episodes per record", "env", "sum", "Episodes that ended since the previous record.",
           label="episodes", low=0.0),
    _share("demo_start_share", "Episodes begun along demonstrations", "env", "ratio",
           "Share of ended episodes that began along a demonstration.", label="along demonstrations"),
    _share("done_rate_own_starts", "Goals per step, own starts", "env", "ratio",
           "Share of the steps of episodes from the task's own starts that reached the goal.",
           "done_rate", "goal, own starts"),
    Metric("reward_min", "Lowest reward", "env", "min", "Lowest reward of a step.", label="min"),
    Metric("reward_max", "Highest reward", "env", "max", "Highest reward of a step.",
           "reward_min", "max"),
    Metric("reward_p10", "Reward, lowest tenth", "env", "last", "10th percentile of the rewards of the last rollout.",
           "reward_min", "lowest tenth"),
    Metric("reward_p50", "Reward, median", "env", "last", "Median reward of the last rollout.",
           "reward_min", "median"),
    Metric("reward_p90", "Reward, highest tenth", "env", "last", "90th percentile of the rewards of the last rollout.",
           "reward_min", "highest tenth"),

    Metric("sps", "Environment steps per second", "perf", "run",
           "Environment steps per second since the previous record, including validation.",
           label="steps/s", low=0.0),
    Metric("updates_per_s", "Updates per second", "perf", "run",
           "Updates per second since the previous record.", label="updates/s", low=0.0),
    _share("time/emulate", "Time split", "perf", "run",
           "Share of training time spent in the emulator.", label="emulate"),
    _share("time/observe", "Observing", "perf", "run",
           "Share of training time spent on pictures and rewards.", "time/emulate", "observe"),
    _share("time/forward", "Acting", "perf", "run",
           "Share of training time spent on the policy's forward passes.", "time/emulate", "forward"),
    _share("time/learn", "Learning", "perf", "run",
           "Share of training time spent on optimizer steps.", "time/emulate", "learn"),
    _share("time/log", "Records", "perf", "run",
           "Share of training time spent on records, validation and checkpoints.",
           "time/emulate", "log"),
    _share("machine/cpu", "Load of the machine", "perf", "run",
           "Share of the machine's CPU cores that are busy, for whichever process.", label="CPU"),
    _share("machine/memory", "Memory in use", "perf", "run",
           "Share of the machine's memory in use.", "machine/cpu", "memory"),
    _share("machine/own_memory", "Memory of the run", "perf", "run",
           "Share of the machine's memory that the training process holds.", "machine/cpu", "this run"),
    _share("machine/disk", "Disk in use", "perf", "run",
           "Share of the disk with the run's folder that is in use.", "machine/cpu", "disk"),
    _share("machine/gpu", "GPUs busy", "perf", "run",
           "Share of time in which the machine's NVIDIA GPUs are busy, their mean.", "machine/cpu", "GPU"),
    _share("machine/gpu_memory", "GPU memory in use", "perf", "run",
           "Share of the memory of the machine's NVIDIA GPUs in use.", "machine/cpu", "GPU memory"),
)  # fmt: skip


def metric(name: str) -> Metric:
    """Return the description of the metric `name`.

    For `<metric>/<task>` it is the metric's, labelled with the task; for an unknown name a neutral one without bounds.
    """
    head, _, task = name.partition("/")
    wanted = head if head in TASK_METRICS else name
    for row in METRICS:
        if row.name == wanted:
            return _of_task(row, task) if wanted != name else row
    return Metric(name=name, title=name)


def _of_task(row: Metric, task: str) -> Metric:
    """Return `row` for one of several tasks, labelled with it and drawn in one plot with the other tasks' curves."""
    name = f"{row.name}/{task}"
    return dataclasses.replace(row, name=name, title=f"{row.title}, {task}", group="tasks", beside="", label=task)


def scalars(record: Record) -> dict[str, float]:
    """Return every number of `record` that can be drawn as a curve, by metric name.

    An update gives its counters, its metrics, `time/<section>`, shares of the record's time, and `machine/<name>`; a
    validation gives `eval/<task>/<mode>/<name>`; any other record gives nothing.
    """
    if isinstance(record, UpdateRecord):
        names, values = scalar_row(record)
        return dict(zip(names, map(float, values), strict=True))
    if isinstance(record, EvalRecord):
        head = f"eval/{record.task}/{record.mode}"
        return {f"{head}/{name}": float(getattr(record, name)) for name in EVAL_SCALARS}
    return {}


_OF_OWN_STARTS = ("success_rate", "episode_return", "episode_length")
_OF_DEMO_STARTS = ("success_rate_demo_starts",)


def unmeasured(record: UpdateRecord) -> tuple[str, ...]:
    """Return the names of success rates and other metrics of ended episodes for which no episode ended in this record.

    Their value is 0, and a curve through it would suggest that the policy failed.
    """
    share = record.metrics.get("demo_start_share")
    if share is None or record.episodes is UNSET:
        return ()
    if not record.episodes:
        return _OF_OWN_STARTS + _OF_DEMO_STARTS
    return {0.0: _OF_DEMO_STARTS, 1.0: _OF_OWN_STARTS}.get(share, ())


EVAL_SCALARS = ("success_rate", "pass_at_1", "pass_at_n", "median_steps_to_goal", "mean_return")
_ENVELOPE = frozenset({"v", "run_id", "seq", "time", "trace_id"})
FLAT_SCALARS: tuple[str, ...] = tuple(
    field.name
    for field in msgspec.structs.fields(UpdateRecord)
    if field.name not in (*_ENVELOPE, "action_hist", "time_split", "metrics", "machine", "mind")
)
"""Numbers that an update record may hold under a key of its own; all others are in its `metrics`."""


_flat = operator.attrgetter(*FLAT_SCALARS)


def scalar_row(record: UpdateRecord) -> tuple[tuple[str, ...], list[float]]:
    """Return the names and the values of `scalars(record)`, computed faster: a log has tens of thousands of updates.

    A name that occurs as a field and in `metrics` is returned once, with the value in `metrics`.
    """
    flat = list(_flat(record))
    names = FLAT_SCALARS
    if UNSET in flat:
        names = tuple(name for name, value in zip(names, flat, strict=True) if value is not UNSET)
        flat = [value for value in flat if value is not UNSET]
    total = sum(record.time_split.values())
    shares = [seconds / total if total > 0 else 0.0 for seconds in record.time_split.values()]
    names, are_once = _names(names, tuple(record.metrics), tuple(record.time_split), tuple(record.machine))
    values = [*flat, *record.metrics.values(), *shares, *record.machine.values()]
    if are_once:
        return names, values
    found = dict(zip(names, values, strict=True))
    return tuple(found), list(found.values())


@functools.lru_cache(64)
def _names(
    flat: tuple[str, ...], metrics: tuple[str, ...], sections: tuple[str, ...], machine: tuple[str, ...]
) -> tuple[tuple[str, ...], bool]:
    """Return the names in the result of `scalar_row`, and whether they are distinct."""
    told = (*(f"{TIME_PREFIX}{name}" for name in sections), *(f"{MACHINE_PREFIX}{name}" for name in machine))
    names = (*flat, *metrics, *told)
    return names, len(set(names)) == len(names)
