"""The host of a run, from its configuration to its end: records, commands, validation, checkpoints.

There is one for every run. What is trained, and in whose loop, is its Trainee's (host/trainee.py).
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from trainer_core.envs.build import TaskFacts, task_facts
from trainer_core.envs.vec_env import StepInfo
from trainer_core.host import checkpoint as ckpt
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
from trainer_core.lab.checkpoint_manifest import CheckpointMeta, list_checkpoints
from trainer_core.lab.paths import HomePaths, RunPaths, home_of
from trainer_core.lab.task_lists import game_tasks
from trainer_core.lab.tasks import Task
from trainer_core.runs.log_writer import DiskError, MovedError, RunWriter
from trainer_core.wire import records
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import FailureError, LabError
from trainer_core.wire.run_record import RunState
from trainer_core.wire.spec import RunSpec

GOALS_PER_HORIZON = 3
"""Goals an env must reach in the time of one horizon before training success means anything:
early on only lucky episodes end, and nearly all of those are successes."""
WORD_S = 1.0
"""Between two words that a stop waits for the update."""
CUT_S = 4.0
"""That a stop waits for an update which its trainee can cut short."""
HELD_S = 60.0
"""Between two words of rank 0 to ranks that are held: their collectives give up in the end."""
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
"""Fields of UpdateRecord that a library may fill beside its own names."""
NO_NAMES: Mapping[str, str] = {}


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


class Host:
    """Writes and reads what is known of one run; `counters` are over all its lives."""

    trainee: Trainee | None = None
    is_open = False
    """Whether the run's log has begun; without it the next two are not there."""
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
        """`make` builds the trainee: it loads, and may set `intervals`. `tasks` are the run's, as `game_tasks` finds
        them; without them `find_task` does."""
        self.spec, self.paths, self.home = spec, paths, home or home_of(paths)
        self.tasks = tasks
        self.writer, self.control, self.ranks = writer, control, ranks or Ranks()
        self._make = make
        self.progress, self.counters = RunProgress(), Counters()
        self.intervals = Intervals()
        self.facts = TaskFacts(id=spec.task)
        self.closing = contextlib.ExitStack()
        """Closed with the run: what a trainee opens is registered here."""
        self.began = self._recorded = time.monotonic()
        """The time limit counts from `begin`, when everything is loaded, not from here."""
        self._recorded_at = Counters()
        self._shown: Watched | None = None
        self._watcher: Watcher | None = None
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
        """Look up the task's files, and what records say of it. Raises TaskError when it is none of ours."""
        if self.tasks is None:
            self.tasks = game_tasks(self.spec.task, self.home)
        self.facts = task_facts(self.spec.task, self.home, self.tasks)

    def watch(self, env: Watched) -> None:
        """Show `env`'s pictures to whoever asks for them."""
        self._shown = env
        self._watcher = Watcher(self.paths.frames, env, self.control, self.writer.tell)

    def prepare(self) -> None:
        """Make the trainee, then continue the newest checkpoint or begin."""
        self.trainee = trainee = self._make(self)
        if trainee.knows_spaces:
            self.begin()

    def begin(self) -> None:
        """Begin the run's log, or go on with it; from here on there is something to save."""
        self._open_life()
        self.is_open = True
        self.control.begin()
        self.tell_state("running")
        self.began = self._recorded = time.monotonic()
        self._recorded_at = Counters(self.counters.env_steps, self.counters.update)

    def _open_life(self) -> None:
        """Have the trainee begin or go on, now that its spaces are known, and log which."""
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
            ckpt.tidy(self.paths)
        self.ranks.agree(None)  # nobody reads the folders before they are tidy
        resumes = self.writer.seq or list_checkpoints(self.paths)  # a log may have been lost
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
        """Do, as every rank does, what rank 0 orders while it validates."""
        if what == "save":
            self.save(reason)
        elif what == "hold":
            self._hold()

    def _resume(self) -> None:
        """Go on from the newest whole checkpoint; without one, from the beginning."""
        previous_seq = self.writer.seq - 1
        restored = self.checkpoints.restore(lambda reason: self.tell_state("starting", reason))
        if restored is None:
            self._trained.begin()
        else:
            self.progress = restored
        self.writer.append(
            records.ResumeRecord,
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
        """Let the trainee learn to its end, that of its library or the one of `boundary`."""
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
        """Call it after every step of the environments; it is cheap."""
        self.counters.env_steps = env_steps
        if self._watcher is not None:
            self._watcher.show(env_steps, info)
        self.tell_finishing()

    def tell_finishing(self) -> None:
        """Tell whoever waits for a stop, within an update, that it goes on."""
        if self.control.stop_reason and time.monotonic() >= self._next_word:
            self._next_word = time.monotonic() + WORD_S
            self.tell_state("stopping", records.FINISHING)

    @property
    def cuts_update(self) -> bool:
        """Say whether a stop has waited long enough for the end of an update."""
        return self.control.stopped_for_s() >= CUT_S

    def within_update(self) -> None:
        """Call it within an update, where a checkpoint can be made if it must: a stop that has
        waited long enough ends the run here. Raises RunEnded."""
        self.tell_finishing()
        if self.cuts_update:
            self.boundary()

    def listen_between_gradient_steps(self) -> None:
        """Have `within_update` called after each step of any optimizer of torch."""
        from torch.optim.optimizer import register_optimizer_step_post_hook

        hook = register_optimizer_step_post_hook(lambda *_: self.within_update())
        self.closing.callback(hook.remove)

    def record(
        self, env_steps: int, metrics: Mapping[str, float], names: Mapping[str, str] = NO_NAMES, **flat: float
    ) -> None:
        """Write one update record of a library; numbers that are not finite have no place in it.

        `names` are the fields of ours that some of its names stand for.
        """
        flat = {names[name]: value for name, value in metrics.items() if name in names} | flat
        self.counters.env_steps = max(self.counters.env_steps, env_steps)
        self.counters.update += 1
        self.write_update(
            metrics={name: value for name, value in metrics.items() if math.isfinite(value)},
            **{name: flat[name] for name in FLAT & set(flat) if math.isfinite(flat[name])},
        )

    def write_update(self, **fields: Any) -> None:
        """Write the update record of `counters`, of these fields and of how fast it went."""
        now, before = self.counters, self._recorded_at
        clock = time.monotonic()
        elapsed = max(clock - self._recorded, 1e-9)
        self.writer.append(
            records.UpdateRecord,
            trace_id=self._trace_id(),
            update=now.update,
            env_steps=now.env_steps,
            wall_time_s=self.wall_s,
            sps=max(0, now.env_steps - before.env_steps) / elapsed,
            updates_per_s=(now.update - before.update) / elapsed,
            **fields,
        )
        if now.env_steps > before.env_steps:
            self._recorded, self._recorded_at = clock, Counters(now.env_steps, now.update)

    def count_episodes(
        self, success_rate: float, ended: float, goals_per_step: float, steps: int, horizon: int
    ) -> None:
        """Count the episodes of one record that began at the task's own starts: `ended` of them,
        over `steps` steps of every env, episodes of `horizon`.

        A run whose episodes are counted is validated as soon as they reach the target.
        """
        often = goals_per_step * horizon >= GOALS_PER_HORIZON
        recent = self.progress.fold_episodes(success_rate, ended, math.exp(-steps / horizon))
        self.progress.training_success = self.ranks.agree(recent if often else 0.0)

    def boundary(self, env_steps: int | None = None) -> None:
        """Validate, save, hold and end as asked for: nothing is half done. Raises RunEnded after
        the last checkpoint."""
        if env_steps is not None:
            self.counters.env_steps = env_steps
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
        """Validate where that is due; return whether what was played is the best so far."""
        return self.validations.after_update(self.progress, self.wall_s, ends=ends)

    def limit(self) -> tuple[str, RunState]:
        """Return (why to end now or "", the state that is then reached); all ranks agree."""
        if stopped := self.control.stop_reason:
            return self.ranks.agree((stopped, RunState.STOPPED))
        return self.ranks.agree((self._reason_to_end(), RunState.FINISHED))

    def _reason_to_end(self) -> str:
        """Name the limit that is reached, or ""."""
        spec, trainee = self.spec, self._trained
        if spec.seconds and time.monotonic() - self.began >= spec.seconds:
            return f"time limit of {spec.seconds:g} s"
        most = 0 if trainee.counts_steps else spec.total_env_steps
        if most and self.counters.env_steps >= most:
            return f"{most} {trainee.counted}"
        return self.progress.reason(spec.target_success)

    def end_at_limit(self) -> None:
        """Save and raise RunEnded where a limit is reached or a stop was asked for."""
        reason, state = self.limit()
        if not reason:
            return
        if state is RunState.FINISHED and not self._reached():
            self.validations.finish(self.progress, lambda: self.wall_s, lambda: bool(self.control.stop_reason))
        self.save("stop" if state is RunState.STOPPED else "final")
        raise RunEnded(state, reason)

    def _reached(self) -> str:
        """Return by which play the target is reached, or ""."""
        return self.progress.reached(self.spec.target_success)

    def _wishes(self) -> tuple[str, bool]:
        """Return (why a checkpoint is wanted or "", whether to hold); rank 0 hears, all obey."""
        asked = "request" if self.control.take_checkpoint_request() else ""
        if self.validations.take_saved() and not asked:
            asked = "periodic"
        return self.ranks.agree((asked, self.control.paused))

    def _hold(self) -> None:
        """Wait, on all ranks; rank 0 tells the others now and then, who else would give it up."""
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
        """Write and announce a checkpoint, once per weights and validation. Raises DiskError."""
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
        """Return the checkpoint that a run is about, relative to its folder: where it ended by a
        late validation that of the weights that were played, else the newest."""
        folder = self.paths.checkpoints / self.progress.best_folder
        is_late = self.validations.late is not None and self._reached()
        if is_late and folder != self.paths.checkpoints:
            return str(folder.relative_to(self.paths.root))
        return self.checkpoints.newest

    def rescue(self) -> None:
        """Keep what was learned since the last checkpoint, where only the log is gone."""
        if not self.is_open or not self.counters.env_steps or self.ranks.world > 1:
            return
        if self.writer.has_folder():
            with contextlib.suppress(Exception):  # the line that follows has said enough
                self.checkpoints.save_unannounced(self.progress, self.wall_s)

    def report(self, error: Exception) -> None:
        """Leave an error record, with a receipt when something was being trained."""
        fields = {
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
        except LabError:  # the full disk that is being reported
            self.writer.tell(records.ErrorRecord, **fields)

    def _receipt(self, error: Exception) -> str:
        """Return its folder relative to the run's, or "": its failure must not hide the cause."""
        if self.trainee is None or not self.ranks.is_first or isinstance(error, DiskError):
            return ""
        now, config = self.counters, self.spec.to_dict()
        try:
            told, files = self.trainee.evidence(self._shown)
            told = {"update": now.update, "env_steps": now.env_steps, **told, "config": config}
            folder = write_receipt(self.paths, self._trace_id(), error, told, files)
        except Exception as problem:  # the disk, a device that is gone, a library's own
            self.tell_state("stopping", f"no receipt could be written: {problem}")
            return ""
        return str(folder.relative_to(self.paths.root))

    def close(self) -> None:
        """End what was opened; the writer stays."""
        if self._watcher is not None:
            self._watcher.close()
        if self.is_open:
            self.validations.close()
        self.closing.close()

    def tell_state(self, state: str, detail: str = "", progress: float = -1.0) -> None:
        """Announce what the run does now."""
        if self.control.stop_reason and state in ("running", "paused"):
            return  # a stop was already announced
        self.writer.tell(records.StateEvent, state=state, detail=detail, progress=progress)

    def _trace_id(self) -> str:
        return f"{self.paths.run_id}-{self.counters.update}"

    @property
    def wall_s(self) -> float:
        """Return the seconds of training, in all lives."""
        return self.progress.wall_before + time.monotonic() - self.began

    @property
    def validating(self) -> RunConfig:
        """Return what the validator of a library's model reads, as our configuration has it."""
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
    """Return how many threads small networks gain from on a CPU, a core left to others."""
    import psutil

    cores = psutil.cpu_count(logical=False) or 1
    return max(1, min(4, cores - 1))
