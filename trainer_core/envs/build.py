"""Construction of a run's environment, and the facts about its task in records."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from torch import Tensor

from trainer_core.envs import toy
from trainer_core.envs.arc.env import ArcVecEnv
from trainer_core.envs.game_env import GameEnv, GameOptions
from trainer_core.envs.mixed_env import SEED_STEP, MixedEnv
from trainer_core.envs.noise import NoiseEnv
from trainer_core.envs.preparing import Preparing
from trainer_core.envs.press_marks import has_room
from trainer_core.envs.pressed import PressedEnv
from trainer_core.envs.vec_env import VecEnv
from trainer_core.lab.arc_games import ARC_RULE, HELD_OUT_STARTS, find_game, is_arc
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.task_lists import SEPARATOR, envs_of, game_tasks, is_several, split_tasks
from trainer_core.lab.tasks import OBSERVATION_RULE, Task
from trainer_core.wire.buttons import CODEC_ID
from trainer_core.wire.config import RunConfig

StartSet = Literal["train", "validation", "test", "heldout"]
"""Set of start states. train: for learning; validation: for decisions during the run; test: for the final figure;
heldout: the last two together."""


HOT_CODE_AFTER = {"cuda": 0.0, "cpu": 120.0}
"""Seconds of training after which the emulator searches for the ROM's hot code, its most executed instructions, to
compile it (ADR 30, 31). On a CPU the search takes cores from learning: it costs a run 4 s, which are gained back 75 s
later, or sooner if its game computes much; shorter runs do not need it."""


def hot_code_after(device: str) -> float:
    """Return the seconds in HOT_CODE_AFTER for a device like `cuda:0`."""
    return HOT_CODE_AFTER[device.partition(":")[0]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFacts:
    """Facts about a task in meta records and checkpoints; of several tasks, hashes joined by commas, in the order of
    the tasks."""

    id: str
    rom_sha256: str = ""
    starts_sha256: str = ""
    goal_sha256: str = ""
    codec: str = CODEC_ID
    observation_rule: str = OBSERVATION_RULE
    frames_per_step: int = 24
    release_after_frames: int = 8

    held_out: int = toy.HELD_OUT
    """Number of start states that are not used in training."""

    @property
    def hashes(self) -> dict[str, str]:
        return {"rom": self.rom_sha256, "starts": self.starts_sha256, "goal": self.goal_sha256}


def task_facts(task_id: str, home: HomePaths, tasks: Mapping[str, Task] | None = None) -> TaskFacts:
    """Return the facts about the task or tasks that `task_id` names.

    `tasks` is the result of `game_tasks` for it; None finds them.

    Raises TaskError for an unknown one.
    """
    if tasks is None:
        tasks = game_tasks(task_id, home)
    if is_several(task_id):
        return _facts_of_several([task_facts(each, home, tasks) for each in split_tasks(task_id)])
    if task_id == toy.TASK_ID:
        return TaskFacts(id=task_id)
    if is_arc(task_id):
        game = find_game(task_id, home)
        source = game.folder / f"{game.id.lower()}.py"
        return TaskFacts(
            id=task_id,
            rom_sha256=hashlib.sha256(source.read_bytes()).hexdigest(),
            observation_rule=ARC_RULE,
            frames_per_step=1,
            release_after_frames=1,
            held_out=HELD_OUT_STARTS,
        )
    manifest = tasks[task_id].manifest
    return TaskFacts(
        id=manifest.id,
        rom_sha256=manifest.rom.sha256,
        starts_sha256=manifest.starts.sha256,
        goal_sha256=manifest.goal.sha256,
        codec=manifest.codec.id,
        observation_rule=", ".join(filter(None, (manifest.observation.rule, manifest.badge))),
        frames_per_step=manifest.codec.frames_per_step,
        release_after_frames=manifest.codec.release_after_frames,
        held_out=manifest.starts.heldout,
    )


def _facts_of_several(parts: list[TaskFacts]) -> TaskFacts:
    """Return the facts about several tasks of one run; preflight ensures that they share codec and observation."""
    return replace(
        parts[0],
        id=SEPARATOR.join(part.id for part in parts),
        rom_sha256=SEPARATOR.join(part.rom_sha256 for part in parts),
        starts_sha256=SEPARATOR.join(part.starts_sha256 for part in parts),
        goal_sha256=SEPARATOR.join(part.goal_sha256 for part in parts),
        held_out=sum(part.held_out for part in parts),
    )


def chosen_starts(start_set: Tensor, starts: StartSet) -> Tensor:
    """Return the part of the held-out start states `start_set`, i64[S], that `starts` names.

    Held-out states alternate between both halves, so that these are alike: validation decides when a run ends and which
    checkpoint is its best, the test gives the reported figure. A single held-out state serves as both.
    """
    if starts == "heldout" or len(start_set) < 2:
        return start_set
    return start_set[0::2] if starts == "validation" else start_set[1::2]


def make_env(
    config: RunConfig,
    home: HomePaths,
    *,
    num_envs: int | None = None,
    starts: StartSet = "train",
    seed: int | None = None,
    demo_share: float = 0.0,
    tasks: Mapping[str, Task] | None = None,
    tell: Preparing | None = None,
) -> VecEnv:
    """Return the environment for a run's training, or with other `starts` one for its validation or test.

    Only training pays a novelty bonus, so that other returns compare across runs. A task without held-out states has
    one set for everything. `demo_share`: see GameOptions. Training of few consoles on a GPU searches for the ROM's hot
    code after a while (ADR 30). Several tasks train side by side; validation and tests play one after another, each in
    an environment of its own. `tasks` are the run's, as `game_tasks` finds them. `tell` receives the progress, for a
    task that takes minutes.
    """
    held_out = starts != "train"
    count = config.num_envs if num_envs is None else num_envs
    seed = config.seed if seed is None else seed
    tasks = game_tasks(config.task, home) if tasks is None else tasks
    env: toy.TinyGoalEnv | GameEnv | ArcVecEnv | MixedEnv
    holds_out = True
    if is_several(config.task):
        assert not held_out, "validate each task in an environment of its own"
        env = _mixed([tasks[name] for name in split_tasks(config.task)], config, home, count, seed, demo_share, tell)
        return _observed(env, config, seed)
    if config.task == toy.TASK_ID:
        env = toy.TinyGoalEnv(count, stack_k=config.stack_k, seed=seed, held_out=held_out, device=config.device)
    elif is_arc(config.task):
        env = ArcVecEnv(
            find_game(config.task, home),
            home,
            count,
            stack_k=config.stack_k,
            seed=seed,
            held_out=held_out,
            device=config.device,
        )
    else:
        task = tasks[config.task]
        holds_out = task.manifest.starts.heldout > 0
        options = GameOptions(
            num_envs=count,
            device=config.device,
            stack_k=config.stack_k,
            seed=seed,
            held_out=held_out,
            demo_share=demo_share,
            hot_code=False if held_out else hot_code_after(config.device),
        )
        env = GameEnv.open(task, home, options, tell)
    if held_out and holds_out:
        env.start_set = chosen_starts(env.start_set, starts)
        episodes = getattr(env, "episodes", None)
        if episodes is not None:
            episodes.start_set = env.start_set
    return _observed(env, config, seed)


def _observed(env: VecEnv, config: RunConfig, seed: int) -> VecEnv:
    """Return `env` wrapped so that its observations are those of `config.obs_source`: screen, marked or noise."""
    if config.obs_source == "noise":
        return NoiseEnv(env, seed)  # type: ignore[return-value]  # stopwatch is a property
    if config.obs_source == "marked" and has_room(env.obs_shape, env.num_actions):
        return PressedEnv(env)  # type: ignore[return-value]
    return env


def _mixed(
    tasks: Sequence[Task],
    config: RunConfig,
    home: HomePaths,
    num_envs: int,
    seed: int,
    demo_share: float,
    tell: Preparing | None,
) -> MixedEnv:
    envs = [len(range(num_envs)[envs_of(number, len(tasks))]) for number in range(len(tasks))]
    parts = []
    for number, (task, count) in enumerate(zip(tasks, envs, strict=True)):
        options = GameOptions(
            num_envs=count,
            device=config.device,
            stack_k=config.stack_k,
            seed=seed + SEED_STEP * number,
            demo_share=demo_share,
        )
        parts.append(GameEnv.open(task, home, options, tell))
    return MixedEnv(parts, hot_code=hot_code_after(config.device))
