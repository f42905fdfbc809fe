"""What the loop knows of an environment."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, Protocol

import torch
from torch import Tensor

SECTIONS: tuple[str, ...] = ("emulate", "observe", "forward", "learn", "log")


class Stopwatch:
    """Adds up seconds per section: host time on a CPU, event pairs on CUDA."""

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
        """Seconds per section since the last call; call it after the record's synchronisation."""
        for section, begin, end in self._pairs:
            if end.query():
                self._seconds[section] += begin.elapsed_time(end) / 1000
        self._pairs.clear()
        taken, self._seconds = self._seconds, dict.fromkeys(SECTIONS, 0.0)
        return taken


class StepInfo(NamedTuple):
    """Beside the reward; tensors live on the environment's device."""

    dist: Tensor
    """f32[N] goal distance of the picture that the step reached, before any reset."""
    reset_mask: Tensor
    """bool[N] envs that were put to a new start state by this step: done | trunc."""
    success: Tensor
    """bool[N] the named success function's verdict on the step."""
    start_index: Tensor
    """i64[N] start state of the episode the step belonged to."""
    episode_steps: Tensor
    """i32[N] steps of that episode so far, this one included."""
    from_demo: Tensor
    """bool[N] that episode began along a demonstration, not at a start of the task's own or a walk
    from one."""


class StepStats(NamedTuple):
    """What `info_mode="stats"` gives in place of StepInfo: 0-dimensional tensors, f32."""

    dist_mean: Tensor
    dist_min: Tensor
    success_rate: Tensor
    reset_rate: Tensor
    episode_steps_mean: Tensor


InfoMode = Literal["full", "stats", "none"]


class StepResult(NamedTuple):
    """One step of N envs. `obs` is what to act on next: after a reset, the new start's."""

    obs: Tensor
    """u8[N, K, H, W], shades 0 (lightest) to 3; oldest plane first; 72 by 80 for a Game Boy."""
    reward: Tensor
    """f32[N]"""
    done: Tensor
    """bool[N] the goal was reached."""
    trunc: Tensor
    """bool[N] the horizon ended the episode; never together with done."""
    final_obs: Tensor
    """u8[N, K, 72, 80] what the step reached before autoreset; equals obs where nothing reset.
    Valid until the next step. Value bootstrapping at a time limit needs it."""
    info: StepInfo
    """Training needs it whole; GameEnv's `info_mode` can make it a StepStats or None instead."""


class VecEnv(Protocol):
    """N envs on one device, autoreset in the same step, nothing allocated per step."""

    num_envs: int
    num_actions: int
    stack_k: int
    obs_shape: tuple[int, int, int]
    """(K, H, W) of one env's observation."""
    horizon: int
    """Steps after which an episode is cut off."""
    shortest_limit: int
    """Steps before which none is cut off: training may cut those along demonstrations earlier."""
    start_set: Tensor
    """i64[S] the start states that `reset` and autoreset draw from."""
    device: torch.device
    stopwatch: Stopwatch
    """The loop puts its own here, so that emulation and observation are told apart."""

    @property
    def obs(self) -> Tensor:
        """What to act on now; after `load_state_dict` the restored observation."""
        ...

    @property
    def episode_steps(self) -> Tensor:
        """i32[N] steps of each env's episode so far; 0 in one that begins."""
        ...

    @property
    def dist(self) -> Tensor:
        """f32[N] goal distance of each env's picture of now: of its start in an episode that begins."""
        ...

    @property
    def start_index(self) -> Tensor:
        """i64[N] start state of each env's episode."""
        ...

    def reset(self, seed: int | None = None) -> Tensor:
        """Put every env to a start state; returns obs u8[N, K, 72, 80]."""
        ...

    def reset_to(self, starts: Tensor) -> Tensor:
        """Put env n to start state `starts[n]` (i64[N]); returns obs like `reset`."""
        ...

    def screens(self, count: int) -> Tensor:
        """u8[count, H, W] shades, or u8[count, H, W, 3] colours, that a person would see now of the
        first envs; 144 by 160 for a Game Boy."""
        ...

    def step(self, actions: Tensor) -> StepResult:
        """Hold action `actions[n]` (i64[N], 0..6) for one step in env n."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """All that exact resume needs, the consoles included; tensors on the CPU."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None: ...

    def close(self) -> None: ...
