"""Import of a checkpoint from elsewhere: copied, verified, registered as a run of its own.

Of the original run only the checkpoint's manifest is known. The import writes a run around it: config.json, a log of
two lines, and its lines of the index.
"""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from trainer_core.lab import checkpoint_manifest, durable_files
from trainer_core.lab.paths import HomePaths, RunPaths
from trainer_core.runs.index import RunRegistry
from trainer_core.runs.life import RunLife
from trainer_core.runs.log_writer import DiskError
from trainer_core.runs.run_lock import RunLock
from trainer_core.wire import records
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import CheckpointError, ConfigError
from trainer_core.wire.run_names import run_name
from trainer_core.wire.run_record import RunRecord, RunState
from trainer_core.wire.spec import NATIVE_ID, RunSpec


def import_checkpoint(folder: Path, home: HomePaths) -> tuple[RunRecord, Path]:
    """Return the run that holds the imported checkpoint, and the copy's folder.

    The same weights imported twice give the same run. An existing run is never overwritten: one that was resumed keeps
    its later checkpoints, and only gets the imported one back if that was deleted. Raises CheckpointError when the
    folder is no checkpoint, is damaged, or cannot be copied, LabError when the run is in use.
    """
    meta = checkpoint_manifest.verify(folder)
    digest = meta.files[checkpoint_manifest.POLICY]
    paths = home.run(f"imported-{digest[:12]}")
    target = paths.checkpoint(meta.env_steps)
    known = RunRegistry(home).load().get(paths.run_id)
    if target.is_dir() and known is not None:
        return known, target
    spec = _spec(folder, meta)
    algo = str(meta.config.get("algo", ""))
    log = _log(meta, paths.run_id, digest)
    try:
        if paths.config.is_file():
            return _complete(folder, home, paths, target, algo=algo, known=known), target
        if not paths.root.exists():
            _stage(folder, paths, target, log)
        life = RunLife.begin(
            home, paths.run_id, spec, algo=algo, name=f"import of {run_name(meta.run_id)}", created_at=meta.created_at
        )
    except (OSError, shutil.Error, DiskError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise CheckpointError(f"{paths.root}: cannot be written: {reason}") from None
    for record in log:
        life.fold(record)
    life.end(RunState.FINISHED, f"imported from {folder}", finished_at=meta.created_at)
    return life.record, target


def _stage(folder: Path, paths: RunPaths, target: Path, log: list[records.Record]) -> None:
    """Make the directory `paths` of a new run with `log` and a copy of the checkpoint `folder` at `target`,
    atomically."""
    stage = RunPaths(paths.root.with_name(f".{paths.run_id}.tmp"))
    shutil.rmtree(stage.root, ignore_errors=True)
    try:
        _copy(folder, stage.checkpoints / target.name)
        durable_files.write_file(stage.train_log, b"".join(map(records.encode, log)))
        durable_files.rename(stage.root, paths.root)
    except OSError:
        shutil.rmtree(stage.root, ignore_errors=True)
        raise


def _spec(folder: Path, meta: checkpoint_manifest.CheckpointMeta) -> RunSpec:
    try:
        spec = RunSpec.from_dict(meta.runner, meta.config)
        if spec.runner == NATIVE_ID:
            spec.configure(RunConfig)
    except ConfigError as error:
        raise CheckpointError(f"{folder}: its configuration does not fit: {error}") from None
    return spec


def _complete(
    folder: Path, home: HomePaths, paths: RunPaths, target: Path, *, algo: str, known: RunRecord | None
) -> RunRecord:
    """Copy the checkpoint `folder` to `target` of an existing run if it was deleted there; return the run's record.

    If the index does not have the run as ended (`known`), a line is appended.
    """
    lock = RunLock.take(paths)
    try:
        if not target.is_dir():
            _copy(folder, target)
    except BaseException:
        lock.release()
        raise
    if known is not None and known.state.is_end:
        lock.release()
        return known
    life = RunLife.resume(home, paths.run_id, lock, algo=algo)
    life.end(RunState.STOPPED, "found in the run's folder")
    return life.record


def _copy(folder: Path, target: Path) -> None:
    """Copy the files that the manifest of the checkpoint `folder` lists to `target`, atomically."""
    names = [*checkpoint_manifest.read_meta(folder).files, checkpoint_manifest.META]
    if any(Path(name).name != name for name in names):
        raise CheckpointError(f"{folder}: {checkpoint_manifest.META} lists files of other folders")
    partial = target.with_name(f".{target.name}.tmp")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        for name in names:
            if (folder / name).exists():  # the envs' state may be missing
                durable_files.write_file(partial / name, (folder / name).read_bytes())
        durable_files.sync_folder(partial)
        durable_files.rename(partial, target)
    except OSError:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def _log(meta: checkpoint_manifest.CheckpointMeta, run_id: str, digest: str) -> list[records.Record]:
    config = meta.config
    now = time.time()
    return [
        records.MetaRecord(
            run_id=run_id, seq=0, time=now, trace_id=records.trace_of(run_id, 0), runner=meta.runner, task=meta.task,
            algo=str(config.get("algo", "")), config=config, argv=[], git_sha="",
            rom_sha256=meta.hashes.get("rom", ""), starts_sha256=meta.hashes.get("starts", ""),
            goal_sha256=meta.hashes.get("goal", ""), codec=meta.codec,
            observation_rule=meta.observation_rule, stack_k=meta.obs_shape[0],
            frames_per_step=24, release_after_frames=8, num_envs=int(config.get("num_envs", 0)),
            seed=int(config.get("seed", 0)), device=str(config.get("device", "")),
            device_name="", versions={},
        ),
        records.CheckpointRecord(
            run_id=run_id, seq=1, time=meta.created_at or now, env_steps=meta.env_steps,
            path=f"checkpoints/{meta.env_steps:012d}", sha256=digest, size_bytes=0,
            trace_id=records.trace_of(run_id, meta.update), success_rate=meta.success_rate, reason="imported",
        ),
    ]  # fmt: skip
