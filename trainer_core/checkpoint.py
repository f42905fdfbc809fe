"""Checkpoints: written under a temporary name, fsynced, renamed, and only then announced."""

from __future__ import annotations

import io
import os
import shutil
import struct
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import safetensors
import safetensors.torch
import torch
from PIL import Image

from trainer_core.algo.policy import PixelActorCritic
from trainer_core.protocol import checkpoints as layout
from trainer_core.protocol.checkpoints import CheckpointMeta
from trainer_core.protocol.errors import CheckpointError
from trainer_core.protocol.paths import RunPaths

_CHUNK = 8 << 20
_MAGIC = b"DMGM"
GREY_LEVELS = (255, 170, 85, 0)


def pack_state(state: dict[str, Any]) -> bytes:
    """A state_dict as compressed bytes; chunks are compressed side by side."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    raw = buffer.getbuffer()
    pieces = [raw[start : start + _CHUNK] for start in range(0, len(raw), _CHUNK)]
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        packed = list(pool.map(lambda piece: zlib.compress(piece, 1), pieces))
    sizes = struct.pack(f"<I{len(packed)}Q", len(packed), *map(len, packed))
    return b"".join([_MAGIC, sizes, *packed])


def unpack_state(data: bytes, name: str) -> dict[str, Any]:
    """Raises CheckpointError, naming the file, when the bytes are not from `pack_state`."""
    try:
        if data[:4] != _MAGIC:
            raise ValueError("not a machine state")
        (count,) = struct.unpack_from("<I", data, 4)
        sizes = struct.unpack_from(f"<{count}Q", data, 8)
        pieces, offset = [], 8 + 8 * count
        for size in sizes:
            pieces.append(zlib.decompress(data[offset : offset + size]))
            offset += size
        return torch.load(io.BytesIO(b"".join(pieces)), map_location="cpu", weights_only=True)
    except (ValueError, struct.error, zlib.error, RuntimeError, EOFError) as error:
        raise CheckpointError(f"{name}: {error}") from None


def save_checkpoint(
    paths: RunPaths,
    meta: CheckpointMeta,
    policy: PixelActorCritic,
    trainer_state: dict[str, Any],
    machines: Callable[[Path], None],
    thumbnail: np.ndarray,
) -> Path:
    """Write `checkpoints/<env_steps>/` whole or not at all; an older one of that name is replaced.

    `machines` writes the machine files of all ranks into the folder; `thumbnail` is u8[H, W]
    shades. Raises OSError when the disk does not take it; nothing half-written is left.
    """
    final = paths.checkpoint(meta.env_steps)
    partial = final.with_name(f".{final.name}.tmp")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        partial.mkdir(parents=True)
        weights = {name: value.contiguous().cpu() for name, value in policy.state_dict().items()}
        (partial / layout.POLICY).write_bytes(safetensors.torch.save(weights))
        torch.save(trainer_state, partial / layout.TRAINER)
        machines(partial)
        save_png(partial / layout.THUMBNAIL, thumbnail)
        files = {path.name: layout.file_sha256(path) for path in sorted(partial.iterdir())}
        meta = msgspec.structs.replace(meta, files=files, created_at=time.time())
        (partial / layout.META).write_bytes(msgspec.json.format(msgspec.json.encode(meta)))
        for path in [*partial.iterdir(), partial]:
            _fsync(path)
        if final.exists():
            shutil.rmtree(final)
        partial.replace(final)
        _fsync(final.parent)
    except (OSError, RuntimeError) as error:
        shutil.rmtree(partial, ignore_errors=True)
        if isinstance(error, RuntimeError):  # torch.save hides ENOSPC behind its own words
            raise OSError(28, f"cannot write {layout.TRAINER}: {error}") from None
        raise
    return final


def load_policy(
    folder: Path, device: torch.device | str = "cpu"
) -> tuple[PixelActorCritic, CheckpointMeta]:
    """The network of a checkpoint, its weights verified against their hash.

    Raises CheckpointError naming what is wrong with the folder.
    """
    meta = layout.verify(folder, (layout.POLICY,))
    try:
        policy = PixelActorCritic(meta.policy, meta.obs_shape, meta.num_actions)
        weights = safetensors.torch.load((folder / layout.POLICY).read_bytes())
        policy.load_state_dict(weights)
    except (KeyError, RuntimeError, safetensors.SafetensorError) as error:
        text = " ".join(str(error).split())
        raise CheckpointError(f"{folder}: weights do not fit the network: {text}") from None
    policy.to(device)
    policy.eval()
    return policy, meta


def load_trainer_state(folder: Path, rank: int = 0) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """(trainer state, machine state or None when an older checkpoint gave it up)."""
    name = machines_name(rank)
    meta = layout.verify(folder)
    try:
        state = torch.load(folder / layout.TRAINER, map_location="cpu", weights_only=True)
    except (OSError, RuntimeError, ValueError) as error:
        raise CheckpointError(f"{folder / layout.TRAINER}: {error}") from None
    path = folder / name
    if name not in meta.files or not path.exists():
        return state, None
    return state, unpack_state(path.read_bytes(), str(path))


def machines_name(rank: int) -> str:
    return layout.MACHINES if rank == 0 else f"machines-{rank}.bin"


def retain(paths: RunPaths, best: str, keep: int) -> list[Path]:
    """Thin out: the newest, `best` (a folder's name) and `keep` others, spread over the run.

    Only the newest keeps machine state. Returns the removed folders.
    """
    found = layout.list_checkpoints(paths)
    if not found:
        return []
    for folder in found[:-1]:
        for machines in folder.glob("machines*.bin"):
            machines.unlink()
    others = [folder for folder in found[:-1] if folder.name != best]
    removed = []
    while len(others) > keep:
        steps = [0, *(int(folder.name) for folder in others), int(found[-1].name)]
        gaps = [steps[i + 2] - steps[i] for i in range(len(others))]
        removed.append(others.pop(gaps.index(min(gaps))))
    for folder in removed:
        doomed = folder.with_name(f".{folder.name}.old")
        folder.replace(doomed)  # gone in one step: no reader meets half a checkpoint
        shutil.rmtree(doomed)
    return removed


def save_png(path: Path, shades: np.ndarray) -> None:
    """`shades` u8[H, W], 0 lightest, as a grey PNG."""
    levels = np.array(GREY_LEVELS, dtype=np.uint8)
    Image.fromarray(levels[np.minimum(shades, 3)]).save(path)


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
