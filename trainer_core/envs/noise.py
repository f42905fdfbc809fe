"""Control experiment that shows whether the policy uses its input: the same game with random pictures."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from trainer_core.envs.state_checks import check_keys, check_like, restore_generator
from trainer_core.envs.vec_env import StepResult, VecEnv, WrappedEnv


class NoiseEnv(WrappedEnv):
    """Wrapper of an environment that replaces `obs` and `final_obs` by noise; rewards and resets are unchanged."""

    def __init__(self, env: VecEnv, seed: int) -> None:
        super().__init__(env)
        self._rng = torch.Generator(env.device).manual_seed(seed)

    def reset(self, seed: int | None = None) -> Tensor:
        if seed is not None:
            self._rng.manual_seed(seed)
        self._env.reset(seed)
        return self._noise()

    def reset_to(self, starts: Tensor) -> Tensor:
        self._env.reset_to(starts)
        return self._noise()

    def step(self, actions: Tensor) -> StepResult:
        result = self._env.step(actions)
        noise = self._noise()
        return result._replace(obs=noise, final_obs=noise)

    def state_dict(self) -> dict[str, Any]:
        return {"env": self._env.state_dict(), "rng": self._rng.get_state(), "obs": self.obs.cpu()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the result of `state_dict`. Raises CheckpointError for an invalid one."""
        check_keys(state, ("env", "rng", "obs"), "the envs' state")
        kept = {"obs": self.obs, "rng": self._rng.get_state()}
        check_like({name: state[name] for name in kept}, kept, "the envs' state")
        self._env.load_state_dict(state["env"])
        restore_generator(self._rng, state["rng"], "the noise's rng")
        self.obs.copy_(state["obs"])

    def _noise(self) -> Tensor:
        return self.obs.random_(0, 4, generator=self._rng)
