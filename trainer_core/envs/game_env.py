"""GameEnv: N consoles with a task and a frame stack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
import torch
from torch import Tensor

from emulator import Snapshot
from trainer_core.envs.curriculum import LIMIT_LEAST, StartCurriculum, states_to_go
from trainer_core.envs.demonstrations import Demonstration, play_actions, states_along, task_demonstrations
from trainer_core.envs.episodes import Episodes, GoalTemplates, Outcome, Reader, step_info, step_stats
from trainer_core.envs.exploring import Explorer
from trainer_core.envs.frame_stack import FrameStack
from trainer_core.envs.picture_reader_serial import fast_reader
from trainer_core.envs.preparing import Preparing, silent
from trainer_core.envs.ram_terms import RamTerms, WatchedRam
from trainer_core.envs.scoring import task_rules
from trainer_core.envs.sharded_emulator import ShardedEmulator, shards_for
from trainer_core.envs.state_checks import check_keys
from trainer_core.envs.task_files import TaskParts, load_task_parts
from trainer_core.envs.vec_env import InfoMode, StepInfo, StepResult, Stopwatch, check_actions, check_tensor
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.tasks import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class GameOptions:
    """Options of a GameEnv."""

    num_envs: int
    device: str = "cpu"
    stack_k: int = 1
    seed: int = 1
    held_out: bool = False
    """Use the start states that are held out from training."""
    info_mode: InfoMode = "full"
    """Type of `StepResult.info`: `full` a StepInfo, `stats` a StepStats, `none` None."""
    skip_reset_if_empty: bool | None = None
    """Read whether any console must be reset before launching the reset kernel. A GPU's host would have to wait for the
    answer, and the kernel skips the others by itself, so None reads on a CPU only."""
    novelty: bool = True
    demo_share: float = 0.0
    """Share of episodes that begin along the task's demonstrations while no own start is solved (curriculum.py). A task
    without demonstrations uses action sequences to the goal that random walks found."""
    hot_code: bool | float = False
    """Whether, or after how many seconds, the emulator searches for hot code to compile; see Emulator."""


class GameEnv:
    """VecEnv of a task's ROM; see trainer_core.envs.vec_env for every shape and dtype.

    Start indices count the task's own start states, then states reached by random walks, then states along
    demonstrations.
    """

    def __init__(
        self,
        task: Task,
        emulator: ShardedEmulator,
        episodes: Episodes,
        options: GameOptions,
        ram: WatchedRam | None = None,
    ) -> None:
        """Make the environment of the consoles `emulator`, which hold every start state of `episodes`; `ram` are the
        terms of a task that reads memory.

        Use `open`, which makes both.
        """
        manifest = task.manifest
        self.task, self.num_envs, self.stack_k = task, options.num_envs, options.stack_k
        self.device = torch.device(options.device)
        self.horizon = manifest.episode.horizon
        self.info_mode = options.info_mode
        asks = options.skip_reset_if_empty
        self.skip_reset_if_empty = self.device.type == "cpu" if asks is None else asks
        self.num_actions = len(manifest.codec.masks)
        self._frames = manifest.codec.frames_per_step
        self._release = manifest.codec.release_after_frames
        self._masks = torch.tensor(manifest.codec.masks, dtype=torch.uint8, device=self.device)
        self.emulator, self.episodes = emulator, episodes
        self.shortest_limit = min(self.horizon, LIMIT_LEAST if episodes.curriculum else self.horizon)
        self.start_set = episodes.start_set
        """Own starts of the task; a curriculum also draws walks and states along the demonstrations."""
        self.ram = ram
        self._start_obs = episodes.start_pictures if ram is None else ram.at_starts(episodes.start_pictures)
        """Observation at every start."""
        height, width = self._start_obs.shape[1:]
        self.obs_shape = (self.stack_k, height, width)
        self._stack = FrameStack(self.num_envs, self.stack_k, height, width, self.device)
        self.stopwatch = Stopwatch(self.device)
        self._is_checked = False
        """Whether the first step has checked its actions."""

    @classmethod
    def open(cls, task: Task, home: HomePaths, options: GameOptions, tell: Preparing | None = None) -> Self:
        """Load the task's files, start the consoles and find their start states.

        This takes seconds, or minutes for a task of other authors; `tell` receives the progress. Raises TaskError when
        ROM, starts or goal are missing or differ from the manifest.
        """
        parts, device = load_task_parts(task, home, tell), torch.device(options.device)
        emulator = ShardedEmulator(
            parts.cartridge, options.num_envs, device, shards_for(options.num_envs, device), hot_code=options.hot_code
        )
        opening = _Opening(task, parts, emulator, options, tell or silent())
        return cls(task, emulator, opening.episodes(), options, opening.ram)

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
            if self.ram is not None:
                self.ram.terms.forget()
        return self.reset_to(self.episodes.draw_starts())

    def reset_to(self, starts: Tensor) -> Tensor:
        check_tensor("starts", starts, torch.int64, (self.num_envs,), self.device)
        self.emulator.put_at(starts)
        self.episodes.begin(starts)
        if self.ram is not None:
            self.ram.terms.restart(torch.ones_like(self.episodes.steps, dtype=torch.bool), starts)
        return self._stack.fill(self._start_obs[starts])

    def step(self, actions: Tensor) -> StepResult:
        emulator = self.emulator
        if not self._is_checked:
            check_actions(self, actions)
            self._is_checked = True
        with self.stopwatch("emulate"):
            torch.index_select(self._masks, 0, actions, out=emulator.buttons)
            emulator.run(self._frames, self._release)
        with self.stopwatch("observe"):
            pictures, ram = emulator.observe(), self.ram
            out = self.episodes.judge(pictures, ram.terms.step(self.episodes.steps) if ram else None)
            emulator.mask.copy_(out.reset_mask)
            emulator.index.copy_(out.next_start)
            if not self.skip_reset_if_empty or bool(out.reset_mask.any()):
                emulator.reset()
            if ram is not None:
                pictures = ram.with_rows(pictures)
                ram.terms.restart(out.reset_mask, out.next_start)
            self._stack.push(pictures, out.reset_mask, self._start_obs, out.next_start)
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
        } | ({"ram": self.ram.terms.state_dict()} if self.ram else {})

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the result of `state_dict`. Raises CheckpointError for an invalid one; the envs then need `reset`."""
        check_keys(state, ("machines", "obs", "episodes", *(("ram",) if self.ram else ())), "the envs' state")
        self.emulator.load_state_dict(state["machines"])
        self._stack.load(state["obs"])
        self.episodes.load_state_dict(state["episodes"])
        if self.ram is not None:
            self.ram.terms.load_state_dict(state["ram"])
            self.emulator.read_watched()

    def close(self) -> None:
        self.emulator.close()


class _Opening:
    """Builder of a task's start states and episodes."""

    def __init__(
        self, task: Task, parts: TaskParts, emulator: ShardedEmulator, options: GameOptions, tell: Preparing
    ) -> None:
        self.task, self.parts, self.emulator, self.options, self._tell = task, parts, emulator, options, tell
        self.device, self._codec = torch.device(options.device), task.manifest.codec
        self.ram: WatchedRam | None = None
        """Terms of the task's memory, once `episodes` has made them."""

    def episodes(self) -> Episodes:
        """Store all start states in the consoles; return the task's episodes with them."""
        manifest, options, count = self.task.manifest, self.options, self.options.num_envs
        own = torch.tensor(manifest.starts.indices(options.held_out), device=self.device)
        goal = self._goal()
        reader = fast_reader(goal, count, self.device)
        demos, first, starts = self._put_in_starts(own, reader)
        read = self.emulator.watch(manifest.ram.items) if manifest.ram is not None else None
        start_pictures, at_starts = self._start_pictures(starts, read)
        if manifest.ram is not None and read is not None:
            novelty = options.novelty and not options.held_out
            terms = RamTerms(manifest.ram.program(), read, at_starts, manifest.episode.horizon, novelty=novelty)
            self.ram = WatchedRam(terms, manifest.ram.rows, self.emulator.pictures)
        far = goal.distances(start_pictures) >= manifest.goal.tau
        return Episodes(
            count,
            goal,
            task_rules(manifest),
            own,
            start_pictures,
            options.seed,
            novelty=options.novelty and not options.held_out,
            reader=reader,
            own_starts=first,
            curriculum=self._curriculum(demos, own, first, far),
        )

    def _goal(self) -> GoalTemplates:
        """Return the task's goal templates on the device."""
        return GoalTemplates(
            torch.from_numpy(self.parts.templates.copy()).to(self.device),
            torch.from_numpy(self.parts.mask.copy()).to(self.device),
            self.task.manifest.goal.distance,
        )

    def _put_in_starts(self, own: Tensor, reader: Reader) -> tuple[list[Demonstration], int, int]:
        """Store all start states in the consoles: the task's, those that random walks from the starts `own`, i64[S],
        reached, and those along demonstrations. A task without demonstrations gets action sequences to the goal that
        walks found.

        Returns these demonstrations, the index of the first state along them, and the number of starts.
        """
        parts, codec, share = self.parts, self._codec, self.options.demo_share
        share = share if self.task.manifest.has_goal else 0.0  # nothing to walk to
        demos = task_demonstrations(self.task) if share > 0 else []
        along = states_along(parts.cartridge, demos, codec, str(self.device), self._tell)
        walked: list[Snapshot] = []
        if share > 0:
            starts = [parts.starts[n] for n in own.tolist()]
            explorer = self._explorer(reader)
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

    def _curriculum(self, demos: list[Demonstration], own: Tensor, first: int, far: Tensor) -> StartCurriculum | None:
        """Return the curriculum of the states along `demos`, which begin at start `first`; None without any.

        `own`, i64[S'], are the task's start states; `far`, bool[S], tells at which of all starts the goal is not yet
        reached.
        """
        manifest = self.task.manifest
        steps = [len(demo.masks) // self._codec.frames_per_step for demo in demos]
        states = states_to_go(steps, first, self.device)
        states = states.where(far[states.start])
        if not len(states.start):
            return None
        walks = torch.arange(manifest.starts.count, first, device=self.device)
        share, horizon = self.options.demo_share, manifest.episode.horizon
        return StartCurriculum(own, walks[far[walks]], states, share, len(far), horizon)

    def _explorer(self, reader: Reader) -> Explorer:
        """Return an Explorer on these consoles, which searches for new states and for action sequences to the goal."""
        codec, seed = self._codec, self.options.seed
        masks = torch.tensor(codec.masks, dtype=torch.uint8, device=self.device)

        def press(actions: np.ndarray) -> None:
            chosen = torch.from_numpy(actions).to(self.device)
            torch.index_select(masks, 0, chosen, out=self.emulator.buttons)
            self.emulator.run(codec.frames_per_step, codec.release_after_frames)

        def at_goal(pictures: Tensor) -> Tensor:
            whole = self.emulator.pictures  # `pictures` are its first rows
            return reader.read(whole)[0][: len(pictures)] < self.task.manifest.goal.tau

        frames, actions = codec.frames_per_step, len(codec.masks)
        return Explorer(self.emulator, press, at_goal, actions, seed, frames=frames, tell=self._tell)

    def _start_pictures(self, count: int, watched: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return u8[S, 72, 80] and u8[S, B], picture and `watched` bytes at each of the `count` start states."""
        found, read = [], []
        for some in torch.arange(count, device=self.device).split(self.options.num_envs):
            self._tell("pictures of starts", int(some[0]), count)
            self.emulator.put_at(some)
            found.append(self.emulator.observe()[: len(some)].clone())
            if watched is not None:
                self.emulator.read_watched()
                read.append(watched[: len(some)].clone())
        return torch.cat(found), torch.cat(read) if read else torch.empty(0)
