"""`dmglab task check` and `dmglab task audit`: soundness and difficulty of a task."""

from __future__ import annotations

from collections import defaultdict
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from emulator import EmulatorError
from trainer_core.author.demonstration import Replay, replay_demonstrations
from trainer_core.author.goals import GoalPictures
from trainer_core.author.inputs import follows_codec
from trainer_core.author.lost import Way, find_lost
from trainer_core.author.suggestions import ambiguous_share, suggest_stack
from trainer_core.envs.demonstrations import task_demonstrations
from trainer_core.envs.game_env import GameEnv, GameOptions
from trainer_core.envs.preparing import Preparing, silent
from trainer_core.envs.start_states import read_scripts
from trainer_core.envs.task_files import TaskParts, load_task_parts
from trainer_core.host.evaluate import Act, Course, Evaluation, run_episodes, sampled, uniform
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.tasks import Task
from trainer_core.learn.policy import PixelActorCritic, policy_kind
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import TaskError

BATCH = 64
LEAST_STARTS, SHORTEST_WAY, RANDOM_ALLOWED, ALIASING_ALLOWED = 32, 12, 0.05, 0.01
"""Requirements for shipped tasks: starts, steps, random success, aliasing; `audit` names those that a task misses."""
LOOKED_AT, LOOKED_STEPS, HIDDEN_ALLOWED = 32, 48, 0.05
"""Consoles and steps whose whole screens `check` compares, and the share of them that may look like another one in the
agent's picture. Of eleven homebrew tasks two went beyond it (0.14 and 0.35), which greedy play does not learn; the
others lay below 0.013 (docs/notebook/learning.md)."""


def check_task(
    task: Task, home: HomePaths, *, episodes: int, seed: int, tell: Preparing | None = None
) -> dict[str, Any]:
    """Check a task: load its files, replay the demonstrations and play at random; return a report. Raises LabError.

    `problems` make the task unfit, `warnings` may keep it from being learned.
    """
    tell = tell or silent()
    parts = load_task_parts(task, home, tell)
    replays = replay_demonstrations(task, parts, tell)
    problems, warnings = _ways(task, replays)
    env = _open(task, home, seed)
    start_dist = env.episodes.start_dist
    if bool((start_dist < task.manifest.goal.tau).any()):
        solved = int((start_dist < task.manifest.goal.tau).sum())
        problems.append(f"{solved} of {len(start_dist)} start states look like the goal")
    rng = torch.Generator().manual_seed(seed)
    found = _spread(env, uniform(env.num_actions, rng), episodes, tell)
    nearest, hidden, parts_of_reward = env.nearest, env.hidden, env.ram.terms.take() if env.ram else {}
    env.close()
    if found.success_rate > RANDOM_ALLOWED:
        warnings.append(
            f"done fires in {found.success_rate:.1%} of random episodes: look at the goal's region "
            "and tau (--mask, --tau), or begin farther away (--from-step, a smaller --spread)"
        )
    if hidden > HIDDEN_ALLOWED:
        warnings.append(
            f"{hidden:.0%} of the screens of random play look like another one in the 72x80 "
            "picture that an agent sees: a cursor or a thin line is lost in it, and nothing that "
            "needs it can be learned; choose a goal that does not"
        )
    warnings += _lost_warnings(task, parts, replays, seed, tell)
    inputs = task.folder / "starts.json"
    if inputs.is_file():
        rows = len(read_scripts(inputs, task.manifest.codec))
        if rows != task.manifest.starts.count:
            problems.append(f"starts.json has {rows} rows for {task.manifest.starts.count} starts")
    return {
        "ok": not problems,
        "task": task.id,
        "states": task.manifest.starts.count,
        "heldout": task.manifest.starts.heldout,
        "templates": len(parts.templates),
        "tau": task.manifest.goal.tau,
        "nearest_start": round(float(start_dist.min()), 5),
        "demonstrations": [{"steps": len(replay.actions), "done_at_step": replay.done} for replay in replays],
        "random_episodes": len(found.episodes),
        "false_positive_rate": found.success_rate,
        "nearest_random_picture": round(nearest, 5),
        "hidden_screens": round(hidden, 4),
        **({"badge": task.manifest.badge, "random_reward": parts_of_reward} if task.manifest.badge else {}),
        "problems": problems,
        "warnings": [*warnings, *_reward_warnings(task)],
        **({"error": f"{task.id}: {problems[0]}"} if problems else {}),
    }


def audit_task(
    task: Task, home: HomePaths, *, episodes: int, seed: int, tell: Preparing | None = None
) -> dict[str, Any]:
    """Return measures of a task's difficulty and of ambiguous pictures. Raises LabError."""
    tell = tell or silent()
    parts = load_task_parts(task, home, tell)
    replays = replay_demonstrations(task, parts, tell)
    demos = task_demonstrations(task)
    env = _open(task, home, seed)
    rng = torch.Generator().manual_seed(seed)
    random = _spread(env, uniform(env.num_actions, rng), episodes, tell)
    single = _one_button(env, tell)
    torch.manual_seed(seed)
    policy = PixelActorCritic(policy_kind(RunConfig()), env.obs_shape, env.num_actions)
    untrained = _spread(env, sampled(policy, rng), max(1, episodes // 2), tell)
    pictures = env.episodes.start_pictures
    distinct = len({picture.tobytes() for picture in pictures.numpy()})
    env.close()
    lengths = [replay.done for replay in replays if replay.done is not None]
    figures: dict[str, Any] = {
        "ok": True,
        "task": task.id,
        "starts": task.manifest.starts.count,
        "distinct_starts": distinct,
        "heldout": task.manifest.starts.heldout,
        "horizon": task.manifest.episode.horizon,
        "demonstrations": len(replays),
        "demonstrations_in_codec": sum(follows_codec(demo.masks, task.manifest.codec) for demo in demos),
        "shortest_demonstration": min(lengths, default=None),
        "episodes": len(random.episodes),
        "random_success": random.success_rate,
        "one_button_success": single,
        "untrained_success": untrained.success_rate,
        "aliasing": aliasing(replays),
    }
    stack, why = suggest_stack(task.manifest.codec.frames_per_step, figures["aliasing"])
    hint = {"hint": f"train with --stack-k {stack}: {why}"} if stack > 1 else {}
    return figures | {"misses": _misses(figures)} | hint


def aliasing(replays: list[Replay]) -> float | None:
    """Return the share of demonstrated pictures that occur with different actions.

    None without a demonstration. A policy that receives one picture cannot tell such moments apart.
    """
    actions = [replay.actions[: replay.done] for replay in replays]
    pictures = [
        picture for replay, pressed in zip(replays, actions, strict=True) for picture in replay.pictures[: len(pressed)]
    ]
    return ambiguous_share(pictures, [int(each) for pressed in actions for each in pressed])


def random_success(task: Task, home: HomePaths, episodes: int, seed: int) -> float:
    """Return the share of random episodes that reach the goal. Raises LabError."""
    env = _open(task, home, seed)
    try:
        rng = torch.Generator().manual_seed(seed)
        return _spread(env, uniform(env.num_actions, rng), episodes, silent()).success_rate
    finally:
        env.close()


class _WatchedEnv(GameEnv):
    """GameEnv that records how near the pictures come to the goal, and some whole screens.

    `nearest` is the least distance of a picture that is not the goal. Screens are kept from the first LOOKED_AT
    consoles and LOOKED_STEPS steps.
    """

    nearest = 1.0
    steps_seen = 0

    def step(self, actions: Tensor) -> Any:
        result = super().step(actions)
        missed = torch.where(result.done, 1.0, result.info.dist)
        self.nearest = min(self.nearest, float(missed.min()))
        self.steps_seen += 1
        if self.steps_seen <= LOOKED_STEPS:
            pictures = self.obs[:LOOKED_AT, -1].cpu().numpy()
            screens = self.screens(min(LOOKED_AT, self.num_envs)).cpu().numpy()
            for picture, screen in zip(pictures, screens, strict=True):
                self._shown[picture.tobytes()].add(screen.tobytes())
        return result

    @cached_property
    def _shown(self) -> defaultdict[bytes, set[bytes]]:
        """Different screens seen for each 80x72 picture."""
        return defaultdict(set)

    @property
    def hidden(self) -> float:
        """Share of the seen screens whose 80x72 picture equals that of another screen."""
        counts = [len(screens) for screens in self._shown.values()]
        return sum(count for count in counts if count > 1) / max(1, sum(counts))


def _open(task: Task, home: HomePaths, seed: int) -> _WatchedEnv:
    try:
        env = _WatchedEnv.open(task, home, GameOptions(num_envs=BATCH, seed=seed, novelty=False))
    except EmulatorError as error:
        raise TaskError(f"{task.id}: {error}") from None
    env.start_set = torch.arange(task.manifest.starts.count)
    return env


def _spread(env: GameEnv, act: Act, episodes: int, tell: Preparing) -> Evaluation:
    """Play `episodes` episodes, from every start about equally often."""
    starts = env.start_set.repeat(-(-episodes // len(env.start_set)))[:episodes]

    def look(course: Course) -> None:
        tell("episodes of play", course.over(), course.episodes)

    return run_episodes(env, act, starts, "sample", attend=look)


def _one_button(env: GameEnv, tell: Preparing) -> dict[str, float]:
    """Return the success rate of each button when held alone, all from the same few starts."""
    names = env.task.manifest.codec.actions
    each = env.num_envs // len(names)
    spaced = torch.linspace(0, len(env.start_set) - 1, each).long()
    starts = env.start_set[spaced].repeat(len(names))
    pressed = torch.arange(len(names)).repeat_interleave(each)
    pressed = torch.cat([pressed, pressed.new_zeros(env.num_envs - len(pressed))])

    def look(course: Course) -> None:
        tell("episodes of one button", course.over(), course.episodes)

    played = run_episodes(env, lambda obs: pressed, starts, "sample", attend=look)
    won = [episode.success for episode in played.episodes]
    return {name: sum(won[number * each : (number + 1) * each]) / each for number, name in enumerate(names)}


def _ways(task: Task, replays: list[Replay]) -> tuple[list[str], list[str]]:
    """Return problems and warnings about the demonstrations: goal not reached, too long, none."""
    problems, horizon = [], task.manifest.episode.horizon
    for number, replay in enumerate(replays):
        if replay.done is None:
            apart = len(replay.pictures) - 1
            problems.append(f"demonstration {number}: done does not fire within its {apart} steps")
        elif replay.done > horizon:
            problems.append(f"demonstration {number} needs {replay.done} steps, horizon {horizon}")
    if replays or not task.manifest.has_goal:
        return problems, []
    return problems, [
        "no demonstration: nothing shows that the goal can be reached; add one with "
        f"`dmglab task demo RECORDING --task {task.id}`"
    ]


def _lost_warnings(task: Task, parts: TaskParts, replays: list[Replay], seed: int, tell: Preparing) -> list[str]:
    """Return warnings about starts from which the game is lost."""
    ways = [replay for replay in replays if replay.done]
    if not ways:
        return []
    way = Way(
        np.concatenate([replay.pictures[: replay.done] for replay in ways]),
        np.concatenate([replay.actions[: replay.done] for replay in ways]),
    )
    goal = GoalPictures(parts.templates, parts.mask, task.manifest.goal.distance)
    lost = find_lost(
        parts.cartridge, parts.starts, way, goal, task.manifest.goal.tau, task.manifest.codec, seed=seed, tell=tell
    )
    if not lost.any():
        return []
    return [
        f"{int(lost.sum())} of {len(lost)} start states seem lost, every play from them ended in "
        "one dead picture: make the task anew with `dmglab task new`, which drops such starts"
    ]


def _reward_warnings(task: Task) -> list[str]:
    reward, found = task.manifest.reward, []
    if reward.pays_for_dawdling:
        found.append(f"{reward.dawdling}; `dmglab task update {task.id}` gives it today's reward")
    if task.manifest.starts.heldout == 0:
        found.append("no start is held out: validation uses the starts that training saw")
    return found


def _misses(figures: dict[str, Any]) -> list[str]:
    """Return the requirements for shipped tasks that this task misses."""
    found = []
    if figures["distinct_starts"] < LEAST_STARTS:
        found.append(f"{figures['distinct_starts']} distinct starts, {LEAST_STARTS} are wanted")
    shortest = figures["shortest_demonstration"]
    if shortest is None:
        found.append("no demonstration that reaches the goal")
    elif shortest < SHORTEST_WAY:
        found.append(f"the shortest demonstration has {shortest} steps, {SHORTEST_WAY} are wanted")
    if figures["random_success"] > RANDOM_ALLOWED:
        found.append(f"random buttons succeed in {figures['random_success']:.1%}")
    found += [
        f"{name} alone succeeds in {rate:.1%}"
        for name, rate in figures["one_button_success"].items()
        if rate > RANDOM_ALLOWED
    ]
    if (figures["aliasing"] or 0) > ALIASING_ALLOWED:
        found.append(f"{figures['aliasing']:.1%} of the demonstrations' pictures are ambiguous")
    return found
