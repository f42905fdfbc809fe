"""Checkpoint folders without a network in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from trainer_core.lab.checkpoint_manifest import META, POLICY, CheckpointMeta, file_sha256
from trainer_core.wire.config import RunConfig


def made_meta(**changes: Any) -> CheckpointMeta:
    """The manifest of a checkpoint of tiny_goal, with `changes`."""
    fields: dict[str, Any] = {
        "run_id": "20261121-000000-beef",
        "task": "tiny_goal",
        "env_steps": 4096,
        "update": 2,
        "policy": "small",
        "obs_shape": (1, 72, 80),
        "num_actions": 7,
        "codec": "buttons7.v1",
        "observation_rule": "mean2x2.v1",
        "config": {},
        "hashes": {},
    }
    return CheckpointMeta(**{**fields, **changes})


def make_checkpoint(folder: Path, weights: bytes = b"weights", task: str = "tiny_goal") -> Path:
    """A folder that passes checkpoint_manifest.verify, with a file that is no network."""
    folder.mkdir(parents=True)
    (folder / POLICY).write_bytes(weights)
    meta = made_meta(
        task=task,
        config=RunConfig(task=task).to_dict(),
        success_rate=0.75,
        created_at=1000.0,
        files={POLICY: file_sha256(folder / POLICY)},
    )
    (folder / META).write_bytes(msgspec.json.encode(meta))
    return folder
