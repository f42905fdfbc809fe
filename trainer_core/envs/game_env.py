"""GameEnv: N consoles, a task, a frame stack."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from emulator import Snapshot
from trainer_core.envs.curriculum import LIMIT_LEAST, StartCurriculum, states_to_go
from trainer_core.envs.demonstrations import Demonstration, play_actions, states_along, task_demonstrations
from trainer_core.envs.episodes import Episodes, GoalTemplates, Outcome, Reader, step_info, step_stats
from trainer_core.envs.exploring import Explorer
from trainer_core.envs.frame_stack import FrameStack
from trainer_core.envs.picture_reader import WarpReader
from trainer_core.envs.picture_reader_serial import SerialReader
from trainer_core.envs.preparing import Preparing, silent
from trainer_core.envs.scoring import task_rules
from trainer_core.envs.sharded_emulator import ShardedEmulator, shards_for
from trainer_core.envs.state_checks import check_keys
from trainer_core.envs.task_files import TaskParts, load_task_parts
from trainer_core.envs.vec_env import InfoMode, StepInfo, StepResult, Stopwatch
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.tasks import Task


class GameEnv:
    """A VecEnv over a task's ROM; see trainer_core.envs.vec_env for every shape and dtype."""

    def __init__(
        self,
        task: Task,
        num_envs: int,
        *,
        home: HomePaths,
        device: str = "cpu",
        stack_k: int = 1,
        seed: int = 1,
        held_out: bool = False,
        info_mode: InfoMode = "full",
        skip_reset_if_empty: bool | None = None,
        novelty: bool = True,
        demo_share: float = 0.0,
        cuda_graphs: bool = False,
        hot_code: bool | float = False,
        tell: Preparing | None = None,
    ) -> None:
        """Raises TaskError when ROM, starts or goal are missing or not the manifest's.

        `info_mode`: what `StepResult.info` is: `full` a StepInfo, `stats` a StepStats, `none` None.
        `skip_reset_if_empty`: ask whether any console must be reset before launching the kernel
        that resets. A GPU's host has to wait for the answer; the kernel skips by itself what
        stays, so the default is to ask on a CPU only. `demo_share`: how many of the episodes begin
        along the task's demonstrations, or ways that walks found where it has none, while none is
        solved (curriculum.py). Start indices: the task's own, walks from them, states along ways.
        `cuda_graphs`, `hot_code`: see Emulator. `tell` hears how far this has come.
        """
        manifest = task.manifest
        self.task, self.num_envs, self.stack_k = task, num_envs, stack_k
        self.device = torch.device(device)
        self.horizon = manifest.episode.horizon
        self.info_mode = info_mode
        on_cpu = self.device.type == "cpu"
        asks = on_cpu if skip_reset_if_empty is None else skip_reset_if_empty
        self.skip_reset_if_empty = asks
        self.num_actions = len(manifest.codec.masks)
        self._frames = manifest.codec.frames_per_step
        self._release = manifest.codec.release_after_frames
        self._tell = tell or silent()
        parts = load_task_parts(task, home, tell)
        self.emulator = ShardedEmulator(
            parts.cartridge,
            num_envs,
            self.device,
            shards_for(num_envs, self.device),
            cuda_graphs=cuda_graphs,
            hot_code=hot_code,
        )
        self._masks = torch.tensor(manifest.codec.masks, dtype=torch.uint8, device=self.device)
        own = torch.tensor(manifest.starts.indices(held_out), device=self.device)
        goal = self._goal(parts)
        # Kernels of their own: in torch this takes a CPU as long as a third of emulating a step.
        reader: Reader = SerialReader(goal, num_envs) if on_cpu else WarpReader(goal, num_envs, self.device)
        demos, first, count = self._put_in_starts(parts, own, reader, seed, demo_share)
        start_pictures = self._start_pictures(count)
        far = goal.distances(start_pictures) >= manifest.goal.tau
        curriculum = self._curriculum(demos, own, first, far, demo_share)
        self.shortest_limit = min(self.horizon, LIMIT_LEAST if curriculum else self.horizon)
        self.start_set = own
        """The task's own; a curriculum draws walks and states along the demonstrations besides."""
        self.episodes = Episodes(
            num_envs,
            goal,
            task_rules(manifest),
            own,
            start_pictures,
            seed,
            novelty=novelty and not held_out,
            reader=reader,
            own_starts=first,
            curriculum=curriculum,
        )
        height, width = start_pictures.shape[1:]
        self.obs_shape = (stack_k, height, width)
        self._stack = FrameStack(num_envs, stack_k, height, width, self.device)
        self.stopwatch = Stopwatch(self.device)

    def _goal(self, parts: TaskParts) -> GoalTemplates:
        """The task's templates on the device."""
        return GoalTemplates(
            torch.from_numpy(parts.templates.copy()).to(self.device),
            torch.from_numpy(parts.mask.copy()).to(self.device),
            self.task.manifest.goal.distance,
        )

    def _put_in_starts(
        self, parts: TaskParts, own: Tensor, reader: Reader, seed: int, share: float
    ) -> tuple[list[Demonstration], int, int]:
        """Make the consoles know every start: the task's, what walks from `own`, i64[S], find, and
        states along demonstrations, or along ways that the walks found where the task has none.
        These ways, where the states along them begin, how many starts there are."""
        task, codec = self.task, self.task.manifest.codec
        demos = task_demonstrations(task) if share > 0 else []
        along = states_along(parts.cartridge, demos, codec, str(self.device), self._tell)
        walked: list[Snapshot] = []
        if share > 0:
            starts = [parts.starts[n] for n in own.tolist()]
            explorer = self._explorer(reader, seed)
            walked = explorer.explore(starts, search=not along)
            if not along:
                demos = [
                    Demonstration(starts[way.start], play_actions(np.array(way.actions), codec))
                    for way in explorer.shortest_ways()
                ]
                along = states_along(parts.cartridge, demos, codec, str(self.device), self._tell)
        if not along:
            walked = []
        self.emulator.set_starts([*parts.starts, *walked, *along])
        first = len(parts.starts) + len(walked)
        return demos, first, first + len(along)

    def _curriculum(
        self, demos: list[Demonstration], own: Tensor, first: int, far: Tensor, share: float
    ) -> StartCurriculum | None:
        """Of the states along `demos`, which begin at start `first`; None without any. `far`,
        bool[S], are the starts where the goal is not reached already."""
        steps = [len(demo.masks) // self._frames for demo in demos]
        states = states_to_go(steps, first, self.device)
        states = states.where(far[states.start])
        if not len(states.start):
            return None
        walks = torch.arange(self.task.manifest.starts.count, first, device=self.device)
        return StartCurriculum(own, walks[far[walks]], states, share, len(far), self.horizon)

    def _explorer(self, reader: Reader, seed: int) -> Explorer:
        """Of what walks come upon before the goal, and of ways there."""

        def press(actions: np.ndarray) -> None:
            chosen = torch.from_numpy(actions).to(self.device)
            torch.index_select(self._masks, 0, chosen, out=self.emulator.buttons)
            self.emulator.run(self._frames, self._release)

        def at_goal(pictures: Tensor) -> Tensor:
            whole = self.emulator.pictures  # of which these are the first
            return reader.read(whole)[0][: len(pictures)] < self.task.manifest.goal.tau

        return Explorer(self.emulator, press, at_goal, self.num_actions, seed, frames=self._frames, tell=self._tell)

    def _start_pictures(self, count: int) -> Tensor:
        """u8[S, 72, 80]: the observation of every start state."""
        found = []
        for some in torch.arange(count, device=self.device).split(self.num_envs):
            self._tell("pictures of starts", int(some[0]), count)
            self.emulator.put_at(some)
            found.append(self.emulator.observe()[: len(some)].clone())
        return torch.cat(found)

    @property
    def obs(self) -> Tensor:
        return self._stack.obs

    @property
    def episode_steps(self) -> Tensor:
        return self.episodes.steps

    @property
    def dist(self) -> Tensor:
        return self.episodes.dist

    @property
    def start_index(self) -> Tensor:
        return self.episodes.start_index

    def reset(self, seed: int | None = None) -> Tensor:
        if seed is not None:
            self.episodes.seed(seed)
        return self.reset_to(self.episodes.draw_starts())

    def reset_to(self, starts: Tensor) -> Tensor:
        self.emulator.put_at(starts)
        return self._stack.fill(self.episodes.begin(starts))

    def step(self, actions: Tensor) -> StepResult:
        emulator = self.emulator
        with self.stopwatch("emulate"):
            torch.index_select(self._masks, 0, actions, out=emulator.buttons)
            emulator.run(self._frames, self._release)
        with self.stopwatch("observe"):
            pictures = emulator.observe()
            out = self.episodes.judge(pictures)
            emulator.mask.copy_(out.reset_mask)
            emulator.index.copy_(out.next_start)
            if not self.skip_reset_if_empty or bool(out.reset_mask.any()):
                emulator.reset()
            self._stack.push(pictures, out.reset_mask, self.episodes.start_pictures, out.next_start)
            info = self._info(out)
        return StepResult(self._stack.obs, out.reward, out.done, out.trunc, self._stack.final, info)

    def _info(self, out: Outcome) -> StepInfo:
        if self.info_mode == "full":
            return step_info(out)
        return cast(StepInfo, step_stats(out) if self.info_mode == "stats" else None)

    def screens(self, count: int) -> Tensor:
        return self.emulator.screens(count)

    def state_dict(self) -> dict[str, Any]:
        return {
            "machines": self.emulator.state_dict(),
            "obs": self._stack.obs.cpu(),
            "episodes": self.episodes.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Raises CheckpointError for what is no state of these envs; `reset` then begins anew."""
        check_keys(state, ("machines", "obs", "episodes"), "the envs' state")
        self.emulator.load_state_dict(state["machines"])
        self._stack.load(state["obs"])
        self.episodes.load_state_dict(state["episodes"])

    def close(self) -> None:
        self.emulator.close()
