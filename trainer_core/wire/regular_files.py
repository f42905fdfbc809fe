"""Reading of files from outside without blocking and only up to a limit.

A path may name a pipe without a writer, a terminal or an endless device: opening or reading one of these never returns.
Only regular files are read, and none beyond its limit.
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
"""Levels of folders below a root that are searched: a task's id, of 200 characters, has no more parts."""
SLICE = 4 << 20
"""Bytes read at a time from a file that may be long."""
SMALL_FILE = 1 << 20
"""Limit for manifests and configurations; ours have a few KiB."""


def open_regular(path: Path) -> FileIO:
    """Return the file, opened unbuffered for reading. Raises OSError unless it is a regular file."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        number = errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL
        words = os.strerror(errno.EISDIR) if stat.S_ISDIR(mode) else "not a regular file"
        raise OSError(number, words, str(path))
    return FileIO(descriptor, "rb")


def read_regular(path: Path, limit: int = SMALL_FILE) -> bytes:
    """Return the file's bytes. Raises OSError unless it is a regular file of at most `limit` bytes."""
    with open_regular(path) as file:
        data = _read_at_most(file, limit + 1)
    if len(data) > limit:
        raise OSError(errno.EFBIG, f"longer than the {limit} bytes that such a file may have", str(path))
    return data


def read_lines(
    file: FileIO, offset: int, longest: int = SMALL_FILE, *, torn: bool = False
) -> Iterator[tuple[bytes, int]]:
    """Yield each line from `offset` on, without its newline, and the offset of the next one.

    An unfinished last line is yielded only with `torn`, and then with the offset of its own beginning. Lines longer
    than `longest` are skipped, and holes of a sparse file are not read, as they may have any size.
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
    """Return the offset of the next data of a sparse file: `at`, or the end of a long hole there; -1 if no data
    follows."""
    try:
        there = os.lseek(file.fileno(), at, os.SEEK_DATA)
    except OSError as error:
        return -1 if error.errno == errno.ENXIO else at
    return there if there - at >= SLICE else at


def folders_with(root: Path, name: str) -> Iterator[Path]:
    """Yield each folder below `root` that holds an entry `name`, of any type.

    Links to folders are not followed, and hidden folders are skipped: they are unfinished. The search is iterative and
    of bounded depth: a tree may be deeper than Python's stack.
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
            continue  # not readable by this user


def is_regular(path: Path) -> bool:
    """Return whether `path` is a file; False for an impossible path: too long, or with a NUL."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def check_target(path: Path) -> None:
    """Raise ConfigError unless `path` is free or a regular file that may be replaced."""
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
