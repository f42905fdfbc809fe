"""N Game Boys as a Gymnasium VectorEnv that resets in the same step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space

from trainer_core.envs import faces

_SEEDS = 2**31


class DmgLabVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """AutoresetMode.SAME_STEP: `obs` is what to act on next, in a new episode where one ended.

    What such a step reached is in `infos["final_obs"]` (object array) and `infos["final_info"]`,
    with the masks `_final_obs` and `_final_info`, as gymnasium's own SyncVectorEnv has them.
    """

    metadata = {  # noqa: RUF012
        "autoreset_mode": AutoresetMode.SAME_STEP,
        "render_modes": ["rgb_array"],
        "render_fps": faces.STEPS_PER_SECOND,
    }

    def __init__(
        self,
        task: str = "tiny_goal",
        num_envs: int = 1,
        *,
        device: str = "cpu",
        stack_k: int = 1,
        held_out: bool = False,
        render_mode: str | None = None,
        home: Path | None = None,
    ) -> None:
        """Raises LabError for an unknown task or an impossible number of machines."""
        self.num_envs, self.render_mode = num_envs, render_mode
        self._machines = faces.open_machines(
            task, num_envs, device=device, stack_k=stack_k, held_out=held_out, home=home
        )
        self.single_observation_space = faces.observation_space(self._machines)
        self.single_action_space: gymnasium.Space[Any] = faces.action_space()
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """`options={"start": s}` begins in start state s, or s[n] for machine n."""
        seed = seed[0] if isinstance(seed, list) else seed
        super().reset(seed=seed)
        drawn = None if seed is None else int(self.np_random.integers(_SEEDS))
        obs = self._machines.reset(drawn)
        if options and "start" in options:
            obs = self._machines.reset_to(faces.chosen_starts(options["start"], self._machines))
        return faces.greys(obs), {}

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        result = self._machines.step(faces.as_actions(actions, self._machines))
        ended = result.info.reset_mask.cpu().numpy()
        facts = {
            "dist": result.info.dist, "success": result.info.success,
            "start_index": result.info.start_index, "episode_steps": result.info.episode_steps,
        }  # fmt: skip
        columns = {name: tensor.cpu().numpy().copy() for name, tensor in facts.items()}
        infos = _masked(columns, ~ended)
        if ended.any():
            final = np.full(self.num_envs, None, dtype=object)
            reached = faces.greys(result.final_obs)
            for machine in np.flatnonzero(ended):
                final[machine] = reached[machine]
            infos |= {
                "final_obs": final, "_final_obs": ended.copy(),
                "final_info": _masked(columns, ended), "_final_info": ended.copy(),
            }  # fmt: skip
        return (
            faces.greys(result.obs),
            result.reward.cpu().numpy().astype(np.float64),
            result.done.cpu().numpy().copy(),
            result.trunc.cpu().numpy().copy(),
            infos,
        )

    def render(self) -> tuple[np.ndarray, ...] | None:  # type: ignore[override]
        """One u8[144, 160, 3] per machine."""
        if self.render_mode is None:
            return None
        return tuple(faces.rgb(screen) for screen in self._machines.screens(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        self._machines.close()


def _masked(columns: dict[str, np.ndarray], mask: np.ndarray) -> dict[str, Any]:
    """Gymnasium's form of infos: a column and `_name`, which machines it speaks of; else zero."""
    found: dict[str, Any] = {}
    if not mask.any():
        return found
    for name, column in columns.items():
        found[name] = np.where(mask, column, np.zeros_like(column))
        found[f"_{name}"] = mask.copy()
    return found
