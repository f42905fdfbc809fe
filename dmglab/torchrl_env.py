"""A task as TorchRL's EnvBase. TorchRL is not a dependency of DMG Lab: `pip install torchrl`."""

from __future__ import annotations

from typing import Any

import torch
from tensordict import TensorDict, TensorDictBase  # pyright: ignore
from torch import Tensor
from torchrl.data import Binary, Categorical, Composite, Unbounded, UnboundedDiscrete  # pyright: ignore
from torchrl.envs import EnvBase  # pyright: ignore

from trainer_core.envs import translation as faces
from trainer_core.envs.gymnasium_tensors import BatchedEnv


class TorchRLEnv(EnvBase):
    """N environments, batch size [N]; `observation` uint8[N, K, 72, 80], `action` int64[N].

    `step` returns the last picture of an ended episode, and `reset` with TorchRL's mask the first
    picture of the next one. Consoles reset themselves when an episode ends, so a mask may name ended
    environments only; without a mask all environments are reset.
    """

    def __init__(self, env: BatchedEnv) -> None:
        super().__init__(device=env.consoles.device, batch_size=torch.Size([env.num_envs]))
        self._env = env
        shape, device = (env.num_envs, *env.consoles.obs_shape), self.device
        flag = {"n": 1, "shape": (env.num_envs, 1), "device": device, "dtype": torch.bool}
        self.observation_spec = Composite(
            observation=UnboundedDiscrete(shape=shape, dtype=torch.uint8, device=device), shape=self.batch_size
        )
        self.action_spec = Categorical(env.consoles.num_actions, shape=self.batch_size, device=device)
        self.reward_spec = Unbounded(shape=(env.num_envs, 1), device=device)
        self.done_spec = Composite(
            done=Binary(**flag), terminated=Binary(**flag), truncated=Binary(**flag), shape=self.batch_size
        )
        self._seed: int | None = None
        self._next: Tensor | None = None
        """Current observation of each env in shades; None before the first reset."""
        self._ended = torch.zeros(env.num_envs, dtype=torch.bool, device=device)

    def _reset(self, tensordict: TensorDictBase | None = None, **_: Any) -> TensorDictBase:
        mask = None if tensordict is None else tensordict.get("_reset", None)
        if mask is None or self._next is None or bool(mask.all()):
            self._next = self._env.consoles.reset(self._seed).clone()
            self._seed = None
        elif bool((mask.reshape(-1) & ~self._ended).any()):
            raise ValueError("reset of some environments: only those whose episodes ended, or all, can begin anew")
        begins = torch.zeros((*self.batch_size, 1), dtype=torch.bool, device=self.device)
        return self._values(self._next * faces.GREY_STEP, {name: begins.clone() for name in self.done_keys})

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        result = self._env.consoles.step(faces.as_actions(tensordict["action"], self._env.consoles))
        self._next = result.obs.clone()
        self._ended = result.info.reset_mask.clone()
        ends = {"done": self._ended, "terminated": result.done, "truncated": result.trunc}
        found = self._values(
            result.final_obs * faces.GREY_STEP, {name: end.clone()[:, None] for name, end in ends.items()}
        )
        return found.set("reward", result.reward.clone()[:, None])

    def _values(self, observation: Tensor, ends: dict[Any, Tensor]) -> TensorDictBase:
        return TensorDict({"observation": observation, **ends}, batch_size=self.batch_size, device=self.device)

    def _set_seed(self, seed: int | None) -> None:
        self._seed = seed

    def close(self, *, raise_if_closed: bool = True) -> None:
        """Free the consoles."""
        if not self.is_closed:
            self._env.close()
        super().close(raise_if_closed=raise_if_closed)
