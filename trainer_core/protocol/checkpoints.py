"""Checkpoint folders as any process may read them: the manifest and its hashes, no torch.

checkpoints/<env_steps>/policy.safetensors   weights
                        trainer.pt           optimizer, counters, generators
                        machines.bin         the machines' state; only the newest keeps it
                        thumbnail.png        what the first machine saw
                        meta.json            CheckpointMeta below
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import msgspec

from trainer_core.protocol.errors import CheckpointError
from trainer_core.protocol.paths import RunPaths

POLICY, TRAINER, MACHINES = "policy.safetensors", "trainer.pt", "machines.bin"
THUMBNAIL, META = "thumbnail.png", "meta.json"


class CheckpointMeta(msgspec.Struct, kw_only=True, frozen=True):
    """meta.json; `files` maps every file's name to its SHA-256."""

    v: int = 1
    run_id: str
    task: str
    env_steps: int
    update: int
    policy: str
    obs_shape: tuple[int, int, int]
    num_actions: int
    codec: str
    observation_rule: str
    config: dict[str, Any]
    hashes: dict[str, str]
    """rom, starts and goal of the task it was trained on."""
    success_rate: float = 0.0
    """Of the newest greedy validation, 0 before the first."""
    reason: str = ""
    created_at: float = 0.0
    files: dict[str, str] = {}


def read_meta(folder: Path) -> CheckpointMeta:
    """Raises CheckpointError when the folder is no finished checkpoint."""
    path = folder / META
    try:
        meta = msgspec.json.decode(path.read_bytes(), type=CheckpointMeta)
    except OSError as error:
        raise CheckpointError(f"{folder}: not a checkpoint ({META}: {error.strerror})") from None
    except msgspec.DecodeError as error:
        raise CheckpointError(f"{path}: {error}; use another checkpoint") from None
    if meta.v != 1:
        raise CheckpointError(f"{path}: version {meta.v} is not 1: update DMG Lab to read it")
    return meta


def verify(folder: Path, names: tuple[str, ...] = ()) -> CheckpointMeta:
    """The manifest, after each present file of `names` (default: all) had the hash it lists.

    Raises CheckpointError naming the file. `machines.bin` may be gone: only the newest keeps it.
    """
    meta = read_meta(folder)
    for name in names or tuple(meta.files):
        path = folder / name
        if name == MACHINES and not path.exists():
            continue
        if name not in meta.files:
            raise CheckpointError(f"{folder}: {META} lists no {name}")
        found = file_sha256(path)
        if found != meta.files[name]:
            raise CheckpointError(
                f"{path}: SHA-256 is {found[:12]}..., {META} says {meta.files[name][:12]}...: "
                "the file was changed or damaged; use another checkpoint"
            )
    return meta


def file_sha256(path: Path) -> str:
    """Raises CheckpointError when the file cannot be read."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}") from None
    return digest.hexdigest()


def list_checkpoints(paths: RunPaths) -> list[Path]:
    """Finished checkpoints of a run, oldest first."""
    return sorted(
        folder for folder in paths.checkpoints.glob("[0-9]*") if (folder / META).is_file()
    )
