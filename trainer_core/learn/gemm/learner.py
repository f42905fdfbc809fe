"""PPO learner of a GemmNetwork, which needs no autograd."""

from __future__ import annotations

import torch
from torch import Tensor

from trainer_core.lab.memory_estimate import ACTING_CHUNK
from trainer_core.learn.gemm.adam import GemmAdam
from trainer_core.learn.gemm.network import Buffers, GemmNetwork, can_be_products
from trainer_core.learn.gemm.ppo_epoch import GemmEpoch
from trainer_core.learn.learner import Learner, wants_bf16
from trainer_core.learn.policy import PixelActorCritic
from trainer_core.learn.rollout import RolloutBuffer
from trainer_core.wire.config import RunConfig

BF16_CAPABILITY = (8, 0)
"""CUDA compute capability from which a GPU multiplies bf16."""


def can_learn_by_products(policy: PixelActorCritic, config: RunConfig, device: torch.device) -> bool:
    """Return whether GemmLearner can train this run.

    The device must be a GPU with bf16, which `config` allows; the network must be a chain of products, and all
    minibatches must have one size.
    """
    return (
        device.type == "cuda"
        and torch.cuda.get_device_capability(device) >= BF16_CAPABILITY
        and wants_bf16(config, device)
        and can_be_products(policy)
        and config.batch_size % config.num_minibatches == 0
    )


class GemmLearner(Learner):
    """Learner that keeps weights and moments in flat vectors; it copies them to the torch module and state_dict on
    request."""

    def __init__(self, policy: PixelActorCritic, config: RunConfig, device: torch.device) -> None:
        self.config = config
        self.network = GemmNetwork(policy, device)
        super().__init__(policy, config, device, captured=False)
        self._most = max(config.minibatch_size, min(config.num_envs, ACTING_CHUNK))
        self._buffers = Buffers(self.network.layers, self._most, device)
        self._parts: dict[int, Buffers] = {}
        self._order = torch.arange(self._most, device=device)
        self._epoch: GemmEpoch | None = None
        self._stored = True

    def _new_optimizer(self, config: RunConfig) -> GemmAdam:
        self.adam = GemmAdam(self.network, config.learning_rate, max_grad_norm=config.max_grad_norm, world=self.world)
        return self.adam

    @property
    def policy(self) -> PixelActorCritic:
        """Torch module with the present weights; change them by `load_weights` only."""
        if not self._stored:
            self.network.store()
            self._stored = True
        return self._policy

    def forward(self, obs: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits f32[B, A] and values f32[B] of `obs` u8[B, K, H, W], without gradients."""
        heads = torch.cat([self._heads(part) for part in obs.contiguous().split(self._most)])
        actions = self._policy.num_actions
        return heads[:, :actions], heads[:, actions]

    def _heads(self, obs: Tensor) -> Tensor:
        """Return f32[B, A + 1 and padding] in new memory: logits, then the value, of `obs` u8[B, K, H, W]."""
        if len(obs) not in self._parts:
            self._parts[len(obs)] = self._buffers.first(len(obs))
        heads = self.network.forward(obs, self._order, self._parts[len(obs)]).float()
        if self._policy.marked:
            prior = heads.new_empty(len(obs), self._policy.num_actions)
            self.network.prior(obs, self._order[: len(obs)], prior)
            heads[:, : self._policy.num_actions] += prior
        return heads

    def epoch(self, rollout: RolloutBuffer) -> GemmEpoch:
        """Return an object that runs epochs of optimizer steps over `rollout`; later calls with this rollout return the
        same one."""
        if self._epoch is None or self._epoch.rollout is not rollout:
            minibatch = self._buffers.first(self.config.minibatch_size)
            minibatch.add_gradients()
            self._epoch = GemmEpoch(self.network, minibatch, self.adam, self.config, rollout, self.ent_coef)
        self._stored = False
        return self._epoch

    def load_weights(self, weights: dict[str, Tensor]) -> None:
        super().load_weights(weights)
        self.network.load()
        self._stored = True

    def broadcast_weights(self) -> None:
        super().broadcast_weights()
        self.network.load()

    def close(self) -> None:
        if self._epoch is not None:
            self._epoch.close()
