"""DatasetCache: Minari datasets in the home, each under its SHA-256, checked at every use.

    <home>/datasets/<first 16 of the SHA-256>/data/main_data.hdf5, metadata.json
                                              manifest.json

A run names its dataset by hash, so it can be repeated after the original folder is gone. Imports none of the script's
libraries: preflight uses it too.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer_core.lab.checkpoint_manifest import file_sha256
from trainer_core.lab.paths import HomePaths
from trainer_core.wire.decoding import parsing, read_json, read_loose_json
from trainer_core.wire.errors import CheckpointError, ConfigError, LabError

HDF5, METADATA = Path("data", "main_data.hdf5"), Path("data", "metadata.json")
MANIFEST = "manifest.json"
NAMED = 16
SHA256 = re.compile(r"[0-9a-f]{12,64}")


@dataclass(frozen=True)
class Dataset:
    """Minari dataset in a folder: its hash and its metadata."""

    folder: Path
    sha256: str
    """Hash of main_data.hdf5."""
    metadata: dict[str, Any]

    @property
    def name(self) -> str:
        return str(self.metadata.get("dataset_id", self.folder.name))

    @property
    def environment(self) -> str:
        """Gymnasium id of the environment that the dataset was recorded in; "" if the dataset does not name one."""
        return str(_object(self.metadata.get("env_spec")).get("id", ""))

    @property
    def words(self) -> str:
        count = self.metadata.get("total_episodes", "?")
        steps = self.metadata.get("total_steps", "?")
        return f"{self.name}: {count} episodes, {steps} steps of {self.environment or 'no env'}"


class DatasetCache:
    def __init__(self, home: HomePaths) -> None:
        self.root = home.root / "datasets"

    def find(self, data: str, sha256: str = "") -> Dataset:
        """Return the dataset named by a folder, or by 12 to 64 digits of a known hash.

        Raises ConfigError if there is none, its hash is not `sha256` or not the manifest's, or no script of CORL can
        learn from it.
        """
        folder = self._folder(data)
        if not (folder / HDF5).is_file():
            raise ConfigError(f"{folder}: no Minari dataset ({HDF5} is missing)")
        try:
            found = file_sha256(folder / HDF5)
        except CheckpointError as error:
            raise ConfigError(str(error)) from None
        kept = self._manifest(folder)
        for wanted, whose in ((sha256.lower(), "was asked for"), (kept, "its manifest says")):
            if wanted and not found.startswith(wanted):
                raise ConfigError(
                    f"{folder / HDF5}: SHA-256 is {found[:12]}..., {whose} {wanted[:12]}...: "
                    "the file was changed or is another one; take the one that was meant"
                )
        dataset = Dataset(folder, found, _metadata(folder / METADATA))
        _check_spaces(dataset)
        return dataset

    def keep(self, dataset: Dataset) -> Dataset:
        """Copy the dataset into the cache atomically; return the copy. Raises ConfigError."""
        place = self.root / dataset.sha256[:NAMED]
        if dataset.folder == place:
            return dataset
        if not (place / MANIFEST).is_file():
            partial = place.with_name(f".{place.name}.partial")
            try:
                shutil.rmtree(partial, ignore_errors=True)
                shutil.copytree(dataset.folder / "data", partial / "data")
                facts = {
                    "sha256": dataset.sha256,
                    "source": str(dataset.folder),
                    "dataset_id": dataset.name,
                    "kept_at": time.time(),
                }
                (partial / MANIFEST).write_text(json.dumps(facts) + "\n")
                shutil.rmtree(place, ignore_errors=True)
                partial.rename(place)
            except OSError as error:
                raise ConfigError(f"{place}: {error.strerror}; free some space or choose another --home") from None
            finally:
                shutil.rmtree(partial, ignore_errors=True)
        return self.find(str(place))

    def _folder(self, data: str) -> Path:
        if not data:
            raise ConfigError("no dataset: name a Minari dataset's folder with --data")
        folder = Path(data).expanduser()
        if folder.is_dir() or not SHA256.fullmatch(data.lower()):
            if not folder.is_dir():
                raise ConfigError(f"{folder}: no such folder")
            return folder.resolve()
        known = [path for path in self.root.glob("[0-9a-f]*") if path.is_dir()]
        for path in known:
            if data.lower().startswith(path.name) or path.name.startswith(data.lower()):
                return path
        raise ConfigError(
            f"no dataset {data[:NAMED]} below {self.root}; it has {', '.join(path.name for path in known) or 'none'}"
        )

    def _manifest(self, folder: Path) -> str:
        try:
            with parsing(folder):
                return str(read_json(folder / MANIFEST, dict[str, Any])["sha256"])
        except LabError:
            return ""


def _metadata(path: Path) -> dict[str, Any]:
    with parsing(f"{path}: no Minari dataset that can be read", ConfigError):
        return read_loose_json(path, dict[str, Any])


def _check_spaces(dataset: Dataset) -> None:
    """Raise ConfigError unless observations are vectors and actions are continuous, as CORL's scripts require."""
    seen, acted = (_object(dataset.metadata.get(f"{kind}_space")) for kind in ("observation", "action"))
    if acted.get("type") != "Box":
        raise ConfigError(
            f"{dataset.folder}: actions are {acted.get('type', 'unknown')}; CORL's scripts need "
            "continuous ones (Box). For our seven buttons: --runner d3rlpy"
        )
    shape = seen.get("shape")
    if seen.get("type") != "Box" or not isinstance(shape, list) or len(shape) != 1:
        raise ConfigError(
            f"{dataset.folder}: observations are {seen.get('type', 'unknown')}"
            f"{shape or ''}; CORL's scripts need vectors (Box of one dimension)"
        )
    if not dataset.environment:
        raise ConfigError(f"{dataset.folder}: names no environment to evaluate in (env_spec)")


def _object(value: Any) -> dict[str, Any]:
    """Return `value`, or the JSON object in it if it is text; {} for anything else."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
