"""Learner: a network with its optimizer, its forward pass in the chosen precision, and one clipped optimizer step."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import torch
import torch.distributed as dist
from torch import Tensor

from trainer_core.learn.adam import AdamState, FlatAdam
from trainer_core.learn.policy import PixelActorCritic
from trainer_core.wire.config import RunConfig

if TYPE_CHECKING:
    from trainer_core.learn.rollout import Forward, RolloutBuffer


class LossSums:
    """Running sums of the losses and gradient norms of optimizer steps, kept on the device until a record is made."""

    def __init__(self, losses: type[tuple[Tensor, ...]], device: torch.device) -> None:
        """Make a sum for each field of the NamedTuple type `losses`, and one for the gradient norm."""
        self.on_step: Callable[[], None] = lambda: None
        """Function that is called after each addition, of one optimizer step or of several."""
        self.names: tuple[str, ...] = (*losses._fields, "grad_norm")  # type: ignore[attr-defined]
        self.sums = torch.zeros(len(self.names), device=device)
        self.opt_steps = 0

    def add(self, scalars: Tensor) -> None:
        """Add one optimizer step's losses, and last the norm of its gradient, f32[len(names)]."""
        self.sums += scalars
        self.opt_steps += 1
        self.on_step()

    def add_all(self, scalars: Tensor) -> None:
        """Add the scalars of several optimizer steps, f32[steps, len(names)], as `add` does for one."""
        self.sums += scalars.sum(0)
        self.opt_steps += len(scalars)
        self.on_step()


class StepGraph:
    """One optimizer step as a CUDA graph: a hundred short launches become one.

    The first steps run uncaptured, so that libraries can allocate; then `work` is captured, and every later step
    replays it on new indices. Memory that `work` reads must keep its address.
    """

    WARM_UP = 3

    def __init__(self, batch: int, device: torch.device) -> None:
        self._index = torch.zeros(batch, dtype=torch.int64, device=device)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._scalars = torch.empty(0)
        self._steps = 0

    def run(self, work: Callable[[Tensor], Tensor], index: Tensor) -> Tensor:
        """Run `work(index)`, the first times directly, later from the graph; the next call overwrites the result."""
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

    def close(self) -> None:
        self._graph = None


class Epoch(Protocol):
    """Interface of an object that makes the optimizer steps of an epoch over one rollout faster than one by one."""

    def run(self, order: Tensor) -> Tensor:
        """Make an optimizer step on each minibatch of the samples in `order` i64[S].

        Returns f32[minibatches, len(LossSums.names)].
        """
        ...


def wants_bf16(config: RunConfig, device: torch.device) -> bool:
    return config.amp == "bf16" or (config.amp == "auto" and device.type == "cuda")


class Learner:
    """Weights and optimizer state of a run. The algorithms are functions that get a Learner."""

    def __init__(
        self, policy: PixelActorCritic, config: RunConfig, device: torch.device, *, captured: bool = True
    ) -> None:
        """Make the optimizer of `policy`.

        With `captured`, an optimizer step on a GPU is one CUDA graph, if all minibatches have one size.
        """
        self._policy = policy
        self._parameters = list(policy.parameters())
        self.device = device
        self.max_grad_norm = config.max_grad_norm
        self.use_bf16 = wants_bf16(config, device)
        self.world = dist.get_world_size() if dist.is_initialized() else 1
        self.graph: StepGraph | None = None
        """Graph of optimizer steps; None if they run one by one."""
        even = config.batch_size % config.num_minibatches == 0
        if captured and even and device.type == "cuda":
            self.graph = StepGraph(config.minibatch_size, device)
        self.optimizer = self._new_optimizer(config)
        self.ent_coef = torch.tensor(config.ent_coef, device=device)
        """f32[] weight of the entropy bonus; captured steps read it here."""

    def _new_optimizer(self, config: RunConfig) -> AdamState:
        return FlatAdam(self._parameters, config.learning_rate, captured=self.graph is not None)

    @property
    def policy(self) -> PixelActorCritic:
        """Torch module with the present weights; change them by `load_weights`."""
        return self._policy

    @property
    def parameters(self) -> list[torch.nn.Parameter]:
        return list(self.policy.parameters())

    def epoch(self, rollout: RolloutBuffer) -> Epoch | None:
        """Return an Epoch for `rollout`, or None if this learner makes optimizer steps one by one."""
        return None

    def actor(self) -> Forward:
        """Return a function like `forward` without gradients, valid until the weights change."""
        return self.forward

    def load_weights(self, weights: dict[str, Tensor]) -> None:
        """Load `weights`, which have the names and shapes of the policy's state_dict."""
        self._policy.load_state_dict(weights)

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits f32[B, A] and values f32[B] of `obs` u8[B, K, H, W]."""
        guard = torch.autocast(self.device.type, torch.bfloat16) if self.use_bf16 else contextlib.nullcontext()
        with guard:
            logits, values = self._policy(obs)
        return logits.float(), values.float()

    def step(self, gradients: Sequence[Tensor] | None = None) -> Tensor:
        """Make an optimizer step: average the gradients over ranks, clip and apply them; return their norm, f32[].

        `gradients` has one tensor per parameter; None uses and clears the parameters' `grad`. A parameter without a
        gradient is unchanged.
        """
        adam = self.optimizer
        assert isinstance(adam, FlatAdam)
        if gradients is None:
            gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in self._parameters]
            for parameter in self._parameters:
                parameter.grad = None
        adam.take(gradients)
        if self.world > 1:
            dist.all_reduce(adam.gradient)
            adam.gradient /= self.world
        norm = torch.linalg.vector_norm(adam.gradient)
        if self.max_grad_norm > 0:  # as torch.nn.utils.clip_grad_norm_
            adam.gradient *= (self.max_grad_norm / (norm + 1e-6)).clamp_(max=1.0)
        adam.step()
        return norm

    def set_learning_rate(self, learning_rate: float) -> None:
        self.optimizer.set_rate(learning_rate)

    def agree_mean(self, value: Tensor) -> float:
        """Return the mean of the scalar `value` over all ranks as a number, for decisions that all ranks must make
        alike."""
        value = value.detach().clone()
        if self.world > 1:
            dist.all_reduce(value)
            value /= self.world
        return float(value)

    def broadcast_weights(self) -> None:
        """Send the weights of rank 0 to every rank."""
        if self.world > 1:
            for tensor in self._policy.state_dict().values():
                dist.broadcast(tensor, src=0)

    def state_dict(self) -> dict[str, Any]:
        return self.optimizer.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.optimizer.load_state_dict(state)
        self.set_learning_rate(state["param_groups"][0]["lr"])

    def close(self) -> None:
        """Release captured CUDA graphs, which must not outlive the NCCL communicator that they use."""
        if self.graph is not None:
            self.graph.close()
