"""A training loop's state on disk: saved whole, restored from the newest whole checkpoint."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch

from trainer_core.envs.build import TaskFacts
from trainer_core.envs.state_checks import check_keys, restore_generator
from trainer_core.host import checkpoint as ckpt
from trainer_core.host.progress import RunProgress
from trainer_core.host.ranks import Ranks
from trainer_core.lab.checkpoint_manifest import CheckpointMeta, list_checkpoints
from trainer_core.lab.paths import RunPaths
from trainer_core.learn.finite import check_weights
from trainer_core.learn.metrics import MetricsAccumulator
from trainer_core.learn.update import ActorLearner
from trainer_core.runs.log_writer import RunWriter, disk_error
from trainer_core.wire import records
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import CheckpointError

OF_RANK = "of_rank"
"""Key beside the state of the envs of a rank that is not the first."""


class ForeignCheckpointError(CheckpointError):
    """A whole checkpoint of other task files: an older one would be no better."""


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """A checkpoint that is not written yet, without the envs."""

    meta: CheckpointMeta
    state: dict[str, Any]
    weights: dict[str, torch.Tensor]
    thumbnail: np.ndarray
    """What `png_bytes` takes."""


class CheckpointKeeper:
    """Saves and restores learner, metrics, envs and progress of one run."""

    def __init__(
        self,
        config: RunConfig,
        paths: RunPaths,
        facts: TaskFacts,
        trainer: ActorLearner,
        metrics: MetricsAccumulator,
        writer: RunWriter,
        ranks: Ranks,
    ) -> None:
        self.config, self.paths, self.facts = config, paths, facts
        self.trainer, self.metrics = trainer, metrics
        self.writer, self.ranks = writer, ranks
        self.newest = ""
        """The last checkpoint that was announced or restored, relative to the run directory."""
        self._saved = (-1, -1)
        """Update of the newest checkpoint, and the env steps of the validation that it knows."""

    # -- saving -----------------------------------------------------------------------------

    def save(self, reason: str, progress: RunProgress, wall_time_s: float) -> None:
        """Write and announce a checkpoint; nothing when this update has one already that knows
        the last validation.

        All ranks call it. Raises DiskError, and NonFiniteLossError rather than keep broken weights.
        """
        trainer = self.trainer
        now_saved = (trainer.update, progress.validated_env_steps)
        if now_saved == self._saved:
            return
        check_weights(trainer.learner.parameters, trainer.update)
        machines = ckpt.pack_state(trainer.env.state_dict() | self._of_rank())
        everyone = self.ranks.gather(machines)
        if self.ranks.is_first:
            now = self._snapshot(reason, progress, wall_time_s)
            self.newest = self._write(now, dict(enumerate(everyone)))
            ckpt.retain(self.paths, progress.best_folder, self.config.keep_checkpoints)
        self._saved = now_saved

    def snapshot(self, reason: str, progress: RunProgress, wall_time_s: float) -> Snapshot:
        """What `save` would write now, but for the envs, in memory that the run does not change."""
        now = self._snapshot(reason, progress, wall_time_s)
        weights = {name: _held(value) for name, value in now.weights.items()}
        return dataclasses.replace(
            now, weights=weights, state=_held(now.state), thumbnail=now.thumbnail.copy()
        )

    def save_unannounced(self, progress: RunProgress, wall_time_s: float) -> None:
        """Write a checkpoint that no record tells of: the log is gone. Raises as `save` does."""
        check_weights(self.trainer.learner.parameters, self.trainer.update)
        now = self._snapshot("stop", progress, wall_time_s)
        machines = {0: ckpt.pack_state(self.trainer.env.state_dict())}
        ckpt.save_checkpoint(
            self.paths, now.meta, now.weights, now.state, machines, now.thumbnail
        )  # fmt: skip

    def save_late(self, then: Snapshot, progress: RunProgress) -> None:
        """Write and announce a checkpoint of weights that the run has left behind; rank 0 alone.

        It keeps the envs if it was saved at its time. Raises as `save` does.
        """
        meta = then.meta
        check_weights(then.weights.values(), meta.update)
        meta = msgspec.structs.replace(
            meta, success_rate=progress.success, leaving_success_rate=progress.leaving,
            sampled_success_rate=progress.sampled, validated_env_steps=progress.validated_env_steps,
        )  # fmt: skip
        folder = self.paths.checkpoint(meta.env_steps)
        machines = ckpt.read_machines(folder, self.ranks.world) if folder.exists() else {}
        self._write(dataclasses.replace(then, meta=meta), machines)
        ckpt.retain(self.paths, progress.best_folder, self.config.keep_checkpoints)

    def _snapshot(self, reason: str, progress: RunProgress, wall_time_s: float) -> Snapshot:
        trainer = self.trainer
        policy = trainer.learner.policy
        meta = CheckpointMeta(
            run_id=self.paths.run_id, task=self.config.task, env_steps=trainer.env_steps,
            update=trainer.update, policy=policy.kind,
            obs_shape=trainer.env.obs_shape, num_actions=trainer.env.num_actions,
            codec=self.facts.codec, observation_rule=self.facts.observation_rule,
            config=self.config.to_dict(), hashes=self.facts.hashes,
            success_rate=progress.success, leaving_success_rate=progress.leaving,
            sampled_success_rate=progress.sampled,
            validated_env_steps=progress.validated_env_steps, reason=reason,
        )  # fmt: skip
        state = {
            "trainer": trainer.state_dict(),
            "metrics": self.metrics.state_dict(),
            "run": progress.state_dict(wall_time_s),
        }
        thumbnail = trainer.env.screens(1)[0].cpu().numpy()
        return Snapshot(meta, state, policy.state_dict(), thumbnail)

    def _write(self, what: Snapshot, machines: dict[int, bytes]) -> str:
        """Its folder, relative to the run's."""
        self.writer.checkpoints_in_place()
        try:
            folder, meta = ckpt.save_checkpoint(
                self.paths, what.meta, what.weights, what.state, machines, what.thumbnail
            )
        except OSError as error:
            raise disk_error(self.paths.checkpoint(what.meta.env_steps), error) from None
        written = str(folder.relative_to(self.paths.root))
        self.writer.append(
            records.CheckpointRecord,
            env_steps=meta.env_steps,
            path=written,
            sha256=meta.files[ckpt.layout.POLICY],
            size_bytes=sum(path.stat().st_size for path in folder.iterdir()),
            success_rate=meta.success_rate,
            leaving_success_rate=meta.leaving_success_rate,
            sampled_success_rate=meta.sampled_success_rate,
            validated_env_steps=meta.validated_env_steps,
            reason=meta.reason,
        )
        return written

    # -- restoring --------------------------------------------------------------------------

    def restore(self, skipped: Callable[[str], None]) -> RunProgress | None:
        """Go on from the newest checkpoint that is whole; None when nothing was saved yet.

        All ranks call it and take the same one. `skipped` is told why newer ones were passed over.
        Raises CheckpointError when none can be loaded, or one was made for other files of the task.
        """
        reason, begun = "", False
        for folder in reversed(list_checkpoints(self.paths)):
            loaded = None
            try:
                loaded = self._load(folder)
            except ForeignCheckpointError:
                raise
            except CheckpointError as error:
                reason = str(error)
                skipped(f"skipped a damaged checkpoint: {reason}")
            if not self.ranks.all(loaded is not None):
                continue
            assert loaded is not None
            try:
                self._take(*loaded[:-1], begun=begun)
                taken = True
            except CheckpointError as error:
                reason, taken, begun = f"{folder}: {error}", False, True
                skipped(f"skipped a damaged checkpoint: {reason}")
            if self.ranks.all(taken):
                self.newest = str(folder.relative_to(self.paths.root))
                self._saved = (self.trainer.update, loaded[-1].validated_env_steps)
                return loaded[-1]
            begun = True
        there = list(self.paths.checkpoints.glob("[0-9]*"))
        if there:
            raise CheckpointError(
                f"{self.paths.checkpoints}: none of {len(there)} checkpoints can be loaded"
                f"{reason and f' ({reason})'}; restore one from a copy, or train anew"
            )
        return None

    def _load(self, folder: Path) -> tuple[dict[str, Any], dict[str, Any] | None, Any, RunProgress]:
        """(state, envs' state, weights, progress), checked. Raises CheckpointError."""
        state, machines = ckpt.load_trainer_state(folder, self.ranks.rank, self.config.num_envs)
        policy, meta = ckpt.load_policy(folder)
        if meta.hashes != self.facts.hashes:
            raise ForeignCheckpointError(f"{folder}: made for other files of task {meta.task}")
        env, kind = self.trainer.env, self.trainer.learner.policy.kind
        if (meta.policy, meta.obs_shape, meta.num_actions) != (
            kind, env.obs_shape, env.num_actions
        ):  # fmt: skip
            raise CheckpointError(f"{folder}: its network is {meta.policy}, this run's is {kind}")
        return state, machines, policy.state_dict(), RunProgress.from_state(state["run"])

    def _take(
        self,
        state: dict[str, Any],
        machines: dict[str, Any] | None,
        weights: Any,
        *,
        begun: bool,
    ) -> None:
        """Put a checkpoint in place; where another was `begun`, its envs are not left half.

        Raises CheckpointError for a part that does not fit this run.
        """
        trainer = self.trainer
        trainer.learner.load_weights(weights)
        trainer.load_state_dict(state["trainer"])
        self.metrics.load_state_dict(state["metrics"])
        self._take_of_rank((machines or {}).pop(OF_RANK, None))
        if machines is not None:
            trainer.env.load_state_dict(machines)
            trainer.obs = trainer.env.obs
        elif begun:
            trainer.obs = trainer.env.reset()

    def _of_rank(self) -> dict[str, Any]:
        """What a rank has of its own besides its envs; rank 0's is in the trainer's state."""
        if self.ranks.is_first:
            return {}
        own = {"rng": self.trainer.rng.get_state(), "metrics": self.metrics.state_dict()}
        return {OF_RANK: own}

    def _take_of_rank(self, own: dict[str, Any] | None) -> None:
        """Without its own another rank begins sums and random numbers anew: with rank 0's it would
        count twice, and press the same buttons."""
        if self.ranks.is_first:
            return
        if own is not None:
            check_keys(own, ("rng", "metrics"), "a rank's own state")
            restore_generator(self.trainer.rng, own["rng"], "the rank's rng")
            self.metrics.load_state_dict(own["metrics"])
            return
        self.trainer.rng.manual_seed(
            self.config.seed * 1009 + self.ranks.rank + 7919 * self.trainer.update
        )
        self.metrics.clear()


def _held(value: Any) -> Any:
    """A copy in the host's memory of tensors, and dicts and lists of them."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True).contiguous()  # a GPU's are channels last
    if isinstance(value, dict):
        return {name: _held(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_held(each) for each in value)
    return value
