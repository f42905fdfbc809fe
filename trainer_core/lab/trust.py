"""Consent to run code from files: pickles of a guest's library, and programs of environments.

A file is trusted by its SHA-256: a run or an installation of this user wrote it, or the user confirmed it. The list is
in the user's own state folder and not in a home, since a home may come from somebody else.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import platformdirs

from trainer_core.lab.checkpoint_manifest import file_sha256
from trainer_core.wire.errors import CheckpointError, ConfigError

SHA256 = re.compile(r"[0-9a-f]{64}")
COMMAND = "dmglab runner trust"
ENVIRONMENTS, ENVIRONMENT = "envs", "environment.json"
"""Folder of a home with its runners' environments, and the manifest of each, which is unique."""


def trusted_list() -> Path:
    """Return the path of the list of trusted files, which has one SHA-256 a line."""
    return platformdirs.user_state_path("dmglab", appauthor=False) / "trusted_files"


def is_trusted(sha256: str) -> bool:
    try:
        return sha256 in trusted_list().read_text("ascii", "replace").split()
    except OSError:
        return False


def trust(sha256: str) -> None:
    """Add a hash to the list of trusted files. Raises OSError."""
    if is_trusted(sha256):
        return
    path = trusted_list()
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, f"{sha256}\n".encode())
    finally:
        os.close(descriptor)


def require_trust(path: Path, library: str) -> None:
    """Raise CheckpointError, naming the command to trust it, unless the user trusts the file or folder `path`."""
    sha256 = sha256_of(path)
    if not is_trusted(sha256):
        raise CheckpointError(
            f"{path}: {library} runs whatever code such a file holds, no run of yours wrote it; "
            f"if you trust who made it: {COMMAND} {sha256}"
        )


def require_own_environment(python: str | Path) -> None:
    """Raise CheckpointError if `python` is in an environment of a home that this user did not install."""
    folder = Path(python).absolute().parent.parent
    if folder.parent.name != ENVIRONMENTS or not Path(python).exists():
        return
    manifest = folder / ENVIRONMENT
    if manifest.is_file() and is_trusted(sha256_of(manifest)):
        return
    raise CheckpointError(
        f"{folder}: no `dmglab runner install` of yours made it, and its programs would run as "
        f"you: make it again (dmglab runner install {folder.name}), or if you trust who made it: "
        f"{COMMAND} {manifest}"
    )


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, or one over all files below a folder. Raises CheckpointError if one cannot be
    read."""
    if not path.is_dir():
        return file_sha256(path)
    digest = hashlib.sha256()
    for file in sorted(found for found in path.rglob("*") if not found.is_dir()):
        digest.update(f"{file.relative_to(path)}\0{file_sha256(file)}\n".encode(errors="replace"))
    return digest.hexdigest()


def named_hash(text: str) -> str:
    """Return `text` if it is a SHA-256, or the hash of the file whose path it is. Raises ConfigError if it is
    neither."""
    if SHA256.fullmatch(text):
        return text
    if not text or not Path(text).exists():
        raise ConfigError(f"{text or 'nothing'}: name a file, or the 64 digits of its SHA-256")
    return sha256_of(Path(text))
