"""Validation inside a run: held-out starts, greedy and sampled, with a few episodes to look at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from PIL import Image

from trainer_core.algo.learner import Learner
from trainer_core.checkpoint import GREY_LEVELS
from trainer_core.envs.build import make_env
from trainer_core.envs.vec_env import VecEnv
from trainer_core.evaluate import Episode, Validation, greedy, run_episodes, sampled, spread_starts
from trainer_core.protocol import records
from trainer_core.protocol.config import RunConfig
from trainer_core.protocol.paths import HomePaths, RunPaths
from trainer_core.run_dir import write_json

MAX_MACHINES = 256
EPISODE_GIF_MS = 100
MAX_LOGGED_ACTIONS = 2000


class Validator:
    """Owns the environment of held-out starts; made on first use."""

    def __init__(
        self, config: RunConfig, home: HomePaths, learner: Learner, paths: RunPaths
    ) -> None:
        self.config, self.home, self.learner, self.paths = config, home, learner, paths
        self.success_rate = 0.0
        self._env: VecEnv | None = None

    def validate(
        self, update: int, env_steps: int
    ) -> Iterator[tuple[type[records.Record], dict[str, Any]]]:
        """Records to write: one eval per mode, and one sample episode."""
        env = self._environment()
        rng = torch.Generator(env.device).manual_seed(self.config.seed * 7907 + update)
        env.reset(seed=self.config.seed * 7907 + update)
        forward = self.learner.forward
        for mode, act in (("greedy", greedy(forward)), ("sample", sampled(forward, rng))):
            starts = spread_starts(env.start_set, self.config.eval_episodes, mode)
            found = run_episodes(env, act, starts, mode)
            if mode == "greedy":
                self.success_rate = found.success_rate
                picked = pick_sample(found)
                yield records.EpisodeRecord, self._keep(picked, mode, env_steps)
            fields = {"env_steps": env_steps, "task": self.config.task, **found.summary()}
            yield records.EvalRecord, fields

    def close(self) -> None:
        if self._env is not None:
            self._env.close()

    def _environment(self) -> VecEnv:
        if self._env is None:
            count = min(self.config.eval_episodes, MAX_MACHINES)
            self._env = make_env(self.config, self.home, num_envs=count, held_out=True)
        return self._env

    def _keep(self, episode: Episode, mode: str, env_steps: int) -> dict[str, Any]:
        """Write the sample episode's JSON and GIF; returns its record's fields."""
        self.paths.episodes.mkdir(parents=True, exist_ok=True)
        gif = self.paths.episodes / f"{env_steps:012d}-{mode}.gif"
        write_gif(gif, self._replay(episode))
        fields = {
            "env_steps": env_steps,
            "start_index": episode.start,
            "mode": mode,
            "success": episode.success,
            "steps": episode.steps,
            "episode_return": episode.episode_return,
            "actions": list(episode.actions[:MAX_LOGGED_ACTIONS]),
            "gif": str(gif.relative_to(self.paths.root)),
        }
        write_json(gif.with_suffix(".json"), fields)
        return fields

    def _replay(self, episode: Episode) -> list[np.ndarray]:
        """The episode's screens, one a step, by pressing its buttons again."""
        env = self._environment()
        starts = torch.full((env.num_envs,), episode.start, device=env.device)
        env.reset_to(starts)
        pictures = [env.screens(1)[0].cpu().numpy()]
        for action in episode.actions[:-1]:
            env.step(torch.full((env.num_envs,), action, device=env.device))
            pictures.append(env.screens(1)[0].cpu().numpy())
        return pictures


def pick_sample(found: Validation) -> Episode:
    """The most telling episode: the first failure, else the longest success."""
    failures = [episode for episode in found.episodes if not episode.success]
    return failures[0] if failures else max(found.episodes, key=lambda episode: episode.steps)


def write_gif(path: Any, pictures: list[np.ndarray], duration_ms: int = EPISODE_GIF_MS) -> None:
    """Grey GIF of u8[H, W] shades; appears whole or not at all."""
    images = []
    for shades in pictures:
        image = Image.fromarray(shades, mode="P")
        image.putpalette([level for grey in GREY_LEVELS for level in (grey, grey, grey)])
        images.append(image)
    partial = path.with_suffix(".gif.tmp")
    images[0].save(
        partial, format="GIF", save_all=True, append_images=images[1:],
        duration=duration_ms, loop=0, optimize=False,
    )  # fmt: skip
    partial.replace(path)
