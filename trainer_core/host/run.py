"""Host of a run, from its configuration to its end: log, commands, validation, checkpoints.

Every run has one host. Its Trainee (host/trainee.py) does the training, in a loop of its own or of a library.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import psutil
from msgspec import UNSET, UnsetType
from torch.optim.optimizer import register_optimizer_step_post_hook

from trainer_core.envs.build import TaskFacts, task_facts
from trainer_core.envs.vec_env import StepInfo
from trainer_core.host.clips import ClipRecorder
from trainer_core.host.control import Control
from trainer_core.host.late_validation import LateValidation
from trainer_core.host.persistence import Checkpoints
from trainer_core.host.progress import Counters, RunProgress
from trainer_core.host.provenance import describe, meta_of
from trainer_core.host.ranks import Ranks
from trainer_core.host.receipts import write_receipt
from trainer_core.host.trainee import Intervals, RunEnded, Trainee, Watched
from trainer_core.host.validations import Validations
from trainer_core.host.watching import Watcher
from trainer_core.lab.checkpoint_manifest import CheckpointMeta, list_checkpoints, tidy
from trainer_core.lab.paths import HomePaths, RunPaths, home_of
from trainer_core.lab.resource_usage import machine_load
from trainer_core.lab.task_lists import game_tasks
from trainer_core.lab.tasks import Task
from trainer_core.runs.log_writer import DiskError, MovedError, RunWriter
from trainer_core.wire import records
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import FailureError, LabError
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec

GOALS_PER_HORIZON = 3
"""Goals an env must reach in one horizon's time before training success counts: early on only lucky episodes end, and
nearly all of those are successes."""
WORD_S = 1.0
"""Seconds between two progress messages while a requested stop waits for the end of the update."""
CUT_S = 4.0
"""Seconds that a stop waits for an update which the trainee can cut short."""
HELD_S = 60.0
"""Seconds between two messages of rank 0 to waiting ranks, whose collectives would otherwise time out."""
FLAT = {
    "learning_rate",
    "policy_loss",
    "value_loss",
    "approx_kl",
    "clipfrac",
    "explained_variance",
    "entropy_mean",
    "success_rate",
    "grad_norm",
    "reward_mean",
}
"""Fields of UpdateRecord that a library may fill besides its own metrics."""
NO_NAMES: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Outcome:
    """End state of a run, with its results."""

    state: RunState
    reason: str
    env_steps: int
    success_rate: float
    """Greedy success rate in the last validation; 0 without one."""
    leaving_success_rate: float
    """Success rate of loop-leaving play in the same validation."""
    best: tuple[float, float]
    """Greedy and loop-leaving success of the best checkpoint."""
    reached_by: str
    """"greedy" or "leave_loops" if that mode of play reached the target, else ""."""
    checkpoint: str
    """Path of the final checkpoint, relative to the run directory."""


class Host:
    """Owner of one run's log, counters and progress; `counters` include earlier processes of the run."""

    trainee: Trainee | None = None
    is_open = False
    """True once the run's log has begun; the next two attributes exist only then."""
    checkpoints: Checkpoints
    validations: Validations

    def __init__(
        self,
        spec: RunSpec,
        paths: RunPaths,
        writer: RunWriter,
        control: Control,
        make: Callable[[Host], Trainee],
        *,
        home: HomePaths | None = None,
        ranks: Ranks | None = None,
        tasks: Mapping[str, Task] | None = None,
    ) -> None:
        """Store the run's parts.

        `make` builds the trainee; it may take time and sets `intervals`. `tasks` is `game_tasks`'s result for the run;
        without it, `find_task` looks the tasks up.
        """
        self.spec, self.paths, self.home = spec, paths, home or home_of(paths)
        self.tasks = tasks
        self.writer, self.control, self.ranks = writer, control, ranks or Ranks()
        self._make = make
        self.progress, self.counters = RunProgress(), Counters()
        self.intervals = Intervals()
        self.facts = TaskFacts(id=spec.task)
        self.closing = contextlib.ExitStack()
        """Resources that are closed with the run; a trainee registers here what it opens."""
        self.began = self._recorded = time.monotonic()
        """Time of construction, then of `begin`, after loading; the time limit counts from there."""
        self._recorded_at = Counters()
        self.mind: records.Mind | UnsetType = UNSET
        """Beliefs and intentions of an agent that has them, for the next update record."""
        self._shown: Watched | None = None
        self._watcher: Watcher | None = None
        self._clips: ClipRecorder | None = None
        self._next_word = 0.0

    def run(self) -> Outcome:
        """Train until a limit, a stop or an error. Raises LabError after an error record."""
        try:
            self.prepare()
            return self.train()
        except Exception as error:
            if isinstance(error, MovedError):
                self.rescue()
            self.report(error)
            if isinstance(error, LabError):
                raise
            raise FailureError(f"{type(error).__name__}: {_one_line(error)}") from error
        finally:
            self.close()

    # -- starting ---------------------------------------------------------------------------

    def find_task(self) -> None:
        """Look up the task's files and facts. Raises TaskError when the task is unknown."""
        if self.tasks is None:
            self.tasks = game_tasks(self.spec.task, self.home)
        self.facts = task_facts(self.spec.task, self.home, self.tasks)

    def watch(self, env: Watched) -> None:
        """Make `env` the environment whose screens are published while somebody watches."""
        self._shown = env
        self._watcher = Watcher(self.paths.frames, env, self.control, self.writer.tell)
        every = self.spec.options.get("record_clips", 0)
        if every and self.ranks.is_first:
            tell = partial(self.tell_state, "running")
            self._clips = ClipRecorder(self.home, self.paths.run_id, env, every, tell)
            self.closing.callback(self._clips.close)

    def prepare(self) -> None:
        """Make the trainee.

        If its picture size and actions are known already, restore the newest checkpoint or begin.
        """
        self.trainee = trainee = self._make(self)
        if trainee.knows_spaces:
            self.begin()

    def begin(self) -> None:
        """Open the run's log, restore or initialise the trainee; from then on a checkpoint can be saved."""
        self._open_life()
        self.is_open = True
        self.control.begin()
        self.tell_state("running")
        self.began = self._recorded = time.monotonic()
        self._recorded_at = Counters(self.counters.env_steps, self.counters.update)

    def _open_life(self) -> None:
        """Initialise or restore the trainee, and write a meta or resume record."""
        trainee, spec, plan = self._trained, self.spec, self.intervals
        self.checkpoints = Checkpoints(
            trainee,
            self.counters,
            self.writer,
            self.ranks,
            keep=plan.keep,
            hashes=self.facts.hashes,
            describe=self._describe,
        )
        if self.ranks.is_first:
            tidy(self.paths)
        self.ranks.agree(None)  # no rank reads the folders before they are tidy
        resumes = self.writer.seq or list_checkpoints(self.paths)  # the log may be lost while checkpoints remain
        if not resumes:
            trainee.begin()
        if not self.writer.seq:
            self.writer.append(records.MetaRecord, **meta_of(self.spec, self.facts, trainee))
        if resumes:
            self._resume()
        late = None
        if trainee.beside is not None:
            asked = spec.options.get("validate_on") == "cpu"
            late = LateValidation(trainee.beside, self.checkpoints, target=spec.target_success, asked=asked)
        self.validations = Validations(
            trainee.make_validator(),
            late,
            plan,
            self.counters,
            self.writer,
            self.ranks,
            spec=spec,
            control=self.control,
            tell_state=self.tell_state,
            do=self._obey,
        )

    @property
    def _trained(self) -> Trainee:
        assert self.trainee is not None
        return self.trainee

    def _obey(self, what: str, reason: str) -> None:
        """Carry out an order that rank 0 gives during a validation: "save" (with the reason) or "hold".

        Every rank calls it.
        """
        if what == "save":
            self.save(reason)
        elif what == "hold":
            self._hold()

    def _resume(self) -> None:
        """Restore the newest intact checkpoint, or initialise the trainee without one; write a resume record."""
        previous_seq = self.writer.seq - 1
        restored = self.checkpoints.restore(lambda reason: self.tell_state("starting", reason))
        if restored is None:
            self._trained.begin()
        else:
            self.progress = restored
        self.writer.append(
            records.ResumeRecord,
            trace_id=self._trace_id(),
            env_steps=self.counters.env_steps,
            update=self.counters.update,
            checkpoint=self.checkpoints.newest,
            previous_seq=previous_seq,
        )

    def _describe(self, reason: str, progress: RunProgress) -> CheckpointMeta:
        return describe(
            self.spec, self.facts, self._trained, self.counters, progress, run_id=self.paths.run_id, reason=reason
        )

    # -- while it runs ----------------------------------------------------------------------

    def train(self) -> Outcome:
        """Train until the trainee returns or a limit, stop or target ends the run; return the end state."""
        try:
            self._trained.train()
            if not self.is_open:
                raise FailureError("the library ended before it made an environment")
            if self._validate(ends=True):
                self.save("best")
            self.save("final")
            ended = RunEnded(RunState.FINISHED, "")
        except RunEnded as end:
            ended = end
        return self._outcome(ended)

    def tick(self, env_steps: int, info: StepInfo | None = None) -> None:
        """Update the step counter and the watched screens; trainees call it after every environment step."""
        self.counters.env_steps = env_steps
        if self._watcher is not None:
            self._watcher.show(env_steps, info)
        if self._clips is not None:
            self._clips.show(env_steps)
        self.tell_finishing()

    def tell_finishing(self) -> None:
        """Report every WORD_S seconds, during an update, that a requested stop waits for its end."""
        if self.control.stop_reason and time.monotonic() >= self._next_word:
            self._next_word = time.monotonic() + WORD_S
            self.tell_state("stopping", records.FINISHING)

    @property
    def cuts_update(self) -> bool:
        """True once a stop has waited CUT_S for the end of an update."""
        return self.control.stopped_for_s() >= CUT_S

    def within_update(self) -> None:
        """End the run within an update, by raising RunEnded, if a stop has waited CUT_S seconds.

        Trainees call it where a checkpoint is possible.
        """
        self.tell_finishing()
        if self.cuts_update:
            self.boundary()

    def listen_between_gradient_steps(self) -> None:
        """Call `within_update` after each step of any torch optimizer."""
        hook = register_optimizer_step_post_hook(lambda *_: self.within_update())
        self.closing.callback(hook.remove)

    def record(
        self, env_steps: int, metrics: Mapping[str, float], names: Mapping[str, str] = NO_NAMES, **flat: float
    ) -> None:
        """Write an update record of a library's metrics, without non-finite numbers.

        `names` maps the library's metric names to fields of UpdateRecord.
        """
        flat = {names[name]: value for name, value in metrics.items() if name in names} | flat
        self.counters.env_steps = max(self.counters.env_steps, env_steps)
        self.counters.update += 1
        self.write_update(
            metrics={name: value for name, value in metrics.items() if math.isfinite(value)},
            mind=self.mind,
            **{name: flat[name] for name in FLAT & set(flat) if math.isfinite(flat[name])},
        )

    def write_update(self, **fields: Any) -> None:
        """Write an update record of `counters`, these fields and the speed."""
        now, before = self.counters, self._recorded_at
        clock = time.monotonic()
        elapsed = max(clock - self._recorded, 1e-9)
        self.writer.append(
            records.UpdateRecord,
            update=now.update,
            env_steps=now.env_steps,
            wall_time_s=self.wall_s,
            sps=max(0, now.env_steps - before.env_steps) / elapsed,
            updates_per_s=(now.update - before.update) / elapsed,
            machine=machine_load(self.paths.root),
            **fields,
        )
        if now.env_steps > before.env_steps:
            self._recorded, self._recorded_at = clock, Counters(now.env_steps, now.update)

    def count_episodes(
        self, success_rate: float, ended: float, goals_per_step: float, steps: int, horizon: int
    ) -> None:
        """Add one record's training episodes to the progress: `ended` of them, begun at the task's own starts.

        `success_rate` is theirs; they ended within `steps` steps of every env, with episodes of `horizon` steps. Runs
        that count episodes are validated as soon as training success reaches the target.
        """
        often = goals_per_step * horizon >= GOALS_PER_HORIZON
        recent = self.progress.fold_episodes(success_rate, ended, math.exp(-steps / horizon))
        self.progress.training_success = self.ranks.agree(recent if often else 0.0)

    def boundary(self, env_steps: int | None = None) -> None:
        """Obey requests between two updates: validate, save, pause or end the run.

        Raises RunEnded after the last save.
        """
        if env_steps is not None:
            self.counters.env_steps = env_steps
        if self._clips is not None:
            self._clips.after_update(self.counters.update)
        with self._trained.timed():
            best = self._validate(ends=bool(self._reason_to_end()))
            asked, paused = self._wishes()
            if best:
                self.save("best")
            elif asked:
                self.save(asked)
            elif self.intervals.checkpoint_is_due(self.counters, self.checkpoints.saved_env_steps):
                self.save("periodic")
        if paused:
            self._hold()
        self.end_at_limit()

    def _validate(self, *, ends: bool) -> bool:
        """Validate if due; return whether the validated weights are the best so far."""
        return self.validations.after_update(self.progress, self.wall_s, ends=ends)

    def limit(self) -> tuple[str, RunState]:
        """Return the limit that was reached, or an empty text, and the resulting end state; the same on all ranks."""
        if stopped := self.control.stop_reason:
            return self.ranks.agree((stopped, RunState.STOPPED))
        return self.ranks.agree((self._reason_to_end(), RunState.FINISHED))

    def _reason_to_end(self) -> str:
        """Return which limit is reached, as the reason to end the run, or ""."""
        spec, trainee = self.spec, self._trained
        if spec.seconds and time.monotonic() - self.began >= spec.seconds:
            return f"time limit of {spec.seconds:g} s"
        most = 0 if trainee.counts_steps else spec.total_env_steps
        if most and self.counters.env_steps >= most:
            return f"{most} {trainee.counted}"
        if 0 < (episodes := spec.options.get("max_episodes", 0)) <= self.progress.episodes:
            return f"{self.progress.episodes} of {episodes} episodes"
        return self.progress.reason(spec.target_success)

    def end_at_limit(self) -> None:
        """Save and raise RunEnded if a limit is reached or a stop was requested."""
        reason, state = self.limit()
        if not reason:
            return
        if state is RunState.FINISHED and not self._reached():
            self.validations.finish(self.progress, lambda: self.wall_s, lambda: bool(self.control.stop_reason))
        self.save("stop" if state is RunState.STOPPED else "final")
        raise RunEnded(state, reason)

    def _reached(self) -> str:
        """Return the mode of play that reached the target, or ""."""
        return self.progress.reached(self.spec.target_success)

    def _wishes(self) -> tuple[str, bool]:
        """Return the reason for a requested checkpoint or "", and whether the run is paused: rank 0's values, on all
        ranks.
        """
        asked = "request" if self.control.take_checkpoint_request() else ""
        if self.validations.take_saved() and not asked:
            asked = "periodic"
        return self.ranks.agree((asked, self.control.paused))

    def _hold(self) -> None:
        """Wait while the run is paused; every rank calls it.

        Rank 0 sends the others a message every HELD_S seconds, since their collective operations would time out.
        """
        paused = True
        while paused:
            self.tell_state("paused")
            if self.ranks.is_first:
                self.control.wait_while_paused(HELD_S if self.ranks.world > 1 else None)
            asked, paused = self._wishes()
            if asked:
                self.save(asked)
        self.tell_state("running")

    def save(self, reason: str) -> None:
        """Write a checkpoint and its log record, unless the newest has the same weights and validation.

        Raises DiskError.
        """
        if reason == "stop":
            self.tell_state("stopping", f"{records.SAVING} a checkpoint")
        self.checkpoints.save(reason, self.progress, self.wall_s)

    # -- the end ----------------------------------------------------------------------------

    def _outcome(self, ended: RunEnded) -> Outcome:
        progress, target, reason = self.progress, self.spec.target_success, ended.reason
        if ended.state is RunState.FINISHED and target and not self._reached():
            told = (reason, progress.standing(), progress.unconfirmed(target))
            reason = "; ".join(filter(None, told))
        return Outcome(
            state=ended.state,
            reason=reason,
            env_steps=self.counters.env_steps,
            success_rate=progress.success,
            leaving_success_rate=progress.leaving,
            best=(max(0.0, progress.best_success), max(0.0, progress.best_leaving)),
            reached_by=self._reached(),
            checkpoint=self._ended_with(),
        )

    def _ended_with(self) -> str:
        """Return the run's final checkpoint, relative to its folder.

        If a late validation reached the target, it is the validated checkpoint, else the newest.
        """
        folder = self.paths.checkpoints / self.progress.best_folder
        is_late = self.validations.late is not None and self._reached()
        if is_late and folder != self.paths.checkpoints:
            return str(folder.relative_to(self.paths.root))
        return self.checkpoints.newest

    def rescue(self) -> None:
        """Save a checkpoint without a log record, after the log could not be written."""
        if not self.is_open or not self.counters.env_steps or self.ranks.world > 1:
            return
        if self.writer.has_folder():
            with contextlib.suppress(Exception):  # the error record that follows suffices
                self.checkpoints.save_unannounced(self.progress, self.wall_s)

    def report(self, error: Exception) -> None:
        """Write an error record, with a receipt if a trainee exists."""
        fields = {
            "trace_id": self._trace_id(),
            "kind": type(error).__name__,
            "message": _one_line(error),
            "receipt": self._receipt(error),
            "env_steps": self.counters.env_steps,
        }
        try:
            if self.writer.seq:
                self.writer.append(records.ErrorRecord, **fields)
            else:
                self.writer.tell(records.ErrorRecord, **fields)
        except LabError:  # the disk is full, which is the error being reported
            self.writer.tell(records.ErrorRecord, **fields)

    def _receipt(self, error: Exception) -> str:
        """Write a failure receipt; return its folder relative to the run's.

        Returns "" if that fails too: the original error must still be reported.
        """
        if self.trainee is None or not self.ranks.is_first or isinstance(error, DiskError):
            return ""
        now, config = self.counters, self.spec.to_dict()
        try:
            told, files = self.trainee.evidence(self._shown)
            told = {"update": now.update, "env_steps": now.env_steps, **told, "config": config}
            folder = write_receipt(self.paths, self._trace_id(), error, told, files)
        except Exception as problem:  # an error of the disk, a lost device or a library
            self.tell_state("stopping", f"no receipt could be written: {problem}")
            return ""
        return str(folder.relative_to(self.paths.root))

    def close(self) -> None:
        """Close validation, screens and all other resources of the run except the log writer."""
        if self._watcher is not None:
            self._watcher.close()
        if self.is_open:
            self.validations.close()
        self.closing.close()

    def tell_state(self, state: str, detail: str = "", progress: float = -1.0) -> None:
        """Send the run's state to the parent process, with a text and the share done (-1 = unknown)."""
        if self.control.stop_reason and state in ("running", "paused"):
            return  # a stop was already announced
        self.writer.tell(records.StateEvent, state=state, detail=detail, progress=progress)

    def _trace_id(self) -> str:
        return records.trace_of(self.paths.run_id, self.counters.update)

    @property
    def wall_s(self) -> float:
        """Seconds of training over all processes of the run."""
        return self.progress.wall_before + time.monotonic() - self.began

    @property
    def validating(self) -> RunConfig:
        """Configuration with which a library's model is validated."""
        spec, stack_k = self.spec, self._trained.obs_shape[0] if self.trainee else 1
        return RunConfig(
            task=spec.task,
            device=spec.device,
            seed=spec.seed,
            stack_k=stack_k,
            num_envs=1,
            num_minibatches=1,
            eval_episodes=self.intervals.eval_episodes,
        )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:2000]


def default_threads() -> int:
    """Return how many threads speed up small networks on a CPU, with one core left to others."""
    cores = psutil.cpu_count(logical=False) or 1
    return max(1, min(4, cores - 1))
