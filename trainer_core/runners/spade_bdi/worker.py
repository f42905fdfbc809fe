"""A BDI agent plays and learns.

One console, episode after episode. A run is saved, held and ended between two of them; an episode
that a stop cuts short is taken back whole, so that a resumed run repeats it.
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
from trainer_core.host.validator import Validator
from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.runners.guest.run import GuestRun, Intervals, Model
from trainer_core.runners.spade_bdi import checkpoint as mind_files
from trainer_core.runners.spade_bdi.mind import Mind, Plans
from trainer_core.runners.spade_bdi.runner import SpadeBdiConfig
from trainer_core.runners.spade_bdi.skills import open_skills
from trainer_core.runners.spade_bdi.words import SUCCESS, TIMEOUT
from trainer_core.wire import records
from trainer_core.wire.config import RunConfig

TELL_S = 0.25
"""Between two looks into the agent's mind."""
SHAPE = (1, 72, 80)


class StoppedMidway(Exception):  # noqa: N818 - an end, not an error
    """Somebody wants the run to end while an episode is played."""


class Life:
    """Episodes, their records, and what a checkpoint needs of them."""

    def __init__(self, run: GuestRun, mind: Mind, env: VecEnv) -> None:
        self.run, self.mind, self.env = run, mind, env
        self.config = run.spec.configure(SpadeBdiConfig)
        self.steps = 0
        self.recent: list[list[float]] = []
        """[success, steps, return, messages] of the episodes since the last record."""
        self.state = mind.state()
        self._told = 0.0
        self.model = Model(
            policy="plans", file=mind_files.MIND, fill=self._fill, validator=MindValidator(self)
        )

    def go_on(self) -> None:
        """Episodes until the run ends. Raises RunEnded."""
        while True:
            self.run.boundary(self.steps, self.model)
            self.state = self.mind.state()
            env = copy.deepcopy(self.env.state_dict())  # the pictures that were seen, too
            try:
                self._live_episode()
            except StoppedMidway:
                self.mind.load_state(self.state)
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
        self.run.tick(self.steps + step)
        if self.run.control.stop_reason:
            raise StoppedMidway
        now = time.monotonic()
        if now - self._told >= TELL_S:
            self._told = now
            self.run.writer.tell(
                records.BeliefsEvent, episode=self.mind.episode, step=step, **self.mind.shown
            )

    def _record(self) -> None:
        success, steps, returns, said = np.mean(self.recent, axis=0).tolist()
        self.recent = []
        table = self.mind.experience.table.values()
        metrics = {
            "episode/steps": steps, "episode/return": returns, "bdi/messages": said,
            "bdi/beliefs": float(len(self.mind.beliefs)),
            "bdi/choices_credited": float(sum(n for o in table for n, _ in o.values())),
        }  # fmt: skip
        self.run.record(self.steps, metrics, success_rate=success)

    # -- checkpoints --------------------------------------------------------------------------

    def _fill(self, folder: Path) -> None:
        loop = {
            "steps": self.steps, "recent": self.recent,
            "progress": self.run.progress.state_dict(self.run.wall_s),
        }  # fmt: skip
        mind_files.write(self.mind, self.mind.state(), loop, folder)
        (folder / layout.MACHINES).write_bytes(ckpt.pack_state(self.env.state_dict()))
        screen = self.env.screens(1)[0].cpu().numpy()
        (folder / layout.THUMBNAIL).write_bytes(ckpt.png_bytes(screen))

    def load(self, loop: dict[str, Any]) -> None:
        self.steps, self.recent = loop["steps"], loop["recent"]


class MindValidator(Validator):
    """Greedy episodes from the held-out starts, one after the other; the mind forgets them."""

    leaves_model_alone = False

    def __init__(self, life: Life) -> None:
        run = life.run
        config = RunConfig(
            task=run.spec.task, device=run.spec.device, seed=run.spec.seed, num_envs=1,
            num_minibatches=1, eval_episodes=life.config.eval_episodes,
        )  # fmt: skip
        super().__init__(config, run.home, None, run.paths)
        self._life = life

    def _environment(self, task: str) -> VecEnv:
        if task not in self._envs:
            self._envs[task] = make_env(self.config, self.home, num_envs=1, starts="validation")
        return self._envs[task]

    def _play(self, env: VecEnv, rng: torch.Generator, number: int = 0) -> list[Evaluation]:
        mind, began = self._life.mind, time.monotonic()
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
        """What is called after each step of the episode that `over` others were played before."""
        course = Course(len(starts), lambda: over, over / len(starts))
        return lambda step: self.attend(course)


def play(
    mind: Mind, env: VecEnv, start: int, after_step: Any, screens: list[Tensor] | None = None
) -> Episode:
    """One episode from start state `start`; its pictures are added to `screens` where given."""
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


def train(run: GuestRun) -> None:
    config = run.spec.configure(SpadeBdiConfig)
    run.find_task()
    torch.set_num_threads(config.threads or 1)
    run.intervals = Intervals(
        config.eval_every, config.checkpoint_every, config.keep_checkpoints, config.eval_episodes
    )
    folder = run.newest_checkpoint()[0] if run.writer.seq else None
    if folder is not None:
        mind = mind_files.open_mind(
            folder, greedy=False, exploration=config.exploration, seed=config.seed
        )
    else:
        mind = _new_mind(run, config)
    print(f"the player listens: {mind.address}", flush=True)
    run_config = RunConfig(
        task=config.task, num_envs=1, device=config.device, seed=config.seed, num_minibatches=1
    )
    env = make_env(run_config, run.home)
    env.reset(seed=config.seed)
    life = Life(run, mind, env)
    if folder is not None:
        loop = mind_files.read(folder)["loop"]
        life.load(loop)
        machines = folder / layout.MACHINES
        if machines.exists():  # checkpoints of before had none, and older ones lose it
            env.load_state_dict(ckpt.read_state(machines, 1))
        run.resume(SHAPE, 7, life.steps, folder, RunProgress.from_state(loop["progress"]))
    else:
        run.begin(SHAPE, 7, 1, **_versions(mind))
    run.watch(env)
    try:
        life.go_on()
    finally:
        mind.close()


def _new_mind(run: GuestRun, config: SpadeBdiConfig) -> Mind:
    plans = Plans.read(config.plans_file)
    coach = Plans.read(config.coach_file) if config.coach_file else None
    skills = open_skills(config.skill, run.home, run.paths.run_id)
    mind = Mind(
        plans, coach, skills, greedy=False, exploration=config.exploration, seed=config.seed
    )
    if config.warm_start:
        donor = mind_files.read(Path(config.warm_start))
        mind.experience.load_state(donor["mind"]["experience"])
    return mind


def _versions(mind: Mind) -> dict[str, str]:
    """For the log's first line: libraries, and which plans and skills these were."""
    found = {
        name: importlib.metadata.version(name) for name in ("spade", "spade_bdi", "agentspeak")
    }
    skills = {name: skill.sha256 for name, skill in mind.skills.items()}
    return found | {"skills_sha256": json.dumps(skills)}
