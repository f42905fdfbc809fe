"""Files that came from outside, opened without waiting on them and read up to a limit.

A path may name a pipe that nobody writes to, a terminal or a device without an end: opening or
reading one of those never returns. Only regular files are read, and none beyond its limit.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

from trainer_core.wire.errors import ConfigError

DEEPEST = 100
"""Folders below a root that are looked into: a task's id, of 200 letters, has no more parts."""
SLICE = 4 << 20
"""Read at a time of a file that may be long."""
SMALL_FILE = 1 << 20
"""Limit for manifests and configurations; ours have a few KiB."""


def open_regular(path: Path) -> FileIO:
    """The file, opened unbuffered for reading. Raises OSError for what is no regular file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
        words = os.strerror(errno.EISDIR) if stat.S_ISDIR(mode) else "not a regular file"
        raise OSError(number, words, str(path))
    return FileIO(descriptor, "rb")


def read_regular(path: Path, limit: int = SMALL_FILE) -> bytes:
    """Its bytes. Raises OSError for what is no regular file or longer than `limit` bytes."""
    with open_regular(path) as file:
        data = _read_at_most(file, limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"longer than the {limit} bytes that such a file may have", str(path))
    return data


def read_lines(
    file: FileIO, offset: int, longest: int = SMALL_FILE, *, torn: bool = False
) -> Iterator[tuple[bytes, int]]:
    """Yield each line from `offset` on, without its end, and where the next one begins.

    The last line counts only if it ends, or with `torn`; then the next begins where it does. What
    is longer than `longest` is no line, and a hole of the file is not read: its size may be any.
    """
    half, drop = b"", False
    while (at := _next_data(file, offset + len(half))) >= 0:
        if at != offset + len(half):  # beyond a hole
            offset, half, drop = at, b"", True
        file.seek(at)
        data = file.read(SLICE)
        if not data:
            break
        *lines, half = (half + data).split(b"\n")
        for line in lines:
            offset += len(line) + 1
            if not drop and len(line) <= longest:
                yield line, offset
            drop = False
        if len(half) > longest:
            offset += len(half)
            half, drop = b"", True
    if torn and half and not drop:
        yield half, offset


def _next_data(file: FileIO, at: int) -> int:
    """Return `at`, or where a long hole that begins there ends; -1 where only a hole is left."""
    try:
        there = os.lseek(file.fileno(), at, os.SEEK_DATA)
    except OSError as error:
        return -1 if error.errno == errno.ENXIO else at
    return there if there - at >= SLICE else at


def folders_with(root: Path, name: str) -> Iterator[Path]:
    """Yield each folder below `root` that holds an entry `name`, whatever that is.

    Links to folders are not followed, and what is hidden is half of something that is being made.
    No recursion and an end: a tree may be deeper than Python's stack.
    """
    left = [(str(root), 0)]
    while left:
        place, depth = left.pop()
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    if entry.name == name and depth:
                        yield Path(place)
                    elif depth == DEEPEST or entry.name.startswith("."):
                        continue
                    elif entry.is_dir(follow_symlinks=False):
                        left.append((entry.path, depth + 1))
        except OSError:
            continue  # not ours to read


def is_regular(path: Path) -> bool:
    """Whether a file is there; no for a path that no system takes: too long, or a NUL in it."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def check_target(path: Path) -> None:
    """Raises ConfigError unless `path` is free or a regular file that may be replaced."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; name another file") from None
    if not stat.S_ISREG(mode):
        words = "is a folder" if stat.S_ISDIR(mode) else "is no regular file"
        raise ConfigError(f"{path}: {words}; name another file")


def _read_at_most(file: FileIO, count: int) -> bytes:
    pieces = []
    while count and (piece := file.read(min(count, 1 << 20))):
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)
