"""N Game Boys as a Stable-Baselines3 VecEnv; SB3 itself is not a dependency of DMG Lab.

docs/notebook/faces.md has an example of training with it in twenty lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from stable_baselines3.common.vec_env import VecEnv as Sb3VecEnvBase  # pyright: ignore
from torch import Tensor

from trainer_core.envs import translation as faces
from trainer_core.envs.vec_env import StepInfo, StepResult


class DmgLabSb3VecEnv(Sb3VecEnvBase):
    """SB3 `VecEnv` of N consoles, which needs no VecMonitor.

    `infos[n]` of an ended episode holds `terminal_observation`, `TimeLimit.truncated` and `episode`
    (return r and length l).
    """

    def __init__(
        self,
        task: str = "tiny_goal",
        num_envs: int = 64,
        *,
        device: str = "cpu",
        stack_k: int = 1,
        held_out: bool = False,
        info_mode: Literal["full", "none"] = "full",
        home: Path | None = None,
        demo_share: float = 0.0,
    ) -> None:
        """Open the task. Raises LabError for an unknown task or an impossible number of envs.

        `demo_share`: share of the episodes that begin along the task's demonstrations, 0 to 0.9.
        `info_mode` none leaves `infos[n]` empty until an episode ends: SB3 requires one dictionary
        for each env, and filling thousands of them takes longer than the emulation.
        """
        self._info_mode = info_mode
        self._env = faces.open_env(
            task, num_envs, device=device, stack_k=stack_k, held_out=held_out, home=home, demo_share=demo_share
        )
        self.render_mode = "rgb_array"
        self.consoles = self._env
        """The batch behind this adapter: read it, do not step it."""
        super().__init__(num_envs, faces.observation_space(self._env), faces.action_space(self._env))
        self._actions = np.zeros(num_envs, np.int64)
        self._returns = np.zeros(num_envs)

    def reset(self) -> np.ndarray:
        seed, options = self._seeds[0], self._options[0]
        obs: Tensor = self._env.reset(seed)
        if "start" in options:
            starts = [given.get("start", options["start"]) for given in self._options]
            obs = self._env.reset_to(faces.chosen_starts(starts, self._env))
        self._returns[:] = 0
        self.reset_infos = self._infos(faces.begun(self._env))
        self._reset_seeds()
        self._reset_options()
        return faces.greys(obs)

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[dict[str, Any]]]:
        result = self._env.step(faces.as_actions(self._actions, self._env))
        reward = result.reward.cpu().numpy().copy()
        self._returns += reward
        ended = result.info.reset_mask.cpu().numpy().copy()
        infos = self._infos(result.info)
        if ended.any():
            self._add_ends(infos, result, np.flatnonzero(ended))
            self._returns[ended] = 0
        return faces.greys(result.obs), reward, ended, infos

    def _infos(self, info: StepInfo) -> list[dict[str, Any]]:
        if self._info_mode == "none":
            return [{} for _ in range(self.num_envs)]
        dist, success = info.dist.tolist(), info.success.tolist()
        return [{"dist": apart, "is_success": won} for apart, won in zip(dist, success, strict=True)]

    def _add_ends(self, infos: list[dict[str, Any]], result: StepResult, numbers: np.ndarray) -> None:
        """Add SB3's entries for the ended episodes of the envs `numbers` i64[E] to `infos`."""
        chosen = torch.from_numpy(numbers).to(result.final_obs.device)
        reached = faces.greys(result.final_obs[chosen])
        info = result.info
        facts = (result.trunc, info.success, info.episode_steps, info.from_demo)
        rows = zip(numbers.tolist(), reached, *(fact[chosen].tolist() for fact in facts), strict=True)
        for env, picture, truncated, success, length, from_demo in rows:
            infos[env] |= {
                "terminal_observation": picture,
                "TimeLimit.truncated": truncated,
                "episode": {"r": float(self._returns[env]), "l": length, "t": 0.0},
            }
            if not from_demo:  # SB3's success rate is then that of the task's own starts
                infos[env]["is_success"] = success

    def state_dict(self) -> dict[str, Any]:
        """Return the state that an exact resume needs beside SB3's own; tensors on the CPU."""
        return {"env": self._env.state_dict(), "returns": torch.from_numpy(self._returns.copy())}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._env.load_state_dict(state["env"])
        self._returns[:] = state["returns"].numpy()

    def get_action_meanings(self) -> list[str]:
        """Return the buttons of each action, like `A` or `A+UP`, as ALE's environments do."""
        return faces.action_names(self._env)

    def get_images(self) -> Sequence[np.ndarray]:
        return [faces.rgb(screen) for screen in self._env.screens(self.num_envs)]

    def close(self) -> None:
        self._env.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self, attr_name)] * len(self._chosen(indices))

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of all envs, whatever `indices` are: the envs are one object."""
        setattr(self, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        found = getattr(self, method_name)(*method_args, **method_kwargs)
        return [found] * len(self._chosen(indices))

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """Return False for each env: none has a wrapper of its own. SB3 asks this of its Monitor."""
        return [False] * len(self._chosen(indices))

    def _chosen(self, indices: Any) -> list[int]:
        if indices is None:
            return list(range(self.num_envs))
        return [indices] if isinstance(indices, int) else list(_integers(indices))


def _integers(indices: Iterable[Any]) -> Iterable[int]:
    return (int(index) for index in indices)
