"""MixedEnv: several tasks, of one ROM or of several, side by side in one batch of consoles.

Every task keeps its own rules, goal, start states, curriculum and counts of seen pictures (an `Episodes` each);
consoles, launches, pictures and the frame stack are shared. A GPU runs one launch a step, however many tasks there are.
Of K tasks env n plays task n modulo K, so that the threads of a CPU and the warps of a GPU get equal shares of each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainer_core.envs.episodes import Outcome, step_info
from trainer_core.envs.frame_stack import FrameStack
from trainer_core.envs.game_env import GameEnv
from trainer_core.envs.sharded_emulator import ShardedEmulator, shards_for
from trainer_core.envs.state_checks import check_keys
from trainer_core.envs.vec_env import StepResult, Stopwatch
from trainer_core.lab.task_lists import envs_of
from trainer_core.wire.errors import CheckpointError

SEED_STEP = 104_729
"""Difference between the seeds of consecutive tasks: a prime that does not coincide with that of ranks (7,919)."""


class MixedEnv:
    """VecEnv that joins several tasks' GameEnvs; see trainer_core.envs.vec_env for every shape and dtype.

    Start indices count the first task's start states, then the second's, and so on.
    """

    def __init__(self, parts: Sequence[GameEnv], *, hot_code: bool | float = False) -> None:
        """Make one environment of `parts`, one per task: their consoles are replaced by one batch, their episodes are
        kept.

        Part k has as many envs as `envs_of(k, len(parts))` of all; all have one device, one stack and one length of
        step, which preflight ensures.
        """
        first = parts[0]
        self.device, self.stack_k = first.device, first.stack_k
        self.num_envs = sum(part.num_envs for part in parts)
        self.tasks = tuple(part.task.id for part in parts)
        self._own = [envs_of(number, len(parts)) for number in range(len(parts))]
        self.horizon = max(part.horizon for part in parts)
        self.shortest_limit = min(part.shortest_limit for part in parts)
        self.skip_reset_if_empty = first.skip_reset_if_empty
        codec = first.task.manifest.codec
        self.num_actions = len(codec.masks)
        self._frames, self._release = codec.frames_per_step, codec.release_after_frames
        self._masks = torch.tensor(codec.masks, dtype=torch.uint8, device=self.device)
        self.emulator = self._one_batch(parts, hot_code)
        self.episodes = [part.episodes for part in parts]
        counts = [len(episodes.start_pictures) for episodes in self.episodes]
        self._first_start = [sum(counts[:number]) for number in range(len(parts))]
        self._start_pictures = torch.cat([each.start_pictures for each in self.episodes])
        for each, shown in zip(self.episodes, self._start_pictures.split(counts), strict=True):
            each.start_pictures = shown  # one copy shared by all
        numbered = zip(parts, self._first_start, strict=True)
        self.start_set = torch.cat([part.start_set + first for part, first in numbered])
        order = torch.cat([torch.arange(self.num_envs)[own] for own in self._own])
        self._places = torch.argsort(order).to(self.device)
        """i64[N] for each env, the position of its row after the rows of all tasks are concatenated."""
        height, width = self._start_pictures.shape[1:]
        self.obs_shape = (self.stack_k, height, width)
        self._stack = FrameStack(self.num_envs, self.stack_k, height, width, self.device)
        self.stopwatch = Stopwatch(self.device)

    def _one_batch(self, parts: Sequence[GameEnv], hot_code: bool | float) -> ShardedEmulator:
        """Make one batch of consoles that holds the start states of all parts; close the parts' own consoles."""
        cartridges = [part.emulator.emulators[0].cartridges[0] for part in parts]
        roms = list({each.sha256: each for each in cartridges}.values())
        numbers = {each.sha256: number for number, each in enumerate(roms)}
        rom_of_env = np.zeros(self.num_envs, np.int32)
        for own, cartridge in zip(self._own, cartridges, strict=True):
            rom_of_env[own] = numbers[cartridge.sha256]
        emulator = ShardedEmulator(
            roms,
            self.num_envs,
            self.device,
            shards_for(self.num_envs, self.device),
            hot_code=hot_code,
            rom_of_env=rom_of_env,
        )
        emulator.take_starts([part.emulator for part in parts])
        for part in parts:
            part.close()
            del part.emulator
        return emulator

    def _merged(self, of_tasks: Sequence[Tensor]) -> Tensor:
        """Return [N, ...], the rows of all tasks, one tensor for each task, in the order of envs."""
        if self.num_envs % len(of_tasks) == 0:  # equal counts: one copy instead of two
            return torch.stack(list(of_tasks), 1).flatten(0, 1)
        return torch.cat(list(of_tasks)).index_select(0, self._places)

    @property
    def obs(self) -> Tensor:
        return self._stack.obs

    @property
    def episode_steps(self) -> Tensor:
        return self._merged([each.steps for each in self.episodes])

    @property
    def dist(self) -> Tensor:
        return self._merged([each.dist for each in self.episodes])

    @property
    def start_index(self) -> Tensor:
        numbered = zip(self.episodes, self._first_start, strict=True)
        return self._merged([each.start_index + first for each, first in numbered])

    def reset(self, seed: int | None = None) -> Tensor:
        drawn = []
        for number, (each, first) in enumerate(zip(self.episodes, self._first_start, strict=True)):
            if seed is not None:
                each.seed(seed + SEED_STEP * number)
            drawn.append(each.draw_starts() + first)
        return self.reset_to(self._merged(drawn))

    def reset_to(self, starts: Tensor) -> Tensor:
        """Reset env n to start state `starts[n]`, i64[N], which must belong to its task; return the observations."""
        self.emulator.put_at(starts)
        for each, own, first in zip(self.episodes, self._own, self._first_start, strict=True):
            each.begin(starts[own] - first)
        return self._stack.fill(self._start_pictures[starts])

    def step(self, actions: Tensor) -> StepResult:
        emulator = self.emulator
        with self.stopwatch("emulate"):
            torch.index_select(self._masks, 0, actions, out=emulator.buttons)
            emulator.run(self._frames, self._release)
        with self.stopwatch("observe"):
            pictures = emulator.observe()
            out = self._judge(pictures)
            emulator.mask.copy_(out.reset_mask)
            emulator.index.copy_(out.next_start)
            if not self.skip_reset_if_empty or bool(out.reset_mask.any()):
                emulator.reset()
            self._stack.push(pictures, out.reset_mask, self._start_pictures, out.next_start)
        return StepResult(self._stack.obs, out.reward, out.done, out.trunc, self._stack.final, step_info(out))

    def _judge(self, pictures: Tensor) -> Outcome:
        """Return the result of a step that led to `pictures` u8[N, H, W], each env scored by its own task's rules."""
        outs = []
        for each, own, first in zip(self.episodes, self._own, self._first_start, strict=True):
            out = each.judge(pictures[own])
            outs.append(out._replace(start_index=out.start_index + first, next_start=out.next_start + first))
        return Outcome(*(self._merged(field) for field in zip(*outs, strict=True)))

    def screens(self, count: int) -> Tensor:
        return self.emulator.screens(count)

    def state_dict(self) -> dict[str, Any]:
        return {
            "machines": self.emulator.state_dict(),
            "obs": self._stack.obs.cpu(),
            "episodes": {task: each.state_dict() for task, each in zip(self.tasks, self.episodes, strict=True)},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the result of `state_dict`. Raises CheckpointError for an invalid one; the envs then need `reset`."""
        check_keys(state, ("machines", "obs", "episodes"), "the envs' state")
        check_keys(state["episodes"], self.tasks, "the tasks' episodes")
        self.emulator.load_state_dict(state["machines"])
        self._stack.load(state["obs"])
        for task, each in zip(self.tasks, self.episodes, strict=True):
            try:
                each.load_state_dict(state["episodes"][task])
            except CheckpointError as error:
                raise CheckpointError(f"task {task}: {error}") from None

    def close(self) -> None:
        self.emulator.close()
