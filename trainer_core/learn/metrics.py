"""Reduction of the metrics of several updates to one record, on the device, with one synchronisation.

`measures.py` has the measurements, wire/metric_names.py the reduction of each metric; docs/reference/records.md
describes both in words, and a test recomputes each scalar from a full trace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from trainer_core.envs.state_checks import check_keys
from trainer_core.learn.learner import LossSums
from trainer_core.learn.measures import Measure, measures_of, task_measures_of
from trainer_core.learn.registry import Storage
from trainer_core.wire.buttons import ACTIONS
from trainer_core.wire.errors import CheckpointError, ConfigError
from trainer_core.wire.metric_names import FLAT_SCALARS, Reduction, metric

SUMMED: dict[Reduction, int] = {"mean": 1, "sum": 1, "ratio": 2, "std": 2}
"""Reductions that are computed from sums over updates and ranks, with the number of sums that each needs."""
KINDS = {"sum", "min", "max", "last", "loss"}
"""Keys of `MetricsAccumulator._names`: the operation that adds a rollout to the tensor of these metrics."""


def _sums(reduction: Reduction, found: Any) -> list[Tensor]:
    """Return what a measurement `found` of one rollout adds to a metric's sums, f64[] each."""
    if reduction == "ratio":
        return [part.sum(dtype=torch.float64) for part in found]
    if reduction == "std":
        return [found.sum(dtype=torch.float64), found.double().square().sum()]
    return [found.sum(dtype=torch.float64)]


def _number(reduction: Reduction, samples: float, sums: list[float]) -> float:
    """Return a metric computed from its sums over `samples` environment steps."""
    if reduction == "ratio":
        return sums[0] / sums[1] if sums[1] else 0.0
    if reduction == "sum":
        return round(sums[0])
    mean = sums[0] / max(samples, 1)
    if reduction == "std":
        return max(sums[1] / max(samples, 1) - mean**2, 0.0) ** 0.5
    return mean


class MetricsAccumulator:
    """Accumulator of a record's metrics: `add` adds one update, `emit` returns the scalars and starts the next
    record."""

    def __init__(self, device: torch.device, tasks: Sequence[str] = (), num_actions: int = len(ACTIONS)) -> None:
        """Start an empty record; with several `tasks` some metrics are also reported for each task."""
        self._num_actions = num_actions
        self.device = device
        self._tasks = tuple(tasks)
        self._measures: tuple[tuple[Measure, Reduction], ...] = ()
        self._names: dict[str, list[str]] = {}
        """Names of the metrics in each tensor of sums, in order, by the key of KINDS; empty before the first `add`."""

    def clear(self) -> None:
        """Reset all sums; do nothing before the first `add`."""
        if not self._names:
            return
        far = torch.finfo(torch.float32).max
        names = self._names
        slots = sum(SUMMED[metric(name).reduction] for name in names["sum"])
        self._sums = self._zeros(slots)
        self._low = torch.full((len(names["min"]),), far, device=self.device)
        self._high = torch.full((len(names["max"]),), -far, device=self.device)
        self._last = self._zeros(len(names["last"]))
        self._losses = self._zeros(len(names["loss"]))
        self._actions = self._zeros(self._num_actions)
        self._samples = 0
        self._opt_steps = 0

    def add(self, rollout: Storage, losses: LossSums) -> None:
        """Add one complete rollout, and the update made from it, to the sums."""
        if not self._measures:
            self._measure(rollout, losses)
        sums: list[Tensor] = []
        low, high, last = [], [], []
        for measure, reduction in self._measures:
            found = measure.function(*(getattr(rollout, n)[:, measure.envs] for n in measure.fields))
            match reduction:
                case "min":
                    low.append(found.min())
                case "max":
                    high.append(found.max())
                case "last":
                    last.append(found)
                case _:
                    sums += _sums(reduction, found)
        self._sums += torch.stack(sums)
        self._low = torch.minimum(self._low, torch.stack(low)) if low else self._low
        self._high = torch.maximum(self._high, torch.stack(high)) if high else self._high
        self._last = torch.cat(last) if last else self._last
        # Not bincount: on a GPU it waits for the largest value. Counts are exact in any order.
        actions = rollout.actions.flatten()
        self._actions.index_add_(0, actions, torch.ones_like(actions, dtype=torch.float64))
        self._losses += losses.sums
        self._samples += actions.numel()
        self._opt_steps += losses.opt_steps

    def emit(self) -> dict[str, Any]:
        """Return the fields of an UpdateRecord: flat ones, `action_hist`, and `metrics` with all others.

        Synchronises once.
        """
        found = self._numbers(self._reduced_over_ranks().tolist())
        actions = found.pop("action_hist")
        flat = {name: value for name, value in found.items() if name in FLAT_SCALARS}
        others = {name: value for name, value in found.items() if name not in flat}
        self.clear()
        return {**flat, "action_hist": actions, "metrics": others}

    def _measure(self, rollout: Storage, losses: LossSums) -> None:
        """Choose the measures that fit the storage and the losses.

        Sums are kept if they belong to the same metrics, as after loading a checkpoint; else they are reset.
        """
        measures = (*measures_of(rollout), *task_measures_of(rollout, self._tasks))
        self._measures = tuple((one, metric(one.names[0]).reduction) for one in measures)
        names: dict[str, list[str]] = {kind: [] for kind in ("sum", "min", "max", "last")}
        for measure, reduction in self._measures:
            if reduction not in (*SUMMED, *names):
                raise ConfigError(
                    f"measure {measure.names[0]} has no row in wire/metric_names.py that says how to reduce it; add one"
                )
            names["sum" if reduction in SUMMED else reduction] += measure.names
        names["loss"] = list(losses.names)
        if names != self._names:
            self._names = names
            self.clear()

    def _numbers(self, packed: list[float]) -> dict[str, Any]:
        """Return metrics and `action_hist` by name, given the numbers that `_reduced_over_ranks` returned."""
        values = iter(packed)
        samples = next(values)
        found: dict[str, Any] = {}
        for name in self._names["sum"]:
            reduction = metric(name).reduction
            sums = [next(values) for _ in range(SUMMED[reduction])]
            found[name] = _number(reduction, samples, sums)
        found["action_hist"] = [round(next(values)) for _ in range(self._num_actions)]
        for kind in ("last", "min", "max"):
            found |= {name: next(values) for name in self._names[kind]}
        opt_steps = max(self._opt_steps, 1)
        return found | {name: next(values) / opt_steps for name in self._names["loss"]}

    def _reduced_over_ranks(self) -> Tensor:
        """Return one vector, f64, of all sums reduced over the ranks.

        In order: samples, sums, counts of actions, newest values, minima, maxima, losses.
        """
        samples = torch.tensor([self._samples], dtype=torch.float64, device=self.device)
        summed = torch.cat([samples, self._sums, self._actions])
        shared = torch.cat([self._last, self._losses])
        low, high = self._low, self._high
        if dist.is_initialized():
            dist.all_reduce(summed)
            dist.all_reduce(shared)
            shared = shared / dist.get_world_size()
            dist.all_reduce(low, dist.ReduceOp.MIN)
            dist.all_reduce(high, dist.ReduceOp.MAX)
        last, losses = shared.split([len(self._last), len(self._losses)])
        return torch.cat([summed, last, low.double(), high.double(), losses])

    def _zeros(self, count: int) -> Tensor:
        return torch.zeros(count, dtype=torch.float64, device=self.device)

    def state_dict(self) -> dict[str, Any]:
        return {
            name: value.cpu() if isinstance(value, Tensor) else value
            for name, value in vars(self).items()
            if name not in ("device", "_measures", "_tasks", "_num_actions")
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the sums of a checkpoint; the next `add` resets them if this version has other metrics.

        Raises CheckpointError for an invalid `state_dict`.
        """
        what = "the sums of metrics"
        names = state.get("_names") if isinstance(state, dict) else None
        if names == {}:
            return
        if names is None or not _are_names(names):
            raise CheckpointError(f"{what}: no known lists of names")
        fresh = MetricsAccumulator(self.device, self._tasks, self._num_actions)
        fresh._names = names
        fresh.clear()
        like = fresh.state_dict()
        check_keys(state, like.keys(), what)
        for name, value in state.items():
            if name != "_names" and not _is_like(value, like[name]):
                raise CheckpointError(f"{what}: {name} is no sum of this run's metrics")
        for name, value in state.items():
            setattr(self, name, value.to(self.device) if isinstance(value, Tensor) else value)


def _are_names(names: object) -> bool:
    """Return whether `names` is a valid value of `_names`: a list of metrics for each key of KINDS."""
    if not isinstance(names, dict) or names.keys() != KINDS:
        return False
    for kind in names.values():
        if not isinstance(kind, list) or not all(isinstance(name, str) for name in kind):
            return False
    return all(metric(name).reduction in SUMMED for name in names["sum"])


def _is_like(value: object, like: object) -> bool:
    """Return whether `value` is a finite float tensor of the shape of `like`, or, if `like` is a number, a count."""
    if isinstance(like, Tensor):
        if not isinstance(value, Tensor) or value.shape != like.shape:
            return False
        return value.is_floating_point() and bool(value.isfinite().all())
    return type(value) is int and value >= 0
