"""ROMs inside a zip archive: which there are, and one of them beside its archive."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from gui.words import tr
from trainer_core.lab.roms import MAX_ROM_BYTES, ROM_SUFFIXES
from trainer_core.wire.decoding import open_zip, parsing
from trainer_core.wire.errors import LabError
from trainer_core.wire.regular_files import open_regular

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
        with parsing(path), open_regular(path) as file, open_zip(file) as archive:
            return [
                found.filename
                for found in archive.infolist()
                if PurePosixPath(found.filename).suffix.lower() in ROM_SUFFIXES and found.file_size <= MAX_ROM_BYTES
            ]
    except LabError:
        return []


def unpack(path: Path, name: str) -> Path:
    """Write the ROM `name` beside its archive; where it lies. Nothing that is there is replaced.

    Raises LabError for an archive that is damaged or locked, OSError for a place that cannot be
    written.
    """
    with (
        parsing(tr("{path}: cannot be unpacked", path=path)),
        open_regular(path) as file,
        open_zip(file) as archive,
        archive.open(name) as member,
    ):
        data = member.read(MAX_ROM_BYTES + 1)  # whatever the archive's list promises
    plain = PurePosixPath(name.replace("\\", "/")).name
    place = path.with_name(plain)
    is_there = place != path and place.is_file() and place.stat().st_size == len(data)
    if is_there and place.read_bytes() == data:
        return place
    try:
        with place.open("xb") as file:
            file.write(data)
    except FileExistsError:
        raise LabError(tr("{place} is there already and is another file; move it, then unpack", place=place)) from None
    except OSError:
        place.unlink(missing_ok=True)
        raise
    return place
