"""Implicit Q-learning for discrete actions as a d3rlpy algorithm: d3rlpy's own is for continuous ones.

Kostrikov, Nair, Levine: Offline Reinforcement Learning with Implicit Q-Learning, 2021. The value is an expectile of Q
over the recorded actions, so no other action is ever evaluated; the policy imitates the recorded actions, weighted by
their advantage.

Import this module before `load_learnable` opens such a file.
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

import torch
from torch import Tensor, nn

from trainer_core.runners.d3rlpy import gym_names  # noqa: F401 - before d3rlpy

# Imported by name: type checkers outside the environment do not find them.
base: Any = importlib.import_module("d3rlpy.base")
builders: Any = importlib.import_module("d3rlpy.models.builders")
dqn: Any = importlib.import_module("d3rlpy.algos.qlearning.torch.dqn_impl")
learning: Any = importlib.import_module("d3rlpy.algos.qlearning.base")
encoders: Any = importlib.import_module("d3rlpy.models.encoders")
q_functions: Any = importlib.import_module("d3rlpy.models.q_functions")
optimizers: Any = importlib.import_module("d3rlpy.optimizers")
torch_utility: Any = importlib.import_module("d3rlpy.torch_utility")
DISCRETE = importlib.import_module("d3rlpy.constants").ActionSpace.DISCRETE


def expectile_loss(difference: Tensor, expectile: float) -> Tensor:
    """Return the mean of |expectile - 1(difference < 0)| * difference^2; above 0.5 it favours high values."""
    weight = torch.where(difference < 0, 1 - expectile, expectile)
    return (weight * difference.square()).mean()


def advantage_weight(advantage: Tensor, temperature: float, most: float) -> Tensor:
    """Return exp(temperature * advantage), at most `most`."""
    return (temperature * advantage).exp().clamp(max=most)


@dataclasses.dataclass(frozen=True)
class DiscreteIQLModules(torch_utility.Modules):
    q_funcs: nn.ModuleList
    targ_q_funcs: nn.ModuleList
    value_func: nn.Module
    imitator: nn.Module
    """Policy network, called like BC's."""
    optim: Any
    value_optim: Any
    policy_optim: Any


class DiscreteIQLImpl(dqn.DQNImpl):
    def __init__(self, *, config: Any, **common: Any) -> None:
        super().__init__(**common)
        self._config = config

    def inner_update(self, batch: Any, grad_step: int) -> dict[str, float]:
        modules, config = self._modules, self._config
        actions = batch.actions.long()
        with torch.no_grad():
            recorded = self._targ_q_func_forwarder.compute_target(
                batch.observations, actions.reshape(-1), reduction="min"
            )
            next_value = modules.value_func(batch.next_observations)
        value = modules.value_func(batch.observations)
        value_loss = expectile_loss(recorded - value, config.expectile)
        _descend(modules.value_optim, value_loss)
        q_loss = self._q_func_forwarder.compute_error(
            observations=batch.observations,
            actions=actions,
            rewards=batch.rewards,
            target=next_value,
            terminals=batch.terminals,
            gamma=self._gamma**batch.intervals,
        )
        _descend(modules.optim, q_loss)
        advantage = recorded - value.detach()
        weight = advantage_weight(advantage, config.weight_temp, config.max_weight)
        log_probability = modules.imitator(batch.observations).logits.log_softmax(-1)
        policy_loss = -(weight * log_probability.gather(1, actions)).mean()
        _descend(modules.policy_optim, policy_loss)
        torch_utility.soft_sync(modules.targ_q_funcs, modules.q_funcs, config.tau)
        return {
            "loss": policy_loss.item(),
            "critic_loss": q_loss.item(),
            "value_loss": value_loss.item(),
            "advantage_weight": weight.mean().item(),
        }

    def inner_predict_best_action(self, x: Any) -> Tensor:
        return self._modules.imitator(x).logits.argmax(1)


def _descend(optim: Any, loss: Tensor) -> None:
    optim.zero_grad()
    loss.backward()
    optim.step()


@dataclasses.dataclass()
class DiscreteIQLConfig(base.LearnableConfig):
    learning_rate: float = 3e-4
    optim_factory: Any = optimizers.make_optimizer_field()  # noqa: RUF009 - a field
    encoder_factory: Any = encoders.make_encoder_field()  # noqa: RUF009
    q_func_factory: Any = q_functions.make_q_func_field()  # noqa: RUF009
    batch_size: int = 64
    gamma: float = 0.99
    n_critics: int = 2
    tau: float = 0.005
    expectile: float = 0.7
    weight_temp: float = 3.0
    max_weight: float = 100.0

    def create(self, device: Any = False, enable_ddp: bool = False) -> DiscreteIQL:
        return DiscreteIQL(self, device, enable_ddp)

    @staticmethod
    def get_type() -> str:
        return "dmglab_discrete_iql"


class DiscreteIQL(learning.QLearningAlgoBase):
    def inner_create_impl(self, observation_shape: Any, action_size: int) -> None:
        config, device = self._config, self._device
        common = {"device": device, "enable_ddp": self._enable_ddp}
        seen = (observation_shape, action_size, config.encoder_factory)
        (q_funcs, forwarder), (targ_q_funcs, targ_forwarder) = (
            builders.create_discrete_q_function(*seen, config.q_func_factory, n_ensembles=config.n_critics, **common)
            for _ in range(2)
        )
        value = builders.create_value_function(observation_shape, config.encoder_factory, **common)
        policy = builders.create_categorical_policy(*seen, **common)
        optim, value_optim, policy_optim = (
            config.optim_factory.create(network.named_modules(), lr=config.learning_rate, compiled=self.compiled)
            for network in (q_funcs, value, policy)
        )
        modules = DiscreteIQLModules(
            q_funcs=q_funcs,
            targ_q_funcs=targ_q_funcs,
            value_func=value,
            imitator=policy,
            optim=optim,
            value_optim=value_optim,
            policy_optim=policy_optim,
        )
        self._impl = DiscreteIQLImpl(
            config=config,
            observation_shape=observation_shape,
            action_size=action_size,
            modules=modules,
            q_func_forwarder=forwarder,
            targ_q_func_forwarder=targ_forwarder,
            target_update_interval=1,
            gamma=config.gamma,
            compiled=False,
            device=device,
        )

    def get_action_type(self) -> Any:
        return DISCRETE


base.register_learnable(DiscreteIQLConfig)
