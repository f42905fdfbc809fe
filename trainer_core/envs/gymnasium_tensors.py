"""N Game Boys as a Gymnasium VectorEnv whose values are torch tensors that stay on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainer_core.envs import translation as faces
from trainer_core.envs.episodes import step_stats
from trainer_core.envs.gymnasium_vector import DmgLabVectorEnv
from trainer_core.envs.vec_env import StepInfo, ram_terms


class BatchedEnv(DmgLabVectorEnv):
    """A Gymnasium `VectorEnv` of torch tensors: nothing is copied to the host.

    `AutoresetMode.SAME_STEP`: where an episode ended, `obs` is the first observation of the next one.
    `infos["final_obs"]` and `infos["final_info"]` are tensors of all N envs with what the step reached;
    `infos["_final_obs"]` bool[N] marks the ended episodes. Later steps do not overwrite returned tensors.
    """

    def reset(  # type: ignore[override]
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Tensor, dict[str, Any]]:
        """Return obs uint8[N, K, 72, 80] and infos. `options={"start": s}` begins in start state s, or s[n]."""
        obs = self._reset(seed, options)
        return obs * faces.GREY_STEP, self._told(faces.begun(self.consoles))

    def step(  # type: ignore[override]
        self, actions: Tensor | np.ndarray
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, dict[str, Any]]:
        """Take actions, whole numbers [N]; return obs uint8[N, K, 72, 80], rewards float32[N], terminated bool[N],
        truncated bool[N] and infos. Raises ValueError for anything but one action for each env.

        `infos["ram"]` uint8[N, B] are the watched bytes that the step reached, in a task that reads memory.
        """
        self._check_open()
        result = self.consoles.step(faces.as_actions(actions, self.consoles))
        ended = result.info.reset_mask.clone()
        infos = self._told(result.info, ended)
        if (terms := ram_terms(self.consoles)) is not None and self._info_mode == "full":
            infos["ram"] = terms.watched.clone()
        if self._info_mode == "full":
            infos |= {"final_obs": result.final_obs * faces.GREY_STEP, "_final_obs": ended}
        return result.obs * faces.GREY_STEP, result.reward.clone(), result.done.clone(), result.trunc.clone(), infos

    def _told(self, info: StepInfo, ended: Tensor | None = None) -> dict[str, Any]:
        """Return the infos of `info_mode` without the final observations; `ended` bool[N] marks the reset envs."""
        if self._info_mode == "none":
            return {}
        if self._info_mode == "stats":
            return step_stats(info)._asdict()
        columns = {name: getattr(info, name).clone() for name in faces.INFO}
        if ended is None:
            return columns
        begun = faces.begun(self.consoles)
        now = {name: torch.where(ended, getattr(begun, name), column) for name, column in columns.items()}
        return now | {"final_info": columns, "_final_info": ended}
