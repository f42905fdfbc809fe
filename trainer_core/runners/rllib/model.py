"""Making, loading, querying and saving RLlib's module and learner."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gymnasium
import torch
from torch import Tensor

from trainer_core.envs.translation import GREY_STEP
from trainer_core.host.checkpoint import fitting, load_plain
from trainer_core.learn.policy import PixelActorCritic
from trainer_core.runners.rllib.runner import RllibConfig
from trainer_core.wire.environment import tell_libraries

tell_libraries(RAY_USAGE_STATS_ENABLED="0", RAY_DISABLE_IMPORT_WARNING="1")

from ray.rllib.algorithms.ppo import PPOConfig  # noqa: E402  # pyright: ignore
from ray.rllib.core.columns import Columns  # noqa: E402  # pyright: ignore
from ray.rllib.core.rl_module import RLModuleSpec  # noqa: E402  # pyright: ignore
from ray.rllib.core.rl_module.apis import ValueFunctionAPI  # noqa: E402  # pyright: ignore
from ray.rllib.core.rl_module.torch import TorchRLModule  # noqa: E402  # pyright: ignore

MODEL = "module.pt"


class LabModule(TorchRLModule, ValueFunctionAPI):
    """RLlib's module around a network of ours; observations are the greys of the Gymnasium face."""

    def setup(self) -> None:
        self.net = PixelActorCritic(self.model_config["kind"], self.observation_space.shape, int(self.action_space.n))

    def _forward(self, batch: dict[str, Any], **_: Any) -> dict[str, Tensor]:
        return {Columns.ACTION_DIST_INPUTS: self.heads(batch[Columns.OBS])[0]}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Tensor:
        """Return values f32[B] of a batch."""
        return self.heads(batch[Columns.OBS])[1]

    def heads(self, greys: Tensor) -> tuple[Tensor, Tensor]:
        """Return logits f32[B, 7] and values f32[B] of greys u8[B, K, 72, 80]."""
        return self.net(torch.round(greys / GREY_STEP).to(torch.uint8))


def make_learner(config: RllibConfig, seen: gymnasium.Space[Any], actions: gymnasium.Space[Any]) -> Any:
    """Return RLlib's PPO learner with a new module, in this process: it starts no cluster and opens no port."""
    spec = RLModuleSpec(module_class=LabModule, model_config={"kind": config.policy})
    ppo = (
        PPOConfig()
        .environment(observation_space=seen, action_space=actions)
        .learners(num_learners=0, num_gpus_per_learner=0 if config.device == "cpu" else 1)
        .training(
            lr=config.learning_rate,
            gamma=config.gamma,
            lambda_=config.gae_lambda,
            clip_param=config.clip_param,
            vf_loss_coeff=config.vf_loss_coeff,
            vf_clip_param=float("inf"),
            entropy_coeff=config.entropy_coeff,
            use_kl_loss=False,
            grad_clip=0.5,
            grad_clip_by="global_norm",
        )
        .rl_module(rl_module_spec=spec)
        .debugging(seed=config.seed)
    )
    return ppo.build_learner(spaces={"default_policy": (seen, actions)})


def read_modules(folder: Path) -> Mapping[str, Any]:
    """Read the tensors of a checkpoint's file, which may hold nothing else. Raises CheckpointError."""
    return load_plain(folder / MODEL, str(folder / MODEL), "state of RLlib")


def load_policy(net: PixelActorCritic, folder: Path) -> None:
    """Load the weights of a checkpoint. Raises CheckpointError."""
    with fitting(folder):
        net.load_state_dict(read_modules(folder)["policy"])
