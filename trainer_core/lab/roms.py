"""Register of the user's ROMs by hash and path; the files are never copied.

`settings/roms.json` maps a SHA-256 to the facts that `dmglab rom add` found, or, in old hand-written files, to a path
alone. `trainer_core.envs.rom_registry` writes it.
"""

from __future__ import annotations

import difflib
import hashlib
import itertools
import os
import tomllib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from trainer_core.lab.manifest_checks import SHA256_RULE, is_sha256, refuse_long_keys
from trainer_core.lab.paths import ASSETS, HomePaths
from trainer_core.lab.ram_reward import Ram
from trainer_core.lab.tasks import Task
from trainer_core.wire.errors import BAD_JSON, TaskError, shown
from trainer_core.wire.regular_files import open_regular, read_regular

REGISTER = "dmglab rom add PATH"
"""Command that every error about a missing ROM names."""


ROM_SUFFIXES = (".gb", ".gbc")
MAX_ROM_BYTES = 8 << 20
"""Size of the largest cartridge ever made."""
HEADER_BYTES = 0x150
LOGO_CRC32 = 0x46195417
"""CRC-32 of the boot logo at 0104 to 0133."""
LONGEST_PATH = 4096
"""Longest path in bytes that Linux accepts."""
MAX_BYTES = 64 << 20
"""Greatest size of roms.json: some 100,000 ROMs."""


class RegisteredRom(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """Entry of roms.json: facts about one ROM when it was added."""

    path: str
    """Absolute path; a relative one, written by hand, is relative to the folder of roms.json."""
    title: str = ""
    mapper: str = ""
    size: int = 0
    ram_size: int = 0
    sha1: str = ""
    warnings: tuple[str, ...] = ()


def has_rom_header(path: Path) -> bool:
    """Return whether the header's logo or checksum is correct; otherwise the emulator refuses the file.

    The same check as the emulator's (Pan Docs, "The cartridge header"), without importing it. True for an unreadable
    file: opening it reports the reason.
    """
    try:
        with open_regular(path) as file:
            header = file.read(HEADER_BYTES)
    except OSError:
        return True
    if len(header) < HEADER_BYTES:
        return False
    checksum = -sum(header[0x134:0x14D]) - (0x14D - 0x134) & 0xFF
    return checksum == header[0x14D] or zlib.crc32(header[0x104:0x134]) == LOGO_CRC32


def is_for_color_only(path: Path) -> bool:
    """Return whether a ROM's header requires a Game Boy Color (Pan Docs, 0143 = C0). False if unreadable.

    On a DMG most such games run only to show a message that they cannot be played.
    """
    try:
        with open_regular(path) as file:
            return file.read(HEADER_BYTES)[0x143:0x144] == b"\xc0"
    except OSError:
        return False


def roms_file(home: HomePaths) -> Path:
    return home.settings / "roms.json"


class Register(NamedTuple):
    """Content of roms.json."""

    roms: dict[str, RegisteredRom]
    bad: dict[str, tuple[msgspec.Raw, str]]
    """Invalid entries, unparsed, each with the reason."""


def registered_roms(home: HomePaths) -> dict[str, RegisteredRom]:
    """Return each ROM by its SHA-256, without the invalid entries. Raises TaskError."""
    return read_register(home).roms


def read_register(home: HomePaths) -> Register:
    """Return the content of roms.json, read entry by entry, so that an invalid entry does not hide valid ones.

    Raises TaskError for a file that is no register at all.
    """
    path = roms_file(home)
    try:
        found = msgspec.json.decode(read_regular(path, MAX_BYTES), type=dict[str, msgspec.Raw])
    except FileNotFoundError:
        return Register({}, {})
    except (OSError, *BAD_JSON) as error:
        reason = error.strerror if isinstance(error, OSError) else shown(error)
        raise TaskError(
            f"{path}: cannot be read: {reason}; repair it, or remove it and register your ROMs again: {REGISTER}"
        ) from None
    register = Register({}, {})
    for sha256, raw in found.items():
        try:
            register.roms[sha256] = _entry(path.parent, sha256, raw)
        except (TaskError, *BAD_JSON) as error:
            register.bad[sha256] = raw, shown(error, 200)
    return register


def _entry(folder: Path, sha256: str, raw: msgspec.Raw) -> RegisteredRom:
    """Return the ROM that one entry of roms.json describes.

    `folder` is that of roms.json, `raw` the entry's JSON. Raises TaskError or BAD_JSON for an invalid entry.
    """
    said = msgspec.json.decode(raw, type=RegisteredRom | str)
    rom = RegisteredRom(path=said) if isinstance(said, str) else said
    if not is_sha256(sha256):
        raise TaskError(f"'{shown(sha256)}' is {SHA256_RULE}")
    if not rom.path or len(rom.path) > LONGEST_PATH or not rom.path.isprintable():
        raise TaskError(f"its path '{shown(rom.path)}' is none")
    for size in (rom.size, rom.ram_size):
        if not 0 <= size <= MAX_ROM_BYTES:
            raise TaskError(f"no ROM has {shown(size)} bytes")
    return msgspec.structs.replace(
        rom,
        path=os.path.join(os.path.realpath(folder), rom.path),
        title=shown(rom.title),
        mapper=shown(rom.mapper),
        warnings=tuple(shown(warning, 300) for warning in rom.warnings[:8]),
    )


def rom_path(task: Task, home: HomePaths) -> Path:
    """Return the registered path of a task's ROM. Raises TaskError when it is not registered."""
    if task.rom_path is not None:
        return task.rom_path
    wanted = task.manifest.rom.sha256
    rom = registered_roms(home).get(wanted)
    if rom is None:
        raise TaskError(
            f"task {task.id} needs the ROM {shown(task.manifest.rom.name)} (SHA-256 "
            f"{wanted[:12]}...): register your copy with `{REGISTER}`"
        )
    return Path(rom.path)


def sha256_of_rom(path: Path, algorithm: str = "sha256") -> str:
    """Return the SHA-256 of a ROM file, or another hash; empty if it cannot be read or is too large to be one."""
    try:
        return hashlib.new(algorithm, read_regular(path, MAX_ROM_BYTES)).hexdigest()
    except OSError:
        return ""


def find_game_again(task: str, rom_sha256: str, home: HomePaths) -> str:
    """Return the task or ROM on which a recording or a state made with `task` can be played now.

    A task's id is returned unchanged. The path of a ROM is returned while that file has the hash `rom_sha256`; else the
    path of a known ROM of that hash. Raises TaskError when there is none.
    """
    if not task.lower().endswith(ROM_SUFFIXES) or sha256_of_rom(Path(task)) == rom_sha256:
        return task
    for place in _known_places(rom_sha256, home):
        if sha256_of_rom(place) == rom_sha256:
            return str(place)
    what = "is another file now" if Path(task).is_file() else "is not there any more"
    raise TaskError(
        f"{task} {what}: open the ROM where it is now, or register your copy with `{REGISTER}` "
        f"(SHA-256 {rom_sha256[:12]}...)"
    )


def _known_places(sha256: str, home: HomePaths) -> Iterator[Path]:
    """Yield the paths where a ROM of that hash may be: as registered, then the shipped games."""
    if rom := registered_roms(home).get(sha256):
        yield Path(rom.path)
    yield from shipped_roms()


def shipped_roms() -> list[Path]:
    """Return the paths of the shipped games."""
    return sorted(p for s in ROM_SUFFIXES for p in (ASSETS / "games").glob(f"*/*{s}"))


HASH_DIGITS = 6
"""Least number of digits by which a user may abbreviate a hash."""


class KnownRom(msgspec.Struct, frozen=True):
    """A registered ROM, or a shipped game (without hash and title, as it is not registered)."""

    path: Path
    sha256: str = ""
    title: str = ""

    def names(self) -> tuple[str, ...]:
        """Return the names by which a user may call this ROM, in lower case."""
        return tuple(n.lower() for n in (self.path.name, self.path.stem, self.title) if n)


def known_roms(home: HomePaths) -> list[KnownRom]:
    """Return the registered ROMs, then the shipped games. Raises TaskError for an unreadable register."""
    registered = [KnownRom(Path(rom.path), sha256, rom.title.strip()) for sha256, rom in registered_roms(home).items()]
    places = {rom.path for rom in registered}
    return [*registered, *(KnownRom(path) for path in shipped_roms() if path not in places)]


def named_rom(text: str, home: HomePaths) -> Path:
    """Return the file that `text` names: an existing path, or the file name, title or SHA-256 of a known ROM.

    Case is ignored; an unambiguous beginning is enough. Raises TaskError when none or several match.
    """
    path = Path(text).expanduser()
    if path.is_file():
        return path
    roms = known_roms(home)
    fits = fitting(text, roms)
    if len(fits) == 1:
        return fits[0].path
    if fits:
        several = ", ".join(f"{rom.path.name} ({rom.sha256[:12] or 'ours'})" for rom in fits[:5])
        raise TaskError(f"{text}: {len(fits)} ROMs are called so: {several}; give the path or hash")
    names = sorted({name for rom in roms for name in rom.names()})
    near = difflib.get_close_matches(text.strip().lower(), names, n=3)
    meant = f"; near: {', '.join(near)}" if near else ""
    raise TaskError(
        f"{text}: no such ROM file, and none is known by this name, title or hash{meant}; "
        f"`{REGISTER}` registers a ROM, `dmglab rom list` shows them"
    )


def fitting(text: str, roms: list[KnownRom]) -> list[KnownRom]:
    """Return those of `roms` that `text` names.

    They are the ROMs with this name; if there are none, those whose name begins so; else those whose hash does.
    """
    wanted = text.strip().lower()
    if not wanted:
        return []
    fits = [rom for rom in roms if wanted in rom.names()]
    if not fits:
        fits = [rom for rom in roms if any(name.startswith(wanted) for name in rom.names())]
    if not fits and len(wanted) >= HASH_DIGITS:
        fits = [rom for rom in roms if rom.sha256.startswith(wanted)]
    return fits


class Stage(msgspec.Struct, kw_only=True, frozen=True):
    """Description of one task that a user can make of a profile's game: the start states to save, the goal to
    capture."""

    id: str
    title: str
    start: str
    goal: str


class Profile(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    id: str
    title: str
    sha1: str
    """SHA-1 of the ROM as published by `source`."""
    source: str
    verified: bool
    """True if we compared the hash with a cartridge of our own."""
    stages: tuple[Stage, ...]
    ram: Ram | None = None
    """Watched bytes and terms for tasks of the game."""


def load_profiles(root: Path = ASSETS / "profiles") -> list[Profile]:
    """Return the shipped profiles of commercial games, sorted by id. Raises TaskError for one that cannot be read."""
    found = []
    for path in sorted(root.glob("*.toml")):
        try:
            data = read_regular(path)
            refuse_long_keys(path, data)
            raw = tomllib.loads(data.decode())
            profile = msgspec.convert(raw, Profile)
            if profile.ram is not None:
                profile.ram.program()
            found.append(profile)
        except (OSError, ValueError, OverflowError, RecursionError, TaskError) as error:
            raise TaskError(f"{path}: {shown(error, 120)}") from None
    return found


MOST_LOOKED_AT = 5000
"""Greatest number of files of a dropped folder that are examined."""


def rom_in(folder: Path) -> Path | None:
    """Return the first ROM in a folder of games; None if there is none, or the folder holds JSON, such as a
    recording."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in itertools.islice(entries, MOST_LOOKED_AT))
    except OSError:
        return None
    if any(name.endswith((".json", ".jsonl")) for name in names):  # a recording, a receipt
        return None
    found = (folder / name for name in names if Path(name).suffix.lower() in ROM_SUFFIXES)
    return next(found, None)
