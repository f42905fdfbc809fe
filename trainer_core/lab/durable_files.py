"""Writing of files that are on the disk, complete, when these functions return.

A crash of the computer undoes a rename whose folder was not synced, so the folder is synced too. All data is written by
`os.write`: a full disk raises an OSError with its cause and the file's name.
"""

from __future__ import annotations

import contextlib
import os
from io import FileIO
from pathlib import Path

OF_A_FILE = os.O_NOFOLLOW | os.O_NONBLOCK
"""Flags that refuse links and pipes: in a home made by others, a link must not redirect a write, nor a pipe block."""


def write_file(path: Path, data: bytes | memoryview) -> None:
    """Write and sync a new file; the caller syncs its folder. Raises OSError naming the file.

    A link or a pipe in its place is refused.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | OF_A_FILE
    try:
        descriptor = os.open(path, flags, 0o644)
        try:
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def open_log(path: Path) -> FileIO:
    """Open a file for appending, unbuffered; links and pipes are refused. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | OF_A_FILE
    return FileIO(os.open(path, flags, 0o644), "ab")


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def replace_file(path: Path, data: bytes) -> None:
    """Replace `path` atomically: a reader gets the old file or the new one."""
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
    """Rename `source` to `target` in the same folder, and sync the folder."""
    source.replace(target)
    sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Sync a folder's list of files to the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
