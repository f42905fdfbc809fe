"""Proximal policy optimization on one rollout: epochs of minibatches, and the choice of the learner."""

from __future__ import annotations

import torch
from torch import Tensor

from trainer_core.learn.gemm import learner as gemm
from trainer_core.learn.learner import Learner, LossSums
from trainer_core.learn.parts import PartsLearner, learning_parts
from trainer_core.learn.policy import PixelActorCritic
from trainer_core.learn.ppo_loss import PPOLosses, Samples, ppo_loss
from trainer_core.learn.registry import Implementation
from trainer_core.learn.rollout import RolloutBuffer
from trainer_core.wire.config import RunConfig


def ppo_update(
    learner: Learner, rollout: RolloutBuffer, config: RunConfig, rng: torch.Generator, sums: LossSums
) -> None:
    """Learn from one rollout in epochs of shuffled minibatches, and add the losses of each step to `sums`.

    With `target_kl` the epochs stop early, which reads one number per epoch from the device.
    """
    samples = Samples.of(rollout)

    def work(index: Tensor) -> Tensor:
        """Make one optimizer step on the samples `index` i64[B]; return its losses and gradient norm,
        f32[len(sums.names)]."""
        said = learner.forward(rollout.observations(index))
        with torch.no_grad():
            losses, gradient = ppo_loss(*said, samples.minibatch(index, config), config, learner.ent_coef)
            gradient /= len(index)
        torch.autograd.backward(said, (gradient[:, :-1], gradient[:, -1]))
        return torch.cat([losses.mean(0), learner.step()[None]])

    epoch = learner.epoch(rollout)
    scalars = torch.zeros_like(sums.sums)
    for _ in range(config.update_epochs):
        order = torch.randperm(config.batch_size, generator=rng, device=rollout.device)
        if epoch is not None:
            found = epoch.run(order)
            sums.add_all(found)
            scalars = found[-1]
        else:
            for index in order.split(config.minibatch_size):
                scalars = learner.graph.run(work, index) if learner.graph else work(index)
                sums.add(scalars)
        approx_kl = scalars[sums.names.index("approx_kl")]  # of the last minibatch
        if config.target_kl > 0 and learner.agree_mean(approx_kl) > config.target_kl:
            break


def ppo_learner(policy: PixelActorCritic, config: RunConfig, device: torch.device) -> Learner:
    """Return the fastest learner for this device and network.

    It is a GemmLearner if GPU and network allow it, a PartsLearner on a CPU, else a Learner, which uses autograd.
    """
    if device.type == "cuda":
        if gemm.can_learn_by_products(policy, config, device):
            return gemm.GemmLearner(policy, config, device)
    elif device.type == "cpu":
        return PartsLearner(policy, config, device, learning_parts(config))
    return Learner(policy, config, device)


PPO = Implementation(update=ppo_update, losses=PPOLosses, learner=ppo_learner)
