"""ROMs inside a zip archive: which there are, and one of them beside its archive."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path, PurePosixPath

from gui.words import tr
from trainer_core.protocol.errors import LabError
from trainer_core.protocol.roms import MAX_ROM_BYTES, ROM_SUFFIXES

MAGIC = b"PK\x03\x04"


def is_zip(path: Path) -> bool:
    """Whether a file begins as a zip archive does, whatever it is called."""
    try:
        with path.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except OSError:
        return False


def roms_in(path: Path) -> list[str]:
    """Names of the ROMs in an archive; empty for one that cannot be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            return [
                found.filename
                for found in archive.infolist()
                if PurePosixPath(found.filename).suffix.lower() in ROM_SUFFIXES
                and found.file_size <= MAX_ROM_BYTES
            ]
    except (OSError, zipfile.BadZipFile):
        return []


def unpack(path: Path, name: str) -> Path:
    """Write the ROM `name` beside its archive; where it lies. Nothing that is there is replaced.

    Raises LabError for an archive that is damaged or locked, OSError for a place that cannot be
    written.
    """
    try:
        with zipfile.ZipFile(path) as archive, archive.open(name) as file:
            data = file.read(MAX_ROM_BYTES + 1)  # whatever the archive's list promises
    except (
        zipfile.BadZipFile, KeyError, RuntimeError, NotImplementedError, EOFError, zlib.error,
        ValueError,
    ) as error:  # fmt: skip
        raise LabError(tr("{path}: cannot be unpacked: {error}", path=path, error=error)) from None
    plain = PurePosixPath(name.replace("\\", "/")).name
    place = path.with_name(plain)
    if place != path and place.is_file() and place.read_bytes() == data:
        return place
    try:
        with place.open("xb") as file:
            file.write(data)
    except FileExistsError:
        raise LabError(
            tr("{place} is there already and is another file; move it, then unpack", place=place)
        ) from None
    except OSError:
        place.unlink(missing_ok=True)
        raise
    return place
