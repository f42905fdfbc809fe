"""Replacements for three modules that CORL's scripts import and that can no longer be installed.

`gym` 0.23 over Gymnasium, `d4rl` over a Minari dataset or D4RL's layout, `wandb` into the run's log: only the
parts that the scripts use, so that their source stays unmodified.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium
import h5py  # pyright: ignore[reportMissingImports]
import minari  # pyright: ignore[reportMissingImports]
import numpy as np
import torch

from trainer_core.lab.datasets import Dataset
from trainer_core.wire.errors import ConfigError

Log = Callable[[dict[str, Any], int | None], None]


class Offline:
    """Dataset in D4RL's format, with its environment in the form of gym 0.23."""

    def __init__(self, dataset: Dataset, environment: str = "") -> None:
        """Load the dataset; raises ConfigError naming the parts that do not fit together.

        `environment` is the Gymnasium id of another environment than the dataset's own.
        """
        self.file, self.name = dataset.file, environment or dataset.environment
        self._own: Any = None
        """Function that makes the environment that a Minari dataset was recorded in."""
        self._keys: tuple[str, ...] = ("achieved_goal", "observation")
        """Parts of an observation with several, in the order in which the dataset has them in one vector."""
        try:
            self.columns = _read_d4rl(dataset.file) if dataset.is_d4rl else self._read_minari(dataset.file.parent)
            if environment:
                self._own = None
        except ConfigError:
            raise
        except Exception as error:  # h5py, json and minari each raise their own, depending on the damage
            told = " ".join(str(error).split())[:200]
            raise ConfigError(f"{self.file}: no dataset that can be read: {told}") from None
        seen, acted = self.columns["observations"], self.columns["actions"]
        self.space = tuple(gymnasium.spaces.Box(-np.inf, np.inf, rows.shape[1:]) for rows in (seen, acted))
        for name, rows in self.columns.items():
            if not np.isfinite(rows).all():
                raise ConfigError(f"{self.file}: has {name} that are no finite numbers")
        ends = np.flatnonzero(self.columns["terminals"] | self.columns["timeouts"])
        returns = np.add.reduceat(self.columns["rewards"], [0, *(ends[:-1] + 1)])
        self.worst, self.best = float(returns.min()), float(returns.max())

    def _read_minari(self, folder: Path) -> dict[str, np.ndarray]:
        stored = minari.MinariDataset(folder)
        episodes = list(stored.iterate_episodes())
        if not episodes:
            raise ConfigError(f"{folder.parent}: holds no episode")
        self._own = stored.recover_environment
        if isinstance(stored.observation_space, gymnasium.spaces.Dict):
            self._keys = tuple(stored.observation_space.spaces)
        columns: dict[str, list[Any]] = {}
        for episode in episodes:
            seen, steps = self._vectors(episode.observations), len(episode.rewards)
            if seen.ndim != 2 or len(seen) != steps + 1 or len(episode.actions) != steps:
                raise ConfigError(
                    f"{folder.parent}, episode {episode.id}: observations {list(seen.shape)} and actions "
                    f"{list(np.shape(episode.actions))} for {steps} rewards"
                )
            timeouts = np.array(episode.truncations, bool)
            timeouts[-1] |= not episode.terminations[-1]
            for name, values in (
                ("observations", seen[:-1]),
                ("actions", episode.actions),
                ("next_observations", seen[1:]),
                ("rewards", episode.rewards),
                ("terminals", np.array(episode.terminations, bool)),
                ("timeouts", timeouts),
            ):
                columns.setdefault(name, []).append(values)
        whole = {name: np.concatenate(parts) for name, parts in columns.items()}
        return {name: values if values.dtype == bool else values.astype(np.float32) for name, values in whole.items()}

    def _vectors(self, seen: Any) -> np.ndarray:
        """Return observations as rows, those with several parts as one vector each."""
        if not isinstance(seen, dict):
            return np.asarray(seen)
        parts = [np.asarray(seen[key]) for key in self._keys]
        return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)

    def transitions(self) -> dict[str, np.ndarray]:
        """Return `d4rl.qlearning_dataset`'s arrays: each step with the next observation, but for the cut episodes'."""
        found = dict(self.columns)
        cut = found.pop("timeouts")
        if "next_observations" not in found:  # D4RL's files: the last step of a cut episode has none
            following = np.roll(found["observations"], -1, axis=0)
            kept = ~cut
            kept[-1] &= found["terminals"][-1]
            found = {name: rows[kept] for name, rows in (found | {"next_observations": following}).items()}
        return found | {"terminals": found["terminals"].astype(np.float32)}

    def make(self, name: str, **_: Any) -> OldEnv:
        """Return the dataset's environment, whatever `name` is. Raises ConfigError if it cannot be built here."""
        try:
            with contextlib.suppress(ImportError):
                gymnasium.register_envs(importlib.import_module("gymnasium_robotics"))
            env = self._own() if self._own else gymnasium.make(self.name)
        except Exception as error:  # an error of gymnasium, mujoco or an import, depending on what is missing
            told = " ".join(str(error).split())[:200]
            raise ConfigError(f"{name} cannot be built to evaluate in: {told}") from None
        if isinstance(env.observation_space, gymnasium.spaces.Dict):
            keys = [key for key in self._keys if key in env.observation_space.spaces]
            env = gymnasium.wrappers.FlattenObservation(gymnasium.wrappers.FilterObservation(env, keys))
        spaces = env.observation_space, env.action_space
        for what, have, want in zip(("observations", "actions"), spaces, self.space, strict=True):
            if have.shape != want.shape:
                raise ConfigError(
                    f"{self.file}: has {what} of {list(want.shape)} numbers, {self.name} of {list(have.shape or [])}; "
                    "name an environment that fits as --environment"
                )
        return OldEnv(env, self)


def _read_d4rl(file: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a file with D4RL's layout: f32, but bool for `terminals` and `timeouts`.

    Raises ConfigError for a file that lacks one, without steps, or whose arrays do not have one row per step.
    """
    with h5py.File(file) as stored:
        wanted = ("observations", "actions", "rewards", "terminals", "timeouts")
        if missing := [name for name in wanted if name not in stored]:
            raise ConfigError(f"{file}: lacks {', '.join(missing)}: D4RL's files of v1 and v2 have them")
        rows = {name: np.asarray(stored[name]) for name in wanted}
        rows |= {name: np.asarray(stored[name]) for name in ("next_observations",) if name in stored}
    steps = len(rows["rewards"])
    if not steps:
        raise ConfigError(f"{file}: has no steps")
    if any(len(values) != steps for values in rows.values()) or {rows[n].ndim for n in wanted[:2]} != {2}:
        shapes = ", ".join(f"{name} {list(values.shape)}" for name, values in rows.items())
        raise ConfigError(f"{file}: arrays do not have one row per step: {shapes}")
    found = {name: values.astype(bool if name in wanted[3:] else np.float32) for name, values in rows.items()}
    found = {
        name: values if name in ("actions",) or "obs" in name else values.reshape(-1) for name, values in found.items()
    }
    found["timeouts"][-1] |= not found["terminals"][-1]
    return found


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
        return dict(self._offline.columns)

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
    """Put the replacements for gym, d4rl and wandb into sys.modules, and a name that jax no longer has."""
    wrappers = _module("gym.wrappers", TransformObservation=TransformObservation, TransformReward=TransformReward)
    _module("gym", make=offline.make, Env=OldEnv, spaces=gymnasium.spaces, wrappers=wrappers)
    _module("d4rl", qlearning_dataset=lambda env, *_, **__: offline.transitions())
    run = types.SimpleNamespace(save=lambda: None)
    _module(
        "wandb",
        init=lambda *_, **__: run,
        run=run,
        finish=lambda: None,
        mark_preempting=lambda: None,
        log=lambda values, step=None, **_: log(values, step),
    )
    with contextlib.suppress(ImportError):
        jax: Any = importlib.import_module("jax")
        jax.tree_map = jax.tree.map


def plain_tensors(carry: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of rebrac.py's networks, which are jax's, as nested dicts of torch tensors."""

    def plain(tree: Any) -> Any:
        if isinstance(tree, Mapping):
            return {name: plain(part) for name, part in tree.items()}
        return torch.from_numpy(np.array(tree))

    return {name: plain(carry[name].params) for name in ("actor", "critic")}


def _module(as_name: str, **names: Any) -> types.ModuleType:
    module = sys.modules[as_name] = types.ModuleType(as_name)
    module.__dict__.update(names)
    return module
