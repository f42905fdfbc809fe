"""Validation during a run: greedy, sampled and loop-leaving play from the validation starts, and a sample episode.

The test starts are used by `dmglab eval` only.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import torch

from trainer_core.envs.build import make_env
from trainer_core.envs.vec_env import VecEnv
from trainer_core.formats.gif import picture_image, save_gif
from trainer_core.host.evaluate import (
    Act,
    Attend,
    Course,
    Episode,
    Evaluation,
    EvaluationStopped,
    go_on,
    greedy,
    joined,
    run_episodes,
    sampled,
    spread_starts,
)
from trainer_core.host.loop_leaving import leaving_loops
from trainer_core.host.progress import Rates
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.lab.task_lists import split_tasks
from trainer_core.lab.tasks import Task
from trainer_core.learn.distinct import Remembering
from trainer_core.runs.log_writer import write_json
from trainer_core.wire import records
from trainer_core.wire.config import RunConfig

MAX_MACHINES = 256
EPISODE_GIF_DELAY_CS = 10
WATCHED = 8
"""Greedy episodes whose screens are kept, one of them for the GIF."""


Forward = Callable[[torch.Tensor], tuple[torch.Tensor, Any]]
"""Function from shades u8[N, K, 72, 80] to (logits f32[N, 7], anything)."""


class Forwards(Protocol):
    """Interface of a model that can be validated: our learner or another library's model."""

    def forward(self, obs: torch.Tensor, /) -> tuple[torch.Tensor, Any]:
        """Return (logits f32[N, 7], anything) of shades u8[N, K, 72, 80]."""
        ...


class Validator:
    """Validator: plays episodes from the validation starts; makes one environment per task on first use."""

    leaves_model_alone = True
    """True if a checkpoint written within a validation equals one written before it."""

    def __init__(
        self,
        config: RunConfig,
        home: HomePaths,
        learner: Forwards | None,
        paths: RunPaths,
        found: Mapping[str, Task] | None = None,
    ) -> None:
        """Set up without making environments.

        Without a `learner`, a subclass must override `_play` or `_forward`; `found` is `game_tasks`'s result for the
        run.
        """
        self.config, self.home, self.learner, self.paths, self.found = config, home, learner, paths, found
        self.tasks = split_tasks(config.task)
        self.attend: Attend = go_on
        """Callback before every step of a validation; its exceptions end the validation."""
        self.rates = Rates()
        """Rates of the last validation."""
        self._envs: dict[str, VecEnv] = {}
        self._remembering: Forward | None = None

    def validate(self, update: int, env_steps: int) -> Iterator[tuple[type[records.Record], dict[str, Any]]]:
        """Yield records to write: one eval per mode and one sample episode.

        With several tasks, these for each task and then an eval per mode of all together. Collect all records before
        writing any: a validation that `attend` ends must leave none.
        """
        seed = self.config.seed * 7907 + update
        self._remembering = None  # its cache belongs to other weights
        by_mode: dict[str, list[Evaluation]] = {}
        kept: list[str] = []
        try:
            for kind, fields in self._validated(seed, env_steps, by_mode, kept):
                yield kind, {"trace_id": records.trace_of(self.paths.run_id, update), **fields}
        except EvaluationStopped:
            for gif in kept:  # without records, remove their files
                for path in (self.paths.root / gif, (self.paths.root / gif).with_suffix(".json")):
                    path.unlink(missing_ok=True)
            raise

    def _validated(
        self, seed: int, env_steps: int, by_mode: dict[str, list[Evaluation]], kept: list[str]
    ) -> Iterator[tuple[type[records.Record], dict[str, Any]]]:
        """Validate one task: yield records as `validate` does.

        Adds its evaluations to `by_mode` and its GIFs' paths to `kept`.
        """
        for number, task in enumerate(self.tasks):
            env = self._environment(task)
            env.reset(seed=seed)
            rng = torch.Generator(env.device).manual_seed(seed)
            for found in self._play(env, rng, number):
                by_mode.setdefault(found.mode, []).append(found)
                if found.mode == "greedy":
                    sample = self._keep(found, env_steps, task)
                    kept.append(sample["gif"])
                    yield records.EpisodeRecord, sample
                yield records.EvalRecord, {"env_steps": env_steps, "task": task, **found.summary(), **self._part()}
        self.rates = _rates(by_mode)
        if self._part():
            for parts in by_mode.values():
                yield records.EvalRecord, {"env_steps": env_steps, "task": self.config.task, **joined(parts).summary()}

    def _part(self) -> dict[str, bool]:
        """Return the extra fields of one task's record among several tasks."""
        return {"is_part": True} if len(self.tasks) > 1 else {}

    def _play(self, env: VecEnv, rng: torch.Generator, number: int = 0) -> list[Evaluation]:
        """Play greedy, sampled and loop-leaving episodes of task `number` side by side.

        On a GPU few consoles cost as much as many.
        """
        starts = {mode: spread_starts(env.start_set, self.config.eval_episodes, mode) for mode in ("greedy", "sample")}
        if self.config.obs_source != "noise":  # in noise no picture recurs
            starts["leave_loops"] = starts["greedy"]
        watched = min(WATCHED, len(starts["greedy"]))
        sizes = [len(each) for each in starts.values()]
        if sum(sizes) > env.num_envs:
            everybody = slice(env.num_envs)
            before = [sum(sizes[:mode]) for mode in range(len(sizes))]
            return [
                run_episodes(
                    env,
                    self._act(mode, env, everybody, rng),
                    each,
                    mode,
                    watched=watched if mode == "greedy" else 0,
                    attend=self._look(number, first, sum(sizes)),
                )
                for first, (mode, each) in zip(before, starts.items(), strict=True)
            ]
        ends = torch.tensor(sizes).cumsum(0).tolist()
        parts = [slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]
        acts = [self._act(mode, env, part, rng) for mode, part in zip(starts, parts, strict=True)]

        def act(obs: torch.Tensor) -> torch.Tensor:
            chosen = [one(obs[part]) for one, part in zip(acts, parts, strict=True)]
            return torch.cat([*chosen, chosen[0].new_zeros(len(obs) - ends[-1])])

        every = run_episodes(
            env, act, torch.cat([*starts.values()]), "all", watched=watched, attend=self._look(number, 0, sum(sizes))
        )
        return [
            Evaluation(mode, every.episodes[part], every.wall_time_s, every.screens)
            for mode, part in zip(starts, parts, strict=True)
        ]

    def _look(self, number: int, before: int, episodes: int) -> Attend:
        """Return the callback before each step of task `number`, which passes its progress on to `attend`.

        `before` of the task's `episodes` episodes were played in an earlier batch.
        """

        def look(course: Course) -> None:
            share = (before + course.share * course.episodes) / episodes
            share = (number + share) / len(self.tasks)
            self.attend(Course(episodes, lambda: before + course.over(), share))

        return look

    def _act(self, mode: str, env: VecEnv, envs: slice, rng: torch.Generator) -> Act:
        """Return the action function of `mode` for the envs `envs` of `env`."""
        forward = self._forward(env, envs)
        if mode == "greedy":
            return greedy(forward)
        if mode == "sample":
            return sampled(forward, rng)
        return leaving_loops(forward, lambda: env.episode_steps[envs], env.horizon)

    def _forward(self, env: VecEnv, envs: slice) -> Forward:
        """Return the network's forward function for the envs `envs` of `env`; called once per mode.

        On a CPU the modes share a cache of logits by picture: greedy play in a loop sees the same ones again.
        """
        assert self.learner is not None
        if env.device.type != "cpu":
            return self.learner.forward
        if self._remembering is None:
            forward = self.learner.forward

            def logits_alone(obs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
                logits = forward(obs)[0]
                return logits, logits

            self._remembering = Remembering(logits_alone)
        return self._remembering

    def load(self) -> None:
        """Make the environments in advance and play one step in each."""
        for task in self.tasks:
            env = self._environment(task)
            env.reset(seed=self.config.seed)
            with torch.no_grad():
                env.step(self._forward(env, slice(env.num_envs))(env.obs)[0].argmax(-1))

    def close(self) -> None:
        for env in self._envs.values():
            env.close()

    def _environment(self, task: str) -> VecEnv:
        if task not in self._envs:
            count = min(2 * self.config.eval_episodes, MAX_MACHINES)
            config = dataclasses.replace(self.config, task=task)
            self._envs[task] = make_env(config, self.home, num_envs=count, starts="validation", tasks=self.found)
        return self._envs[task]

    def _keep(self, found: Evaluation, env_steps: int, task: str) -> dict[str, Any]:
        """Write the JSON and GIF of a sample episode; return the fields of its record."""
        number = pick_sample(found.episodes[: len(found.screens[0])])
        episode = found.episodes[number]
        pictures = (screens[number].cpu().numpy() for screens in found.screens[: episode.steps])
        of_task = f"-{self.tasks.index(task)}" if self._part() else ""
        gif = self.paths.episodes / f"{env_steps:012d}-{found.mode}{of_task}.gif"
        images = map(picture_image, pictures)
        gif.parent.mkdir(exist_ok=True)  # without `parents`: never recreates a run folder that was moved away
        save_gif(gif, images, EPISODE_GIF_DELAY_CS)
        fields = {
            "env_steps": env_steps,
            "task": task,
            "start_index": episode.start,
            "mode": found.mode,
            "success": episode.success,
            "steps": episode.steps,
            "episode_return": episode.episode_return,
            "actions": list(episode.actions[: min(episode.steps, records.MAX_LOGGED_ACTIONS)]),
            "gif": str(gif.relative_to(self.paths.root)),
        }
        write_json(gif.with_suffix(".json"), fields)
        return fields


def _rates(by_mode: Mapping[str, Sequence[Evaluation]]) -> Rates:
    """Return the success rates by mode; each mode has one evaluation per task."""
    whole = {mode: joined(parts).success_rate for mode, parts in by_mode.items()}
    least = {mode: min(part.success_rate for part in parts) for mode, parts in by_mode.items()}
    return Rates(
        greedy=whole["greedy"],
        least=least["greedy"],
        leaving=whole.get("leave_loops", 0.0),
        least_leaving=least.get("leave_loops", 0.0),
        sampled=whole.get("sample", 0.0),
        least_sampled=least.get("sample", 0.0),
    )


def pick_sample(episodes: Sequence[Episode]) -> int:
    """Return the index of the sample episode to show: the first failure, else the longest success."""
    for number, episode in enumerate(episodes):
        if not episode.success:
            return number
    return max(range(len(episodes)), key=lambda number: episodes[number].steps)
