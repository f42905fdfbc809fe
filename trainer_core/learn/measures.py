"""Computation of the metrics of a rollout; wire/metric_names.py defines how each is reduced to one number.

A measure names the fields of the algorithm's storage that it reads. If the storage lacks one of them, the metric is
omitted.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from trainer_core.lab.task_lists import envs_of
from trainer_core.wire.metric_names import TASK_METRICS

PERCENTILES = (0.1, 0.5, 0.9)


def as_stored(*fields: Tensor) -> Any:
    """Return the only argument, or a tuple of all: the function of measures that reduce stored fields unchanged."""
    return fields[0] if len(fields) == 1 else fields


@dataclass(frozen=True, slots=True)
class Measure:
    """Measurement of one rollout: `function` maps the storage's `fields` to the input of the metrics' reduction.

    The input is for mean, std, sum, min and max one tensor of any shape, for ratio two, the numerator first, for last
    f64[len(names)]. `function` must not synchronise with the device.
    """

    names: tuple[str, ...]
    """Metrics, all of one reduction; several only if one computation gives them all."""
    fields: tuple[str, ...]
    """Fields of the storage, [T, N] each."""
    function: Callable[..., Any] = as_stored
    envs: slice = field(default_factory=lambda: slice(None))
    """Envs (columns of the fields) that are measured."""


def percentiles(field: Tensor) -> Tensor:
    """Return f64[3]: nearest-rank 10th, 50th and 90th percentile of all of `field`, on its device."""
    ordered = field.flatten().sort().values
    last = len(ordered) - 1
    ranks = [min(last, max(0, round(share * last))) for share in PERCENTILES]
    return torch.stack([ordered[rank] for rank in ranks]).double()


def explained_variance(values: Tensor, returns: Tensor) -> Tensor:
    """Return f64[1]: 1 - Var(returns - values) / Var(returns); 0 if the returns do not vary."""
    returns = returns.double()
    spread = returns.var(correction=0)
    left = (returns - values).var(correction=0)
    return torch.where(spread > 0, 1 - left / spread.clamp(min=1e-12), 0.0)[None]


def own_successes(success: Tensor, reset: Tensor, from_demo: Tensor) -> tuple[Tensor, Tensor]:
    """Return bool[T, N] twice: steps that ended an episode from the task's own starts with success, and all that ended
    one."""
    return success & reset & ~from_demo, reset & ~from_demo


def demo_successes(success: Tensor, reset: Tensor, from_demo: Tensor) -> tuple[Tensor, Tensor]:
    """Return bool[T, N] twice: steps that ended an episode begun along a demonstration with success, and all that ended
    one."""
    return success & reset & from_demo, reset & from_demo


def demo_episodes(reset: Tensor, from_demo: Tensor) -> tuple[Tensor, Tensor]:
    """Return bool[T, N] twice: steps that ended an episode begun along a demonstration, and steps that ended any
    episode."""
    return reset & from_demo, reset


def own_return(rewards: Tensor, reset: Tensor, from_demo: Tensor) -> tuple[Tensor, Tensor]:
    """Return the rewards f32[T, N] of episodes from the task's own starts, 0 in others, and bool[T, N] where one
    ended."""
    return rewards * ~from_demo, reset & ~from_demo


def own_length(reset: Tensor, from_demo: Tensor) -> tuple[Tensor, Tensor]:
    """Return bool[T, N] twice: steps in episodes from the task's own starts, and steps that ended one."""
    return ~from_demo, reset & ~from_demo


def own_goals(done: Tensor, from_demo: Tensor) -> tuple[Tensor, Tensor]:
    """Return bool[T, N] twice: steps that reached the goal in episodes from the task's own starts, and all steps in
    these."""
    return done & ~from_demo, ~from_demo


MEASURES: tuple[Measure, ...] = (
    Measure(("reward_mean",), ("rewards",)),
    Measure(("reward_min",), ("rewards",)),
    Measure(("reward_max",), ("rewards",)),
    Measure(("reward_p10", "reward_p50", "reward_p90"), ("rewards",), percentiles),
    Measure(("done_rate",), ("done",)),
    Measure(("trunc_rate",), ("trunc",)),
    Measure(("reset_rate",), ("reset_mask",)),
    Measure(("success_rate",), ("success", "reset_mask", "from_demo"), own_successes),
    Measure(("success_rate_demo_starts",), ("success", "reset_mask", "from_demo"), demo_successes),
    Measure(("demo_start_share",), ("reset_mask", "from_demo"), demo_episodes),
    Measure(("done_rate_own_starts",), ("done", "from_demo"), own_goals),
    Measure(("episode_return",), ("rewards", "reset_mask", "from_demo"), own_return),
    Measure(("episode_length",), ("reset_mask", "from_demo"), own_length),
    Measure(("episodes",), ("reset_mask",)),
    Measure(("dist_p10", "dist_p50", "dist_p90"), ("dist",), percentiles),
    Measure(("entropy_mean",), ("entropies",)),
    Measure(("value_mean",), ("values",)),
    Measure(("value_std",), ("values",)),
    Measure(("vpred_mean",), ("values",)),
    Measure(("value_min",), ("values",)),
    Measure(("value_max",), ("values",)),
    Measure(("advantage_mean",), ("advantages",)),
    Measure(("advantage_min",), ("advantages",)),
    Measure(("advantage_max",), ("advantages",)),
    Measure(("return_mean",), ("returns",)),
    Measure(("return_min",), ("returns",)),
    Measure(("return_max",), ("returns",)),
    Measure(("explained_variance",), ("values", "returns"), explained_variance),
)


def measures_of(storage: object) -> tuple[Measure, ...]:
    """Return the measures that can be computed from `storage`, since it has all their fields."""
    return tuple(measure for measure in MEASURES if all(hasattr(storage, name) for name in measure.fields))


def task_measures_of(storage: object, tasks: Sequence[str]) -> tuple[Measure, ...]:
    """Return the measures of TASK_METRICS for each of `tasks`, restricted to the envs that play it; none for a single
    task."""
    if len(tasks) < 2:
        return ()
    told = [measure for measure in measures_of(storage) if measure.names[0] in TASK_METRICS]
    return tuple(
        dataclasses.replace(measure, names=(f"{measure.names[0]}/{task}",), envs=envs_of(number, len(tasks)))
        for measure in told
        for number, task in enumerate(tasks)
    )
