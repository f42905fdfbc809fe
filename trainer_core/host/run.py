"""A training run from its configuration to its end: records, validation, checkpoints, resume.

The command line calls `run_training` in its own process, a worker behind a pipe; nothing else
differs between the two.
"""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from trainer_core.envs.build import TaskFacts, make_env, task_facts
from trainer_core.envs.preparing import Preparing
from trainer_core.envs.startable import find_device
from trainer_core.envs.vec_env import StepInfo
from trainer_core.host import checkpoint as ckpt
from trainer_core.host import validation_process
from trainer_core.host.commands_while_validating import Attending
from trainer_core.host.control import Control
from trainer_core.host.late_validation import LateValidation
from trainer_core.host.persistence import CheckpointKeeper
from trainer_core.host.progress import RunProgress
from trainer_core.host.provenance import device_name, git_sha, versions
from trainer_core.host.ranks import Ranks
from trainer_core.host.receipts import write_receipt
from trainer_core.host.reward_check import DawdlingWatch
from trainer_core.host.validation_process import ValidationProcess
from trainer_core.host.validations import Validations
from trainer_core.host.validator import Validator
from trainer_core.host.watching import Watcher
from trainer_core.lab.checkpoint_manifest import list_checkpoints
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.lab.task_lists import split_tasks
from trainer_core.learn.finite import check_finite
from trainer_core.learn.learner import Learner, LossSums
from trainer_core.learn.metrics import MetricsAccumulator
from trainer_core.learn.policy import PixelActorCritic, policy_for
from trainer_core.learn.registry import implementation
from trainer_core.learn.update import ActorLearner
from trainer_core.runs.log_writer import DiskError, MovedError, RunWriter
from trainer_core.wire import records
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import CheckpointError, LabError
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import NATIVE_ID

GOALS_PER_HORIZON = 3
"""Goals an env must reach in the time of one horizon before training success means anything:
early on only lucky episodes end, and nearly all of those are successes."""
WORD_S = 1.0
"""Between two words that a stop waits for the update."""
HELD_S = 60.0
"""Between two words of rank 0 to ranks that are held: their collectives give up in the end."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    state: RunState
    reason: str
    env_steps: int
    success_rate: float
    """Of the last greedy validation; 0 when none was made."""
    leaving_success_rate: float
    """Of play that leaves loops, in the same validation."""
    best: tuple[float, float]
    """The same two of the best checkpoint."""
    reached_by: str
    """greedy or leave_loops where that play reached the target, else empty."""
    checkpoint: str
    """Relative to the run directory."""


def run_training(
    config: RunConfig,
    paths: RunPaths,
    home: HomePaths,
    writer: RunWriter,
    control: Control,
    *,
    argv: list[str],
    ranks: Ranks | None = None,
    beside: ValidationProcess | None = None,
) -> Outcome:
    """Train until a limit, a stop or an error; resumes when the directory has checkpoints.

    `beside` validates it, started before all this was loaded. Raises LabError after an error record
    when the run cannot go on.
    """
    run = TrainingRun(config, paths, home, writer, control, ranks or Ranks(), beside)
    try:
        run.prepare(argv)
        outcome = run.train()
    except Exception as error:
        if isinstance(error, MovedError):
            run.rescue()
        run.report(error)
        if isinstance(error, LabError):
            raise
        raise LabError(f"{type(error).__name__}: {error}") from error
    finally:
        run.close()
    return outcome


class TrainingRun:
    """The imperative shell around `ActorLearner`: it alone writes and reads numbers."""

    def __init__(
        self,
        config: RunConfig,
        paths: RunPaths,
        home: HomePaths,
        writer: RunWriter,
        control: Control,
        ranks: Ranks,
        beside: ValidationProcess | None = None,
    ) -> None:
        self.config, self.paths, self.home = config, paths, home
        self.writer, self.control, self.ranks = writer, control, ranks
        self.progress = RunProgress()
        self.began = self._last_record = time.monotonic()
        """The time limit counts from `train`'s first update, not from here."""
        self._last_update = 0
        self.trainer: ActorLearner | None = None
        self.watcher: Watcher | None = None
        self.validations: Validations | None = None
        self._beside = beside
        self._dawdling = DawdlingWatch()
        self._next_word = 0.0

    # -- starting ---------------------------------------------------------------------------

    def prepare(self, argv: list[str]) -> None:
        """Build everything, then continue the newest checkpoint or begin."""
        config = self.config
        device = find_device(config.device)
        torch.set_num_threads(config.threads or default_threads(config))
        self.facts: TaskFacts = task_facts(config.task, self.home)
        self._state("starting", f"{records.PREPARING} {config.num_envs} consoles", 0.4)
        env = make_env(
            config, self.home, seed=config.seed + 7919 * self.ranks.rank,
            demo_share=config.demo_starts,
            tell=Preparing(lambda far: self._state("starting", far, 0.4)),
        )  # fmt: skip
        torch.manual_seed(config.seed)
        policy = policy_for(config, env.obs_shape, env.num_actions).to(device)
        if device.type == "cuda":
            policy = policy.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        learner = implementation(config.algo, policy.HEADS).learner(policy, config, device)
        self.trainer = ActorLearner(env, learner, config, rank=self.ranks.rank)
        self.metrics = MetricsAccumulator(device, split_tasks(config.task), env.num_actions)
        validator = Validator(config, self.home, learner, self.paths)
        self.watcher = Watcher(self.paths.frames, env, self.control, self.writer.tell)
        self.trainer.on_step = self._show
        self.trainer.on_optimizer_step = self._tell_finishing
        self.keeper = CheckpointKeeper(
            config, self.paths, self.facts, self.trainer, self.metrics, self.writer, self.ranks
        )
        self.validations = Validations(
            config, self.trainer, validator, self._late_validation(policy), self.writer, self.ranks,
            say=self._say, attending=self._attending(), do=self._obey,
        )  # fmt: skip
        if self.ranks.is_first:
            ckpt.tidy(self.paths)
        self.ranks.agree(None)  # nobody reads the folders before they are tidy
        resumes = self.writer.seq or list_checkpoints(self.paths)  # a log may have been lost
        if not resumes:
            self._begin()
        if not self.writer.seq:
            self.writer.append(records.MetaRecord, **self._meta(argv, device))
        if resumes:
            self._resume()
        self._last_update = self.trainer.update

    def _attending(self) -> Attending:
        """What is asked while rank 0 validates here; all ranks do it."""

        def order(what: str, reason: str = "") -> None:
            assert self.validations is not None
            self.validations.order(what, reason)

        return Attending(
            self.control, save=lambda reason: order("save", reason), hold=lambda: order("hold"),
            tell=lambda words, share: self._state("running", words, share),
            wait=lambda: order("wait"),
        )  # fmt: skip

    def _obey(self, what: str, reason: str) -> None:
        """Of all ranks: what rank 0 orders while it validates."""
        if what == "save":
            self._save(reason)
        elif what == "hold":
            self._hold()

    def _late_validation(self, policy: PixelActorCritic) -> LateValidation | None:
        """Validation beside the learner, where the configuration wants it and a process starts."""
        if self._beside is None:
            self._beside = validation_process.started(self.config)
        if self._beside is None:
            if validation_process.wanted(self.config):
                self._state("starting", "warning: no process that validates can be started; "
                            f"validating on {self.config.device}")  # fmt: skip
            return None
        self._beside.set_up(self.config, self.home, self.paths, policy)
        return LateValidation(self._beside, self.keeper, self.writer)

    def _begin(self) -> None:
        """The first weights of a life: drawn, or a donor's."""
        assert self.trainer is not None
        learner = self.trainer.learner
        if self.config.warm_start:
            warm_start(learner, Path(self.config.warm_start))
        learner.broadcast_weights()

    def _resume(self) -> None:
        """Go on from the newest whole checkpoint; without one, from the beginning."""
        assert self.trainer is not None
        previous_seq = self.writer.seq - 1
        restored = self.keeper.restore(lambda reason: self._state("starting", reason))
        if restored is None:
            self._begin()
        else:
            self.progress = restored
            self.trainer.training_success = restored.training_success
        self.writer.append(
            records.ResumeRecord,
            env_steps=self.trainer.env_steps,
            update=self.trainer.update,
            checkpoint=self.keeper.newest,
            previous_seq=previous_seq,
        )

    def _meta(self, argv: list[str], device: torch.device) -> dict[str, Any]:
        config, facts = self.config, self.facts
        return {
            "runner": NATIVE_ID, "task": config.task, "algo": config.algo,
            "config": config.to_dict(), "argv": argv, "git_sha": git_sha(),
            "rom_sha256": facts.rom_sha256, "starts_sha256": facts.starts_sha256,
            "goal_sha256": facts.goal_sha256, "codec": facts.codec,
            "observation_rule": facts.observation_rule, "stack_k": config.stack_k,
            "frames_per_step": facts.frames_per_step,
            "release_after_frames": facts.release_after_frames,
            "num_envs": config.num_envs * self.ranks.world, "seed": config.seed,
            "device": config.device, "device_name": device_name(device), "versions": versions(),
        }  # fmt: skip

    # -- the loop ---------------------------------------------------------------------------

    def train(self) -> Outcome:
        """Update until a limit is reached or somebody stops the run."""
        trainer, config, validations = self.trainer, self.config, self.validations
        assert trainer is not None
        assert validations is not None
        self.control.begin()
        self._state("running")
        self.began = self._last_record = time.monotonic()
        reason, state = self._limit()
        if not reason and trainer.update and validations.after_update(self.progress, self._wall()):
            self._save("best")  # the validation that a stop or a kill cut off
            reason, state = self._limit()
        while not reason:
            losses = trainer.run_update()
            with trainer.stopwatch("log"):
                self.log(losses)
                best = validations.after_update(self.progress, self._wall())
                asked, paused = self._wishes()
                if best:
                    self._save("best")
                elif asked:
                    self._save(asked)
                elif self._due(config.checkpoint_every):
                    self._save("periodic")
            if paused:
                self._hold()
            reason, state = self._limit()
        if state is RunState.FINISHED and not self._reached():
            validations.finish(self.progress, self._wall, lambda: bool(self.control.stop_reason))
        self._save("stop" if state is RunState.STOPPED else "final")
        return self._outcome(state, reason)

    def _outcome(self, state: RunState, reason: str) -> Outcome:
        trainer, progress = self.trainer, self.progress
        assert trainer is not None
        if state is RunState.FINISHED and self.config.target_success and not self._reached():
            unconfirmed = progress.unconfirmed(self.config.target_success)
            reason = "; ".join(filter(None, (reason, progress.standing(), unconfirmed)))
        return Outcome(
            state=state, reason=reason, env_steps=trainer.env_steps,
            success_rate=progress.success, leaving_success_rate=progress.leaving,
            best=(max(0.0, progress.best_success), max(0.0, progress.best_leaving)),
            reached_by=self._reached(), checkpoint=self._ended_with(),
        )  # fmt: skip

    def _ended_with(self) -> str:
        """The checkpoint that a run is about, relative to its folder: where it ended because of a
        late validation that of the weights that were played, else the newest."""
        folder = self.paths.checkpoints / self.progress.best_folder
        late = self.validations.late if self.validations else None
        if late is not None and self._reached() and folder != self.paths.checkpoints:
            return str(folder.relative_to(self.paths.root))
        return self.keeper.newest

    def _due(self, every: int) -> bool:
        assert self.trainer is not None
        return every > 0 and self.trainer.update % every == 0

    def _limit(self) -> tuple[str, RunState]:
        """(why to end now or "", the state that is then reached); all ranks agree."""
        config, trainer, validations = self.config, self.trainer, self.validations
        assert trainer is not None
        assert validations is not None
        reason, state = "", RunState.FINISHED
        if self.control.stop_reason:
            reason, state = self.control.stop_reason, RunState.STOPPED
        elif config.seconds and time.monotonic() - self.began >= config.seconds:
            reason = f"time limit of {config.seconds:g} s"
        elif config.total_env_steps and trainer.env_steps >= config.total_env_steps:
            reason = f"{config.total_env_steps} environment steps"
        elif self._reached():
            reason = self.progress.reason(config.target_success)
        validations.look_again(self.progress)
        agreed = self.ranks.agree((reason, state, validations.owed))
        reason, state, validations.owed = agreed
        return reason, state

    def _reached(self) -> str:
        """By which play the target is reached, or ""."""
        return self.progress.reached(self.config.target_success)

    def _wishes(self) -> tuple[str, bool]:
        """(why a checkpoint is wanted now or "", whether to hold): rank 0 hears of it, all obey."""
        assert self.validations is not None
        asked = "request" if self.control.take_checkpoint_request() else ""
        if self.validations.take_saved() and not asked:
            asked = "periodic"
        return self.ranks.agree((asked, self.control.paused))

    def _hold(self) -> None:
        """All ranks wait; rank 0 tells the others now and then, who else would give it up."""
        paused = True
        while paused:
            self._state("paused")
            if self.ranks.is_first:
                self.control.wait_while_paused(HELD_S if self.ranks.world > 1 else None)
            asked, paused = self._wishes()
            if asked:
                self._save(asked)
        self._state("running")

    def log(self, losses: LossSums) -> None:
        """Fold the update just made in; every `log_every` updates write the record."""
        trainer = self.trainer
        assert trainer is not None
        self.metrics.add(trainer.rollout, losses)
        if trainer.update % self.config.log_every:
            return
        scalars = self.metrics.emit()
        check_finite(scalars, trainer.update)
        others = scalars["metrics"]
        often = others["done_rate_own_starts"] * trainer.env.horizon >= GOALS_PER_HORIZON
        recent = self.progress.fold_episodes(
            scalars["success_rate"], scalars["episodes"] * (1 - others["demo_start_share"]),
            math.exp(-self.config.num_steps * self.config.log_every / trainer.env.horizon),
        )  # fmt: skip
        self.progress.training_success = self.ranks.agree(recent if often else 0.0)
        trainer.training_success = self.progress.training_success
        if warning := self._dawdling.warning(scalars):
            self._state("running", warning)
        now = time.monotonic()
        elapsed = max(now - self._last_record, 1e-9)
        updates = trainer.update - self._last_update
        self._last_record, self._last_update = now, trainer.update
        self.writer.append(
            records.UpdateRecord,
            trace_id=self._trace_id(),
            update=trainer.update,
            env_steps=trainer.env_steps,
            opt_steps=trainer.opt_steps,
            wall_time_s=self._wall(),
            sps=updates * self.config.batch_size * self.ranks.world / elapsed,
            updates_per_s=updates / elapsed,
            learning_rate=trainer.learning_rate,
            time_split=trainer.stopwatch.take(),
            **scalars,
        )

    def _save(self, reason: str) -> None:
        if reason == "stop":
            self._state("stopping", f"{records.SAVING} a checkpoint")
        self.keeper.save(reason, self.progress, self._wall())

    # -- the end ----------------------------------------------------------------------------

    def rescue(self) -> None:
        """Where only the log is gone, keep what was learned since the last checkpoint."""
        trainer = self.trainer
        if trainer is None or not trainer.update or self.ranks.world > 1:
            return
        if self.writer.has_folder():
            with contextlib.suppress(OSError, LabError):  # the line that follows has said enough
                self.keeper.save_unannounced(self.progress, self._wall())

    def report(self, error: Exception) -> None:
        """Leave an error record, with a receipt when something was being trained."""
        trainer = self.trainer
        fields = {
            "kind": type(error).__name__,
            "message": str(error),
            "receipt": self._receipt(error),
            "env_steps": trainer.env_steps if trainer else 0,
        }
        try:
            if self.writer.seq:
                self.writer.append(records.ErrorRecord, **fields)
            else:
                self.writer.tell(records.ErrorRecord, **fields)
        except LabError:  # the full disk that is being reported
            self.writer.tell(records.ErrorRecord, **fields)

    def _receipt(self, error: Exception) -> str:
        """Its folder relative to the run's, or "": a failing receipt must not hide its cause."""
        if self.trainer is None or not self.ranks.is_first or isinstance(error, DiskError):
            return ""
        try:
            folder = write_receipt(self.paths, self._trace_id(), self.trainer, error)
        except (OSError, RuntimeError) as problem:  # the disk, or a device that is gone
            self._state("stopping", f"no receipt could be written: {problem}")
            return ""
        return str(folder.relative_to(self.paths.root))

    def close(self) -> None:
        if self.watcher is not None:
            self.watcher.close()
        if self.trainer is not None:
            self.trainer.learner.close()
            self.trainer.env.close()
        if self.validations is not None:
            self.validations.close()
        if self._beside is not None:
            self._beside.close()

    def _show(self, info: StepInfo) -> None:
        assert self.watcher is not None
        assert self.trainer is not None
        self.watcher.show(self.trainer.env_steps, info)
        self._tell_finishing()

    def _tell_finishing(self) -> None:
        """Within an update: whoever waits for a stop hears that it goes on."""
        if self.control.stop_reason and time.monotonic() >= self._next_word:
            self._next_word = time.monotonic() + WORD_S
            self._state("stopping", records.FINISHING)

    def _state(self, state: str, detail: str = "", progress: float = -1.0) -> None:
        if self.control.stop_reason and state in ("running", "paused"):
            return  # a stop was already announced
        self.writer.tell(records.StateEvent, state=state, detail=detail, progress=progress)

    def _say(self, words: str) -> None:
        self._state("stopping" if self.control.stop_reason else "running", words)

    def _trace_id(self) -> str:
        return f"{self.paths.run_id}-{self.trainer.update if self.trainer else 0}"

    def _wall(self) -> float:
        return self.progress.wall_before + time.monotonic() - self.began


def warm_start(learner: Learner, folder: Path) -> None:
    """Take the weights of that checkpoint. Raises CheckpointError when they do not fit."""
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
            f"{folder}: it has {meta.num_actions} actions ({meta.codec}), this run's task "
            f"{policy.num_actions}"
        )
    learner.load_weights(donor.state_dict())


def default_threads(config: RunConfig) -> int:
    """Torch threads on a CPU run: what small networks gain from, leaving a core to others."""
    import psutil

    cores = psutil.cpu_count(logical=False) or 1
    return max(1, min(4, cores - 1))
