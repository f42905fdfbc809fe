"""DatasetCache: datasets of offline learning in the home, each under its SHA-256, checked at every use.

    <home>/datasets/<first 16 of the SHA-256>/data/main_data.hdf5, metadata.json
                                              manifest.json

A run names its dataset by hash, so it can be repeated after the original file is gone. A file is Minari's, or has
D4RL's layout (one array for each of observations, actions, rewards, terminals, timeouts). Reads no HDF5: the app and
preflight use it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from trainer_core.lab.checkpoint_manifest import file_sha256
from trainer_core.lab.durable_files import replace_file
from trainer_core.lab.paths import HomePaths
from trainer_core.wire.checks import Check, Status, size
from trainer_core.wire.decoding import parsing, read_json, read_loose_json
from trainer_core.wire.errors import CheckpointError, ConfigError, LabError, shown

HDF5, METADATA = Path("data", "main_data.hdf5"), Path("data", "metadata.json")
MANIFEST = "manifest.json"
NAMED = 16
"""Digits of the SHA-256 that name a dataset's folder."""
SHA256 = re.compile(r"[0-9a-f]{12,64}")
D4RL = "d4rl"
"""Value of `layout` in the metadata of a file with D4RL's layout."""
SIGNATURE = b"\x89HDF\r\n\x1a\n"
"""First bytes of an HDF5 file."""
CHUNK = 1 << 20
SPARE_BYTES = 500 << 20
"""Bytes that stay free beside a dataset: of the disk for checkpoints, of the memory for the networks."""
INTACT, CHANGED, DAMAGED, MISSING = "intact", "changed", "damaged", "missing"
"""States of a kept dataset. CHANGED: the file's size or time differs from when its hash was computed."""
D4RL_ENVIRONMENTS = {
    "halfcheetah": "HalfCheetah-v5",
    "hopper": "Hopper-v5",
    "walker2d": "Walker2d-v5",
    "pen": "AdroitHandPen-v1",
    "door": "AdroitHandDoor-v1",
    "hammer": "AdroitHandHammer-v1",
    "relocate": "AdroitHandRelocate-v1",
    "antmaze-umaze": "AntMaze_UMaze-v4",
    "antmaze-medium": "AntMaze_Medium-v4",
    "antmaze-large": "AntMaze_Large-v4",
}
"""Gymnasium environment with the observations and actions of D4RL's, by the beginning of the dataset's name."""

Tell = Callable[[float], None]


@dataclass(frozen=True)
class Dataset:
    """Dataset file: its hash and its metadata."""

    file: Path
    sha256: str
    metadata: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.metadata.get("dataset_id", self.file.parent.parent.name))

    @property
    def label(self) -> str:
        """Name and hash, as checkpoints and the log name the dataset."""
        return f"{self.name}@{self.sha256[:NAMED]}"

    @property
    def is_d4rl(self) -> bool:
        return self.metadata.get("layout") == D4RL

    @property
    def environment(self) -> str:
        """Gymnasium id of the environment that the dataset was recorded in; "" if the dataset does not name one."""
        return str(as_object(self.metadata.get("env_spec")).get("id", ""))

    @property
    def words(self) -> str:
        if self.is_d4rl:
            return f"{self.name}: D4RL file of {self.environment or 'no env'}"
        count = self.metadata.get("total_episodes", "?")
        steps = self.metadata.get("total_steps", "?")
        return f"{self.name}: {count} episodes, {steps} steps of {self.environment or 'no env'}"


@dataclass(frozen=True)
class Kept:
    """Dataset in the cache, as its manifest describes it; the file itself is not read."""

    folder: Path
    sha256: str
    name: str
    source: str
    size_bytes: int
    checked_at: float
    """Unix time at which the hash was computed last."""
    state: str

    @property
    def file(self) -> Path:
        return self.folder / HDF5


class Manifest(msgspec.Struct, kw_only=True, frozen=True):
    """Content of manifest.json."""

    sha256: str = ""
    source: str = ""
    dataset_id: str = ""
    kept_at: float = 0.0
    checked_at: float = 0.0
    stamp: list[int] = []
    """Size and modification time in ns of the file when its hash was computed last."""
    is_damaged: bool = False


class DatasetCache:
    def __init__(self, home: HomePaths) -> None:
        self.home, self.root = home, home.root / "datasets"

    # -- use --------------------------------------------------------------------------------

    def find(self, data: str, sha256: str = "", *, quick: bool = False) -> Dataset:
        """Return the dataset named by a folder, a D4RL file, the name of a kept one, or 12 to 64 digits of its hash.

        With `quick`, the hash of a kept file is taken from its manifest if size and time are still those of the last
        check. Raises ConfigError if there is no such dataset, or its hash is not `sha256` or not the manifest's.
        """
        place = self._place(data)
        file = place if place.is_file() else place / HDF5
        if not file.is_file():
            raise ConfigError(f"{place}: no Minari dataset ({HDF5} is missing)")
        if file is place and not _is_hdf5(file):
            raise ConfigError(f"{file} is no HDF5 file; give a file with D4RL's layout or a Minari dataset's folder")
        manifest = Manifest() if place.is_file() else _manifest(place)
        kept = manifest.sha256
        found = kept if quick and kept and manifest.stamp == _stamp(file) else _sha256(file)
        for wanted, whose in ((sha256.lower(), "was asked for"), (kept, "its manifest says")):
            if wanted and not found.startswith(wanted):
                raise ConfigError(
                    f"{file}: SHA-256 is {found[:12]}..., {whose} {wanted[:12]}...: "
                    "the file was changed or is another one; take the one that was meant"
                )
        return Dataset(file, found, d4rl_metadata(file.stem) if file is place else _metadata(place / METADATA))

    def keep(
        self, dataset: Dataset, source: str = "", *, moves: bool = False, tell: Tell = lambda share: None
    ) -> Dataset:
        """Copy, or move, the dataset into the cache atomically; return the kept one.

        Raises ConfigError, also if the file changes meanwhile; the source is unchanged then.
        """
        place = self.root / dataset.sha256[:NAMED]
        kept = Dataset(place / HDF5, dataset.sha256, dataset.metadata)
        if dataset.file == kept.file or self._entry(place).state == INTACT:
            return kept
        partial = place.with_name(f".{place.name}.partial")
        try:
            shutil.rmtree(partial, ignore_errors=True)
            (partial / HDF5).parent.mkdir(parents=True)
            if moves:
                dataset.file.rename(partial / HDF5)
            elif _copied(dataset.file, partial / HDF5, tell) != dataset.sha256:
                raise ConfigError(f"{dataset.file} was changed while it was copied; try again")
            (partial / METADATA).write_text(json.dumps(dataset.metadata) + "\n")
            facts = Manifest(
                sha256=dataset.sha256, source=source or str(dataset.file), dataset_id=dataset.name, kept_at=time.time()
            )
            _write_manifest(partial, facts)
            shutil.rmtree(place, ignore_errors=True)
            partial.rename(place)
        except OSError as error:
            raise ConfigError(f"{place}: {error.strerror}; free some space or choose another --home") from None
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        return kept

    # -- care -------------------------------------------------------------------------------

    def entries(self) -> list[Kept]:
        """Return the kept datasets by name, without reading their files."""
        folders = [path for path in self.root.glob("[0-9a-f]*") if (path / MANIFEST).is_file()]
        return sorted(map(self._entry, folders), key=lambda kept: (kept.name, kept.sha256))

    def entry(self, data: str) -> Kept:
        """Return the kept dataset with that name or hash. Raises ConfigError without one."""
        return self._entry(self._kept_place(data))

    def verify(self, kept: Kept, tell: Tell = lambda share: None) -> Kept:
        """Compute the file's hash, note the result in the manifest and return the dataset's new state."""
        manifest = _manifest(kept.folder)
        with contextlib.suppress(OSError):
            found = _copied(kept.file, None, tell)
            _write_manifest(kept.folder, msgspec.structs.replace(manifest, is_damaged=found != kept.sha256))
        return self._entry(kept.folder)

    def unused(self) -> list[Kept]:
        """Return the kept datasets that no run in the home has learned from, by the first lines of the runs' logs."""
        used = {_learned_from(log) for log in self.home.runs.glob("*/train_log.jsonl")}
        return [kept for kept in self.entries() if kept.sha256 not in used]

    def remove(self, kept: Kept) -> None:
        """Delete a kept dataset; its pinned hash stays. Raises ConfigError."""
        try:
            shutil.rmtree(kept.folder)
        except OSError as error:
            raise ConfigError(f"{kept.folder}: {error.strerror}") from None

    # -- inside -----------------------------------------------------------------------------

    def _place(self, data: str) -> Path:
        """Return the folder or file that `data` names."""
        if not data:
            raise ConfigError("no dataset: name a dataset's folder, file or name with --data")
        with parsing(f"dataset {shown(data, 80)}", ConfigError):
            place = Path(data).expanduser()
            if place.exists():
                return place.resolve()
        if place.is_absolute() or data.startswith((".", "~")):
            raise ConfigError(f"{place}: no such folder or file")
        return self._kept_place(data)

    def _kept_place(self, data: str) -> Path:
        entries, digits = self.entries(), data.lower()
        if SHA256.fullmatch(digits):
            found = [kept for kept in entries if kept.sha256.startswith(digits)]
        else:
            found = [kept for kept in entries if kept.name == data]
        if len(found) > 1:
            raise ConfigError(f"{data} is {len(found)} datasets: name one by its hash, see `dmglab datasets list`")
        if found:
            return found[0].folder
        known = ", ".join(kept.name for kept in entries) or "none"
        raise ConfigError(
            f"no dataset {shown(data, 80)} below {self.root}; it has {known}; see `dmglab datasets download --help`"
        )

    def _entry(self, folder: Path) -> Kept:
        manifest, stamp = _manifest(folder), _stamp(folder / HDF5)
        state = INTACT if manifest.stamp == stamp else CHANGED
        if manifest.is_damaged and state == INTACT:
            state = DAMAGED
        return Kept(
            folder=folder,
            sha256=manifest.sha256,
            name=manifest.dataset_id or folder.name,
            source=manifest.source,
            size_bytes=stamp[0] if stamp else 0,
            checked_at=manifest.checked_at or manifest.kept_at,
            state=state if stamp else MISSING,
        )


def check_space(dataset: Dataset, home: HomePaths, memory_bytes: int | None) -> Check:
    """Check that the disk holds a copy of the dataset, and the device's free memory, None = unknown, its arrays.

    The scripts hold each array once as it was read and once in a replay buffer.
    """
    needed = dataset.file.stat().st_size
    copies = 0 if DatasetCache(home).root in dataset.file.parents else needed
    folder = next(path for path in (home.root, *home.root.parents) if path.exists())
    free, fix = shutil.disk_usage(folder).free, ""
    status: Status = "ok"
    detail = f"{size(needed)} of data, about {size(2 * needed)} of memory"
    if free < copies + SPARE_BYTES:
        status, fix = "fail", "Free some space, or start with --home on another disk"
        detail += f"; {size(free)} of the disk are free"
    elif memory_bytes is not None and memory_bytes < 2 * needed + SPARE_BYTES:
        status, fix = "warn", "Take a smaller dataset, or a device with more memory"
        detail += f"; {size(memory_bytes)} are free"
    return Check(name="Data space", status=status, detail=detail, fix=fix)


def d4rl_metadata(name: str) -> dict[str, Any]:
    """Return metadata of a file with D4RL's layout, called `name`, as far as its name tells."""
    plain = name.replace("_", "-").lower()
    named = next((env for start, env in D4RL_ENVIRONMENTS.items() if plain.startswith(f"{start}-")), "")
    return {"dataset_id": name, "layout": D4RL, "env_spec": {"id": named} if named else None}


def as_object(value: Any) -> dict[str, Any]:
    """Return `value`, or the JSON object in it if it is text; {} for anything else."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _metadata(path: Path) -> dict[str, Any]:
    with parsing(f"{path}: no Minari dataset that can be read", ConfigError):
        return read_loose_json(path, dict[str, Any])


def _manifest(folder: Path) -> Manifest:
    try:
        with parsing(folder):
            return read_json(folder / MANIFEST, Manifest)
    except LabError:
        return Manifest()


def _write_manifest(folder: Path, facts: Manifest) -> None:
    facts = msgspec.structs.replace(facts, stamp=_stamp(folder / HDF5), checked_at=time.time())
    replace_file(folder / MANIFEST, msgspec.json.encode(facts) + b"\n")


def _is_hdf5(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(len(SIGNATURE)) == SIGNATURE
    except OSError:
        return False


def _stamp(file: Path) -> list[int]:
    """Return size and modification time in ns of a file; [] without one."""
    try:
        found = file.stat()
    except OSError:
        return []
    return [found.st_size, found.st_mtime_ns]


def _sha256(file: Path) -> str:
    try:
        return file_sha256(file)
    except CheckpointError as error:
        raise ConfigError(str(error)) from None


def _copied(source: Path, target: Path | None, tell: Tell) -> str:
    """Return the SHA-256 of a file, copying it to `target` on the way. Raises OSError."""
    digest, done, whole = hashlib.sha256(), 0, max(1, source.stat().st_size)
    with source.open("rb") as read, contextlib.ExitStack() as opened:
        write = opened.enter_context(target.open("wb")) if target else None
        for chunk in _chunks(read):
            digest.update(chunk)
            if write:
                write.write(chunk)
            done += len(chunk)
            tell(done / whole)
    return digest.hexdigest()


def _chunks(file: Any) -> Iterator[bytes]:
    while chunk := file.read(CHUNK):
        yield chunk


def _learned_from(log: Path) -> str:
    """Return the SHA-256 of the dataset that a run's first record names, or ""."""
    try:
        with parsing(log), log.open("rb") as file:
            return str(json.loads(file.readline(1 << 16))["versions"]["dataset_sha256"])
    except LabError:
        return ""
