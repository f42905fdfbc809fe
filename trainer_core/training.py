"""A training run from its configuration to its end: records, validation, checkpoints, resume.

The command line calls `run_training` in its own process, a worker behind a pipe; nothing else
differs between the two.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from trainer_core import checkpoint as ckpt
from trainer_core.algo.learner import Learner, LossSums
from trainer_core.algo.policy import PixelActorCritic, policy_kind
from trainer_core.control import Control
from trainer_core.envs.build import TaskFacts, make_env, task_facts
from trainer_core.loop import Trainer
from trainer_core.memory import check_memory
from trainer_core.metrics import MetricsAccumulator
from trainer_core.protocol import records
from trainer_core.protocol.checkpoints import CheckpointMeta, list_checkpoints
from trainer_core.protocol.config import RunConfig
from trainer_core.protocol.errors import CheckpointError, LabError
from trainer_core.protocol.paths import HomePaths, RunPaths
from trainer_core.protocol.runs import RunState
from trainer_core.provenance import device_name, git_sha, versions
from trainer_core.ranks import Ranks
from trainer_core.receipts import write_receipt
from trainer_core.run_dir import RunWriter, disk_error
from trainer_core.startable import find_device
from trainer_core.validation import Validator
from trainer_core.watching import Watcher

SETTLE_UPDATES = 4
"""Updates between two validations that training success, not the calendar, calls for."""
GOALS_PER_HORIZON = 3
"""Goals a machine must reach in the time of one horizon before training success means anything:
early on only lucky episodes end, and nearly all of those are successes."""
EXPLODED = 1e8
"""A loss or gradient norm beyond this never comes back."""


class NonFiniteLossError(LabError):
    """The learner produced NaN, infinity or numbers without bound."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    state: RunState
    reason: str
    env_steps: int
    success_rate: float
    """Of the last greedy validation; 0 when none was made."""
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
) -> Outcome:
    """Train until a limit, a stop or an error; resumes when the directory has checkpoints.

    Raises LabError after an error record when the run cannot go on.
    """
    run = TrainingRun(config, paths, home, writer, control, ranks or Ranks())
    try:
        run.prepare(argv)
        outcome = run.train()
    except Exception as error:
        run.report(error)
        if isinstance(error, LabError):
            raise
        raise LabError(f"{type(error).__name__}: {error}") from error
    finally:
        run.close()
    return outcome


class TrainingRun:
    """The imperative shell around `Trainer`: it alone writes and reads numbers."""

    def __init__(
        self,
        config: RunConfig,
        paths: RunPaths,
        home: HomePaths,
        writer: RunWriter,
        control: Control,
        ranks: Ranks,
    ) -> None:
        self.config, self.paths, self.home = config, paths, home
        self.writer, self.control, self.ranks = writer, control, ranks
        self.began = self._last_record = time.monotonic()
        self._wall_before = 0.0
        self._last_update = 0
        self._saved_update = -1
        self._best_success, self._best_folder = -1.0, ""
        self._success = self._training_success = 0.0
        self._validated_update = 0
        self._checkpoint = ""
        self.trainer: Trainer | None = None
        self.watcher: Watcher | None = None

    # -- starting ---------------------------------------------------------------------------

    def prepare(self, argv: list[str]) -> None:
        """Build everything, then continue the newest checkpoint or write the meta record."""
        config = self.config
        device = find_device(config.device)
        torch.set_num_threads(config.threads or default_threads(config))
        check_memory(config)
        self.facts: TaskFacts = task_facts(config.task, self.home)
        self._state("starting", f"preparing {config.num_envs} machines", 0.4)
        env = make_env(config, self.home, seed=config.seed + 7919 * self.ranks.rank)
        torch.manual_seed(config.seed)
        policy = PixelActorCritic(policy_kind(config), env.obs_shape, env.num_actions).to(device)
        if device.type == "cuda":
            policy = policy.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self._warm_start(policy)
        learner = Learner(policy, config, device)
        learner.broadcast_weights()
        self.trainer = Trainer(env, learner, config, rank=self.ranks.rank)
        self.metrics = MetricsAccumulator(device)
        self.validator = Validator(config, self.home, learner, self.paths)
        self.watcher = Watcher(self.paths.frames, env, self.control)
        self.trainer.on_step = self._show
        if self.writer.seq:
            self._resume()
        else:
            self.writer.append(records.MetaRecord, **self._meta(argv, device))
        self._last_record = time.monotonic()
        self._last_update = self.trainer.update

    def _warm_start(self, policy: PixelActorCritic) -> None:
        if not self.config.warm_start:
            return
        folder = Path(self.config.warm_start)
        donor, meta = ckpt.load_policy(folder)
        if (meta.policy, meta.obs_shape) != (policy.kind, policy.obs_shape):
            raise CheckpointError(
                f"{folder}: a {meta.policy} network for {meta.obs_shape} observations does not fit "
                f"this run's {policy.kind} for {policy.obs_shape}; set policy={meta.policy} and "
                f"stack_k={meta.obs_shape[0]}"
            )
        policy.load_state_dict(donor.state_dict())

    def _meta(self, argv: list[str], device: torch.device) -> dict[str, Any]:
        config, facts = self.config, self.facts
        return {
            "runner": "native", "task": config.task, "algo": config.algo,
            "config": config.to_dict(), "argv": argv, "git_sha": git_sha(),
            "rom_sha256": facts.rom_sha256, "starts_sha256": facts.starts_sha256,
            "goal_sha256": facts.goal_sha256, "codec": facts.codec,
            "observation_rule": facts.observation_rule, "stack_k": config.stack_k,
            "frames_per_step": facts.frames_per_step,
            "release_after_frames": facts.release_after_frames,
            "num_envs": config.num_envs * self.ranks.world, "seed": config.seed,
            "device": config.device, "device_name": device_name(device), "versions": versions(),
        }  # fmt: skip

    def _resume(self) -> None:
        """Go on from the newest checkpoint that is whole; without one, from the beginning."""
        trainer = self.trainer
        assert trainer is not None
        previous_seq = self.writer.seq - 1
        folder = None
        for candidate in reversed(list_checkpoints(self.paths)):
            try:
                state, machines = ckpt.load_trainer_state(candidate, self.ranks.rank)
                policy, meta = ckpt.load_policy(candidate)
            except CheckpointError as error:
                self._state("starting", f"skipped a damaged checkpoint: {error}")
                continue
            if meta.hashes != self.facts.hashes:
                raise CheckpointError(f"{candidate}: made for other files of task {meta.task}")
            trainer.learner.policy.load_state_dict(policy.state_dict())
            trainer.load_state_dict(state["trainer"])
            self.metrics.load_state_dict(state["metrics"])
            for name, value in state["run"].items():
                setattr(self, name, value)
            if machines is not None:
                trainer.env.load_state_dict(machines)
                trainer.obs = trainer.env.obs
            folder = candidate
            break
        self._checkpoint = str(folder.relative_to(self.paths.root)) if folder else ""
        self._saved_update = trainer.update if folder else -1
        self.writer.append(
            records.ResumeRecord,
            env_steps=trainer.env_steps,
            update=trainer.update,
            checkpoint=self._checkpoint,
            previous_seq=previous_seq,
        )

    # -- the loop ---------------------------------------------------------------------------

    def train(self) -> Outcome:
        """Update until a limit is reached or somebody stops the run."""
        trainer, config = self.trainer, self.config
        assert trainer is not None
        self._state("running")
        reason, state = self._limit()
        while not reason:
            losses = trainer.run_update()
            with trainer.stopwatch("log"):
                self.log(losses)
                best = self._validate() if self._validation_due() else False
                if best:
                    self._save("best")
                elif self.control.take_checkpoint_request():
                    self._save("request")
                elif self._due(config.checkpoint_every):
                    self._save("periodic")
            if self.control.paused:
                self._hold()
            reason, state = self._limit()
        self._save("stop" if state is RunState.STOPPED else "final")
        return Outcome(state, reason, trainer.env_steps, self._success, self._checkpoint)

    def _due(self, every: int) -> bool:
        assert self.trainer is not None
        return every > 0 and self.trainer.update % every == 0

    def _validation_due(self) -> bool:
        """By the calendar, or because the episodes of training reach the target already."""
        config, trainer = self.config, self.trainer
        assert trainer is not None
        if not config.eval_every:
            return False
        if self._due(config.eval_every):
            return True
        settled = trainer.update - self._validated_update >= SETTLE_UPDATES
        return settled and 0 < config.target_success <= self._training_success

    def _limit(self) -> tuple[str, RunState]:
        """(why to end now or "", the state that is then reached); all ranks agree."""
        config, trainer = self.config, self.trainer
        assert trainer is not None
        reason, state = "", RunState.FINISHED
        if self.control.stop_reason:
            reason, state = self.control.stop_reason, RunState.STOPPED
        elif config.seconds and time.monotonic() - self.began >= config.seconds:
            reason = f"time limit of {config.seconds:g} s"
        elif config.total_env_steps and trainer.env_steps >= config.total_env_steps:
            reason = f"{config.total_env_steps} environment steps"
        elif config.target_success and self._success >= config.target_success:
            reason = f"validation reached {self._success:.3f}"
        return self.ranks.agree((reason, state))

    def _hold(self) -> None:
        while self.control.paused:
            self._state("paused")
            self.control.wait_while_paused()
            if self.control.take_checkpoint_request():
                self._save("request")
        self._state("running")

    def log(self, losses: LossSums) -> None:
        """Fold the update just made in; every `log_every` updates write the record."""
        trainer = self.trainer
        assert trainer is not None
        self.metrics.add(trainer.rollout, losses)
        if trainer.update % self.config.log_every:
            return
        scalars = self.metrics.emit()
        guard(scalars, trainer.update)
        often = scalars["done_rate"] * trainer.env.horizon >= GOALS_PER_HORIZON
        self._training_success = scalars["success_rate"] if often else 0.0
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

    def _validate(self) -> bool:
        """Validate on rank 0; True when greedy success is the best so far."""
        trainer = self.trainer
        assert trainer is not None
        if self.ranks.is_first:
            for kind, fields in self.validator.validate(trainer.update, trainer.env_steps):
                self.writer.append(kind, **fields)
            self._success = self.validator.success_rate
        self._validated_update = trainer.update
        self._success = self.ranks.agree(self._success)
        if self._success <= self._best_success:
            return False
        self._best_success = self._success
        self._best_folder = self.paths.checkpoint(trainer.env_steps).name
        return True

    # -- checkpoints ------------------------------------------------------------------------

    def _save(self, reason: str) -> None:
        trainer = self.trainer
        assert trainer is not None
        if trainer.update == self._saved_update:
            return
        if not all(bool(p.isfinite().all()) for p in trainer.learner.parameters):
            raise NonFiniteLossError(f"weights are not finite at update {trainer.update}")
        meta = CheckpointMeta(
            run_id=self.paths.run_id, task=self.config.task, env_steps=trainer.env_steps,
            update=trainer.update, policy=trainer.learner.policy.kind,
            obs_shape=trainer.env.obs_shape, num_actions=trainer.env.num_actions,
            codec=self.facts.codec, observation_rule=self.facts.observation_rule,
            config=self.config.to_dict(), hashes=self.facts.hashes,
            success_rate=self._success, reason=reason,
        )  # fmt: skip
        run_state = {
            "_wall_before": self._wall(),
            "_best_success": self._best_success,
            "_best_folder": self._best_folder,
            "_success": self._success,
            "_training_success": self._training_success,
            "_validated_update": self._validated_update,
        }
        state = {
            "trainer": trainer.state_dict(),
            "metrics": self.metrics.state_dict(),
            "run": run_state,
        }
        machines = ckpt.pack_state(trainer.env.state_dict())
        everyone = self.ranks.gather(machines)
        if self.ranks.is_first:
            self._write_checkpoint(meta, state, everyone)
        self._saved_update = trainer.update

    def _write_checkpoint(
        self, meta: CheckpointMeta, state: dict[str, Any], machines: list[bytes]
    ) -> None:
        trainer = self.trainer
        assert trainer is not None

        def write_machines(folder: Path) -> None:
            for rank, data in enumerate(machines):
                (folder / ckpt.machines_name(rank)).write_bytes(data)

        thumbnail = trainer.env.screens(1)[0].cpu().numpy()
        policy = trainer.learner.policy
        try:
            folder = ckpt.save_checkpoint(
                self.paths, meta, policy, state, write_machines, thumbnail
            )
            self.writer.sync()
        except OSError as error:
            raise disk_error(self.paths.checkpoint(meta.env_steps), error) from None
        self._checkpoint = str(folder.relative_to(self.paths.root))
        files = ckpt.layout.read_meta(folder).files
        self.writer.append(
            records.CheckpointRecord,
            env_steps=meta.env_steps,
            path=self._checkpoint,
            sha256=files[ckpt.layout.POLICY],
            size_bytes=sum(path.stat().st_size for path in folder.iterdir()),
            success_rate=meta.success_rate,
            reason=meta.reason,
        )
        ckpt.retain(self.paths, self._best_folder, self.config.keep_checkpoints)

    # -- the end ----------------------------------------------------------------------------

    def report(self, error: Exception) -> None:
        """Leave an error record, with a receipt when something was being trained."""
        receipt = ""
        trainer = self.trainer
        try:
            if trainer is not None and self.ranks.is_first:
                folder = write_receipt(self.paths, self._trace_id(), trainer, error)
                receipt = str(folder.relative_to(self.paths.root))
        except OSError as problem:
            receipt = ""
            self._state("stopping", f"no receipt could be written: {problem.strerror}")
        fields = {
            "kind": type(error).__name__,
            "message": str(error),
            "receipt": receipt,
            "env_steps": trainer.env_steps if trainer else 0,
        }
        try:
            if self.writer.seq:
                self.writer.append(records.ErrorRecord, **fields)
            else:
                self.writer.tell(records.ErrorRecord, **fields)
        except LabError:  # the full disk that is being reported
            self.writer.tell(records.ErrorRecord, **fields)

    def close(self) -> None:
        if self.watcher is not None:
            self.watcher.close()
        if self.trainer is not None:
            self.trainer.env.close()
            self.validator.close()

    def _show(self) -> None:
        assert self.watcher is not None
        assert self.trainer is not None
        self.watcher.show(self.trainer.env_steps)

    def _state(self, state: str, detail: str = "", progress: float = -1.0) -> None:
        if self.control.stop_reason and state in ("running", "paused"):
            return  # a stop was already announced
        self.writer.tell(records.StateEvent, state=state, detail=detail, progress=progress)

    def _trace_id(self) -> str:
        return f"{self.paths.run_id}-{self.trainer.update if self.trainer else 0}"

    def _wall(self) -> float:
        return self._wall_before + time.monotonic() - self.began


def guard(scalars: dict[str, Any], update: int) -> None:
    """Raises NonFiniteLossError naming the first scalar that is NaN, infinite or too large."""
    named = {**scalars, **scalars["stats"]}
    for name, value in named.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise NonFiniteLossError(f"{name} is {value} at update {update}")
    for name in ("policy_loss", "value_loss", "grad_norm"):
        if abs(named[name]) > EXPLODED:
            raise NonFiniteLossError(f"{name} grew to {named[name]:.3g} at update {update}")


def default_threads(config: RunConfig) -> int:
    """Torch threads on a CPU run: what small networks gain from, leaving a core to others."""
    import psutil

    cores = psutil.cpu_count(logical=False) or 1
    return max(1, min(4, cores - 1))
