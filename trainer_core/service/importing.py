"""Bring a checkpoint from elsewhere into a home: copied, verified, registered as a run of its own.

A folder that came by mail or from another machine keeps nothing of its run but the manifest, so the
import writes the run around it: config.json, a log of two lines, a line in the index.
"""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

from trainer_core.protocol import checkpoints, records
from trainer_core.protocol.config import RunConfig
from trainer_core.protocol.errors import CheckpointError, ConfigError
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.runs import RunRecord, RunState
from trainer_core.registry import RunRegistry


def import_checkpoint(folder: Path, home: HomePaths) -> tuple[RunRecord, Path]:
    """The new run and the copy. Importing the same weights twice returns what is there.

    Raises CheckpointError when the folder is no checkpoint, is damaged, or cannot be copied.
    """
    meta = checkpoints.verify(folder)
    digest = meta.files[checkpoints.POLICY]
    paths = home.run(f"imported-{digest[:12]}")
    target = paths.checkpoint(meta.env_steps)
    registry = RunRegistry(home)
    if target.is_dir() and (known := registry.load().get(paths.run_id)) is not None:
        return known, target
    try:
        config = RunConfig.from_dict(meta.config)
        shutil.rmtree(paths.root, ignore_errors=True)
        target.parent.mkdir(parents=True)
        shutil.copytree(folder, target)
        paths.config.write_text(json.dumps({"run": config.to_dict()}, indent=2) + "\n")
        paths.train_log.write_bytes(b"".join(map(records.encode, _log(meta, paths.run_id, digest))))
    except ConfigError as error:
        raise CheckpointError(f"{folder}: its configuration does not fit: {error}") from None
    except (OSError, shutil.Error) as error:
        shutil.rmtree(paths.root, ignore_errors=True)
        raise CheckpointError(f"{paths.root}: cannot be written: {error}") from None
    record = RunRecord(
        run_id=paths.run_id,
        runner="imported",
        task=meta.task,
        algo=config.algo,
        device=config.device,
        state=RunState.FINISHED,
        created_at=meta.created_at,
        finished_at=meta.created_at,
        config_sha256=config.sha256,
        env_steps=meta.env_steps,
        best_success_rate=meta.success_rate,
        last_checkpoint=str(target.relative_to(paths.root)),
        name=f"import of {meta.run_id[-4:]}",
        reason=f"imported from {folder}",
    )
    registry.append(record)
    return record, target


def _log(meta: checkpoints.CheckpointMeta, run_id: str, digest: str) -> list[records.Record]:
    config = meta.config
    now = time.time()
    return [
        records.MetaRecord(
            run_id=run_id, seq=0, time=now, runner="imported", task=meta.task,
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
            success_rate=meta.success_rate, reason="imported",
        ),
    ]  # fmt: skip
