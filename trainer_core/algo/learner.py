"""The network with its optimizer: forward in the chosen precision, one clipped step."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from trainer_core.algo.policy import PixelActorCritic
from trainer_core.protocol.config import RunConfig

ADAM_EPS = 1e-5
"""Huang et al. 2022, detail 3; torch's default of 1e-8 is less stable for PPO."""


class LossSums:
    """Running sums of the scalars of an update, kept on the device until a record is made."""

    NAMES = (
        "policy_loss",
        "value_loss",
        "entropy_loss",
        "approx_kl",
        "clipfrac",
        "vf_clipfrac",
        "grad_norm",
    )

    def __init__(self, sums: Tensor, opt_steps: int) -> None:
        self.sums, self.opt_steps = sums, opt_steps

    @classmethod
    def zeros(cls, device: torch.device) -> LossSums:
        return cls(torch.zeros(len(cls.NAMES), device=device), 0)

    def add(self, *scalars: Tensor) -> None:
        """Scalars in the order of NAMES, one optimizer step's worth."""
        self.add_stacked(torch.stack([scalar.detach() for scalar in scalars]))

    def add_stacked(self, scalars: Tensor) -> None:
        """The same as f32[len(NAMES)]."""
        self.sums += scalars
        self.opt_steps += 1


class StepGraph:
    """One optimizer step as a CUDA graph: a hundred short launches become one.

    The first steps run as they are, which lets libraries allocate; then `work` is captured, and
    every later step replays it on new indices. What `work` reads must stay where it is.
    """

    WARM_UP = 3

    def __init__(self, batch: int, device: torch.device) -> None:
        self._index = torch.zeros(batch, dtype=torch.int64, device=device)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._scalars = torch.empty(0)
        self._steps = 0

    def run(self, work: Callable[[Tensor], Tensor], index: Tensor) -> Tensor:
        """`work(index)`; its result is overwritten by the next call."""
        self._index.copy_(index)
        self._steps += 1
        if self._steps <= self.WARM_UP:
            return work(self._index)
        if self._graph is None:
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
                self._scalars = work(self._index)
        self._graph.replay()
        return self._scalars


class Learner:
    """Owns weights and optimizer state; everything else about learning is a function."""

    def __init__(self, policy: PixelActorCritic, config: RunConfig, device: torch.device) -> None:
        self.policy = policy
        self.device = device
        self.max_grad_norm = config.max_grad_norm
        on_gpu = device.type == "cuda"
        self.use_bf16 = config.amp == "bf16" or (config.amp == "auto" and on_gpu)
        self.parameters = list(policy.parameters())
        self.world = dist.get_world_size() if dist.is_initialized() else 1
        self.graph: StepGraph | None = None
        """Where optimizer steps of one shape are captured; None where they run one by one."""
        self._rate: Tensor | float = config.learning_rate
        if on_gpu and self.world == 1:
            self.graph = StepGraph(config.minibatch_size, device)
            self._rate = torch.tensor(config.learning_rate, device=device)
        self.optimizer = torch.optim.Adam(
            self.parameters,
            lr=self._rate,
            eps=ADAM_EPS,
            fused=True,
            capturable=self.graph is not None,
        )

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Logits f32[B, A] and values f32[B] of `obs` u8[B, K, H, W]."""
        guard = (
            torch.autocast(self.device.type, torch.bfloat16)
            if self.use_bf16
            else contextlib.nullcontext()
        )
        with guard:
            logits, values = self.policy(obs)
        return logits.float(), values.float()

    def step(self) -> Tensor:
        """Average over ranks, clip, apply and clear the gradients; returns their norm, f32[]."""
        if self.world > 1:
            self._all_reduce_gradients()
        limit = self.max_grad_norm if self.max_grad_norm > 0 else float("inf")
        grad_norm = torch.nn.utils.clip_grad_norm_(self.parameters, limit, foreach=True)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return grad_norm

    def set_learning_rate(self, learning_rate: float) -> None:
        if isinstance(self._rate, Tensor):
            self._rate.fill_(learning_rate)  # a captured step reads it from there
        else:
            self._rate = learning_rate
        self._adopt_rate()

    def _adopt_rate(self) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate
            group["capturable"] = self.graph is not None

    def agree_mean(self, value: Tensor) -> float:
        """The mean of a scalar over all ranks as a number: ranks that branch on it stay equal."""
        value = value.detach().clone()
        if self.world > 1:
            dist.all_reduce(value)
            value /= self.world
        return float(value)

    def broadcast_weights(self) -> None:
        """Give every rank the weights of rank 0."""
        if self.world > 1:
            for tensor in self.policy.state_dict().values():
                dist.broadcast(tensor, src=0)

    def state_dict(self) -> dict[str, Any]:
        state = self.optimizer.state_dict()
        for group in state["param_groups"]:
            group["lr"] = float(group["lr"])
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.optimizer.load_state_dict(state)
        self._adopt_rate()

    def _all_reduce_gradients(self) -> None:
        # One flat buffer: a message per tensor would cost more latency than bandwidth.
        gradients = [parameter.grad for parameter in self.parameters if parameter.grad is not None]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(flat)
        flat /= self.world
        offset = 0
        for gradient in gradients:
            gradient.copy_(flat[offset : offset + gradient.numel()].view_as(gradient))
            offset += gradient.numel()
