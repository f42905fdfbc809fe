"""Replacements for three modules that CORL's scripts import and that can no longer be installed.

`gym` 0.23 over Gymnasium, `d4rl` over a Minari dataset, `wandb` into the run's log: only the parts that the scripts
use, so that their source stays unmodified.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import minari  # pyright: ignore[reportMissingImports]
import numpy as np

from trainer_core.wire.errors import ConfigError

Log = Callable[[dict[str, Any], int | None], None]


class Offline:
    """Minari dataset in D4RL's format, with its environment in the form of gym 0.23."""

    def __init__(self, folder: Path) -> None:
        """Load the dataset; raises ConfigError naming the parts that do not fit together."""
        try:
            self.dataset = minari.MinariDataset(folder / "data")
            self.episodes = list(self.dataset.iterate_episodes())
            self.space = self.dataset.observation_space, self.dataset.action_space
        except Exception as error:  # h5py, json and minari each raise their own, depending on the damage
            told = " ".join(str(error).split())[:200]
            raise ConfigError(f"{folder}: no Minari dataset that can be read: {told}") from None
        if not self.episodes:
            raise ConfigError(f"{folder}: holds no episode")
        for episode in self.episodes:
            self._check(folder, episode)
        returns = [float(np.sum(episode.rewards)) for episode in self.episodes]
        self.worst, self.best = min(returns), max(returns)

    def _check(self, folder: Path, episode: Any) -> None:
        seen, acted = np.shape(episode.observations), np.shape(episode.actions)
        wanted = (len(episode.rewards) + 1, *self.space[0].shape)
        if seen != wanted or acted != (len(episode.rewards), *self.space[1].shape):
            raise ConfigError(
                f"{folder}, episode {episode.id}: observations {list(seen)} and actions "
                f"{list(acted)} for {len(episode.rewards)} rewards; the dataset's spaces say "
                f"{list(wanted)} and {[len(episode.rewards), *self.space[1].shape]}"
            )

    def transitions(self) -> dict[str, np.ndarray]:
        """Return the dataset as d4rl's `get_dataset` does: f32 arrays, but bool for `terminals` and `timeouts`."""
        columns: dict[str, list[Any]] = {}
        for episode in self.episodes:
            timeouts = np.array(episode.truncations, bool)
            timeouts[-1] |= not episode.terminations[-1]
            for name, values in (
                ("observations", episode.observations[:-1]),
                ("actions", episode.actions),
                ("next_observations", episode.observations[1:]),
                ("rewards", episode.rewards),
                ("terminals", np.array(episode.terminations, bool)),
                ("timeouts", timeouts),
            ):
                columns.setdefault(name, []).append(values)
        whole = {name: np.concatenate(parts) for name, parts in columns.items()}
        return {name: values if values.dtype == bool else values.astype(np.float32) for name, values in whole.items()}

    def make(self, name: str, **_: Any) -> OldEnv:
        """Return the dataset's environment, whatever `name` is. Raises ConfigError if it cannot be built here."""
        try:
            return OldEnv(self.dataset.recover_environment(), self)
        except Exception as error:  # an error of gymnasium, mujoco or an import, depending on what is missing
            told = " ".join(str(error).split())[:200]
            raise ConfigError(f"{name} cannot be built to evaluate in: {told}") from None


class OldEnv:
    """Environment in gym 0.23's form: `reset` returns the observation, `step` four values, `seed` is a method."""

    def __init__(self, env: Any, offline: Offline) -> None:
        self._env, self._offline, self._seed = env, offline, None
        self.observation_space, self.action_space = env.observation_space, env.action_space
        self.spec = env.spec
        self._max_episode_steps = (env.spec and env.spec.max_episode_steps) or 1000

    def seed(self, seed: int | None = None) -> list[Any]:
        self._seed = seed
        return [seed]

    def reset(self, **_: Any) -> Any:
        observation, _info = self._env.reset(seed=self._seed)
        self._seed = None
        return observation

    def step(self, action: Any) -> tuple[Any, float, bool, dict[str, Any]]:
        observation, reward, done, cut, info = self._env.step(action)
        info = {**info, "TimeLimit.truncated": bool(cut and not done)}
        return observation, float(reward), bool(done or cut), info

    def get_normalized_score(self, score: Any) -> Any:
        """Return the score on a scale from 0, the dataset's worst episode, to 1, its best."""
        span = max(self._offline.best - self._offline.worst, 1e-6)
        return (score - self._offline.worst) / span

    def get_dataset(self) -> dict[str, np.ndarray]:
        return self._offline.transitions()

    def close(self) -> None:
        self._env.close()


class _Wrapped:
    def __init__(self, env: Any, change: Callable[[Any], Any]) -> None:
        self._wrapped, self._change = env, change

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_wrapped"], name)


class TransformObservation(_Wrapped):
    def reset(self, **named: Any) -> Any:
        return self._change(self._wrapped.reset(**named))

    def step(self, action: Any) -> Any:
        observation, *rest = self._wrapped.step(action)
        return self._change(observation), *rest


class TransformReward(_Wrapped):
    def step(self, action: Any) -> Any:
        observation, reward, *rest = self._wrapped.step(action)
        return observation, self._change(reward), *rest


def install(offline: Offline, log: Log) -> None:
    """Put the replacements for gym, d4rl and wandb into sys.modules."""
    wrappers = _module("gym.wrappers", TransformObservation=TransformObservation, TransformReward=TransformReward)
    _module("gym", make=offline.make, Env=OldEnv, spaces=gymnasium.spaces, wrappers=wrappers)
    _module("d4rl", qlearning_dataset=_qlearning_dataset)
    run = types.SimpleNamespace(save=lambda: None)
    _module(
        "wandb",
        init=lambda *_, **__: run,
        run=run,
        finish=lambda: None,
        log=lambda values, step=None, **_: log(values, step),
    )


def _qlearning_dataset(env: Any, *_: Any, **__: Any) -> dict[str, np.ndarray]:
    found = env.get_dataset()
    del found["timeouts"]
    return found | {"terminals": found["terminals"].astype(np.float32)}


def _module(as_name: str, **names: Any) -> types.ModuleType:
    module = sys.modules[as_name] = types.ModuleType(as_name)
    module.__dict__.update(names)
    return module
