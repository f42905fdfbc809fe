"""The ROMs that a person owns: known by hash and path, never copied.

`settings/roms.json` maps a SHA-256 to what `dmglab rom add` found, or, as it was written by hand
before that command was there, to a path alone. `trainer_core.envs.rom_registry` writes it.
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
from trainer_core.lab.tasks import Task
from trainer_core.wire.errors import BAD_JSON, TaskError, shown
from trainer_core.wire.regular_files import open_regular, read_regular

REGISTER = "dmglab rom add PATH"
"""What every error about a missing ROM names."""


ROM_SUFFIXES = (".gb", ".gbc")
MAX_ROM_BYTES = 8 << 20
"""The largest cartridge there was."""
HEADER_BYTES = 0x150
LOGO_CRC32 = 0x46195417
"""Of the boot logo at 0104 to 0133."""
LONGEST_PATH = 4096
"""What Linux takes."""
MAX_BYTES = 64 << 20
"""Of roms.json: some 100,000 ROMs."""


class RegisteredRom(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """Facts of one ROM as they were when it was added."""

    path: str
    """Absolute; a relative one, written by hand, counts from the folder of roms.json."""
    title: str = ""
    mapper: str = ""
    size: int = 0
    ram_size: int = 0
    sha1: str = ""
    warnings: tuple[str, ...] = ()


def has_rom_header(path: Path) -> bool:
    """Whether the logo or the header's checksum is right: else no console would be made of it.

    The same look as the emulator's (Pan Docs, "The cartridge header"), without loading that. True
    for what cannot be read: who opens it will say why.
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
    """Whether a ROM's header asks for a Game Boy Color (Pan Docs, 0143 = C0). False if unreadable.

    On a DMG such a game runs, but mostly to show that it will not be played there.
    """
    try:
        with open_regular(path) as file:
            return file.read(HEADER_BYTES)[0x143:0x144] == b"\xc0"
    except OSError:
        return False


def roms_file(home: HomePaths) -> Path:
    return home.settings / "roms.json"


class Register(NamedTuple):
    """What roms.json says."""

    roms: dict[str, RegisteredRom]
    bad: dict[str, tuple[msgspec.Raw, str]]
    """Entries that name no ROM, as they stand there, each with the reason."""


def registered_roms(home: HomePaths) -> dict[str, RegisteredRom]:
    """Return each ROM by its SHA-256, without what `read_register` finds bad. Raises TaskError."""
    return read_register(home).roms


def read_register(home: HomePaths) -> Register:
    """Read roms.json entry by entry: a bad one takes no good one along.

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
    """Raises TaskError, BAD_JSON for what names no ROM."""
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
    """Where the ROM of a task should lie. Raises TaskError when nobody registered it."""
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


def sha256_of_rom(path: Path) -> str:
    """Of a ROM file; empty for one that cannot be read or is too large to be one."""
    try:
        return hashlib.sha256(read_regular(path, MAX_ROM_BYTES)).hexdigest()
    except OSError:
        return ""


def find_game_again(task: str, rom_sha256: str, home: HomePaths) -> str:
    """What a recording or a state that was made with `task` is played on now.

    A task's id stays. The path of a bare ROM stays while that file is still the one of
    `rom_sha256`; else it is where a ROM of that hash is known. Raises TaskError when none is.
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
    """Where a ROM of that hash may lie: as registered, else among the games that we ship."""
    if rom := registered_roms(home).get(sha256):
        yield Path(rom.path)
    yield from shipped_roms()


def shipped_roms() -> list[Path]:
    """The games that we ship."""
    return sorted(p for s in ROM_SUFFIXES for p in (ASSETS / "games").glob(f"*/*{s}"))


HASH_DIGITS = 6
"""A hash may be cut, not shorter than this."""


class KnownRom(msgspec.Struct, frozen=True):
    """A registered ROM, or a game of ours (without a hash or title: nobody registered it)."""

    path: Path
    sha256: str = ""
    title: str = ""

    def names(self) -> tuple[str, ...]:
        """What a person may call it, in lower case."""
        return tuple(n.lower() for n in (self.path.name, self.path.stem, self.title) if n)


def known_roms(home: HomePaths) -> list[KnownRom]:
    """The registered ROMs, then ours. Raises TaskError for a register that cannot be read."""
    registered = [KnownRom(Path(rom.path), sha256, rom.title.strip()) for sha256, rom in registered_roms(home).items()]
    places = {rom.path for rom in registered}
    return [*registered, *(KnownRom(path) for path in shipped_roms() if path not in places)]


def named_rom(text: str, home: HomePaths) -> Path:
    """The file that `text` names: a path that is there, else a file name, title or SHA-256 of a
    known ROM, in any case, whole or as much of its beginning as no other shares.

    Raises TaskError when none or several fit.
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
    """Those that `text` names: whole names before beginnings, names before hashes."""
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
    """One task to make, in words: which states to save, which picture to capture."""

    id: str
    title: str
    start: str
    goal: str


class Profile(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    id: str
    title: str
    sha1: str
    """As published; `source` says where."""
    source: str
    verified: bool
    """Whether we compared the hash with a cartridge of our own."""
    stages: tuple[Stage, ...]


def load_profiles(root: Path = ASSETS / "profiles") -> list[Profile]:
    """Every profile that we ship, by id. Raises TaskError for one that cannot be read."""
    found = []
    for path in sorted(root.glob("*.toml")):
        try:
            data = read_regular(path)
            refuse_long_keys(path, data)
            raw = tomllib.loads(data.decode())
            found.append(msgspec.convert(raw, Profile))
        except (OSError, ValueError, OverflowError, RecursionError) as error:
            raise TaskError(f"{path}: {shown(error, 120)}") from None
    return found


MOST_LOOKED_AT = 5000
"""Files of a folder that was dropped."""


def rom_in(folder: Path) -> Path | None:
    """Return the first ROM of a folder that holds games; None where it holds something else."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in itertools.islice(entries, MOST_LOOKED_AT))
    except OSError:
        return None
    if any(name.endswith((".json", ".jsonl")) for name in names):  # a recording, a receipt
        return None
    found = (folder / name for name in names if Path(name).suffix.lower() in ROM_SUFFIXES)
    return next(found, None)
