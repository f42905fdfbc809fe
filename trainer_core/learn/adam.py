"""Adam (Kingma & Ba 2015, arXiv:1412.6980) on one vector of weights, with torch's state_dict.

Norm, clipping and step are one call each; ten tensors have ten times the overhead on a CPU. The step is torch.optim's
function: constructing a torch.optim.Adam imports torch's compiler, which takes two to five seconds at every start.
"""

from __future__ import annotations

import abc
import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim.adam import adam

from trainer_core.envs.state_checks import check_keys
from trainer_core.wire.errors import CheckpointError

BETAS = (0.9, 0.999)
ADAM_EPS = 1e-5
"""Huang et al. 2022, detail 3; torch's default of 1e-8 is less stable for PPO."""
MOMENTS = ("step", "exp_avg", "exp_avg_sq")
ALIGNED = 16
"""Alignment of parameters in floats: a cache line of a CPU."""


class AdamState(abc.ABC):
    """State of Adam for a flat vector of weights: moments, number of steps so far, learning rate.

    A subclass computes the step, and defines by `spread` and `fill` where each parameter is in the vector.
    """

    def __init__(self, size: int, rate: float, device: torch.device) -> None:
        self.rate, self.rate_on_device = rate, torch.tensor(rate, device=device)
        self.first, self.second = (torch.zeros(size, device=device) for _ in range(2))
        self.steps = torch.zeros((), device=device)

    @abc.abstractmethod
    def spread(self, vector: Tensor) -> list[Tensor]:
        """Return one tensor per parameter, in its shape: its part of `vector`."""

    @abc.abstractmethod
    def fill(self, vector: Tensor, tensors: list[Tensor]) -> None:
        """Copy one tensor for each parameter into `vector`: the inverse of `spread`."""

    def set_rate(self, rate: float) -> None:
        self.rate = rate
        self.rate_on_device.fill_(rate)

    def state_dict(self) -> dict[str, Any]:
        """Return the state in the form of torch.optim.Adam's state_dict."""
        first, second = self.spread(self.first), self.spread(self.second)
        state = {
            number: {
                "step": self.steps.clone(),
                "exp_avg": first[number].clone(memory_format=torch.contiguous_format),
                "exp_avg_sq": second[number].clone(memory_format=torch.contiguous_format),
            }
            for number in range(len(first) if float(self.steps) else 0)
        }
        return {"state": state, "param_groups": [group_of(len(first), self.rate)]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Load a state_dict of this class or of torch.optim.Adam; the learning rate stays as the caller set it."""
        kept = state["state"]
        for vector, name in ((self.first, "exp_avg"), (self.second, "exp_avg_sq")):
            vector.zero_()  # torch has no state of parameters that never had a gradient
            self.fill(vector, [kept[n][name] if n in kept else part for n, part in enumerate(self.spread(vector))])
        self.steps.fill_(max((float(moments["step"]) for moments in kept.values()), default=0.0))


class FlatAdam(AdamState):
    """Adam on parameters that it makes views of one vector; a step uses the gradient in `gradient`.

    The parameters must stay these views.
    """

    def __init__(self, parameters: list[torch.nn.Parameter], rate: float, *, captured: bool = False) -> None:
        """Make the optimizer; with `captured` its steps can be captured in a CUDA graph: they read the rate on the
        device."""
        lengths = [-(-parameter.numel() // ALIGNED) * ALIGNED for parameter in parameters]
        self._begins = list(itertools.accumulate(lengths, initial=0))
        self.captured = captured
        self._shapes = [parameter.shape for parameter in parameters]
        super().__init__(self._begins[-1], rate, parameters[0].device)
        self._weights = torch.zeros_like(self.first)
        self.gradient = torch.zeros_like(self.first)
        """f32[...] gradients of all parameters; zero in the gaps that align them."""
        self.fill(self._weights, [parameter.detach() for parameter in parameters])
        self._places = self.spread(self.gradient)
        for parameter, place in zip(parameters, self.spread(self._weights), strict=True):
            parameter.data = place

    def spread(self, vector: Tensor) -> list[Tensor]:
        """Return one view of `vector` per parameter, in its shape."""
        return [
            vector[begin : begin + shape.numel()].view(shape)
            for begin, shape in zip(self._begins, self._shapes, strict=False)
        ]

    def fill(self, vector: Tensor, tensors: list[Tensor]) -> None:
        for place, tensor in zip(self.spread(vector), tensors, strict=True):
            place.copy_(tensor)

    def take(self, gradients: Sequence[Tensor]) -> None:
        """Copy `gradients`, one tensor per parameter, into the flat vector `gradient`."""
        for place, gradient in zip(self._places, gradients, strict=True):
            place.copy_(gradient)

    def step(self) -> None:
        adam(
            [self._weights],
            [self.gradient],
            [self.first],
            [self.second],
            [],
            [self.steps],
            fused=True,
            amsgrad=False,
            beta1=BETAS[0],
            beta2=BETAS[1],
            lr=self.rate_on_device if self.captured else self.rate,
            weight_decay=0.0,
            eps=ADAM_EPS,
            maximize=False,
        )


def check_adam(state: object, parameters: list[torch.nn.Parameter]) -> None:
    """Raise CheckpointError unless `state` is a `state_dict` for these parameters."""
    what = "the optimizer's state"
    check_keys(state, ("state", "param_groups"), what)
    assert isinstance(state, dict)
    groups, kept = state["param_groups"], state["state"]
    rate = groups[0].get("lr") if _is_one_group(groups) else None
    if not isinstance(rate, float) or not 0 <= rate < math.inf:
        raise CheckpointError(f"{what} has no learning rate")
    if not isinstance(kept, dict) or not kept.keys() <= set(range(len(parameters))):
        raise CheckpointError(f"{what} is of another network")
    for number, moments in kept.items():
        shape = parameters[number].shape
        check_keys(moments, MOMENTS, f"{what}, parameter {number}")
        for name in MOMENTS:
            value, wanted = moments[name], torch.Size() if name == "step" else shape
            if not isinstance(value, Tensor) or value.shape != wanted:
                raise CheckpointError(f"{what}: {name} of parameter {number} is of another shape")
            low = -math.inf if name == "exp_avg" else 0
            if not bool((value.isfinite() & (value >= low)).all()):
                raise CheckpointError(f"{what}: {name} of parameter {number} cannot be")


def _is_one_group(groups: object) -> bool:
    return isinstance(groups, list) and len(groups) == 1 and isinstance(groups[0], dict)


def group_of(parameters: int, rate: float) -> dict[str, Any]:
    """Return the only entry of `param_groups` in a state_dict of torch.optim.Adam."""
    return {
        "lr": rate,
        "betas": BETAS,
        "eps": ADAM_EPS,
        "weight_decay": 0,
        "amsgrad": False,
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "fused": True,
        "decoupled_weight_decay": False,
        "params": list(range(parameters)),
    }
