"""Checkpoints: written under a temporary name, fsynced, renamed, and only then announced."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import os
import struct
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import safetensors
import safetensors.torch
import torch
from PIL import Image

from trainer_core.lab import checkpoint_manifest as layout
from trainer_core.lab.checkpoint_manifest import CheckpointMeta
from trainer_core.lab.paths import RunPaths
from trainer_core.learn.policy import PixelActorCritic
from trainer_core.wire.decoding import parsing
from trainer_core.wire.errors import CheckpointError
from trainer_core.wire.regular_files import read_regular
from trainer_core.wire.shades import GREY_LEVELS

MAX_REASON = 300
"""Letters kept of torch's error text, which lists every tensor."""
MOST_STATE_BYTES, MOST_ENV_BYTES = 64 << 20, 512 << 10
"""Limits for unpacked env state: shared part, and per env; a console takes 180 to 320 KB."""
MOST_ENVS = 1 << 17
_CHUNK = 8 << 20
_MAGIC = b"DMGM"


def pack_state(state: dict[str, Any]) -> bytes:
    """Return a state_dict as compressed bytes; chunks are compressed in parallel."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    raw = buffer.getbuffer()
    pieces = [raw[start : start + _CHUNK] for start in range(0, len(raw), _CHUNK)]
    with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
        packed = list(pool.map(lambda piece: zlib.compress(piece, 1), pieces))
    sizes = struct.pack(f"<I{len(packed)}Q", len(packed), *map(len, packed))
    return b"".join([_MAGIC, sizes, *packed])


def read_state(path: Path, num_envs: int, kept_bytes: int = 0) -> dict[str, Any]:
    """Return the state of `num_envs` envs from a file that `pack_state` wrote.

    The number of envs limits how much is unpacked, since a small file may unpack to any size; `kept_bytes` allows for
    more, such as a replay buffer. Raises CheckpointError naming the file.
    """
    most = MOST_STATE_BYTES + num_envs * MOST_ENV_BYTES + kept_bytes
    with parsing(f"{path}: holds no state of envs", CheckpointError):
        data = read_regular(path, most)
    return unpack_state(data, str(path), most)


def unpack_state(data: bytes, name: str, most_bytes: int) -> dict[str, Any]:
    """Return the state_dict in bytes from `pack_state`; raises CheckpointError naming the file for other bytes."""
    with parsing(f"{name}: holds no state of envs", CheckpointError):
        if data[:4] != _MAGIC:
            raise ValueError("not the state of envs")
        (count,) = struct.unpack_from("<I", data, 4)
        sizes = struct.unpack_from(f"<{count}Q", data, 8)
        raw, offset = io.BytesIO(), 8 + 8 * count
        for size in sizes:
            raw.write(_inflated(data[offset : offset + size]))
            offset += size
            if raw.tell() > most_bytes:
                raise ValueError(f"more than the {most_bytes >> 20} MiB that this run's envs can have")
        if offset != len(data):
            raise ValueError(f"{len(data)} bytes, {offset} are announced")
    raw.seek(0)
    return load_plain(raw, name, "state of envs")


def _inflated(piece: bytes) -> bytes:
    """Return one decompressed chunk.

    Raises ValueError when it is longer than the chunks of `pack_state`, and zlib.error for bytes that are not zlib's.
    """
    inflater = zlib.decompressobj()
    raw = inflater.decompress(piece, _CHUNK + 1)
    if len(raw) > _CHUNK or not inflater.eof:
        raise ValueError(f"a piece of more than {_CHUNK} bytes, or one that has no end")
    return raw


def load_plain(file: io.BytesIO | Path, name: str, what: str) -> dict[str, Any]:
    """Read a torch.save file of tensors and plain values, never code; raises CheckpointError."""
    try:
        found = torch.load(file, map_location="cpu", weights_only=True)
    except Exception as error:  # pickle.UnpicklingError, KeyError, RuntimeError and others, depending on the damage
        told = type(error).__name__
        raise CheckpointError(f"{name}: holds no {what} ({told}); use another checkpoint") from None
    if not isinstance(found, dict):
        raise CheckpointError(f"{name}: holds no {what} but a {type(found).__name__}")
    return found


@dataclasses.dataclass(frozen=True, slots=True)
class Snapshot:
    """Contents of a checkpoint of our learner, held in memory, without the state of the consoles."""

    state: dict[str, Any]
    weights: dict[str, torch.Tensor]
    thumbnail: np.ndarray
    """Picture for the checkpoint's thumbnail, in a form that `png_bytes` takes."""

    def files(self, machines: dict[int, bytes]) -> dict[str, bytes]:
        """Return the checkpoint's files by name; `machines` maps each rank to the packed state of its consoles."""
        return {
            layout.POLICY: safetensors.torch.save(
                {name: value.contiguous().cpu() for name, value in self.weights.items()}
            ),
            layout.TRAINER: _saved(self.state),
            **{machines_name(rank): data for rank, data in machines.items()},
            layout.THUMBNAIL: png_bytes(self.thumbnail),
        }

    def copy(self) -> Snapshot:
        """Return a deep copy that later updates do not change."""
        weights = {name: _copied(value) for name, value in self.weights.items()}
        return Snapshot(_copied(self.state), weights, self.thumbnail.copy())


def write_checkpoint(paths: RunPaths, meta: CheckpointMeta, contents: dict[str, bytes]) -> tuple[Path, CheckpointMeta]:
    """Write a checkpoint folder with the files `contents` atomically; return its path and manifest.

    Replaces an older checkpoint of the same name. Raises OSError when the disk is full or fails; no partial folder is
    left then.
    """
    final = paths.checkpoint(meta.env_steps)
    files = {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}
    meta = msgspec.structs.replace(meta, files=files, created_at=time.time())
    layout.put_in_place(final, {**contents, layout.META: msgspec.json.format(msgspec.json.encode(meta))}.items())
    return final, meta


def _saved(state: dict[str, Any]) -> bytes:
    """Return the bytes of `torch.save(state)`, made in memory: torch's file writer hides the cause on a full disk."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    return buffer.getvalue()


def _copied(value: Any) -> Any:
    """Return a copy in host memory of tensors, and of dicts and lists of tensors."""
    if isinstance(value, torch.Tensor):
        return value.detach().to("cpu", copy=True).contiguous()  # on a GPU they are channels last
    if isinstance(value, dict):
        return {name: _copied(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_copied(each) for each in value)
    return value


@contextlib.contextmanager
def fitting(folder: Path) -> Iterator[None]:
    """Report as CheckpointError that the weights which the block loads from `folder` do not fit its network."""
    try:
        yield
    except (KeyError, TypeError, ValueError, RuntimeError, OSError, safetensors.SafetensorError) as error:
        text = " ".join(str(error).split())[:MAX_REASON]
        raise CheckpointError(f"{folder}: weights do not fit the network: {text}") from None


def load_policy(folder: Path, device: torch.device | str = "cpu") -> tuple[PixelActorCritic, CheckpointMeta]:
    """Return a checkpoint's network and manifest, the weights verified against their hash.

    Raises CheckpointError naming what is wrong with the folder.
    """
    layout.read_own_meta(folder)
    meta = layout.verify(folder, (layout.POLICY,))
    with fitting(folder):
        marked = meta.config.get("obs_source") == "marked"
        policy = PixelActorCritic(meta.policy, meta.obs_shape, meta.num_actions, marked=marked)
        weights = safetensors.torch.load(read_regular(folder / layout.POLICY, layout.MAX_BYTES[layout.POLICY]))
        policy.load_state_dict(weights)
    spoilt = [name for name, value in weights.items() if not bool(value.isfinite().all())]
    if spoilt:
        raise CheckpointError(f"{folder / layout.POLICY}: {spoilt[0]} holds NaN or infinity; use another checkpoint")
    policy.to(device)
    policy.eval()
    return policy, meta


def load_trainer_state(folder: Path, rank: int = 0, num_envs: int = 0) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Return the states of the trainer and of the environments of one rank; None for the latter when it was removed.

    `retain` removes the environments' state from older checkpoints. Checks the hashes of weights, trainer and env
    files, not of the thumbnail. `num_envs` is the run's number of environments; 0 takes the checkpoint's.
    """
    name = machines_name(rank)
    meta = layout.read_meta(folder)
    layout.verify(folder, (layout.POLICY, layout.TRAINER, *filter(layout.is_machines, meta.files)))
    state = load_plain(folder / layout.TRAINER, str(folder / layout.TRAINER), "trainer's state")
    if missing := {"trainer", "metrics", "run"} - state.keys():
        raise CheckpointError(f"{folder / layout.TRAINER}: lacks {', '.join(sorted(missing))}")
    path = folder / name
    if name not in meta.files or not path.exists():
        return state, None
    return state, read_state(path, num_envs or _num_envs(meta))


def _num_envs(meta: CheckpointMeta) -> int:
    told = meta.config.get("num_envs")
    return max(1, min(told, MOST_ENVS)) if isinstance(told, int) else 1


def read_machines(folder: Path, ranks: int) -> dict[int, bytes]:
    """Return the packed environments of each rank, by rank; {} unless every env file is intact. Raises OSError."""
    try:
        layout.verify(folder, tuple(filter(layout.is_machines, os.listdir(folder))))
    except CheckpointError:
        return {}
    paths = {rank: folder / machines_name(rank) for rank in range(ranks)}
    return {rank: path.read_bytes() for rank, path in paths.items() if path.exists()}


def machines_name(rank: int) -> str:
    return layout.MACHINES if rank == 0 else f"machines-{rank}.bin"


THUMBNAILS = 8
"""Environments among whose pictures that of a checkpoint is chosen."""


def fullest(pictures: np.ndarray) -> np.ndarray:
    """Return the first of u8[N, H, W] or u8[N, H, W, 3] that is not blank, as a room change is; else the first."""
    return next((picture for picture in pictures if picture.min() < picture.max()), pictures[0])


def png_bytes(picture: np.ndarray) -> bytes:
    """Return a grey PNG of shades u8[H, W], 0 lightest, or a colour PNG of u8[H, W, 3]."""
    if picture.ndim == 2:
        picture = np.array(GREY_LEVELS, dtype=np.uint8)[np.minimum(picture, 3)]
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, format="PNG")
    return buffer.getvalue()
