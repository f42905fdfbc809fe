"""`dmglab eval`: success over distinct start states, of a checkpoint or of a baseline."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from trainer_core.cli.options import Home, home_paths, parse
from trainer_core.cli.output import Result, table
from trainer_core.cli.progress import tell_progress
from trainer_core.lab.checkpoint_manifest import read_meta, read_own_meta
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.task_lists import expand_tasks, game_tasks, is_list, split_tasks
from trainer_core.runners.catalog import runner_of_checkpoint
from trainer_core.runs.names import find_checkpoint
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import CheckpointError, ConfigError
from trainer_core.wire.fields import MAX_SEED, limits
from trainer_core.wire.spec import NATIVE_ID

if TYPE_CHECKING:
    from trainer_core.host.evaluate import Evaluation


@dataclass(frozen=True)
class Options:
    checkpoint: str = ""
    """Checkpoint folder, or a run (name, id, folder, `latest`): its best checkpoint."""
    policy: Literal["checkpoint", "random", "untrained"] = "checkpoint"
    """Player: the checkpoint, random buttons, or an untrained network."""
    task: str = ""
    """Task id, or several as a,b; default the tasks of the checkpoint."""
    episodes: int = field(default=64, metadata=limits(1, 100_000))
    """Number of episodes; play that draws no buttons begins each one in another start state."""
    mode: Literal["greedy", "sample", "leave_loops"] = "greedy"
    """Buttons: the most likely ones, drawn ones, or the most likely ones except where a picture comes
    back."""
    starts: Literal["test", "validation", "heldout", "train"] = "test"
    """test: start states used for neither training nor validation; validation: start states that chose
    the end of the run and its best checkpoint; heldout: both; train: start states of the training."""
    obs_source: Literal["checkpoint", "screen", "marked", "noise"] = "checkpoint"
    """Observations of the policy; default those of the training."""
    device: str = "cpu"
    seed: int = field(default=1, metadata=limits(0, MAX_SEED))
    home: Home = None


def run(argv: list[str]) -> dict[str, Any]:
    options = parse(Options, "eval", argv)
    home = home_paths(options.home)
    folder = None
    if options.policy == "checkpoint" or options.checkpoint:
        folder = find_checkpoint(options.checkpoint, home)
        if options.policy == "checkpoint" and read_meta(folder).runner != NATIVE_ID:
            return _by_its_player(options, folder, home)
    config = config_of(options, folder)
    tasks = split_tasks(expand_tasks(config.task, home)) if is_list(config.task) else ()
    if not tasks:
        return _in_words(_report(options, config, folder, *evaluate(options, config, folder, home)))
    found = {task: evaluate(options, dataclasses.replace(config, task=task), folder, home) for task in tasks}
    return _report_all(options, config, folder, found)


def _by_its_player(options: Options, folder: Path, home: HomePaths) -> dict[str, Any]:
    """Play the policy of another library in the interpreter of that library, as a league does."""
    from trainer_core.play.league.players import Entry, Settings, league_tasks
    from trainer_core.play.league.table import as_dicts, play_league

    runner = runner_of_checkpoint(folder)
    if not runner.capabilities.play:
        raise CheckpointError(
            f"{folder}: {runner.title}'s checkpoints play no Game Boy; its run validated it: "
            "`dmglab runs` and the app have the figures"
        )
    if options.starts != "test" or options.obs_source != "checkpoint" or options.device != "cpu":
        raise ConfigError(
            f"{folder}: {runner.title} plays the test starts on the CPU and sees the screen; "
            "leave --starts, --obs-source and --device away"
        )
    entry = Entry("checkpoint", str(folder))
    rows = []
    for task in league_tasks(options.task, [entry], home):
        settings = Settings(task=task, home=home, mode=options.mode, seed=options.seed)
        rows += play_league([entry], settings, options.episodes, lambda *_: None)
    if failed := next((row.error for row in rows if row.error), ""):
        raise CheckpointError(failed)
    names = ("episodes", "success_rate", "median_steps_to_goal", "mean_return")
    found = {row["task"]: {name: row[name] for name in names} for row in as_dicts(rows)}
    first = {
        "ok": True,
        "task": ",".join(found),
        "policy": "checkpoint",
        "checkpoint": str(folder),
        "runner": runner.id,
        "starts": "test",
        "mode": options.mode,
    }
    if len(found) == 1:
        return _in_words({**first, **next(iter(found.values()))})
    return _in_words({**first, "tasks": found})


def _report_all(
    options: Options, config: RunConfig, folder: Path | None, found: dict[str, tuple[Evaluation, str]]
) -> dict[str, Any]:
    """Return the result of all tasks together, and of each task by its name."""
    from trainer_core.host.evaluate import joined

    every = joined([evaluation for evaluation, _ in found.values()])
    sets = sorted({played for _, played in found.values()})
    by_task = {task: evaluation.summary() for task, (evaluation, _) in found.items()}
    return _in_words({**_report(options, config, folder, every, ",".join(sets)), "tasks": by_task})


def _report(options: Options, config: RunConfig, folder: Path | None, found: Evaluation, played: str) -> dict[str, Any]:
    return {
        "ok": True,
        "task": config.task,
        "policy": options.policy,
        "checkpoint": str(folder or ""),
        "starts": played,
        "obs_source": config.obs_source,
        **found.summary(),
    }


def _in_words(found: dict[str, Any]) -> Result:
    """Return the result with a sentence, and a table for several tasks."""
    who = found["checkpoint"] or f"The {found['policy']} policy"
    rate, count = found.get("success_rate"), found.get("episodes")
    text = "" if rate is None else f"{who} reached the goal in {rate:.1%} of {count} episodes ({found['mode']})."
    if "tasks" not in found:
        return Result(
            found, f"{text}\nMedian {found['median_steps_to_goal']:g} steps, mean return {found['mean_return']:.3f}."
        )
    head = ("task", "success", "episodes", "median steps", "mean return")
    rows = (
        (
            task,
            f"{row['success_rate']:.3f}",
            row["episodes"],
            f"{row['median_steps_to_goal']:g}",
            f"{row['mean_return']:.3f}",
        )
        for task, row in found["tasks"].items()
    )
    return Result(found, f"{text}\n{table(head, rows)}".lstrip("\n"))


def config_of(options: Options, folder: Path | None) -> RunConfig:
    """Return the configuration of the checkpoint with the task, device and observation of this call."""
    if folder is not None:
        config = RunConfig.from_dict(read_own_meta(folder).config)
    elif options.task:
        config = RunConfig(task=options.task)
    else:
        raise ConfigError("a baseline needs --task (or --checkpoint, whose task is taken)")
    changes: dict[str, Any] = {"device": options.device, "seed": options.seed}
    if options.task:
        changes["task"] = options.task
    if options.obs_source != "checkpoint":
        changes["obs_source"] = options.obs_source
    return dataclasses.replace(config, **changes)


def evaluate(options: Options, config: RunConfig, folder: Path | None, home: HomePaths) -> tuple[Evaluation, str]:
    """Play the episodes of one task; return them and the name of the played starts."""
    import torch

    from trainer_core.envs.build import make_env, task_facts
    from trainer_core.envs.startable import find_device
    from trainer_core.host.checkpoint import load_policy
    from trainer_core.host.evaluate import greedy, run_episodes, sampled, spread_starts, uniform
    from trainer_core.host.loop_leaving import leaving_loops
    from trainer_core.host.run import default_threads
    from trainer_core.learn.policy import policy_for

    find_device(config.device)
    torch.set_num_threads(config.threads or default_threads())
    tasks = game_tasks(config.task, home)
    facts = task_facts(config.task, home, tasks)
    played = options.starts if facts.held_out else "train"
    env = make_env(config, home, num_envs=min(options.episodes, 256), starts=played, tasks=tasks)
    env.reset(seed=config.seed)
    rng = torch.Generator(env.device).manual_seed(config.seed)
    mode = options.mode
    if options.policy == "random":
        act, mode = uniform(env.num_actions, rng), "sample"
    else:
        if options.policy == "untrained":
            torch.manual_seed(config.seed)
            policy = policy_for(config, env.obs_shape, env.num_actions)
        else:
            assert folder is not None
            policy, meta = load_policy(folder)
            if meta.obs_shape != env.obs_shape or meta.codec != facts.codec:
                raise CheckpointError(f"{folder}: made for other observations or buttons")
        policy.to(env.device)
        act = greedy(policy) if mode == "greedy" else sampled(policy, rng)
        if mode == "leave_loops":
            # With noise as observations no picture comes back.
            if config.obs_source == "noise":
                raise ConfigError("leave_loops looks at pictures; noise has none that come back")
            act = leaving_loops(policy, lambda: env.episode_steps, env.horizon)
    starts = spread_starts(env.start_set, options.episodes, mode)
    found = run_episodes(env, act, starts, mode, attend=lambda course: tell_progress(course.share))
    env.close()
    return found, played
