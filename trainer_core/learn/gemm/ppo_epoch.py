"""PPO's epoch over a rollout with a GemmNetwork, as one CUDA graph without autograd.

It computes the same as `learn/ppo.py` and `ppo_loss.py`, in their order: normalise advantages within each minibatch,
loss, gradient, clip, Adam. All data of an epoch, except the pictures, is gathered once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
import warp as wp
from torch import Tensor

from trainer_core.learn.gae import normalized
from trainer_core.learn.gemm.adam import GemmAdam
from trainer_core.learn.gemm.network import Buffers, GemmNetwork
from trainer_core.learn.gemm.ppo_kernels import SCALARS, Clipping, ppo_gradient
from trainer_core.learn.ppo_loss import Samples
from trainer_core.learn.rollout import RolloutBuffer
from trainer_core.wire.config import RunConfig


class GemmEpoch:
    """Memory and CUDA graph for epochs over the rollouts that one RolloutBuffer holds.

    The first epoch runs uncaptured, so that libraries can allocate; the second is captured, and every later one replays
    it on newly gathered data.
    """

    def __init__(
        self,
        network: GemmNetwork,
        buffers: Buffers,
        adam: GemmAdam,
        config: RunConfig,
        rollout: RolloutBuffer,
        ent_coef: Tensor,
    ) -> None:
        """Allocate the memory of an epoch.

        `buffers` are for a minibatch and have gradients; all minibatches have one size; `ent_coef` f32[] is read at
        each step.
        """
        device, batches, size = network.device, config.num_minibatches, buffers.size
        assert batches * size == config.batch_size
        self.network, self.buffers, self.adam = network, buffers, adam
        self.config, self.rollout, self.ent_coef = config, rollout, ent_coef
        self.world = round(1 / adam.share)
        self.index = torch.zeros(batches, size, dtype=torch.int64, device=device)
        self.actions = torch.zeros(batches, size, dtype=torch.int64, device=device)
        self.samples = torch.zeros(batches, 4, size, device=device)
        self.prior = torch.zeros(batches, size, network.policy.num_actions, device=device)
        """f32[minibatches, B, A] change of the logits by press marks; zero if the policy uses none."""
        self.scalars = torch.zeros(batches, size, SCALARS, device=device)
        self.norms = torch.zeros(batches, 1, device=device)
        self._pictures = rollout.obs.flatten(0, 1)
        self._coefficients = Clipping()
        for name in ("clip_range", "clip_range_vf", "vf_coef"):
            setattr(self._coefficients, name, getattr(config, name))
        self._graph: torch.cuda.CUDAGraph | None = None
        self._warm = False

    def run(self, order: Tensor) -> Tensor:
        """Make an optimizer step on each minibatch of the samples in `order` i64[S].

        Returns f32[minibatches, 7]: PPO's losses, then the gradient's norm.
        """
        samples = Samples.of(self.rollout)
        self.index.view(-1).copy_(order)
        torch.index_select(samples.actions, 0, order, out=self.actions.view(-1))
        gathered = torch.stack(samples[1:]).index_select(1, order).view(4, *self.index.shape)
        if self.config.normalize_advantage:
            gathered[2] = normalized(gathered[2])
        self.samples.copy_(gathered.transpose(0, 1))
        if self.network.policy.marked:
            self.network.prior(self._pictures, self.index.view(-1), self.prior.flatten(0, 1))
        self._play(self._steps)
        self.adam.steps += len(self.index)
        return torch.cat([self.scalars.mean(1), self.norms * self.adam.share], 1)

    def close(self) -> None:
        """Release the CUDA graph, which must not outlive the NCCL communicator that it uses."""
        self._graph = None

    def _play(self, work: Callable[[], None]) -> None:
        if self.network.device.type != "cuda" or not self._warm:
            self._warm = True
            work()
            return
        if self._graph is None:
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph, capture_error_mode="thread_local"):
                work()
        self._graph.replay()

    def _steps(self) -> None:
        for number in range(len(self.index)):
            self._step(number)

    def _step(self, number: int) -> None:
        network, buffers = self.network, self.buffers
        network.forward(self._pictures, self.index[number], buffers)
        self._differentiate(number)
        network.backward(buffers)
        if self.world > 1:
            dist.all_reduce(network.gradient)
        self.adam.step(number, self.norms[number])

    def _differentiate(self, number: int) -> None:
        """Compute PPO's losses of minibatch `number`, and their gradient with respect to the outputs of the heads."""
        buffers = self.buffers
        read = (buffers.values[-1], self.prior[number], self.actions[number], self.samples[number])
        written = (buffers.gradients[-1], self.scalars[number])
        inputs: list[Any] = [
            *map(wp.from_torch, read),
            self.network.policy.num_actions,
            self._coefficients,
            wp.from_torch(self.ent_coef.view(1)),
            1.0 / buffers.size,
            *map(wp.from_torch, written),
        ]
        self.network.launch(ppo_gradient, buffers.size, inputs)
