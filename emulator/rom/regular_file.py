"""Access to regular files only: size-limited reads, and atomic replacement."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO


class FileRefusedError(OSError):
    """Path that is not read: not a regular file, too large, or not a valid path."""

    def __init__(self, reason: str) -> None:
        super().__init__(errno.EINVAL, reason)


def open_regular(path: str | os.PathLike[str], most_bytes: int) -> BinaryIO:
    """Open a regular file of at most `most_bytes` for reading, without blocking.

    Raises OSError, which `reason` turns into a short text.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):  # before it is opened: opening a device may have effects
            raise FileRefusedError("not a regular file")
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:  # a NUL, or characters that no path can have
        raise FileRefusedError(f"no path: {error}") from None
    file = os.fdopen(descriptor, "rb")
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_size > most_bytes:
        file.close()
        raise FileRefusedError(
            f"{found.st_size} bytes, {most_bytes} at most" if stat.S_ISREG(found.st_mode) else "not a regular file"
        )
    return file


def read_regular(path: str | os.PathLike[str], most_bytes: int) -> bytes:
    """Read a regular file of at most `most_bytes`; raise OSError if it cannot be read."""
    with open_regular(path, most_bytes) as file:
        data = file.read(most_bytes + 1)
    if len(data) > most_bytes:  # it grew, or its size is unknown
        raise FileRefusedError(f"more than {most_bytes} bytes")
    return data


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new file for writing that replaces `path` when the context ends without an error.

    Raises OSError; before anything is written if `path` is a folder, a device or a pipe.
    """
    path = Path(path)
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISREG(path.stat().st_mode):
            raise OSError(errno.EINVAL, "not a regular file; name another one", str(path))
    partial = path.with_name(path.name + ".partial")
    try:
        with partial.open("wb") as file:
            yield file
        partial.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise


def reason(error: OSError) -> str:
    """Return a short text for the OSError of a file that could not be read."""
    return (error.strerror or str(error)).lower()
