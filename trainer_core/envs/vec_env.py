"""Interface between the training loop and environments."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import torch
from torch import Tensor

from trainer_core.wire.errors import FailureError

if TYPE_CHECKING:
    from trainer_core.envs.ram_terms import RamTerms

SECTIONS: tuple[str, ...] = ("emulate", "observe", "forward", "learn", "log")


class Stopwatch:
    """Timer that sums seconds per section: host time on a CPU, event pairs on CUDA."""

    def __init__(self, device: torch.device) -> None:
        self._on_gpu = device.type == "cuda"
        self._seconds = dict.fromkeys(SECTIONS, 0.0)
        self._pairs: list[tuple[str, torch.cuda.Event, torch.cuda.Event]] = []

    @contextlib.contextmanager
    def __call__(self, section: str) -> Iterator[None]:
        if self._on_gpu and section != "log":
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            yield
            end.record()
            self._pairs.append((section, begin, end))
            return
        started = time.perf_counter()
        yield
        self._seconds[section] += time.perf_counter() - started

    def take(self) -> dict[str, float]:
        """Return the seconds per section since the last call; call it after the record's synchronisation."""
        for section, begin, end in self._pairs:
            if end.query():
                self._seconds[section] += begin.elapsed_time(end) / 1000
        self._pairs.clear()
        taken, self._seconds = self._seconds, dict.fromkeys(SECTIONS, 0.0)
        return taken


class StepInfo(NamedTuple):
    """Details of a step of N envs besides the reward; tensors are on the environment's device."""

    dist: Tensor
    """f32[N] goal distance of the picture that the step reached, before any reset."""
    reset_mask: Tensor
    """bool[N] envs that were put to a new start state by this step: done | trunc."""
    success: Tensor
    """bool[N] result of the named success function for the step."""
    start_index: Tensor
    """i64[N] start state of the episode to which the step belongs."""
    episode_steps: Tensor
    """i32[N] steps of that episode so far, this one included."""
    from_demo: Tensor
    """bool[N] true if that episode began along a demonstration, not at one of the task's own starts or a walk from one.
    """


class StepStats(NamedTuple):
    """Means over all envs that replace a StepInfo with `info_mode="stats"`: f32 tensors of no dimension."""

    dist_mean: Tensor
    dist_min: Tensor
    success_rate: Tensor
    reset_rate: Tensor
    episode_steps_mean: Tensor


InfoMode = Literal["full", "stats", "none"]


class StepResult(NamedTuple):
    """One step of N envs. `obs` is the next observation: after a reset, that of the new start."""

    obs: Tensor
    """u8[N, K, H, W], shades 0 (lightest) to 3; oldest plane first; 72 by 80 for a Game Boy."""
    reward: Tensor
    """f32[N]"""
    done: Tensor
    """bool[N] the goal was reached."""
    trunc: Tensor
    """bool[N] the horizon ended the episode; never together with done."""
    final_obs: Tensor
    """u8[N, K, 72, 80] observation that the step reached before autoreset; equals obs where nothing reset. Valid until
    the next step. Value bootstrapping at a time limit needs it."""
    info: StepInfo
    """Details of the step; training needs all of them. GameEnv's `info_mode` can make it a StepStats or None."""


class VecEnv(Protocol):
    """Interface of N envs on one device: an env whose episode ends is reset in the same step; a step allocates no
    memory."""

    num_envs: int
    num_actions: int
    stack_k: int
    obs_shape: tuple[int, int, int]
    """(K, H, W) of one env's observation."""
    horizon: int
    """Steps after which an episode is cut off."""
    shortest_limit: int
    """Least number of steps after which an episode is cut off: training may cut those along demonstrations earlier."""
    start_set: Tensor
    """i64[S] start states from which `reset` and autoreset draw."""
    device: torch.device
    stopwatch: Stopwatch
    """Timer that the loop replaces by its own, to measure emulation and observation separately."""

    @property
    def obs(self) -> Tensor:
        """Observation to act on now; after `load_state_dict` the restored one."""
        ...

    @property
    def episode_steps(self) -> Tensor:
        """i32[N] steps of each env's episode so far; 0 in one that begins."""
        ...

    @property
    def dist(self) -> Tensor:
        """f32[N] goal distance of each env's present picture; of its start in an episode that begins."""
        ...

    @property
    def start_index(self) -> Tensor:
        """i64[N] start state of each env's episode."""
        ...

    def reset(self, seed: int | None = None) -> Tensor:
        """Reset every env to a random state of `start_set`; return obs u8[N, K, H, W]."""
        ...

    def reset_to(self, starts: Tensor) -> Tensor:
        """Reset env n to start state `starts[n]` (i64[N]); return obs like `reset`."""
        ...

    def screens(self, count: int) -> Tensor:
        """Return the present screens of the first envs: u8[count, H, W] shades, or u8[count, H, W, 3] colours; 144 by
        160 for a Game Boy."""
        ...

    def step(self, actions: Tensor) -> StepResult:
        """Run one step: env n performs the action `actions[n]`, i64[N]; return its results."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Return all data needed to resume exactly, with the state of the consoles; tensors are on the CPU."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None: ...

    def close(self) -> None: ...


class WrappedEnv:
    """Environment that passes on another one but for its observations, which the wrapper makes in `obs`."""

    def __init__(self, env: VecEnv) -> None:
        self._env = env
        self.num_envs, self.num_actions, self.stack_k = env.num_envs, env.num_actions, env.stack_k
        self.obs_shape, self.horizon = env.obs_shape, env.horizon
        self.shortest_limit = env.shortest_limit
        self.start_set, self.device = env.start_set, env.device
        shape = (env.num_envs, *env.obs_shape)
        self.obs = torch.zeros(shape, dtype=torch.uint8, device=env.device)

    @property
    def stopwatch(self) -> Stopwatch:
        return self._env.stopwatch

    @stopwatch.setter
    def stopwatch(self, stopwatch: Stopwatch) -> None:
        self._env.stopwatch = stopwatch

    @property
    def episode_steps(self) -> Tensor:
        return self._env.episode_steps

    @property
    def dist(self) -> Tensor:
        return self._env.dist

    @property
    def start_index(self) -> Tensor:
        return self._env.start_index

    def screens(self, count: int) -> Tensor:
        return self._env.screens(count)

    def close(self) -> None:
        self._env.close()


def ram_terms(env: VecEnv) -> RamTerms | None:
    """Return the RAM terms of an environment, below any wrappers; None for one that reads no memory."""
    while isinstance(env, WrappedEnv):
        env = env._env
    ram = getattr(env, "ram", None)
    return ram.terms if ram is not None else None


def check_tensor(name: str, found: Tensor, dtype: torch.dtype, shape: tuple[int, ...], device: torch.device) -> None:
    """Raise FailureError naming the tensor unless it has this type, shape and device; nothing is read from a device."""
    if found.dtype == dtype and tuple(found.shape) == shape and _same(found.device, device):
        return
    said, wanted = (
        f"{str(kind).removeprefix('torch.')}{list(size)} on {where}"
        for kind, size, where in ((found.dtype, found.shape, found.device), (dtype, shape, device))
    )
    raise FailureError(f"{name} is {said}; it must be {wanted}")


def check_actions(env: VecEnv, actions: Tensor) -> None:
    """Raise FailureError unless `actions` are i64[N] on the env's device and all of them exist, which reads one number
    from the device."""
    check_tensor("actions", actions, torch.int64, (env.num_envs,), env.device)
    low, high = int(actions.min()), int(actions.max())
    if low < 0 or high >= env.num_actions:
        raise FailureError(f"actions go from {low} to {high}; this env has 0 to {env.num_actions - 1}")


def check_result(env: VecEnv, result: StepResult) -> None:
    """Raise FailureError naming the first tensor of a step's result that differs from StepResult's description."""
    each, pictures, where = (env.num_envs,), (env.num_envs, *env.obs_shape), env.device
    flag, info = torch.bool, result.info
    for name, found, dtype, shape in (
        ("obs", result.obs, torch.uint8, pictures),
        ("reward", result.reward, torch.float32, each),
        ("done", result.done, flag, each),
        ("trunc", result.trunc, flag, each),
        ("final_obs", result.final_obs, torch.uint8, pictures),
        ("info.dist", info.dist, torch.float32, each),
        ("info.reset_mask", info.reset_mask, flag, each),
        ("info.success", info.success, flag, each),
        ("info.start_index", info.start_index, torch.int64, each),
        ("info.episode_steps", info.episode_steps, torch.int32, each),
        ("info.from_demo", info.from_demo, flag, each),
    ):
        check_tensor(f"step: {name}", found, dtype, shape, where)


def _same(one: torch.device, other: torch.device) -> bool:
    """Return whether the devices are the same; cuda without a number is any GPU."""
    return one.type == other.type and (one.index is None or other.index is None or one.index == other.index)
