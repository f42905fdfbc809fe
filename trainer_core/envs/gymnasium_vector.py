"""N Game Boys as a Gymnasium VectorEnv that resets in the same step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
from gymnasium.error import ClosedEnvironmentError
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from torch import Tensor

from trainer_core.envs import translation as faces
from trainer_core.envs.episodes import step_stats
from trainer_core.envs.vec_env import InfoMode, StepInfo, ram_terms

SEEDS = 2**31


class DmgLabVectorEnv(VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """Gymnasium `VectorEnv` with AutoresetMode.SAME_STEP: an ended episode's `obs` begins the next episode.

    The last observation and info of an ended episode are in `infos["final_obs"]` (object array) and
    `infos["final_info"]`, with the masks `_final_obs` and `_final_info`, as in Gymnasium's SyncVectorEnv.
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
        info_mode: InfoMode = "full",
        render_mode: str | None = None,
        home: Path | None = None,
        demo_share: float = 0.0,
    ) -> None:
        """Open the task. Raises LabError for an unknown task or an impossible number of envs.

        `demo_share` is the share of episodes that begin along the task's demonstrations, 0 to 0.9. `info_mode`: `full`
        gives columns of N, `stats` five floats, `none` nothing; every mode gives `final_obs` in steps that end an
        episode.
        """
        self.num_envs, self.render_mode = num_envs, render_mode
        self.autoreset_mode = AutoresetMode.SAME_STEP
        """Attribute that TorchRL reads, as in Gymnasium's own vector envs."""
        self._info_mode = info_mode
        self.consoles = faces.open_env(
            task, num_envs, device=device, stack_k=stack_k, held_out=held_out, home=home, demo_share=demo_share
        )
        """The batch behind this adapter: read it, do not step it."""
        self.single_observation_space = faces.observation_space(self.consoles)
        self.single_action_space: gymnasium.Space[Any] = faces.action_space(self.consoles)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode in every env; `options={"start": s}` begins in start state s, or s[n] for env n."""
        obs = self._reset(seed, options)
        return faces.greys(obs), self._infos(faces.begun(self.consoles))

    def _reset(self, seed: int | list[int | None] | None, options: dict[str, Any] | None) -> Tensor:
        """Begin an episode in every env; return shades u8[N, K, 72, 80] on the device."""
        self._check_open()
        seed = seed[0] if isinstance(seed, list) else seed
        super().reset(seed=seed)
        drawn = None if seed is None else int(self.np_random.integers(SEEDS))
        obs = self.consoles.reset(drawn)
        if options and "start" in options:
            obs = self.consoles.reset_to(faces.chosen_starts(options["start"], self.consoles))
        return obs

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        self._check_open()
        result = self.consoles.step(faces.as_actions(actions, self.consoles))
        ended = result.info.reset_mask.cpu().numpy().copy()
        infos = self._infos(result.info, ended)
        if (terms := ram_terms(self.consoles)) is not None and self._info_mode == "full":
            infos |= {"ram": terms.watched.cpu().numpy().copy(), "_ram": np.ones(self.num_envs, bool)}
        if ended.any():
            infos |= {"final_obs": _final_pictures(result.final_obs, ended), "_final_obs": ended}
        return (
            faces.greys(result.obs),
            result.reward.cpu().numpy().astype(np.float64),
            result.done.cpu().numpy().copy(),
            result.trunc.cpu().numpy().copy(),
            infos,
        )

    def _check_open(self) -> None:
        if self.closed:
            raise ClosedEnvironmentError("this environment is closed; make it again")

    def _infos(self, info: StepInfo, ended: np.ndarray | None = None) -> dict[str, Any]:
        """Return the infos of `info_mode` without the final observations; `ended` bool[N] marks the reset envs."""
        if self._info_mode == "none":
            return {}
        if self._info_mode == "stats":
            return {name: float(value) for name, value in step_stats(info)._asdict().items()}
        columns = faces.info_columns(info)
        everywhere = np.ones(self.num_envs, bool)
        if ended is None or not ended.any():
            return _masked(columns, everywhere)
        begun = faces.info_columns(faces.begun(self.consoles))
        now = {name: np.where(ended, begun[name], column) for name, column in columns.items()}
        final = {"final_info": _masked(columns, ended), "_final_info": ended.copy()}
        return _masked(now, everywhere) | final

    def get_action_meanings(self) -> list[str]:
        """Return the buttons of each action, like `A` or `A+UP`, as ALE's environments do."""
        return faces.action_names(self.consoles)

    def render(self) -> tuple[np.ndarray, ...] | None:
        """Return the screen of each env, u8[144, 160, 3]; None without `render_mode`."""
        if self.render_mode is None:
            return None
        return tuple(faces.rgb(screen) for screen in self.consoles.screens(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        self.consoles.close()


def _final_pictures(final: Tensor, ended: np.ndarray) -> np.ndarray:
    """Return Gymnasium's object array [N]: the last picture of each ended episode, else None."""
    numbers = np.flatnonzero(ended)
    reached = faces.greys(final[torch.from_numpy(numbers).to(final.device)])
    found = np.full(len(ended), None, dtype=object)
    found[numbers] = np.fromiter(reached, dtype=object, count=len(numbers))
    return found


def _masked(columns: dict[str, np.ndarray], mask: np.ndarray) -> dict[str, Any]:
    """Return infos in Gymnasium's form: each column, zero outside `mask`, and the mask as `_name`."""
    found: dict[str, Any] = {}
    for name, column in columns.items():
        found[name] = np.where(mask, column, np.zeros_like(column))
        found[f"_{name}"] = mask.copy()
    return found
