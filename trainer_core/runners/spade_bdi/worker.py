"""Worker in which a BDI agent plays and learns.

One console plays episode after episode. A run is saved, paused and ended between two of them; an episode that a stop
interrupts is undone completely, so that a resumed run repeats it.
"""

from __future__ import annotations

import copy
import importlib.metadata
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from trainer_core.envs.build import make_env
from trainer_core.envs.vec_env import VecEnv
from trainer_core.host import checkpoint as ckpt
from trainer_core.host.evaluate import Course, Episode, Evaluation, spread_starts
from trainer_core.host.progress import RunProgress
from trainer_core.host.run import Host
from trainer_core.host.validator import Validator
from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.runners.guest.trainee import GuestTrainee, write_thumbnail
from trainer_core.runners.spade_bdi import checkpoint as mind_files
from trainer_core.runners.spade_bdi.mind import Mind, Plans
from trainer_core.runners.spade_bdi.runner import SpadeBdiConfig
from trainer_core.runners.spade_bdi.skills import open_skills
from trainer_core.runners.spade_bdi.words import SUCCESS, TIMEOUT
from trainer_core.wire import records
from trainer_core.wire.config import RunConfig

LOGGED_LINES, LOGGED_LETTERS = 50, 160
"""Most beliefs, intentions and messages in a record of the log, the last ones, and most letters of each."""
TELL_S = 0.25
"""Seconds between two reports of the agent's beliefs."""
SHAPE = (1, 72, 80)


class StoppedMidway(Exception):  # noqa: N818 - an end, not an error
    """Exception for a stop during an episode, which is then undone."""


class MindTrainee(GuestTrainee):
    """Trainee that plays episodes with the agents, logs them and saves the agents' state."""

    policy, file, obs_shape = "plans", mind_files.MIND, SHAPE

    def __init__(self, host: Host, config: SpadeBdiConfig) -> None:
        super().__init__(host, config)
        torch.set_num_threads(config.threads or 1)
        self.mind: Mind
        self.steps = 0
        self.recent: list[list[float]] = []
        """[success, steps, return, messages] of the episodes since the last record."""
        self._told = 0.0
        run_config = RunConfig(task=config.task, num_envs=1, device=config.device, seed=config.seed, num_minibatches=1)
        self.env = make_env(run_config, host.home, tasks=host.tasks)
        self.num_actions = self.env.num_actions
        self.env.reset(seed=config.seed)

    def begin(self) -> None:
        self._take(_new_mind(self.host, self.config))
        self.versions = _versions(self.mind)

    def restore(self, folder: Path) -> RunProgress:
        config = self.config
        loop = mind_files.read(folder)["loop"]
        mind = mind_files.open_mind(folder, greedy=False, exploration=config.exploration, seed=config.seed)
        self._take(mind)
        self.steps, self.recent = loop["steps"], loop["recent"]
        machines = folder / layout.MACHINES
        if machines.exists():  # early checkpoints had none, and older ones of a run lose it
            self.env.load_state_dict(ckpt.read_state(machines, 1))
        return RunProgress.from_state(loop["progress"])

    def _take(self, mind: Mind) -> None:
        self.mind = mind
        self.host.closing.callback(mind.close)
        print(f"the player listens: {mind.address}", flush=True)

    def make_validator(self) -> Validator:
        return MindValidator(self)

    def train(self) -> None:
        """Play episodes until the run ends. Raises RunEnded."""
        self.host.watch(self.env)
        while True:
            self.host.boundary(self.steps)
            state = self.mind.state()
            env = copy.deepcopy(self.env.state_dict())  # deep, since observations change in place
            try:
                self._live_episode()
            except StoppedMidway:
                self.mind.load_state(state)
                self.env.load_state_dict(env)

    def _live_episode(self) -> None:
        number = self.mind.episode
        draw = np.random.default_rng((self.config.seed, number))
        start = int(draw.choice(self.env.start_set.cpu().numpy()))
        heard = self.mind.num_messages
        episode = play(self.mind, self.env, start, self._after_step)
        self.steps += episode.steps
        said = self.mind.num_messages - heard
        self.recent.append([episode.success, episode.steps, episode.episode_return, said])
        if len(self.recent) >= self.config.log_every:
            self._record()

    def _after_step(self, step: int) -> None:
        self.host.tick(self.steps + step)
        if self.host.control.stop_reason:
            raise StoppedMidway
        now = time.monotonic()
        if now - self._told >= TELL_S:
            self._told = now
            self.host.writer.tell(records.BeliefsEvent, episode=self.mind.episode, step=step, **self.mind.shown)

    def _record(self) -> None:
        success, steps, returns, said = np.mean(self.recent, axis=0).tolist()
        self.recent = []
        table = self.mind.experience.table.values()
        metrics = {
            "episode/steps": steps,
            "episode/return": returns,
            "bdi/messages": said,
            "bdi/beliefs": float(len(self.mind.beliefs)),
            "bdi/choices_credited": float(sum(n for o in table for n, _ in o.values())),
        }
        self.host.mind = self._mind_now(round(steps))
        self.host.record(self.steps, metrics, success_rate=success)

    def _mind_now(self, step: int) -> records.Mind:
        """Return the mind after an episode of `step` steps, shortened to what a line of the log holds."""
        shown = {
            name: [line[:LOGGED_LETTERS] for line in lines[-LOGGED_LINES:]] for name, lines in self.mind.shown.items()
        }
        return records.Mind(episode=self.mind.episode, step=step, **shown)

    # -- checkpoints --------------------------------------------------------------------------

    def fill(self, folder: Path, progress: dict[str, Any]) -> None:
        loop = {"steps": self.steps, "recent": self.recent, "progress": progress}
        mind_files.write(self.mind, self.mind.state(), loop, folder)
        (folder / layout.MACHINES).write_bytes(ckpt.pack_state(self.env.state_dict()))
        write_thumbnail(folder, self.env)


class MindValidator(Validator):
    """Validator that plays greedy episodes from the held-out starts, one at a time.

    The agents' state is restored afterwards.
    """

    leaves_model_alone = False

    def __init__(self, trainee: MindTrainee) -> None:
        host = trainee.host
        super().__init__(host.validating, host.home, None, host.paths, host.tasks)
        self._trainee = trainee

    def _environment(self, task: str) -> VecEnv:
        if task not in self._envs:
            self._envs[task] = make_env(self.config, self.home, num_envs=1, starts="validation", tasks=self.found)
        return self._envs[task]

    def _play(self, env: VecEnv, rng: torch.Generator, number: int = 0) -> list[Evaluation]:
        mind, began = self._trainee.mind, time.monotonic()
        before, greedy = mind.state(), mind.greedy
        mind.greedy = True
        screens: list[Tensor] = []
        starts = spread_starts(env.start_set, self.config.eval_episodes, "greedy").tolist()
        try:
            episodes = tuple(
                play(mind, env, start, self._between(each, starts), None if each else screens)
                for each, start in enumerate(starts)
            )
        finally:
            mind.load_state(before)
            mind.greedy = greedy
        return [Evaluation("greedy", episodes, time.monotonic() - began, tuple(screens))]

    def _between(self, over: int, starts: list[int]) -> Callable[[int], None]:
        """Return the callback after each step of an episode, which reports that `over` episodes were played before."""
        course = Course(len(starts), lambda: over, over / len(starts))
        return lambda step: self.attend(course)


def play(mind: Mind, env: VecEnv, start: int, after_step: Any, screens: list[Tensor] | None = None) -> Episode:
    """Play one episode from start state `start`; append its pictures to `screens` if given."""
    obs = env.reset_to(env.start_set.new_tensor([start]))
    mind.begin(_picture(obs))
    actions: list[int] = []
    total = 0.0
    while True:
        if screens is not None:
            screens.append(env.screens(1).clone())
        actions.append(mind.act())
        result = env.step(env.start_set.new_tensor(actions[-1:]))
        total += float(result.reward[0])
        ended = bool(result.done[0] | result.trunc[0])
        mind.see(_picture(result.final_obs))
        if ended:
            success = bool(result.info.success[0])
            mind.end(SUCCESS if success else TIMEOUT)
            after_step(len(actions))
            return Episode(start, success, len(actions), total, tuple(actions))
        after_step(len(actions))


def _picture(obs: Tensor) -> np.ndarray:
    return obs[0, -1].cpu().numpy()


def make_trainee(host: Host) -> MindTrainee:
    config = host.spec.configure(SpadeBdiConfig)
    host.find_task()
    return MindTrainee(host, config)


def _new_mind(host: Host, config: SpadeBdiConfig) -> Mind:
    plans = Plans.read(config.plans_file)
    coach = Plans.read(config.coach_file) if config.coach_file else None
    skills = open_skills(config.skill, host.home, host.paths.run_id)
    mind = Mind(plans, coach, skills, greedy=False, exploration=config.exploration, seed=config.seed)
    if config.warm_start:
        donor = mind_files.read(Path(config.warm_start))
        mind.experience.load_state(donor["mind"]["experience"])
    return mind


def _versions(mind: Mind) -> dict[str, str]:
    """Return versions for the log's first record: those of the libraries, and hashes of plans and skills."""
    found = {name: importlib.metadata.version(name) for name in ("spade", "spade_bdi", "agentspeak")}
    skills = {name: skill.sha256 for name, skill in mind.skills.items()}
    return found | {"skills_sha256": json.dumps(skills)}
