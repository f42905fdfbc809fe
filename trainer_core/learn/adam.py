"""Adam (Kingma & Ba 2015, arXiv:1412.6980) by torch's fused kernel, with torch's state_dict.

torch.optim.Adam computes the same by the same kernel, but to make one imports torch's compiler,
which takes two to five seconds of every start.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from trainer_core.envs.state_checks import check_keys
from trainer_core.wire.errors import CheckpointError

BETAS = (0.9, 0.999)
ADAM_EPS = 1e-5
"""Huang et al. 2022, detail 3; torch's default of 1e-8 is less stable for PPO."""
MOMENTS = ("step", "exp_avg", "exp_avg_sq")


class Adam:
    """Steps on all of `parameters`; `rate` is a number, or a tensor where steps are captured."""

    def __init__(self, parameters: list[torch.nn.Parameter], rate: Tensor | float) -> None:
        self.parameters, self.rate = parameters, rate
        self.moments: dict[str, list[Tensor]] = {}
        """Per name of MOMENTS one tensor a parameter; empty before the first step."""

    def step(self) -> None:
        """One step along the gradients; a head that nothing learns has none, and stays."""
        if not self.moments:
            self.moments = self._zeros()
        moved = [n for n, p in enumerate(self.parameters) if p.grad is not None]
        step, first, second = ([self.moments[name][n] for n in moved] for name in MOMENTS)
        kernels: Any = torch  # whose stubs know neither tensors for rates nor parameters
        kernels._foreach_add_(step, 1)  # the kernel reads the number of its step
        kernels._fused_adam_(
            [self.parameters[n] for n in moved],
            [self.parameters[n].grad for n in moved],
            first,
            second,
            [],
            step,
            lr=self.rate,
            beta1=BETAS[0],
            beta2=BETAS[1],
            weight_decay=0.0,
            eps=ADAM_EPS,
            amsgrad=False,
            maximize=False,
            grad_scale=None,
            found_inf=None,
        )

    def clear_gradients(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None

    def _zeros(self) -> dict[str, list[Tensor]]:
        step = [torch.zeros((), device=parameter.device) for parameter in self.parameters]
        first, second = (
            [torch.zeros_like(parameter, requires_grad=False) for parameter in self.parameters] for _ in range(2)
        )
        return {"step": step, "exp_avg": first, "exp_avg_sq": second}

    def state_dict(self) -> dict[str, Any]:
        """As torch.optim.Adam's."""
        state = {
            number: {name: self.moments[name][number] for name in MOMENTS}
            for number in range(len(self.parameters) if self.moments else 0)
        }
        return {"state": state, "param_groups": [group_of(len(self.parameters), self.rate)]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """From `state_dict` or torch.optim.Adam's, whose rate is the caller's to set."""
        kept = state["state"]
        self.moments = self._zeros() if kept else {}
        for name, tensors in self.moments.items():
            for number, tensor in enumerate(tensors):
                if number in kept:  # torch keeps nothing of what never had a gradient
                    tensor.copy_(kept[number][name])


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


def group_of(parameters: int, rate: Tensor | float) -> dict[str, Any]:
    """The entry of `param_groups` that torch.optim.Adam would write."""
    return {
        "lr": float(rate),
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
