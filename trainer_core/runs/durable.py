"""Files that are on the disk when these return, whole under their name or not there at all.

A crash of the computer undoes a rename whose folder was not synced, so that is synced too. Every
write is one of `os.write`: a full disk is an OSError with its cause and the file's name.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def write_file(path: Path, data: bytes | memoryview) -> None:
    """Write and sync a new file; its folder is the caller's. Raises OSError naming the file."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
        try:
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def replace_file(path: Path, data: bytes) -> None:
    """Write `path` under another name first: a reader meets the old file or the new one."""
    partial = path.with_name(f"{path.name}.tmp")
    try:
        partial.unlink(missing_ok=True)  # a link of that name would be followed
        write_file(partial, data)
        rename(partial, path)
    except OSError:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


def rename(source: Path, target: Path) -> None:
    """Rename within one folder, for good."""
    source.replace(target)
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Have the names in a folder on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
