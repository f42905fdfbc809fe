"""GameEnv: N consoles, a task, a frame stack; here and in picture_reader.py torch meets Warp.

Torch owns every tensor; Warp gets views of the same memory and launches on torch's stream, so a
step copies nothing between the two.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

import numpy as np
import torch
import warp as wp
from torch import Tensor

from emulator import Cartridge, Emulator, EmulatorError, Snapshot, StateCache
from emulator.launch.warp_start import start_warp
from emulator.state.batch import CONSOLE_DTYPE, LAYOUT_VERSION
from trainer_core.envs.curriculum import (
    LIMIT_LEAST,
    StartCurriculum,
    states_to_go,
)
from trainer_core.envs.demonstrations import (
    Demonstration,
    play_actions,
    states_along,
    task_demonstrations,
)
from trainer_core.envs.episodes import (
    Episodes,
    GoalTemplates,
    Outcome,
    Reader,
    step_info,
    step_stats,
)
from trainer_core.envs.exploring import Explorer
from trainer_core.envs.frame_stack import FrameStack
from trainer_core.envs.picture_reader import WarpReader
from trainer_core.envs.picture_reader_serial import SerialReader
from trainer_core.envs.restored import check_keys, check_like, meta_bytes
from trainer_core.envs.scoring import task_rules
from trainer_core.envs.stopwatch import Stopwatch
from trainer_core.envs.task_parts import TaskParts, load_task_parts
from trainer_core.envs.vec_env import InfoMode, StepInfo, StepResult
from trainer_core.protocol.errors import CheckpointError, LabError
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.tasks import Task

MIN_SHARD = 8
"""Consoles below which another thread costs more than it saves."""


class ShardedEmulator:
    """A batch of consoles: one emulator on a GPU, one per core on a CPU.

    Warp runs a CPU launch on the calling thread, so each shard steps on a thread of its own; a
    shard is a slice of the same torch tensors, and consoles never meet, so the split changes no
    result.
    """

    def __init__(
        self,
        cartridge: Cartridge | Sequence[Cartridge],
        num_envs: int,
        device: torch.device,
        shards: int,
        *,
        cuda_graphs: bool = False,
        hot_code: bool | float = False,
        rom_of_env: np.ndarray | None = None,
    ) -> None:
        """`rom_of_env` int[N]: which of several cartridges each console has; None is for one.
        `cuda_graphs`, `hot_code`: see Emulator."""
        start_warp()
        roms = np.zeros(num_envs, np.int32) if rom_of_env is None else rom_of_env
        self.on_gpu = device.type == "cuda"
        name = str(device) if device.type == "cpu" else f"cuda:{device.index or 0}"
        if device.type == "cuda":
            wp.set_stream(wp.stream_from_torch(torch.cuda.current_stream(device)), name)
        bounds = np.linspace(0, num_envs, shards + 1).astype(int).tolist()
        self.slices = [slice(*pair) for pair in itertools.pairwise(bounds)]
        self.emulators = [
            Emulator(
                cartridge,
                part.stop - part.start,
                name,
                cuda_graphs=cuda_graphs,
                hot_code=hot_code,
                rom_of_env=roms[part],
            )
            for part in self.slices
        ]
        self.buttons = torch.zeros(num_envs, dtype=torch.uint8, device=device)
        self.pictures = torch.zeros((num_envs, 72, 80), dtype=torch.uint8, device=device)
        self.mask = torch.zeros(num_envs, dtype=torch.uint8, device=device)
        self.index = torch.zeros(num_envs, dtype=torch.int32, device=device)
        self._views = [
            tuple(
                wp.from_torch(tensor[part])
                for tensor in (self.buttons, self.pictures, self.mask, self.index)
            )
            for part in self.slices
        ]
        self._pool = ThreadPoolExecutor(max(1, shards - 1))  # its threads begin when needed
        self._caches: list[StateCache] = []

    @property
    def bytes_per_env(self) -> float:
        """Device memory of one console: its state, its share of the scratch, its picture."""
        arrays = [array for emulator in self.emulators for array in emulator.arrays_per_env()]
        tensors = (self.buttons, self.pictures, self.mask, self.index)
        total = sum(array.capacity for array in arrays) + sum(t.nbytes for t in tensors)
        return total / len(self.buttons)

    def set_starts(self, snapshots: list[Any]) -> None:
        self._caches = [emulator.state_cache(snapshots) for emulator in self.emulators]

    def take_starts(self, others: Sequence[ShardedEmulator]) -> None:
        """The starts of other batches of one cartridge each, one batch's after another's."""
        caches = [other._caches[0] for other in others]
        roms = [other.emulators[0].cartridges[0] for other in others]
        self._caches = [emulator.joined_cache(caches, roms) for emulator in self.emulators]

    def snapshots(self, envs: np.ndarray) -> list[Snapshot]:
        """The whole state of each of the consoles `envs`, int[E] in rising order."""
        found = []
        for emulator, part in zip(self.emulators, self.slices, strict=True):
            mine = envs[(envs >= part.start) & (envs < part.stop)] - part.start
            found += emulator.snapshots(mine.tolist()) if len(mine) else []
        return found

    def run(self, frames: int, release_after: int) -> None:
        """Hold `buttons` for `release_after` of `frames` frames."""
        self._each(lambda shard: self._run(shard, frames, release_after))

    def observe(self) -> Tensor:
        """Fill and return `pictures` u8[N, 72, 80]."""
        self._each(lambda shard: self.emulators[shard].observations(self._views[shard][1]))
        return self.pictures

    def reset(self) -> None:
        """Put consoles with `mask` set to start `index`."""
        self._each(self._reset)

    def put_at(self, starts: Tensor) -> None:
        """The first consoles at `starts`, i64[<= N], the others at start 0."""
        self.mask.fill_(1)
        self.index.zero_()
        self.index[: len(starts)] = starts
        self.reset()

    def screens(self, count: int) -> Tensor:
        """u8[count, 144, 160] of the first envs."""
        found = []
        for emulator, part in zip(self.emulators, self.slices, strict=True):
            if part.start < count:
                shown = min(count, part.stop) - part.start
                found.append(wp.to_torch(emulator.first_screens(shown)))
        return torch.cat(found)

    def state_dict(self) -> dict[str, Any]:
        """Console records u8[N, bytes] and memory rows u8[N, bytes], on the CPU.

        Raises LabError when a reset was refused: these would not be the consoles that were meant.
        """
        for emulator in self.emulators:
            if refused := emulator.refused_resets:
                raise LabError(
                    f"{refused} resets named a start state that is none of the console's ROM; "
                    "what was learnt since is of no use. Report this with the run's folder"
                )
        consoles = [emulator.batch.console.numpy() for emulator in self.emulators]
        records = np.concatenate(consoles)
        rows = np.concatenate([emulator.batch.ram.numpy() for emulator in self.emulators])
        as_bytes = records.view(np.uint8).reshape(len(records), -1)
        return {
            "consoles": torch.from_numpy(as_bytes.copy()),
            "rows": torch.from_numpy(rows.copy()),
            "layout": LAYOUT_VERSION,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Raises CheckpointError for consoles of another version, and such as cannot be."""
        count, stride = len(self.buttons), self.emulators[0].batch.ram.shape[1]
        like = {
            "consoles": meta_bytes(count, CONSOLE_DTYPE.itemsize),
            "rows": meta_bytes(count, stride),
            "layout": LAYOUT_VERSION,
        }
        what = "the consoles' state"
        check_like(state, like, what, optional=["layout"])  # none until November 2026
        if state.get("layout", LAYOUT_VERSION) != LAYOUT_VERSION:
            raise CheckpointError(f"{what} was made by another version of the emulator")
        consoles, rows = (state[name].contiguous().numpy() for name in ("consoles", "rows"))
        records = consoles.view(CONSOLE_DTYPE).reshape(-1)
        for emulator, part in zip(self.emulators, self.slices, strict=True):
            try:
                emulator.put_batch(records[part], rows[part])
            except EmulatorError as error:
                raise CheckpointError(f"envs {part.start} to {part.stop - 1}: {error}") from None

    def close(self) -> None:
        self._pool.shutdown()

    def _run(self, shard: int, frames: int, release_after: int) -> None:
        self.emulators[shard].run(self._views[shard][0], frames, release_after)

    def _reset(self, shard: int) -> None:
        _, _, mask, index = self._views[shard]
        self.emulators[shard].reset(mask, self._caches[shard], index)

    def _each(self, work: Any) -> None:
        others = [self._pool.submit(work, shard) for shard in range(1, len(self.emulators))]
        work(0)
        for other in others:
            other.result()


def shards_for(num_envs: int, device: torch.device) -> int:
    """Threads that share a batch."""
    return max(1, min(os.cpu_count() or 1, num_envs // MIN_SHARD)) if device.type == "cpu" else 1


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
    ) -> None:
        """Raises TaskError when ROM, starts or goal are missing or not the manifest's.

        `info_mode`: what `StepResult.info` is: `full` a StepInfo, `stats` a StepStats, `none` None.
        `skip_reset_if_empty`: ask whether any console must be reset before launching the kernel
        that resets. A GPU's host has to wait for the answer; the kernel skips by itself what
        stays, so the default is to ask on a CPU only. `demo_share`: how many of the episodes begin
        along the task's demonstrations, or ways that walks found where it has none, while none is
        solved (curriculum.py). Start indices: the task's own, walks from them, states along ways.
        `cuda_graphs`, `hot_code`: see Emulator.
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
        parts = load_task_parts(task, home)
        self.emulator = ShardedEmulator(
            parts.cartridge, num_envs, self.device, shards_for(num_envs, self.device),
            cuda_graphs=cuda_graphs, hot_code=hot_code,
        )  # fmt: skip
        self._masks = torch.tensor(manifest.codec.masks, dtype=torch.uint8, device=self.device)
        own = torch.tensor(manifest.starts.indices(held_out), device=self.device)
        goal = self._goal(parts)
        # A kernel each: in torch reading the pictures takes as long as a third of emulating them.
        reader: Reader = (
            SerialReader(goal, num_envs) if on_cpu else WarpReader(goal, num_envs, self.device)
        )
        demos, first, count = self._put_in_starts(parts, own, reader, seed, demo_share)
        start_pictures = self._start_pictures(count)
        far = goal.distances(start_pictures) >= manifest.goal.tau
        curriculum = self._curriculum(demos, own, first, far, demo_share)
        self.shortest_limit = min(self.horizon, LIMIT_LEAST if curriculum else self.horizon)
        self.start_set = own
        """The task's own; a curriculum draws walks and states along the demonstrations besides."""
        self.episodes = Episodes(
            num_envs, goal, task_rules(manifest), own, start_pictures, seed,
            novelty=novelty and not held_out,
            reader=reader,
            own_starts=first,
            curriculum=curriculum,
        )  # fmt: skip
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
        along = states_along(parts.cartridge, demos, codec, str(self.device))
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
                along = states_along(parts.cartridge, demos, codec, str(self.device))
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

        return Explorer(self.emulator, press, at_goal, self.num_actions, seed)

    def _start_pictures(self, count: int) -> Tensor:
        """u8[S, 72, 80]: the observation of every start state."""
        found = []
        for some in torch.arange(count, device=self.device).split(self.num_envs):
            self.emulator.put_at(some)
            found.append(self.emulator.observe()[: len(some)].clone())
        return torch.cat(found)

    @property
    def obs(self) -> Tensor:
        return self._stack.obs

    @property
    def episode_steps(self) -> Tensor:
        return self.episodes.steps

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
