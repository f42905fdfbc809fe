"""Observations in which a recurring picture shows the buttons that were pressed there before.

A policy that sees one picture always answers it alike. On a deterministic console greedy play presses into a wall until
its episode ends, and sampled play hardly learns better: a press without effect costs only a step. Here a picture that
the episode has shown before gets a mark for each button pressed there more often than another. host/loop_leaving.py
uses the same counts to change the actions; here the policy sees them. A mark means the same in every picture, so its
use is learned once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from trainer_core.envs.novelty import hash_pictures, hash_weights
from trainer_core.envs.picture_reader import WarpHasher
from trainer_core.envs.press_marks import draw
from trainer_core.envs.state_checks import check_keys, check_like, check_range
from trainer_core.envs.vec_env import StepResult, VecEnv, WrappedEnv
from trainer_core.wire.shades import MAX_SHADE

REMEMBERED = 256
"""Number of an episode's newest presses that are stored."""


class Pressed:
    """Newest presses of N episodes, each with the picture at which it was pressed."""

    def __init__(
        self, num_envs: int, num_actions: int, shape: tuple[int, int], device: torch.device, steps: int = REMEMBERED
    ) -> None:
        """Prepare for pictures of `shape` (H, W) and episodes of at most `steps` steps."""
        self.num_actions = num_actions
        self._hash = _hasher(num_envs, shape, device)
        size = (num_envs, min(steps, REMEMBERED))
        self.hashes = torch.zeros(num_envs, dtype=torch.int64, device=device)
        """i64[N] hashes of the present pictures."""
        self.seen = torch.full(size, -1, dtype=torch.int64, device=device)
        """i64[N, M] hashes of the pictures at the stored presses, -1 for none."""
        self.taken = torch.zeros(size, dtype=torch.int64, device=device)
        """i64[N, M] pressed actions."""
        self.column = 0
        """Column of the next press."""

    def begin(self, pictures: Tensor, where: Tensor) -> None:
        """Begin episodes in the envs `where` bool[N], at `pictures` u8[N, H, W]."""
        self.seen.masked_fill_(where[:, None], -1)
        if self.hashes.is_cpu:  # a host may read which envs these are: few
            chosen = where.nonzero().squeeze(1)
            self.hashes = self.hashes.index_copy(0, chosen, self._hash(pictures[chosen]))
        else:
            self.hashes = torch.where(where, self._hash(pictures.contiguous()), self.hashes)

    def press(self, actions: Tensor) -> None:
        """Record that `actions` i64[N] are pressed at the present pictures."""
        self.seen[:, self.column] = self.hashes
        self.taken[:, self.column] = actions
        self.column = (self.column + 1) % self.seen.shape[1]

    def show(self, pictures: Tensor) -> None:
        """Take `pictures` u8[N, H, W] as the present ones, and draw into them marks for the presses at equal earlier
        pictures."""
        self.hashes = self._hash(pictures.contiguous())
        draw(pictures, oftener(self.seen, self.taken, self.hashes, self.num_actions))


def _hasher(num_envs: int, shape: tuple[int, int], device: torch.device) -> Callable[[Tensor], Tensor]:
    """Return the fastest function on `device` from contiguous pictures u8[N, H, W] to hashes i64[N]."""
    if device.type == "cuda":
        return WarpHasher(shape, num_envs, device)
    weights = hash_weights(shape[0] * shape[1] // 4)
    return lambda pictures: hash_pictures(pictures, weights)


def oftener(seen: Tensor, taken: Tensor, hashes: Tensor, num_actions: int) -> Tensor:
    """Return i64[N, A]: how often each action was taken at the present picture, less the count of the rarest action.

    `seen` i64[N, M] are hashes of the pictures at the stored presses, `taken` i64[N, M] the actions, `hashes` i64[N]
    those of the present pictures.
    """
    here = (seen == hashes[:, None]).long()
    times = here.new_zeros(len(here), num_actions).scatter_add_(1, taken, here)
    return times - times.amin(1, keepdim=True)


class PressedEnv(WrappedEnv):
    """Wrapper of an environment that draws press marks (envs/press_marks.py) into the newest pictures of `obs`,
    `final_obs`."""

    def __init__(self, env: VecEnv) -> None:
        super().__init__(env)
        self._pressed = Pressed(env.num_envs, env.num_actions, env.obs_shape[1:], env.device, env.horizon)
        self._final = torch.zeros_like(self.obs)
        self._everywhere = torch.ones(env.num_envs, dtype=torch.bool, device=env.device)

    def reset(self, seed: int | None = None) -> Tensor:
        return self._begin(self._env.reset(seed))

    def reset_to(self, starts: Tensor) -> Tensor:
        return self._begin(self._env.reset_to(starts))

    def _begin(self, obs: Tensor) -> Tensor:
        self._pressed.begin(obs[:, -1], self._everywhere)
        return self.obs.copy_(obs)

    def step(self, actions: Tensor) -> StepResult:
        self._pressed.press(actions)
        result = self._env.step(actions)
        with self.stopwatch("observe"):
            self._final.copy_(result.final_obs)
            self._pressed.show(self._final[:, -1])
            ended = result.done | result.trunc
            self._pressed.begin(result.obs[:, -1], ended)
            if self.obs.is_cpu:  # takes a tenth of the time of torch.where
                self.obs.copy_(self._final)
                self.obs[ended] = result.obs[ended]
            else:
                torch.where(ended[:, None, None, None], result.obs, self._final, out=self.obs)
        return result._replace(obs=self.obs, final_obs=self._final)

    def state_dict(self) -> dict[str, Any]:
        return {"env": self._env.state_dict(), "pressed": self._presses()}

    def _presses(self) -> dict[str, Any]:
        pressed = self._pressed
        return {
            "obs": self.obs.cpu(),
            "hashes": pressed.hashes.cpu(),
            "seen": pressed.seen.cpu(),
            "taken": pressed.taken.cpu(),
            "column": pressed.column,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the result of `state_dict`. Raises CheckpointError for an invalid one."""
        check_keys(state, ("env", "pressed"), "the envs' state")
        found, what, pressed = state["pressed"], "the envs' presses", self._pressed
        check_like(found, self._presses(), what)
        check_range(found["obs"], 0, MAX_SHADE, what)
        check_range(found["taken"], 0, self.num_actions - 1, what)
        self._env.load_state_dict(state["env"])
        self.obs.copy_(found["obs"])
        for name in ("hashes", "seen", "taken"):
            getattr(pressed, name).copy_(found[name])
        pressed.column = found["column"] % pressed.seen.shape[1]
