"""GuestRun: one run of a guest library, from its meta record to its last checkpoint.

The adapter calls `begin` or `resume` once, `tick` after every step of its environments, `boundary`
where its library may be interrupted, and `record` with what the library logs.
"""

from __future__ import annotations

import math
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from trainer_core.envs.build import TaskFacts, task_facts
from trainer_core.host import checkpoint as ckpt
from trainer_core.host.commands_while_validating import Attending
from trainer_core.host.control import Control
from trainer_core.host.evaluate import EvaluationStopped
from trainer_core.host.progress import RunProgress
from trainer_core.host.provenance import git_sha, versions
from trainer_core.host.run import GOALS_PER_HORIZON, default_threads
from trainer_core.host.validations import SETTLE_UPDATES
from trainer_core.host.validator import Validator
from trainer_core.host.watching import Watched, Watcher
from trainer_core.lab.checkpoint_manifest import CheckpointMeta, list_checkpoints, read_meta, verify
from trainer_core.lab.paths import RunPaths, home_of
from trainer_core.lab.trust import trust
from trainer_core.runs.log_writer import RunWriter, disk_error
from trainer_core.wire import records
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import CheckpointError, LabError
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec

Fill = Callable[[Path], None]
"""Writes a checkpoint's files into a folder."""
Logits = Callable[[Tensor], Tensor]
"""Shades u8[N, K, 72, 80] to f32[N, 7]; the greatest is the greedy action."""
FLAT = {
    "learning_rate", "policy_loss", "value_loss", "approx_kl", "clipfrac", "explained_variance",
    "entropy_mean", "success_rate", "grad_norm", "reward_mean",
}  # fmt: skip
"""Fields of UpdateRecord that an adapter may fill beside the library's own names."""


class RunEnded(Exception):  # noqa: N818 - an end, not an error
    """Raised out of the library's loop where the run is over."""

    def __init__(self, state: RunState, reason: str) -> None:
        super().__init__(reason)
        self.state, self.reason = state, reason


@dataclass
class Intervals:
    """Environment steps between two of each; 0 = never."""

    validate: int = 0
    checkpoint: int = 0
    keep: int = 5
    eval_episodes: int = 32
    validated: int = field(default=-1, init=False)
    saved: int = field(default=-1, init=False)
    known: int = field(default=-1, init=False)
    """Env steps of the last validation that the newest checkpoint knows."""


@dataclass(frozen=True, kw_only=True)
class Model:
    """What `boundary` needs of the library's model."""

    policy: str
    """The network's name."""
    file: str
    """Of the files that `fill` writes, the one with the weights."""
    fill: Fill
    logits: Logits | None = None
    """None where no network of its picks the buttons."""
    validator: Validator | None = None
    """What validates it where `logits` cannot."""
    unpickles: bool = False
    """Whether opening `file` runs what it holds: it is noted as one that this user's run wrote."""

    @property
    def can_validate(self) -> bool:
        return self.logits is not None or self.validator is not None

    def forward(self, obs: Tensor, /) -> tuple[Tensor, Any]:
        """As a Validator asks for it."""
        assert self.logits is not None
        return self.logits(obs), None


class GuestRun:
    """The log, the wishes and the files of one run; `env_steps` counts over resumes."""

    def __init__(self, spec: RunSpec, paths: RunPaths, writer: RunWriter, control: Control) -> None:
        self.spec, self.paths, self.home = spec, paths, home_of(paths)
        self.writer, self.control = writer, control
        self.progress = RunProgress()
        self.intervals = Intervals()
        self.facts = TaskFacts(id=spec.task)
        self.env_steps = 0
        self.limits_steps = True
        """False where the library counts `total_env_steps` itself."""
        self._updates = 0
        self._obs_shape, self._num_actions = (0, 0, 0), 0
        self._began = self._recorded = time.monotonic()
        self._recorded_steps = 0
        self._watcher: Watcher | None = None
        self._validator: Validator | None = None

    # -- starting ---------------------------------------------------------------------------

    def find_task(self) -> None:
        """Raises TaskError when the task is none of ours."""
        self.facts = task_facts(self.spec.task, self.home)

    def begin(
        self, obs_shape: tuple[int, int, int], num_actions: int, num_envs: int, **meta: Any
    ) -> None:
        """The meta record of a new run."""
        self._spaces(obs_shape, num_actions)
        spec, facts = self.spec, self.facts
        self.writer.append(
            records.MetaRecord, runner=spec.runner, task=spec.task, algo=spec.options["algo"],
            config=spec.to_dict(), argv=sys.orig_argv, git_sha=git_sha(),
            rom_sha256=facts.rom_sha256, starts_sha256=facts.starts_sha256,
            goal_sha256=facts.goal_sha256, codec=facts.codec,
            observation_rule=facts.observation_rule, stack_k=obs_shape[0],
            frames_per_step=facts.frames_per_step, release_after_frames=facts.release_after_frames,
            num_envs=num_envs, seed=spec.seed, device=spec.device, versions=versions() | meta,
        )  # fmt: skip
        self._state("running")

    def newest_checkpoint(self, *needed: str) -> tuple[Path, CheckpointMeta]:
        """The newest whole one that has the files `needed`. Raises CheckpointError without one."""
        for folder in reversed(list_checkpoints(self.paths)):
            try:
                meta = verify(folder)
            except CheckpointError as error:
                print(f"skipped a damaged checkpoint: {error}")
                continue
            if not all((folder / name).exists() for name in needed):
                continue
            if meta.hashes != self.facts.hashes:
                raise CheckpointError(f"{folder}: made for other files of task {meta.task}")
            return folder, meta
        raise CheckpointError(f"{self.paths.root}: no whole checkpoint to go on from")

    def resume(
        self, obs_shape: tuple[int, int, int], num_actions: int, env_steps: int, folder: Path,
        progress: RunProgress,
    ) -> None:  # fmt: skip
        """The resume record of a run that goes on from the checkpoint `folder`."""
        self._spaces(obs_shape, num_actions)
        self.progress, self.env_steps = progress, env_steps
        self._recorded_steps = self.intervals.saved = self.intervals.validated = env_steps
        self.intervals.known = progress.validated_env_steps
        self._updates = read_meta(folder).update
        self.writer.append(
            records.ResumeRecord, env_steps=env_steps, update=self._updates,
            checkpoint=str(folder.relative_to(self.paths.root)), previous_seq=self.writer.seq - 1,
        )  # fmt: skip
        self._state("running")

    def _spaces(self, obs_shape: tuple[int, int, int], num_actions: int) -> None:
        self._obs_shape, self._num_actions = obs_shape, num_actions
        self._began = self._recorded = time.monotonic()
        self.control.begin()

    def watch(self, env: Watched) -> None:
        """Show `env`'s pictures to whoever asks for them."""
        self._watcher = Watcher(self.paths.frames, env, self.control)

    # -- while it runs ----------------------------------------------------------------------

    def tick(self, env_steps: int) -> None:
        """After every step of the environments; cheap."""
        self.env_steps = env_steps
        if self._watcher is not None:
            self._watcher.show(env_steps)

    def record(self, env_steps: int, metrics: Mapping[str, float], **flat: float) -> None:
        """One update record; numbers that are not finite have no place in a log."""
        now = time.monotonic()
        elapsed = max(now - self._recorded, 1e-6)
        sps = max(0, env_steps - self._recorded_steps) / elapsed
        if env_steps > self._recorded_steps:
            self._recorded, self._recorded_steps = now, env_steps
        self._updates += 1
        known = {name: flat[name] for name in FLAT & set(flat) if math.isfinite(flat[name])}
        self.writer.append(
            records.UpdateRecord, env_steps=env_steps, update=self._updates,
            wall_time_s=self.wall_s, sps=sps,
            metrics={name: value for name, value in metrics.items() if math.isfinite(value)},
            **known,
        )  # fmt: skip

    def count_episodes(
        self, won: float, ended: float, steps: float, steps_of_each: int, horizon: int
    ) -> None:
        """Of one update's episodes from the task's own starts: those that reached the goal, those
        that ended, and steps in them; `steps_of_each` steps of every env, episodes of `horizon`.

        An adapter that counts them has its run validated as soon as they reach the target.
        """
        often = won * horizon >= GOALS_PER_HORIZON * max(steps, 1)
        recent = self.progress.fold_episodes(
            won / max(ended, 1), ended, math.exp(-steps_of_each / horizon)
        )
        self.progress.training_success = recent if often else 0.0

    @property
    def wall_s(self) -> float:
        return self.progress.wall_before + time.monotonic() - self._began

    def boundary(self, env_steps: int, model: Model) -> None:
        """Validate, save, hold and end as asked for. Raises RunEnded after the last checkpoint."""
        self.env_steps = env_steps
        plan = self.intervals
        stopping = bool(self.control.stop_reason)
        due = plan.validate and (
            env_steps - max(plan.validated, 0) >= plan.validate or self._looks_done()
        )
        over = self._limit() if not stopping else None
        if model.can_validate and not stopping and (due or over):
            self._validate(env_steps, model)
            over = self._limit() if not self.control.stop_reason else ""
        if self.control.take_checkpoint_request():
            self.save(env_steps, model, "request")
        elif plan.checkpoint and env_steps - max(plan.saved, 0) >= plan.checkpoint:
            self.save(env_steps, model, "periodic")
        self._hold(model)
        if self.control.stop_reason:
            self.save(env_steps, model, "stop")
            raise RunEnded(RunState.STOPPED, self.control.stop_reason)
        if over:
            self.save(env_steps, model, "final")
            raise RunEnded(RunState.FINISHED, over)

    def finish(self, env_steps: int, model: Model) -> None:
        """The library's loop has come to its own end."""
        if model.can_validate and self.intervals.validate:
            self._validate(env_steps, model)
        self.save(env_steps, model, "final")

    def save(self, env_steps: int, model: Model, reason: str) -> None:
        """Write and announce a checkpoint, once per `env_steps` and validation. Raises
        DiskError."""
        plan, known = self.intervals, self.progress.validated_env_steps
        if (plan.saved, plan.known) == (env_steps, known):
            return
        if reason == "stop":
            self._state("stopping", f"{records.SAVING} a checkpoint")
        meta = CheckpointMeta(
            runner=self.spec.runner, run_id=self.paths.run_id, task=self.spec.task,
            env_steps=env_steps, update=self._updates, policy=model.policy,
            obs_shape=self._obs_shape, num_actions=self._num_actions, codec=self.facts.codec,
            observation_rule=self.facts.observation_rule, config=self.spec.to_dict(),
            hashes=self.facts.hashes, success_rate=self.progress.success,
            leaving_success_rate=self.progress.leaving, sampled_success_rate=self.progress.sampled,
            validated_env_steps=self.progress.validated_env_steps, reason=reason,
        )  # fmt: skip
        self.writer.checkpoints_in_place()
        try:
            folder, meta = ckpt.write_checkpoint(self.paths, meta, _written(model.fill))
        except OSError as error:
            raise disk_error(self.paths.checkpoint(env_steps), error) from None
        plan.saved, plan.known = env_steps, known
        if model.unpickles:
            vouch_for(meta.files[model.file])
        self.writer.append(
            records.CheckpointRecord, env_steps=env_steps,
            path=str(folder.relative_to(self.paths.root)),
            sha256=meta.files[model.file],
            size_bytes=sum(path.stat().st_size for path in folder.iterdir()),
            success_rate=meta.success_rate, leaving_success_rate=meta.leaving_success_rate,
            sampled_success_rate=meta.sampled_success_rate,
            validated_env_steps=meta.validated_env_steps, reason=reason,
        )  # fmt: skip
        ckpt.retain(self.paths, self.progress.best_folder, self.intervals.keep)

    # -- the end ----------------------------------------------------------------------------

    def report(self, error: Exception) -> None:
        """Leave an error record, and the traceback in the worker's log."""
        traceback.print_exception(error)
        fields = {
            "kind": type(error).__name__, "message": " ".join(str(error).split())[:2000],
            "env_steps": self.env_steps,
        }  # fmt: skip
        try:
            (self.writer.append if self.writer.seq else self.writer.tell)(
                records.ErrorRecord, **fields
            )
        except LabError:  # the full disk that is being reported
            self.writer.tell(records.ErrorRecord, **fields)

    def close(self) -> None:
        if self._watcher is not None:
            self._watcher.close()
        if self._validator is not None:
            self._validator.close()

    # -- inside -----------------------------------------------------------------------------

    def _limit(self) -> str:
        """Why to end now, or ""."""
        spec = self.spec
        if spec.seconds and time.monotonic() - self._began >= spec.seconds:
            return f"time limit of {spec.seconds:g} s"
        if self.limits_steps and spec.total_env_steps and self.env_steps >= spec.total_env_steps:
            return f"{spec.total_env_steps} environment steps"
        return self.progress.reason(spec.target_success)

    def _looks_done(self) -> bool:
        """Whether the episodes of training reach the success to stop at, for a while, or the last
        validation reached it and was not confirmed."""
        target, progress = self.spec.target_success, self.progress
        if self._updates - progress.validated_update < SETTLE_UPDATES:
            return False
        return 0 < target <= progress.training_success or bool(progress.unconfirmed(target))

    def _hold(self, model: Model) -> None:
        if not self.control.paused:
            return
        while self.control.paused:
            self._state("paused")
            self.control.wait_while_paused()
            if self.control.take_checkpoint_request():
                self.save(self.env_steps, model, "request")
        self._state("running")

    def _validate(self, env_steps: int, model: Model) -> None:
        """Greedy and sampled episodes on held-out starts; the best so far is kept."""
        if self.intervals.validated == env_steps:
            return
        if self._validator is None:
            self._validator = model.validator or Validator(
                self.validating, self.home, model, self.paths
            )
        if not self._validator.leaves_model_alone:
            self.save(env_steps, model, "periodic")
        attending = self._validator.attend = Attending(
            self.control, save=lambda reason: self.save(env_steps, model, reason),
            hold=lambda: self._hold(model),
            tell=lambda words, share: self._state("running", words, share),
        )  # fmt: skip
        attending.begin()
        self.writer.check_place()
        try:
            found = list(self._validator.validate(env_steps, env_steps))
        except EvaluationStopped:
            self._state(
                "stopping", f"warning: {attending.words}: stopped, what was played does not count"
            )
            return
        for kind, fields in found:
            self.writer.append(kind, **fields)
        attending.end()
        self.intervals.validated = env_steps
        self.progress.validated_update = self._updates
        self.progress.take(self._validator.rates, env_steps, self.spec.target_success)
        if unconfirmed := self.progress.unconfirmed(self.spec.target_success):
            self._state("running", unconfirmed)
        if self.progress.is_best(self.paths.checkpoint(env_steps).name):
            self.save(env_steps, model, "best")

    @property
    def threads(self) -> int:
        """Torch threads for a CPU, as our own trainer chooses them."""
        return default_threads(self.validating)

    @property
    def validating(self) -> RunConfig:
        """What the validator reads, as our own configuration has it."""
        spec = self.spec
        return RunConfig(
            task=spec.task, device=spec.device, seed=spec.seed, stack_k=max(1, self._obs_shape[0]),
            num_envs=1, num_minibatches=1, eval_episodes=self.intervals.eval_episodes,
        )  # fmt: skip

    def _state(self, state: str, detail: str = "", progress: float = -1.0) -> None:
        self.writer.tell(records.StateEvent, state=state, detail=detail, progress=progress)


def vouch_for(sha256: str) -> None:
    """Note that a run of this user wrote a file; where that fails, opening it asks for consent."""
    try:
        trust(sha256)
    except OSError as error:
        print(f"{error}: this checkpoint will ask for consent before it is opened", flush=True)


def _written(fill: Fill) -> dict[str, bytes]:
    """What `fill` writes, by name: libraries save to files, a checkpoint is made of bytes."""
    with tempfile.TemporaryDirectory(prefix="dmglab-checkpoint-") as folder:
        fill(Path(folder))
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}
