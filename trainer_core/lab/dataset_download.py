"""Download of datasets by name: Minari's, D4RL's, or any address of a D4RL file.

The first download of a name pins its SHA-256 in `<home>/datasets/pins.json`; later ones must give the same file. What
a cut left is kept as `.<name>.part` and continued by the next try, if the server still has the same file.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import http.client
import json
import re
import shutil
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from io import BufferedRandom
from pathlib import Path
from typing import Any

from trainer_core.lab.datasets import (
    HDF5,
    INTACT,
    METADATA,
    SHA256,
    SIGNATURE,
    SPARE_BYTES,
    Dataset,
    DatasetCache,
    Kept,
    d4rl_metadata,
)
from trainer_core.lab.durable_files import replace_file
from trainer_core.wire.checks import size
from trainer_core.wire.decoding import parsing, read_json, read_loose_json
from trainer_core.wire.errors import ConfigError, LabError

MINARI_HOST = "https://huggingface.co/datasets/farama-minari"
D4RL_HOST = "http://rail.eecs.berkeley.edu/datasets/offline_rl"
PINS = "pins.json"
PATIENCE_S = 30.0
"""Seconds that a server may send nothing."""
TRIES = 5
"""Times that a cut download is continued at once; the next call continues it again."""
CHUNK = 1 << 18
MINARI_NAME = re.compile(r"([A-Za-z0-9_-]+)/((?:[A-Za-z0-9_-]+/)*[A-Za-z0-9_-]+-v\d+)")
_MUJOCO = re.compile(
    r"(halfcheetah|hopper|walker2d|ant)-((?:random|medium|expert|medium-replay|full-replay|medium-expert)-v[12])"
)
_ADROIT = re.compile(r"(pen|door|hammer|relocate)-(human|cloned|expert)-v1")
_MAZES = {
    "umaze": "u-maze_noisy_multistart_False_multigoal_False",
    "umaze-diverse": "u-maze_noisy_multistart_True_multigoal_True",
    "medium-play": "big-maze_noisy_multistart_True_multigoal_False",
    "medium-diverse": "big-maze_noisy_multistart_True_multigoal_True",
    "large-play": "hardest-maze_noisy_multistart_True_multigoal_False",
    "large-diverse": "hardest-maze_noisy_multistart_True_multigoal_True",
}
"""File names of D4RL's AntMaze v2 by the name of the dataset."""

Tell = Callable[[float, str], None]


@dataclass(frozen=True)
class Address:
    """Place of a dataset on a server."""

    name: str
    data: str
    """URL of the HDF5 file."""
    metadata: str = ""
    """URL of Minari's metadata; "" for a file with D4RL's layout."""


def address_of(name: str, mirror: str = "") -> Address:
    """Return where the dataset `name` is: at its usual server, or at `mirror`, which has the same paths.

    Raises ConfigError for a name that is neither Minari's nor D4RL's nor the address of an HDF5 file.
    """
    if name.startswith(("http://", "https://")):
        path = Path(urllib.parse.unquote(urllib.parse.urlsplit(name).path))
        if path.suffix != ".hdf5":
            raise ConfigError(f"{name}: the address of a D4RL file ends with .hdf5")
        return Address(path.stem, name)
    if found := MINARI_NAME.fullmatch(name):
        root = f"{mirror or MINARI_HOST}/{found[1]}/resolve/main/{found[2]}"
        return Address(name, f"{root}/{HDF5}", f"{root}/{METADATA}")
    if path := _d4rl_path(name):
        return Address(name, f"{mirror or D4RL_HOST}/{path}")
    raise ConfigError(
        f"no dataset is called {name}: Minari's are like D4RL/pen/human-v2, D4RL's like halfcheetah-medium-v2, "
        "pen-human-v1 or antmaze-umaze-v2; the https address of an HDF5 file does as well"
    )


def _d4rl_path(name: str) -> str:
    if found := _MUJOCO.fullmatch(name):
        quality, _, version = found[2].rpartition("-")
        return f"gym_mujoco_{version}/{found[1]}_{quality.replace('-', '_')}-{version}.hdf5"
    if _ADROIT.fullmatch(name):
        return f"hand_dapg_v1/{name}.hdf5"
    maze = _MAZES.get(name.removeprefix("antmaze-").removesuffix("-v2"))
    is_maze = name.startswith("antmaze-") and name.endswith("-v2")
    return f"ant_maze_v2/Ant_maze_{maze}_sparse_fixed.hdf5" if maze and is_maze else ""


def download(
    cache: DatasetCache, name: str, tell: Tell, *, mirror: str = "", sha256: str = "", repin: bool = False
) -> tuple[Kept, bool]:
    """Download a dataset into the cache; return it, and whether its hash was pinned just now.

    `sha256` is the hash, or its first digits, that the file must have; `repin` accepts another file than before. One
    that is kept already is not downloaded again. Raises ConfigError naming what failed and how to go on.
    """
    address, pinned = address_of(name, mirror.rstrip("/")), _pins(cache).get(name, {}).get("sha256", "")
    if sha256 and not SHA256.fullmatch(sha256.lower()):
        raise ConfigError(f"sha256 {sha256[:70]!r}: give 12 to 64 digits of a SHA-256")
    wanted = {"was asked for": sha256.lower(), "was pinned by the first download": "" if repin else pinned}
    for kept in cache.entries():
        is_it = kept.sha256 == pinned and all(map(kept.sha256.startswith, wanted.values()))
        if is_it and kept.state == INTACT and not repin:
            return kept, False
    part = cache.root / f".{urllib.parse.quote(name, safe='')}.part"
    try:
        cache.root.mkdir(parents=True, exist_ok=True)
        with part.open("ab+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ConfigError(f"{name} is being downloaded by another process; wait for it") from None
            metadata = _read_metadata(address, part) if address.metadata else d4rl_metadata(address.name)
            _fetch(address.data, file, part, tell)
            found = _checked(address, file, wanted, part)
        dataset = Dataset(part, found, metadata | {"dataset_id": address.name})
        kept = cache.keep(dataset, address.data, moves=True)
        _note_of(part).unlink(missing_ok=True)
        part.unlink(missing_ok=True)  # the same dataset was kept under another name
        if is_new := found != pinned:
            _pin(cache, name, {"sha256": found, "url": address.data, "pinned_at": time.time()})
        return cache.entry(kept.sha256), is_new
    except OSError as error:
        raise ConfigError(_disk_words(error, part)) from None


def _checked(address: Address, file: BufferedRandom, wanted: dict[str, str], part: Path) -> str:
    """Return the SHA-256 of a whole downloaded file. Raises ConfigError, and deletes it, if it is not the one."""
    file.seek(0)
    complaint = ""
    if file.read(len(SIGNATURE)) != SIGNATURE:
        complaint = f"{address.data} is no HDF5 file; check the name, or whether the server asks for a login"
    file.seek(0)
    found = hashlib.file_digest(file, "sha256").hexdigest()
    for whose, digits in wanted.items():
        if not found.startswith(digits):
            complaint = complaint or (
                f"{address.data}: SHA-256 is {found[:12]}..., {digits[:12]}... {whose}: the server has another file; "
                "nothing was kept. --repin takes it if you trust it"
            )
    if complaint:
        part.unlink(missing_ok=True)
        _note_of(part).unlink(missing_ok=True)
        raise ConfigError(complaint)
    return found


# -- HTTP -------------------------------------------------------------------------------------


def _fetch(url: str, file: BufferedRandom, part: Path, tell: Tell) -> None:
    """Download `url` into the open file `part`, going on where an earlier try was cut. Raises ConfigError, OSError."""
    for left in reversed(range(TRIES)):
        before = file.seek(0, 2)
        try:
            if _fetch_once(url, file, part, tell):
                return
            cut = "the connection was cut"
        except urllib.error.HTTPError as error:
            if error.code == http.HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE and before:
                file.truncate(0)  # the server's file became shorter
                continue
            raise ConfigError(f"{url}: the server answers {error.code} {error.reason}; check the name") from None
        except (http.client.HTTPException, urllib.error.URLError, TimeoutError, ConnectionError) as error:
            cut = str(getattr(error, "reason", error) or type(error).__name__)
        have = file.seek(0, 2)
        if have == before or not left:
            raise ConfigError(f"{url}: {cut} after {size(have)}; the same command goes on from there")


def _fetch_once(url: str, file: BufferedRandom, part: Path, tell: Tell) -> bool:
    """Download the rest of `url`; return whether it is whole now. Raises OSError and HTTPException."""
    have, mark = file.seek(0, 2), _mark(part, url)
    headers = {"Range": f"bytes={have}-", "If-Range": mark} if have and mark else {}
    request = urllib.request.Request(url, headers={"User-Agent": "dmglab", "Accept-Encoding": "identity", **headers})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as reply:
        if reply.status != http.HTTPStatus.PARTIAL_CONTENT:
            file.truncate(0)
            have = 0
        mark = reply.headers.get("ETag") or reply.headers.get("Last-Modified") or ""
        note = {"url": url, "mark": "" if mark.startswith("W/") else mark}
        replace_file(_note_of(part), json.dumps(note).encode())
        length = int(reply.headers.get("Content-Length") or 0)
        free = shutil.disk_usage(part.parent).free
        if free < length + SPARE_BYTES:
            raise ConfigError(f"{part.parent} has {size(free)} free, the rest of {url} takes {size(length)}")
        whole = have + length
        while chunk := reply.read1(CHUNK):
            file.write(chunk)
            file.flush()  # a killed download goes on from here
            have += len(chunk)
            tell(have / whole if whole else 0.0, f"{size(have)} of {size(whole)}" if whole else size(have))
    return not length or have >= whole


def _read_metadata(address: Address, part: Path) -> dict[str, Any]:
    """Return Minari's metadata of a dataset."""
    place = part.with_suffix(".json.part")
    with place.open("wb+") as file:
        _fetch(address.metadata, file, place, lambda share, words: None)
    try:
        with parsing(f"{address.metadata}: no metadata of a Minari dataset", ConfigError):
            return read_loose_json(place, dict[str, Any])
    finally:
        place.unlink(missing_ok=True)
        _note_of(place).unlink(missing_ok=True)


def _note_of(part: Path) -> Path:
    """Return the file that names the address and the server's mark of what is in `part`."""
    return part.with_name(f"{part.name}.json")


def _mark(part: Path, url: str) -> str:
    try:
        with parsing(part):
            note = read_json(_note_of(part), dict[str, Any])
    except LabError:
        return ""
    return str(note.get("mark", "")) if note.get("url") == url else ""


def _disk_words(error: OSError, part: Path) -> str:
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return f"{part}: {'the disk is full' if is_full else error.strerror}; free some space or choose another --home"


# -- pinned hashes ----------------------------------------------------------------------------


def _pins(cache: DatasetCache) -> dict[str, dict[str, Any]]:
    """Return what was pinned, by name. Raises ConfigError for a damaged file: a hash would silently be taken anew."""
    path = cache.root / PINS
    if not path.exists():
        return {}
    with parsing(f"{path}: mend or remove it", ConfigError):
        return read_json(path, dict[str, dict[str, Any]])


def _pin(cache: DatasetCache, name: str, facts: dict[str, Any]) -> None:
    replace_file(cache.root / PINS, json.dumps(_pins(cache) | {name: facts}, indent=1).encode() + b"\n")
