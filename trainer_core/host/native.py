"""Trainee of our own runner: an ActorLearner, its metrics and its checkpoints' contents."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from trainer_core.envs.build import make_env
from trainer_core.envs.preparing import Preparing
from trainer_core.envs.startable import find_device
from trainer_core.envs.state_checks import check_keys, restore_generator
from trainer_core.envs.vec_env import StepInfo, ram_terms
from trainer_core.host import checkpoint as ckpt
from trainer_core.host import validation_process
from trainer_core.host.checkpoint import THUMBNAILS, Snapshot, fullest
from trainer_core.host.control import Control
from trainer_core.host.progress import RunProgress
from trainer_core.host.ranks import Ranks
from trainer_core.host.receipts import rollout_evidence
from trainer_core.host.reward_check import DawdlingWatch
from trainer_core.host.run import Host, default_threads
from trainer_core.host.trainee import Intervals, Trainee, Watched
from trainer_core.host.validation_process import ValidationProcess
from trainer_core.host.validator import Validator
from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.lab.task_lists import split_tasks
from trainer_core.lab.tasks import Task
from trainer_core.learn.finite import check_finite, check_weights
from trainer_core.learn.learner import Learner, LossSums
from trainer_core.learn.metrics import MetricsAccumulator
from trainer_core.learn.policy import policy_for
from trainer_core.learn.registry import implementation
from trainer_core.learn.update import ActorLearner
from trainer_core.runs.log_writer import RunWriter
from trainer_core.wire import records
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import CheckpointError
from trainer_core.wire.spec import RunSpec

OF_RANK = "of_rank"
"""Key of the trainer state of ranks above 0 in their env file, next to the environments' state."""


def native_host(
    config: RunConfig,
    paths: RunPaths,
    home: HomePaths,
    writer: RunWriter,
    control: Control,
    *,
    ranks: Ranks | None = None,
    tasks: Mapping[str, Task] | None = None,
    beside: ValidationProcess | None = None,
) -> Host:
    """Return the host of a run of our own trainer; it resumes when the run directory has checkpoints.

    `beside` is a validation process that was started before torch was loaded; `tasks` are the loaded tasks by id, as
    `check_startable` returned them.
    """
    make = functools.partial(NativeTrainee, config=config, beside=beside)
    return Host(RunSpec.of(config), paths, writer, control, make, home=home, ranks=ranks, tasks=tasks)


class NativeTrainee(Trainee):
    """Learner, environments and metrics of one rank."""

    file = layout.POLICY

    def __init__(self, host: Host, config: RunConfig, beside: ValidationProcess | None = None) -> None:
        """Build learner, environments and metrics. Raises LabError."""
        self.host, self.config, self.ranks = host, config, host.ranks
        if beside is not None:
            host.closing.callback(beside.close)
        self._dawdling = DawdlingWatch()
        self._begun = False
        device = find_device(config.device)
        torch.set_num_threads(config.threads or default_threads())
        host.find_task()
        host.intervals = Intervals(
            config.eval_every,
            config.checkpoint_every,
            config.keep_checkpoints,
            config.eval_episodes,
            in_updates=True,
            at_end=False,
        )
        host.tell_state("starting", f"{records.PREPARING} {config.num_envs} consoles", 0.4)
        env = make_env(
            config,
            host.home,
            seed=config.seed + 7919 * self.ranks.rank,
            demo_share=config.demo_starts,
            tasks=host.tasks,
            tell=Preparing(lambda far: host.tell_state("starting", far, 0.4)),
        )
        host.closing.callback(env.close)
        torch.manual_seed(config.seed)
        policy = policy_for(config, env.obs_shape, env.num_actions).to(device)
        if device.type == "cuda":
            policy = policy.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        learner = implementation(config.algo, policy.HEADS).learner(policy, config, device)
        host.closing.callback(learner.close)
        self.trainer = ActorLearner(env, learner, config, rank=self.ranks.rank)
        self.metrics = MetricsAccumulator(device, split_tasks(config.task), env.num_actions)
        self.policy, self.obs_shape, self.num_actions = policy.kind, env.obs_shape, env.num_actions
        self.num_envs = config.num_envs * self.ranks.world
        self.trainer.on_step = self._show
        self.trainer.on_optimizer_step = host.tell_finishing
        host.watch(env)
        self.beside = self._validated_beside(beside)

    def _validated_beside(self, process: ValidationProcess | None) -> ValidationProcess | None:
        """Set up and return the validation process if the configuration asks for one and it starts, else None."""
        config = self.config
        if process is None:
            process = validation_process.started(config)
            if process is not None:
                self.host.closing.callback(process.close)
        if process is not None:
            process.set_up(config, self.host.home, self.host.paths, self.trainer.learner.policy)
        elif validation_process.wanted(config):
            self.host.tell_state(
                "starting", f"warning: no process that validates can be started; validating on {config.device}"
            )
        return process

    def make_validator(self) -> Validator:
        return Validator(self.config, self.host.home, self.trainer.learner, self.host.paths, self.host.tasks)

    # -- learning ---------------------------------------------------------------------------

    def begin(self) -> None:
        learner = self.trainer.learner
        if self.config.warm_start:
            warm_start(learner, Path(self.config.warm_start))
        learner.broadcast_weights()

    def train(self) -> None:
        host, trainer = self.host, self.trainer
        if not host.limit()[0] and trainer.update:
            host.boundary()  # a validation that a stop or a kill interrupted
        host.end_at_limit()
        while True:
            losses = trainer.run_update()
            with trainer.stopwatch("log"):
                self.log(losses)
            host.boundary()
            trainer.training_success = host.progress.training_success

    def log(self, losses: LossSums) -> None:
        """Add the last update's losses to the metrics; write an update record every `log_every` updates."""
        trainer, host = self.trainer, self.host
        host.counters.env_steps, host.counters.update = trainer.env_steps, trainer.update
        self.metrics.add(trainer.rollout, losses)
        if trainer.update % self.config.log_every:
            return
        scalars = self.metrics.emit()
        check_finite(scalars, trainer.update)
        others = scalars["metrics"]
        if (terms := ram_terms(trainer.env)) is not None:
            others |= terms.take()
        host.progress.episodes += scalars["episodes"]
        host.count_episodes(
            scalars["success_rate"],
            scalars["episodes"] * (1 - others["demo_start_share"]),
            others["done_rate_own_starts"],
            self.config.num_steps * self.config.log_every,
            trainer.env.horizon,
        )
        trainer.training_success = host.progress.training_success
        if warning := self._dawdling.warning(scalars):
            host.tell_state("running", warning)
        host.write_update(
            opt_steps=trainer.opt_steps,
            learning_rate=trainer.learning_rate,
            time_split=trainer.stopwatch.take(),
            **scalars,
        )

    def _show(self, info: StepInfo) -> None:
        self.host.tick(self.trainer.env_steps, info)

    def timed(self) -> contextlib.AbstractContextManager[object]:
        return self.trainer.stopwatch("log")

    def evidence(self, shown: Watched | None) -> tuple[dict[str, Any], dict[str, bytes]]:
        told, files = rollout_evidence(self.trainer.rollout)
        return {"opt_steps": self.trainer.opt_steps, **told}, files

    # -- checkpoints ------------------------------------------------------------------------

    def parts(self, progress: dict[str, Any]) -> dict[str, bytes]:
        """Return the checkpoint's files by name; every rank calls it.

        Raises NonFiniteLossError for non-finite weights.
        """
        trainer = self.trainer
        check_weights(trainer.learner.parameters, trainer.update)
        machines = ckpt.pack_state(trainer.env.state_dict() | self._of_rank())
        everyone = self.ranks.gather(machines)
        return self._now(progress).files(dict(enumerate(everyone))) if self.ranks.is_first else {}

    def snapshot(self, progress: dict[str, Any]) -> Snapshot:
        return self._now(progress).copy()

    def _now(self, progress: dict[str, Any]) -> Snapshot:
        trainer = self.trainer
        state = {"trainer": trainer.state_dict(), "metrics": self.metrics.state_dict(), "run": progress}
        thumbnail = fullest(trainer.env.screens(THUMBNAILS).cpu().numpy())
        return Snapshot(state, trainer.learner.policy.state_dict(), thumbnail)

    def load(self, folder: Path) -> None:
        state, machines = ckpt.load_trainer_state(folder, self.ranks.rank, self.config.num_envs)
        policy, meta = ckpt.load_policy(folder)
        if (meta.policy, meta.obs_shape, meta.num_actions) != (self.policy, self.obs_shape, self.num_actions):
            raise CheckpointError(f"{folder}: its network is {meta.policy}, this run's is {self.policy}")
        self._loaded = state, machines, policy.state_dict(), RunProgress.from_state(state["run"])

    def restore(self, folder: Path) -> RunProgress:
        """Restore the checkpoint that `load` read; return its progress.

        If an earlier attempt to restore failed half-way, the environments are reset.
        """
        (state, machines, weights, progress), trainer = self._loaded, self.trainer
        begun, self._begun = self._begun, True
        trainer.learner.load_weights(weights)
        trainer.load_state_dict(state["trainer"])
        self.metrics.load_state_dict(state["metrics"])
        self._take_of_rank((machines or {}).pop(OF_RANK, None))
        if machines is not None:
            trainer.env.load_state_dict(machines)
            trainer.obs = trainer.env.obs
        elif begun:
            trainer.obs = trainer.env.reset()
        trainer.training_success = progress.training_success
        return progress

    def _of_rank(self) -> dict[str, Any]:
        """Return this rank's state other than the environments; {} on rank 0, whose state is in the trainer's file."""
        if self.ranks.is_first:
            return {}
        own = {"rng": self.trainer.rng.get_state(), "metrics": self.metrics.state_dict()}
        return {OF_RANK: own}

    def _take_of_rank(self, own: dict[str, Any] | None) -> None:
        """Restore the state of a rank above 0 that `_of_rank` returned.

        Without a saved state the rank reseeds its generator and clears its sums, since it was loaded with rank 0's: the
        sums would count twice and both ranks would sample the same actions.
        """
        if self.ranks.is_first:
            return
        if own is not None:
            check_keys(own, ("rng", "metrics"), "a rank's own state")
            restore_generator(self.trainer.rng, own["rng"], "the rank's rng")
            self.metrics.load_state_dict(own["metrics"])
            return
        self.trainer.rng.manual_seed(self.config.seed * 1009 + self.ranks.rank + 7919 * self.trainer.update)
        self.metrics.clear()


def warm_start(learner: Learner, folder: Path) -> None:
    """Load the weights of another checkpoint. Raises CheckpointError when they do not fit."""
    policy = learner.policy
    donor, meta = ckpt.load_policy(folder)
    if (meta.policy, meta.obs_shape) != (policy.kind, policy.obs_shape):
        raise CheckpointError(
            f"{folder}: a {meta.policy} network for {meta.obs_shape} observations does not fit "
            f"this run's {policy.kind} for {policy.obs_shape}; set policy={meta.policy} and "
            f"stack_k={meta.obs_shape[0]}"
        )
    if meta.num_actions != policy.num_actions:
        raise CheckpointError(
            f"{folder}: it has {meta.num_actions} actions ({meta.codec}), this run's task {policy.num_actions}"
        )
    learner.load_weights(donor.state_dict())
