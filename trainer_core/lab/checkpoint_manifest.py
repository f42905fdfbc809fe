"""Checkpoint folders: manifest and hashes, readable by any process without torch.

checkpoints/<env_steps>/policy.safetensors   weights
                        trainer.pt           optimizer, counters, generators
                        machines.bin         the envs' state; only in the newest checkpoint
                        machines-N.bin       the same of rank N of several
                        thumbnail.png        screen of an env
                        meta.json            CheckpointMeta below
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from trainer_core.lab import durable_files
from trainer_core.lab.paths import RunPaths
from trainer_core.wire.errors import BAD_JSON, CheckpointError
from trainer_core.wire.records import CheckpointRecord, Count
from trainer_core.wire.regular_files import open_regular, read_regular
from trainer_core.wire.spec import NATIVE_ID

POLICY, TRAINER, MACHINES = "policy.safetensors", "trainer.pt", "machines.bin"
THUMBNAIL, META = "thumbnail.png", "meta.json"
MAX_BYTES = {POLICY: 1 << 30, TRAINER: 4 << 30, THUMBNAIL: 1 << 20}
"""Greatest accepted size of each file; our largest network has 8 MiB of weights."""
MAX_OTHER_BYTES = 64 << 30
"""Greatest accepted size of a file with the envs' state: 131,072 consoles, not compressed."""
_PARTIAL, _OLD, _DOOMED = ".tmp", ".old", ".gone"
"""Suffixes of hidden folders: being written, being replaced, being removed."""
Side = Annotated[int, Meta(ge=1, le=1024)]
Share = Annotated[float, Meta(ge=0, le=1)]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]
FileName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,100}$")]


class CheckpointMeta(msgspec.Struct, kw_only=True, frozen=True):
    """Content of meta.json; `files` maps every file's name to its SHA-256."""

    v: int = 1
    runner: str = NATIVE_ID
    run_id: str
    trace_id: str = ""
    """The trace_id of the log records about these weights; empty in checkpoints written before December 2026."""
    task: str
    env_steps: Count
    update: Count
    policy: str
    obs_shape: tuple[Side, Side, Side]
    num_actions: Side
    codec: str
    observation_rule: str
    config: dict[str, Any]
    hashes: dict[str, str]
    """Hashes of rom, starts and goal of the task it was trained on."""
    success_rate: Share = 0.0
    """Success rate in the newest greedy validation, 0 before the first."""
    leaving_success_rate: Share = 0.0
    """Success rate with mode leave_loops in the same validation."""
    sampled_success_rate: Share = 0.0
    """Success rate with mode sample in the same validation."""
    validated_env_steps: int = -1
    """Environment steps of the weights that had these rates: its own, or earlier ones; -1 in older checkpoints."""
    offline_dataset: str = ""
    """Dataset that it learned from, `NAME@HASH` with 16 digits of the SHA-256; empty for one that played."""
    reason: str = ""
    created_at: float = 0.0
    files: dict[FileName, Sha256] = {}


def merit(one: CheckpointMeta | CheckpointRecord) -> tuple[float, float, float, bool]:
    """Return the sort key whose maximum in a run is the best checkpoint.

    It compares success in modes greedy, leave_loops and sample, in this order; then the checkpoint whose own weights
    were validated.
    """
    played = one.validated_env_steps == one.env_steps
    return one.success_rate, one.leaving_success_rate, one.sampled_success_rate, played


def read_meta(folder: Path) -> CheckpointMeta:
    """Return the manifest of the checkpoint in `folder`. Raises CheckpointError when it is no finished checkpoint."""
    path = folder / META
    try:
        meta = msgspec.json.decode(read_regular(path), type=CheckpointMeta)
    except OSError as error:
        raise CheckpointError(f"{folder}: not a checkpoint ({META}: {error.strerror})") from None
    except BAD_JSON as error:
        raise CheckpointError(f"{path}: {error}; use another checkpoint") from None
    if meta.v != 1:
        raise CheckpointError(f"{path}: version {meta.v} is not 1: update DMG Lab to read it")
    return meta


def is_checkpoint(folder: Path) -> bool:
    try:
        return bool(read_meta(folder).files)
    except CheckpointError:
        return False


def read_own_meta(folder: Path) -> CheckpointMeta:
    """Return the manifest of a checkpoint of our own trainer. Raises CheckpointError for another runner's."""
    meta = read_meta(folder)
    if meta.runner != NATIVE_ID:
        raise CheckpointError(
            f"{folder}: a checkpoint of {meta.runner[:40]!r}, whose network only that library "
            "knows: `dmglab play` and the app play it"
        )
    return meta


def verify(folder: Path, names: tuple[str, ...] = ()) -> CheckpointMeta:
    """Return the manifest after checking the hash of each present file of `names` (default: all).

    Raises CheckpointError naming the file. The envs' state may be missing: only the newest checkpoint has it.
    """
    meta = read_meta(folder)
    for name in names or tuple(meta.files):
        path = folder / name
        if is_machines(name) and not path.exists():
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


def policy_files(meta: CheckpointMeta) -> tuple[str, ...]:
    """Return the names of the checkpoint's files needed to play: our trainer's weights, or all files of another
    runner."""
    if POLICY in meta.files:
        return (POLICY,)
    return tuple(name for name in meta.files if name != THUMBNAIL and not is_machines(name))


def is_machines(name: str) -> bool:
    """Return whether `name` is that of a file with the envs' state: `machines.bin`, or `machines-N.bin` of another
    rank."""
    return re.fullmatch(r"machines(-\d+)?\.bin", name) is not None


def file_sha256(path: Path) -> str:
    """Return a file's SHA-256. Raises CheckpointError when it cannot be read, is not regular, or is too large."""
    digest = hashlib.sha256()
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > (limit := MAX_BYTES.get(path.name, MAX_OTHER_BYTES)):
                raise CheckpointError(f"{path}: {size} bytes, at most {limit} are read")
            while chunk := file.read(1 << 20):
                digest.update(chunk)
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}") from None
    return digest.hexdigest()


def list_checkpoints(paths: RunPaths) -> list[Path]:
    """Return the finished checkpoints of a run, oldest first."""
    return sorted(folder for folder in paths.checkpoints.glob("[0-9]*") if (folder / META).is_file())


def put_in_place(final: Path, contents: Iterable[tuple[str, bytes]]) -> None:
    """Write the checkpoint folder `final` with these files, by name, and replace an older one of that name.

    Raises OSError when the disk is full or fails, and what `contents` raises; no partial folder is left then. `tidy`
    repairs a crash between the two renames of a replacement.
    """
    partial = final.with_name(f".{final.name}{_PARTIAL}")
    old = final.with_name(f".{final.name}{_OLD}")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        final.parent.mkdir(exist_ok=True)  # without `parents`: never recreates a run folder that was moved away
        partial.mkdir()
        for name, data in contents:
            durable_files.write_file(partial / name, data)
        durable_files.sync_folder(partial)
        if replaces := final.exists():
            shutil.rmtree(old, ignore_errors=True)
            final.replace(old)
        durable_files.rename(partial, final)
        durable_files.sync_folder(final.parent.parent)
        if replaces:
            shutil.rmtree(old, ignore_errors=True)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise


def tidy(paths: RunPaths) -> None:
    """Remove the unfinished folders that a crash left while a checkpoint was saved or removed.

    The caller holds the run's lock. A checkpoint that was renamed to make room for a replacement is restored if the
    replacement was not completed. Ignores OSError: the next save reports a disk that cannot be written.
    """
    for folder in paths.checkpoints.glob(".*"):
        with contextlib.suppress(OSError):
            whole = folder.with_name(folder.name.removeprefix(".").removesuffix(_OLD))
            if folder.name.endswith(_OLD) and not whole.exists():
                durable_files.rename(folder, whole)
            else:
                shutil.rmtree(folder)


def retain(paths: RunPaths, best: str, keep: int) -> list[Path]:
    """Remove checkpoints except the newest, `best` (a folder's name) and `keep` others spread over the run.

    Removes the env state of all but the newest. Returns the removed folders.
    """
    found = list_checkpoints(paths)
    if not found:
        return []
    for folder in found[:-1]:
        with contextlib.suppress(FileNotFoundError):  # another process may remove them too
            for machines in filter(is_machines, os.listdir(folder)):
                (folder / machines).unlink()
    others = [folder for folder in found[:-1] if folder.name != best]
    removed = []
    while len(others) > keep:
        steps = [0, *(int(folder.name) for folder in others), int(found[-1].name)]
        gaps = [steps[i + 2] - steps[i] for i in range(len(others))]
        removed.append(others.pop(gaps.index(min(gaps))))
    for folder in removed:
        doomed = folder.with_name(f".{folder.name}{_DOOMED}")
        with contextlib.suppress(FileNotFoundError):
            folder.replace(doomed)  # in one step: no reader sees a partial checkpoint
        shutil.rmtree(doomed, ignore_errors=True)
    return removed
