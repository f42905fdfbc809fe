"""Vector environments that a script steps: Gymnasium's own, or one batch of our consoles.

They have the interface of Gymnasium 0.29, which CleanRL is written for. Both kinds call a hook before each step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np

from trainer_core.envs import translation as faces
from trainer_core.lab.paths import HomePaths
from trainer_core.runners.cleanrl import networks
from trainer_core.runners.cleanrl.runner import CleanRlConfig

Hook = Callable[[Any], None]
"""Function that receives the environment before each of its steps."""


class ConsoleVector(gymnasium.vector.VectorEnv):
    """Batch of N consoles in place of the script's SyncVectorEnv of N environments.

    The wrappers of the script's environments (skipped frames, clipped rewards) are not built: step and reward are the
    task's. `final_info` and `final_observation` have Gymnasium 0.29's form.
    """

    def __init__(self, config: CleanRlConfig, home: HomePaths, num_envs: int, hook: Hook) -> None:
        self._algo, self._hook = config.algo, hook
        self.consoles = faces.open_env(
            config.task,
            num_envs,
            device=config.device,
            seed=config.seed,
            home=home.root,
            stack_k=networks.stack_of(config.algo),
            demo_share=config.demo_starts,
        )
        spaces = networks.observation_space(config.algo), faces.action_space(self.consoles)
        super().__init__(num_envs, *spaces)  # pyright: ignore  # Gymnasium 0.29's
        self._returns = np.zeros(num_envs)

    def reset(self, *, seed: Any = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:
        obs = self.consoles.reset(seed[0] if isinstance(seed, list) else seed)
        self._returns[:] = 0
        return self._seen(obs), {}

    def step(self, actions: Any) -> tuple[Any, ...]:
        self._hook(self)
        result = self.consoles.step(faces.as_actions(np.asarray(actions), self.consoles))
        reward = result.reward.cpu().numpy().astype(np.float64)
        self._returns += reward
        ended = result.info.reset_mask.cpu().numpy()
        infos: dict[str, Any] = {}
        if ended.any():
            infos = self._ends(result, ended)
            self._returns[ended] = 0
        done, truncated = result.done.cpu().numpy().copy(), result.trunc.cpu().numpy().copy()
        return self._seen(result.obs), reward, done, truncated, infos

    def _ends(self, result: Any, ended: np.ndarray) -> dict[str, Any]:
        reached = self._seen(result.final_obs)
        steps = result.info.episode_steps.cpu().numpy()
        final_info = np.full(self.num_envs, None, dtype=object)
        final_observation = np.full(self.num_envs, None, dtype=object)
        for env in np.flatnonzero(ended):
            episode = {"r": np.array([self._returns[env]]), "l": np.array([steps[env]])}
            final_info[env], final_observation[env] = {"episode": episode}, reached[env]
        return {
            "final_info": final_info,
            "_final_info": ended.copy(),
            "final_observation": final_observation,
            "_final_observation": ended.copy(),
        }

    def _seen(self, shades: Any) -> np.ndarray:
        return networks.observations(self._algo, shades).cpu().numpy()

    def close_extras(self, **kwargs: Any) -> None:
        self.consoles.close()


class HookedSyncVector(gymnasium.vector.SyncVectorEnv):
    """Gymnasium's SyncVectorEnv that calls a hook before each step."""

    def __init__(self, env_fns: Sequence[Callable[[], Any]], hook: Hook) -> None:
        super().__init__(env_fns)
        self._hook = hook

    def step(self, actions: Any) -> Any:
        self._hook(self)
        return super().step(actions)
