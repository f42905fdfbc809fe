"""Saving and restoring a run's trainee and progress."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec

from trainer_core.host import checkpoint as ckpt
from trainer_core.host.progress import Counters, RunProgress
from trainer_core.host.ranks import Ranks
from trainer_core.host.trainee import Trainee
from trainer_core.lab.checkpoint_manifest import CheckpointMeta, list_checkpoints, read_meta, retain
from trainer_core.lab.trust import trust
from trainer_core.learn.finite import check_weights
from trainer_core.runs.log_writer import RunWriter, disk_error
from trainer_core.wire import records
from trainer_core.wire.errors import CheckpointError

Describe = Callable[[str, RunProgress], CheckpointMeta]
"""Function from a reason to the manifest of a checkpoint of the current state."""


class ForeignCheckpointError(CheckpointError):
    """Error for an intact checkpoint whose task files differ from the run's; older checkpoints would differ too."""


class Checkpoints:
    """Writer and reader of one run's checkpoints, which contain its trainee and progress."""

    def __init__(
        self,
        trainee: Trainee,
        counters: Counters,
        writer: RunWriter,
        ranks: Ranks,
        *,
        keep: int,
        hashes: dict[str, str],
        describe: Describe,
    ) -> None:
        """Set up.

        `keep` is the number of checkpoints kept besides the best and the newest; `hashes` are the SHA-256 of the task's
        files; `describe` makes a manifest.
        """
        self.trainee, self.counters, self.writer, self.ranks = trainee, counters, writer, ranks
        self.paths, self.keep, self.hashes, self.describe = writer.paths, keep, hashes, describe
        self.newest = ""
        """Last checkpoint announced or restored, relative to the run directory."""
        self.saved_env_steps = self._known_env_steps = -1
        """Environment steps of the newest checkpoint, and of the last validation that it contains."""

    # -- saving -----------------------------------------------------------------------------

    def save(self, reason: str, progress: RunProgress, wall_time_s: float) -> None:
        """Write a checkpoint and its log record, unless the trainee saves none or the newest checkpoint is up to date.

        The newest is up to date if it has the current weights and the last validation. All ranks call it. Raises
        DiskError, and NonFiniteLossError for non-finite weights.
        """
        now, known = self.counters.env_steps, progress.validated_env_steps
        is_saved = (now, known) == (self.saved_env_steps, self._known_env_steps)
        if not self.trainee.file or self.ranks.agree(is_saved):  # only rank 0 has late validations
            return
        meta = self.describe(reason, progress)
        parts = self.trainee.parts(progress.state_dict(wall_time_s))
        if self.ranks.is_first:
            self.newest = self._write(meta, parts)
            retain(self.paths, progress.best_folder, self.keep)
        self.saved_env_steps, self._known_env_steps = now, known

    def save_unannounced(self, progress: RunProgress, wall_time_s: float) -> None:
        """Write a checkpoint without a log record, for use when the log cannot be written. Raises as `save` does."""
        if self.trainee.file:
            parts = self.trainee.parts(progress.state_dict(wall_time_s))
            ckpt.write_checkpoint(self.paths, self.describe("stop", progress), parts)

    def save_late(self, meta: CheckpointMeta, then: ckpt.Snapshot, progress: RunProgress) -> None:
        """Write a checkpoint of the copied weights `then`, and its log record; only rank 0 calls it.

        If a checkpoint was saved at the time of the copy, its environments' state is included. Raises as `save` does.
        """
        check_weights(then.weights.values(), meta.update)
        meta = msgspec.structs.replace(
            meta,
            success_rate=progress.success,
            leaving_success_rate=progress.leaving,
            sampled_success_rate=progress.sampled,
            validated_env_steps=progress.validated_env_steps,
        )
        folder = self.paths.checkpoint(meta.env_steps)
        machines = ckpt.read_machines(folder, self.ranks.world) if folder.exists() else {}
        self._write(meta, then.files(machines))
        retain(self.paths, progress.best_folder, self.keep)

    def _write(self, meta: CheckpointMeta, parts: dict[str, bytes]) -> str:
        """Write a checkpoint and then its record; return the folder, relative to the run's."""
        self.writer.checkpoints_in_place()
        try:
            folder, meta = ckpt.write_checkpoint(self.paths, meta, parts)
        except OSError as error:
            raise disk_error(self.paths.checkpoint(meta.env_steps), error) from None
        written, sha256 = str(folder.relative_to(self.paths.root)), meta.files[self.trainee.file]
        if self.trainee.unpickles:
            vouch_for(sha256)
        self.writer.append(
            records.CheckpointRecord,
            trace_id=meta.trace_id,
            env_steps=meta.env_steps,
            path=written,
            sha256=sha256,
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
        """Restore the newest intact checkpoint; return its progress, None when there is no checkpoint.

        All ranks call it and restore the same one. `skipped` is called with the reason for each newer checkpoint that
        could not be used. Raises CheckpointError when none can be loaded, or one was made for other task files.
        """
        reason = ""
        for folder in reversed(list_checkpoints(self.paths)):
            meta = None
            try:
                meta = self._load(folder)
            except ForeignCheckpointError:
                raise
            except CheckpointError as error:
                reason = str(error)
                skipped(f"skipped a damaged checkpoint: {reason}")
            if not self.ranks.all(meta is not None):
                continue
            assert meta is not None
            progress = None
            try:
                progress = self.trainee.restore(folder)
                taken = True
            except CheckpointError as error:
                reason, taken = f"{folder}: {error}", False
                skipped(f"skipped a damaged checkpoint: {reason}")
            if self.ranks.all(taken):
                assert progress is not None
                self.newest = str(folder.relative_to(self.paths.root))
                self.counters.env_steps, self.counters.update = meta.env_steps, meta.update
                self.saved_env_steps = meta.env_steps
                self._known_env_steps = progress.validated_env_steps
                return progress
        there = list(self.paths.checkpoints.glob("[0-9]*"))
        if there:
            raise CheckpointError(
                f"{self.paths.checkpoints}: none of {len(there)} checkpoints can be loaded"
                f"{reason and f' ({reason})'}; restore one from a copy, or train anew"
            )
        return None

    def _load(self, folder: Path) -> CheckpointMeta:
        """Have the trainee load the checkpoint `folder`; return its manifest. Raises CheckpointError."""
        self.trainee.load(folder)
        meta = read_meta(folder)
        if meta.hashes != self.hashes:
            raise ForeignCheckpointError(f"{folder}: made for other files of task {meta.task}")
        return meta


def vouch_for(sha256: str) -> None:
    """Add the hash to the user's list of trusted files; opening an unlisted file asks for consent.

    Prints a message if the list cannot be written.
    """
    try:
        trust(sha256)
    except OSError as error:
        print(f"{error}: this checkpoint will ask for consent before it is opened", flush=True)
