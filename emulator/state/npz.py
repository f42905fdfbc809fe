"""Arrays of an .npz file, read within limits.

`np.load` allocates the size that a header declares and trusts an archive's directory. Here the directory, the
headers and the sizes are checked first; arrays that are not asked for are not unpacked.
"""

from __future__ import annotations

import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from typing import IO, BinaryIO, NamedTuple

import numpy as np

from emulator.rom.regular_file import open_regular

MOST_FILE_BYTES = 64 << 20
MOST_MEMBERS = 64
MOST_DIRECTORY_BYTES = 1 << 14
MOST_HEADER_BYTES = 4096
CHUNK_BYTES = 1 << 20
HEADER = re.compile(
    r"\{'descr': '(?P<descr>[<>|=]?[a-zA-Z][0-9]{0,6})', 'fortran_order': (?P<order>True|False),"
    r" 'shape': \((?P<shape>([0-9]{1,18}, ?)*([0-9]{1,18})?)\), \}\s*"
)
"""Header that NumPy writes for an array without fields."""
END_OF_DIRECTORY = struct.Struct("<4s4H2LH")
ZIP64_LOCATOR_BYTES = 20


class Wanted(NamedTuple):
    """Dtype and shape that an array must have."""

    kinds: str
    """Accepted NumPy kinds of dtype: "iu" for whole numbers, "U" for text."""
    dims: tuple[int, ...]
    most_bytes: int
    optional: bool = False
    """True if the array may be missing."""


class ArchiveError(ValueError):
    """File that is not an .npz with the wanted arrays."""


def read_arrays(path: str | os.PathLike[str], wanted: Mapping[str, Wanted]) -> dict[str, np.ndarray]:
    """Read the arrays named in `wanted` from an .npz file, and no others.

    Raises OSError if the file cannot be read, ArchiveError if it does not hold them.
    """
    with open_regular(path, MOST_FILE_BYTES) as file:
        check_directory(file)
        try:
            with zipfile.ZipFile(file) as archive:
                there = set(archive.namelist())
                return {
                    name: _read(archive, name, want)
                    for name, want in wanted.items()
                    if not want.optional or f"{name}.npy" in there
                }
        except (
            zipfile.BadZipFile,
            zlib.error,
            struct.error,
            EOFError,
            NotImplementedError,
            RuntimeError,
            UnicodeError,
        ) as error:
            raise ArchiveError(f"damaged archive, {type(error).__name__}") from None


def check_directory(file: BinaryIO) -> None:
    """Raise ArchiveError unless the archive ends in a small ZIP directory, as NumPy writes it."""
    size = file.seek(0, os.SEEK_END)
    end = END_OF_DIRECTORY.size
    file.seek(max(0, size - end - ZIP64_LOCATOR_BYTES))
    tail = file.read()
    file.seek(0)
    if len(tail) < end:
        raise ArchiveError("no archive")
    signature, *_, members, directory, _, comment = END_OF_DIRECTORY.unpack(tail[-end:])
    if signature != b"PK\5\6" or comment or tail[:4] == b"PK\6\7":
        raise ArchiveError("no archive")
    if members > MOST_MEMBERS or directory > MOST_DIRECTORY_BYTES:
        raise ArchiveError(f"an archive of {members} members")


def _read(archive: zipfile.ZipFile, name: str, want: Wanted) -> np.ndarray:
    try:
        info = archive.getinfo(f"{name}.npy")
    except KeyError:
        raise ArchiveError(f"no array {name}") from None
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ArchiveError(f"{name}: a compression that NumPy does not write")
    if info.file_size > want.most_bytes + MOST_HEADER_BYTES:
        raise ArchiveError(f"{name}: {info.file_size} bytes, {want.most_bytes} at most")
    with archive.open(info) as member:
        dtype, fortran, shape = _header(member, name)
        if dtype.kind not in want.kinds or dtype.itemsize < 1 or len(shape) not in want.dims:
            raise ArchiveError(f"{name}: {dtype} of {len(shape)} dimensions")
        if 0 in shape:
            raise ArchiveError(f"{name}: shape {shape}")
        size = math.prod(shape) * dtype.itemsize
        if size > want.most_bytes:
            raise ArchiveError(f"{name}: declares {size} bytes, {want.most_bytes} at most")
        data = bytearray(size)
        place = 0
        while part := member.read(min(CHUNK_BYTES, size - place + 1)):
            if place + len(part) > size:
                raise ArchiveError(f"{name}: more bytes than its shape {shape} says")
            data[place : place + len(part)] = part
            place += len(part)
        if place != size:
            raise ArchiveError(f"{name}: fewer bytes than its shape {shape} says")
    order = "F" if fortran else "C"
    array = np.frombuffer(data, dtype).reshape(shape, order=order)
    if dtype.kind == "U" and (np.frombuffer(data, dtype.byteorder + "u4") > 127).any():
        raise ArchiveError(f"{name}: no plain text")
    return array


def _header(member: IO[bytes], name: str) -> tuple[np.dtype, bool, tuple[int, ...]]:
    """Read dtype, Fortran order and shape of the array that follows in `member`.

    https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
    """
    magic = member.read(8)
    wide = magic[6:] in (b"\2\0", b"\3\0")
    if magic[:6] != b"\x93NUMPY" or not (wide or magic[6:] == b"\1\0"):
        raise ArchiveError(f"{name}: no array")
    length = int.from_bytes(member.read(4 if wide else 2), "little")
    text = member.read(min(length, MOST_HEADER_BYTES)).decode("latin-1")
    found = HEADER.fullmatch(text)
    if found is None or len(text) != length:
        raise ArchiveError(f"{name}: no array that is read")
    try:
        dtype = np.dtype(found["descr"])
    except (TypeError, ValueError):
        raise ArchiveError(f"{name}: an unknown type") from None
    shape = tuple(int(part) for part in found["shape"].split(",") if part.strip())
    return dtype, found["order"] == "True", shape
