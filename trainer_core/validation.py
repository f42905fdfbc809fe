"""Validation inside a run: held-out starts, greedy and sampled, with a few episodes to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
WATCHED = 8
"""Greedy episodes whose screens are kept, one of them for the GIF."""


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
        seed = self.config.seed * 7907 + update
        env = self._environment()
        env.reset(seed=seed)
        for found in self._play(env, torch.Generator(env.device).manual_seed(seed)):
            if found.mode == "greedy":
                self.success_rate = found.success_rate
                yield records.EpisodeRecord, self._keep(found, env_steps)
            yield records.EvalRecord, {
                "env_steps": env_steps, "task": self.config.task, **found.summary(),
            }  # fmt: skip

    def _play(self, env: VecEnv, rng: torch.Generator) -> tuple[Validation, Validation]:
        """Greedy and sampled episodes side by side: few machines cost a GPU as much as many."""
        forward = self.learner.forward
        most_likely, drawn = greedy(forward), sampled(forward, rng)
        first, second = (
            spread_starts(env.start_set, self.config.eval_episodes, mode)
            for mode in ("greedy", "sample")
        )
        watched = min(WATCHED, len(first))
        split = len(first)
        if split + len(second) > env.num_envs:
            return (
                run_episodes(env, most_likely, first, "greedy", watched=watched),
                run_episodes(env, drawn, second, "sample"),
            )

        def act(obs: torch.Tensor) -> torch.Tensor:
            return torch.cat([most_likely(obs[:split]), drawn(obs[split:])])

        both = run_episodes(env, act, torch.cat([first, second]), "both", watched=watched)
        return (
            Validation("greedy", both.episodes[:split], both.wall_time_s, both.screens),
            Validation("sample", both.episodes[split:], both.wall_time_s),
        )

    def close(self) -> None:
        if self._env is not None:
            self._env.close()

    def _environment(self) -> VecEnv:
        if self._env is None:
            count = min(2 * self.config.eval_episodes, MAX_MACHINES)
            self._env = make_env(self.config, self.home, num_envs=count, held_out=True)
        return self._env

    def _keep(self, found: Validation, env_steps: int) -> dict[str, Any]:
        """Write a sample episode's JSON and GIF; returns its record's fields."""
        number = pick_sample(found.episodes[: len(found.screens[0])])
        episode = found.episodes[number]
        pictures = [screens[number].cpu().numpy() for screens in found.screens[: episode.steps]]
        self.paths.episodes.mkdir(parents=True, exist_ok=True)
        gif = self.paths.episodes / f"{env_steps:012d}-{found.mode}.gif"
        write_gif(gif, pictures)
        fields = {
            "env_steps": env_steps,
            "start_index": episode.start,
            "mode": found.mode,
            "success": episode.success,
            "steps": episode.steps,
            "episode_return": episode.episode_return,
            "actions": list(episode.actions[: min(episode.steps, MAX_LOGGED_ACTIONS)]),
            "gif": str(gif.relative_to(self.paths.root)),
        }
        write_json(gif.with_suffix(".json"), fields)
        return fields


def pick_sample(episodes: Sequence[Episode]) -> int:
    """Which of `episodes` tells most: the first failure, else the longest success."""
    for number, episode in enumerate(episodes):
        if not episode.success:
            return number
    return max(range(len(episodes)), key=lambda number: episodes[number].steps)


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
