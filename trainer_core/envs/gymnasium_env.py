"""One Game Boy (or tiny_goal) as a Gymnasium Env: `gymnasium.make("dmglab:DMGLab-v0", task="tiny_goal")`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from trainer_core.envs import translation as faces
from trainer_core.envs.vec_env import StepInfo, ram_terms

_SEEDS = 2**31


class DmgLabEnv(gymnasium.Env[np.ndarray, np.int64]):
    """Gymnasium `Env` of one console: `terminated` is the goal, `truncated` the horizon.

    Observations are greys as in envs.translation. The step that ends an episode returns the last
    picture of that episode. `reset(options={"start": s})` begins in start state s. `info`, of `reset`
    too, has `dist`, `success`, `start_index` and `episode_steps`.
    """

    metadata = {  # noqa: RUF012
        "render_modes": ["rgb_array"],
        "render_fps": faces.STEPS_PER_SECOND,
    }

    def __init__(
        self,
        task: str = "tiny_goal",
        *,
        device: str = "cpu",
        stack_k: int = 1,
        held_out: bool = False,
        render_mode: str | None = None,
        home: Path | None = None,
    ) -> None:
        """Open the task. Raises LabError for an unknown task and ValueError for an unknown render mode."""
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode must be None or 'rgb_array', got {render_mode!r}")
        self.render_mode = render_mode
        self._env = faces.open_env(task, 1, device=device, stack_k=stack_k, held_out=held_out, home=home)
        self.observation_space = faces.observation_space(self._env)
        self.action_space = faces.action_space(self._env)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        drawn = None if seed is None else int(self.np_random.integers(_SEEDS))
        obs = self._env.reset(drawn)
        if options and "start" in options:
            obs = self._env.reset_to(faces.chosen_starts(options["start"], self._env))
        return faces.greys(obs)[0], _row(faces.begun(self._env))

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        result = self._env.step(faces.as_actions(np.asarray(action), self._env))
        return (
            faces.greys(result.final_obs)[0],
            float(result.reward[0]),
            bool(result.done[0]),
            bool(result.trunc[0]),
            _row(result.info) | self._ram(),
        )

    def _ram(self) -> dict[str, Any]:
        """Return the watched bytes u8[B] of a task that reads memory, as the step reached them."""
        terms = ram_terms(self._env)
        return {} if terms is None else {"ram": terms.watched[0].cpu().numpy().copy()}

    def get_action_meanings(self) -> list[str]:
        """Return the buttons of each action, like `A` or `A+UP`, as ALE's environments do."""
        return faces.action_names(self._env)

    def render(self) -> np.ndarray | None:
        """Return the current screen, u8[144, 160, 3]; after the end of an episode, the first of the next one."""
        if self.render_mode is None:
            return None
        return faces.rgb(self._env.screens(1)[0])

    def close(self) -> None:
        self._env.close()


def _row(info: StepInfo) -> dict[str, Any]:
    """Return the `info` of env 0 as Python numbers."""
    return {name: column[0].item() for name, column in faces.info_columns(info).items()}
