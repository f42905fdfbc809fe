"""Decoding of files from outside the program: every kind of damage raises one LabError.

A parser of damaged data raises many types: zlib its own error, a huge number an OverflowError, deep nesting a
RecursionError, an absent field an AttributeError. No decoder can list them completely, so all of them use `parsing`.
"""

from __future__ import annotations

import contextlib
import json
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec

from trainer_core.wire.errors import LabError, in_words
from trainer_core.wire.regular_files import SMALL_FILE, read_regular

try:
    from lzma import LZMAError
except ImportError:  # Python built without lzma: its zipfile refuses such members
    LZMAError = zipfile.BadZipFile

T = TypeVar("T")
MOST_TEXT_BYTES = 32 << 20
"""Limit for JSON files; decoded into typed fields they take a few times as much memory."""
DAMAGE: tuple[type[Exception], ...] = (
    ValueError, TypeError, LookupError, AttributeError, ArithmeticError, EOFError, RuntimeError,
    SyntaxError, StopIteration, MemoryError, struct.error, zlib.error, LZMAError,
    zipfile.BadZipFile, tarfile.TarError, msgspec.MsgspecError,
)  # fmt: skip
"""Exceptions raised while parsing damaged data. RecursionError, NotImplementedError and the errors of text are
subclasses of these; LabError is not, and passes through."""


@contextlib.contextmanager
def parsing(
    what: object, kind: type[LabError] = LabError, way_out: str = "", *, tells_why: bool = True
) -> Iterator[None]:
    """Turn every error of reading and parsing inside the block into one `kind` whose message begins with `what`.

    `way_out` is appended to the message; without `tells_why` the parser's own message is left out, because it may mean
    nothing to a user.
    """
    try:
        yield
    except OSError as error:
        raise kind(f"{what}: {in_words(error)}{way_out}") from None
    except DAMAGE as error:
        why = f": {_why(error)}" if tells_why else ""
        raise kind(f"{what}{why}{way_out}") from None


def _why(error: Exception) -> str:
    said = " ".join(str(error).split())
    if isinstance(error, MemoryError):
        return "it does not fit into memory"
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    if isinstance(error, KeyError):
        return f"it lacks {said}"
    return said or type(error).__name__


def read_json(path: Path, kind: type[T], most_bytes: int = SMALL_FILE) -> T:
    """Return a file's JSON decoded to the type `kind`; call it inside `parsing`, which converts its errors."""
    return msgspec.json.decode(read_regular(path, most_bytes), type=kind)


def read_loose_json(path: Path, kind: type[T], most_bytes: int = SMALL_FILE) -> T:
    """Return a file's JSON, which may hold NaN and Infinity as Python's `json` writes them, as `kind`."""
    return msgspec.convert(plain(json.loads(read_regular(path, most_bytes))), kind)


MOST_DIRECTORY_BYTES = 1 << 20
"""Limit of a zip archive's directory: some 10,000 files."""
_END_OF_ZIP = struct.Struct("<4s4H2LH")


def open_zip(file: BinaryIO) -> zipfile.ZipFile:
    """Return a zip archive after checking that its directory is small: zipfile reads all of the directory.

    Raises ValueError, BadZipFile.
    """
    end = file.seek(0, os.SEEK_END)
    begin = file.seek(max(0, end - (1 << 16) - _END_OF_ZIP.size - 20))
    tail = file.read(end - begin)
    place = tail.rfind(b"PK\5\6")
    if place < 0 or len(tail) - place < _END_OF_ZIP.size:
        raise ValueError("no zip archive")
    size = _END_OF_ZIP.unpack_from(tail, place)[5]
    if size > MOST_DIRECTORY_BYTES or tail[max(0, place - 20) : place].startswith(b"PK\6\7"):
        raise ValueError("its list of files is too long")
    file.seek(0)
    return zipfile.ZipFile(file)


MOST_DEPTH = 32
"""Levels of a configuration that are accepted; ours have three."""


def plain(value: Any, depth: int = MOST_DEPTH) -> Any:
    """Return the decoded JSON `value` with strings that UTF-8 can encode.

    Raises ValueError if it is nested deeper than `depth`.

    A lone surrogate, which JSON may contain, is replaced by an escape.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if not isinstance(value, dict | list):
        return value
    if depth == 0:
        raise ValueError(f"nested deeper than {MOST_DEPTH} levels")
    if isinstance(value, list):
        return [plain(inner, depth - 1) for inner in value]
    return {plain(name): plain(inner, depth - 1) for name, inner in value.items()}
