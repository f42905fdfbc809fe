"""Making, loading, querying and saving skrl's models and memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from skrl.agents.torch.ppo import PPO, PPO_CFG  # pyright: ignore
from skrl.memories.torch import RandomMemory  # pyright: ignore
from skrl.models.torch import CategoricalMixin, DeterministicMixin, Model  # pyright: ignore
from torch import Tensor

from trainer_core.host.checkpoint import fitting, load_plain
from trainer_core.learn.policy import PixelActorCritic
from trainer_core.runners.skrl import products
from trainer_core.runners.skrl.runner import SkrlConfig
from trainer_core.wire.decoding import parsing
from trainer_core.wire.errors import CheckpointError

MODEL = "agent.pt"
"""skrl's own file format, for its `Agent.load`."""


class SharedModel(CategoricalMixin, DeterministicMixin, Model):
    """Network of ours that is both the policy model and the value model of skrl.

    The value model reuses what the policy model computed for the same observations.
    """

    def __init__(self, kind: str, observation_space: Any, action_space: Any, device: Any) -> None:
        Model.__init__(self, observation_space=observation_space, action_space=action_space, device=device)
        CategoricalMixin.__init__(self, unnormalized_log_prob=True)
        DeterministicMixin.__init__(self)
        self.net = PixelActorCritic(kind, observation_space.shape, int(action_space.n))
        self._by_products = products.can_be_products(self.net)
        self._values: Tensor | None = None
        self._entropies: Tensor | None = None
        self._minibatch: products.Minibatch | None = None

    def capture(self, size: int) -> None:
        """Record CUDA graphs for minibatches of `size` samples and replay them from then on."""
        if self._by_products:
            self._minibatch = products.Minibatch(self.net, size, self.device)

    def act(self, inputs: dict[str, Any], *, role: str = "") -> tuple[Tensor, dict[str, Any]]:
        self._entropies = None
        taken = inputs.get("taken_actions")
        if role == "policy" and taken is not None and self._minibatch is not None:
            pictures = self._pictures(inputs)
            logs, self._entropies, self._values = self._minibatch(pictures, taken)
            return taken, {"log_prob": logs}
        mixin = CategoricalMixin if role == "policy" else DeterministicMixin
        return mixin.act(self, inputs, role=role)

    def get_entropy(self, *, role: str = "") -> Tensor:
        """Return the entropy of the policy's last distribution."""
        if self._entropies is not None:
            return self._entropies
        return CategoricalMixin.get_entropy(self, role=role)

    def compute(self, inputs: dict[str, Any], role: str) -> tuple[Tensor, dict[str, Any]]:
        """Return logits f32[B, 7], or values f32[B, 1], of flat shades u8[B, K * 72 * 80]."""
        if role == "value" and self._values is not None:
            values, self._values = self._values, None
            return values, {}
        logits, values = self.heads(self._pictures(inputs))
        if role == "value":
            return values.unsqueeze(-1), {}
        self._values = values.unsqueeze(-1)
        return logits, {}

    def heads(self, pictures: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits f32[B, 7] and values f32[B] of shades u8[B, K, 72, 80]."""
        if pictures.is_cuda and self._by_products:
            return products.heads(self.net, pictures)
        return self.net(pictures)

    def _pictures(self, inputs: dict[str, Any]) -> Tensor:
        return inputs["observations"].view(-1, *self.observation_space.shape)

    def forget(self) -> None:
        """Drop the values that the last policy call kept for a value call which never came.

        The next policy call has other observations.
        """
        self._values = None


class PictureMemory(RandomMemory):
    """skrl's memory that stores observations as bytes and draws new random minibatches in each epoch.

    skrl's own `sample_all` always cuts the rollout into the same consecutive steps of all envs: such samples are alike,
    and PPO then needs more of them (docs/notebook/runners.md has how many).
    """

    def create_tensor(self, name: str, *, dtype: torch.dtype | None = None, **options: Any) -> bool:
        kept = torch.uint8 if name == "observations" else dtype
        return super().create_tensor(name, dtype=kept, **options)

    def sample_all(self, names: list[str], *, mini_batches: int = 1, sequence_length: int = 1) -> Any:
        """Return an iterable of minibatches that PPO iterates once per epoch, each time in a new order."""
        return _Epoch(self, names, mini_batches)


class _Epoch:
    """Iterable over `parts` minibatches of a whole memory, in a new random order at each iteration."""

    def __init__(self, memory: PictureMemory, names: list[str], parts: int) -> None:
        self._tensors = [memory.tensors_view.get(name) for name in names]
        self._samples, self._parts = memory.memory_size * memory.num_envs, parts
        self._device = memory.device

    def __iter__(self) -> Iterator[list[Tensor | None]]:
        order = torch.randperm(self._samples, device=self._device)
        size = self._samples // self._parts
        for part in range(self._parts):
            chosen = order[part * size : (part + 1) * size]
            yield [None if tensor is None else tensor[chosen] for tensor in self._tensors]


class LabPPO(PPO):
    """skrl's PPO that bootstraps from the observation reached by each step, not from the one after a reset.

    At a time limit skrl takes the value of the next observation, which is another episode's start in a batch that
    resets within the same step.
    """

    def record_transition(self, *, next_observations: Tensor, infos: Any, **given: Any) -> None:
        self.policy.forget()
        final = infos["final_observations"]
        super().record_transition(next_observations=final, infos=infos, **given)
        self.policy.forget()

    def update(self, **when: int) -> None:
        self.policy.forget()
        super().update(**when)


def make_agent(config: SkrlConfig, env: Any, after_step: type[LabPPO] = LabPPO) -> LabPPO:
    """Return a new agent that will learn on `env`, a DmgLabSkrlEnv."""
    device = torch.device(config.device)
    model = SharedModel(config.policy, env.observation_space, env.action_space, device)
    memory = PictureMemory(memory_size=config.rollouts, num_envs=config.num_envs, device=device)
    cfg = PPO_CFG(
        rollouts=config.rollouts,
        learning_epochs=config.learning_epochs,
        mini_batches=config.mini_batches,
        discount_factor=config.discount_factor,
        gae_lambda=config.gae_lambda,
        learning_rate=config.learning_rate,
        ratio_clip=config.ratio_clip,
        value_clip=config.value_clip,
        entropy_loss_scale=config.entropy_loss_scale,
        value_loss_scale=config.value_loss_scale,
        grad_norm_clip=config.grad_norm_clip,
        kl_threshold=config.kl_threshold,
        mixed_precision=config.mixed_precision,
        time_limit_bootstrap=True,
        # The host writes log and checkpoints.
        experiment={"write_interval": 0, "checkpoint_interval": 0},
    )
    agent = after_step(
        models={"policy": model, "value": model},
        memory=memory,
        observation_space=env.observation_space,
        action_space=env.action_space,
        device=device,
        cfg=cfg,
    )
    if device.type == "cuda":
        for group in agent.optimizer.param_groups:
            group["fused"] = True  # one launch per step: launching is the bottleneck
        if not config.mixed_precision:
            model.capture(config.num_envs * config.rollouts // config.mini_batches)
    return agent


def read_modules(folder: Path) -> dict[str, Any]:
    """Read the state dicts in a checkpoint's file, which may hold tensors only. Raises CheckpointError."""
    found = load_plain(folder / MODEL, str(folder / MODEL), "state of skrl")
    with parsing(folder / MODEL, CheckpointError, "; use another checkpoint"):
        return {name: found[name] for name in ("policy", "optimizer")}


def load_policy(model: SharedModel, folder: Path) -> None:
    """Load the policy weights of a checkpoint, and no optimizer or counter. Raises CheckpointError."""
    with fitting(folder):
        model.load_state_dict(read_modules(folder)["policy"])


@torch.no_grad()
def action_logits(model: SharedModel, shades: Tensor) -> Tensor:
    """Return logits f32[N, 7] of shades u8[N, K, 72, 80]."""
    return model.heads(shades.to(model.device))[0].float()
