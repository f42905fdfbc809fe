"""From rollouts to one record: reduced on the device, read by the host once.

Every scalar's definition is the code below; docs/rl_observability.md repeats it in words, and a
test recomputes each one from a full trace.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from trainer_core.algo.learner import LossSums
from trainer_core.algo.rollout import RolloutBuffer
from trainer_core.protocol.records import NUM_ACTIONS

PERCENTILES = (0.1, 0.5, 0.9)
_MEANS = ("reward", "done", "trunc", "reset", "success", "entropy", "value", "value_square",
          "advantage", "return")  # fmt: skip
_RANGES = ("reward", "advantage", "return", "value")


class MetricsAccumulator:
    """A reducer: `add` folds one update in, `emit` returns the record's scalars and starts anew."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.clear()

    def clear(self) -> None:
        far = torch.finfo(torch.float32).max
        self._sums = torch.zeros(len(_MEANS), dtype=torch.float64, device=self.device)
        self._low = torch.full((len(_RANGES),), far, device=self.device)
        self._high = torch.full((len(_RANGES),), -far, device=self.device)
        self._actions = torch.zeros(NUM_ACTIONS, dtype=torch.float64, device=self.device)
        self._losses = torch.zeros(len(LossSums.NAMES), dtype=torch.float64, device=self.device)
        self._last = torch.zeros(len(PERCENTILES) + 1, dtype=torch.float64, device=self.device)
        self._samples = 0
        self._opt_steps = 0

    def add(self, rollout: RolloutBuffer, losses: LossSums) -> None:
        """Fold one rollout, with its advantages and returns, and the update made from it."""
        values = rollout.values
        fields = {
            "reward": rollout.rewards, "done": rollout.done, "trunc": rollout.trunc,
            "reset": rollout.reset_mask, "success": rollout.success,
            "entropy": rollout.entropies, "value": values, "value_square": values.double().square(),
            "advantage": rollout.advantages, "return": rollout.returns,
        }  # fmt: skip
        self._sums += torch.stack([fields[name].sum(dtype=torch.float64) for name in _MEANS])
        ranged = torch.stack([fields[name].flatten() for name in _RANGES])
        low, high = torch.aminmax(ranged, dim=1)
        self._low, self._high = torch.minimum(self._low, low), torch.maximum(self._high, high)
        # Not bincount: on a GPU it waits for the largest value. Counts are exact in any order.
        actions = rollout.actions.flatten()
        self._actions.index_add_(0, actions, torch.ones_like(actions, dtype=torch.float64))
        self._losses += losses.sums
        self._last = torch.cat(
            [percentiles(rollout.dist), explained_variance(values, rollout.returns)[None]]
        )
        self._samples += rollout.actions.numel()
        self._opt_steps += losses.opt_steps

    def emit(self) -> dict[str, Any]:
        """The scalars of an UpdateRecord that come from the device. One synchronisation."""
        packed = self._reduced_over_ranks().tolist()
        sums, rest = _split(packed, _MEANS)
        low, rest = _split(rest, _RANGES)
        high, rest = _split(rest, _RANGES)
        losses, rest = _split(rest, LossSums.NAMES)
        actions, (p10, p50, p90, explained, samples) = rest[:NUM_ACTIONS], rest[NUM_ACTIONS:]
        mean = {name: total / max(samples, 1) for name, total in sums.items()}
        variance = max(mean["value_square"] - mean["value"] ** 2, 0.0)
        stats = {f"{name}_mean": mean[name] for name in ("advantage", "return")}
        stats["vpred_mean"] = mean["value"]
        stats |= {f"{name}_min": value for name, value in low.items()}
        stats |= {f"{name}_max": value for name, value in high.items()}
        opt_steps = max(self._opt_steps, 1)
        found = {
            "reward_mean": mean["reward"],
            "done_rate": mean["done"],
            "trunc_rate": mean["trunc"],
            "reset_rate": mean["reset"],
            "success_rate": sums["success"] / sums["reset"] if sums["reset"] else 0.0,
            "episodes": round(sums["reset"]),
            "dist_p10": p10,
            "dist_p50": p50,
            "dist_p90": p90,
            "entropy_mean": mean["entropy"],
            "value_mean": mean["value"],
            "value_std": variance**0.5,
            "action_hist": [round(count) for count in actions],
            **{name: total / opt_steps for name, total in losses.items()},
            "explained_variance": explained,
            "stats": stats,
        }
        self.clear()
        return found

    def _reduced_over_ranks(self) -> Tensor:
        samples = torch.tensor([self._samples], dtype=torch.float64, device=self.device)
        summed = torch.cat([self._sums, self._actions, samples])
        shared = torch.cat([self._losses, self._last])
        low, high = self._low, self._high
        if dist.is_initialized():
            dist.all_reduce(summed)
            dist.all_reduce(shared)
            shared = shared / dist.get_world_size()
            dist.all_reduce(low, dist.ReduceOp.MIN)
            dist.all_reduce(high, dist.ReduceOp.MAX)
        sums, actions, samples = summed.split([len(_MEANS), NUM_ACTIONS, 1])
        losses, last = shared.split([len(LossSums.NAMES), len(PERCENTILES) + 1])
        return torch.cat([sums, low.double(), high.double(), losses, actions, last, samples])

    def state_dict(self) -> dict[str, Any]:
        return {
            name: value.cpu() if isinstance(value, Tensor) else value
            for name, value in vars(self).items()
            if name != "device"
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value.to(self.device) if isinstance(value, Tensor) else value)


def percentiles(values: Tensor) -> Tensor:
    """f64[3]: nearest-rank 10th, 50th and 90th percentile of all `values`, on their device."""
    ordered = values.flatten().sort().values
    last = len(ordered) - 1
    ranks = [min(last, max(0, round(share * last))) for share in PERCENTILES]
    return torch.stack([ordered[rank] for rank in ranks]).double()


def explained_variance(values: Tensor, returns: Tensor) -> Tensor:
    """f64[]: 1 - Var(returns - values) / Var(returns); 0 where the returns do not vary."""
    returns = returns.double()
    spread = returns.var(correction=0)
    left = (returns - values).var(correction=0)
    return torch.where(spread > 0, 1 - left / spread.clamp(min=1e-12), 0.0)


def _split(packed: list[float], names: tuple[str, ...]) -> tuple[dict[str, float], list[float]]:
    return dict(zip(names, packed, strict=False)), packed[len(names) :]
