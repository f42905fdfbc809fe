"""Files that are on the disk when these return, whole under their name or not there at all.

A crash of the computer undoes a rename whose folder was not synced, so that is synced too. Every
write is one of `os.write`: a full disk is an OSError with its cause and the file's name.
"""

from __future__ import annotations

import contextlib
import os
from io import FileIO
from pathlib import Path

OF_A_FILE = os.O_NOFOLLOW | os.O_NONBLOCK
"""A home may be somebody else's: a link there must not have us write elsewhere, nor a pipe wait."""


def write_file(path: Path, data: bytes | memoryview) -> None:
    """Write and sync a new file; its folder is the caller's. Raises OSError naming the file.

    What somebody put in its place is not followed: a link, or a pipe that nobody reads.
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
    """Open a file for adding to it, unbuffered; links and pipes are refused. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | OF_A_FILE
    return FileIO(os.open(path, flags, 0o644), "ab")


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
