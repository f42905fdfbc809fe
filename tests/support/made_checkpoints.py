"""Checkpoint folders without a network in them."""

from __future__ import annotations

from pathlib import Path

import msgspec

from trainer_core.lab import checkpoint_manifest
from trainer_core.wire.config import RunConfig


def make_checkpoint(folder: Path, weights: bytes = b"weights", task: str = "tiny_goal") -> Path:
    """A folder that passes checkpoint_manifest.verify, with a file that is no network."""
    folder.mkdir(parents=True)
    policy = checkpoint_manifest.POLICY
    (folder / policy).write_bytes(weights)
    meta = checkpoint_manifest.CheckpointMeta(
        run_id="20261121-000000-beef",
        task=task,
        env_steps=4096,
        update=2,
        policy="small",
        obs_shape=(1, 72, 80),
        num_actions=7,
        codec="buttons7.v1",
        observation_rule="mean2x2.v1",
        config=RunConfig(task=task).to_dict(),
        hashes={},
        success_rate=0.75,
        created_at=1000.0,
        files={policy: checkpoint_manifest.file_sha256(folder / policy)},
    )
    (folder / checkpoint_manifest.META).write_bytes(msgspec.json.encode(meta))
    return folder
