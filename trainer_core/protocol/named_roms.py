"""Which ROM a person means: a path, or a name, title or hash of one that is known here."""

from __future__ import annotations

import difflib
from pathlib import Path

import msgspec

from trainer_core.protocol.errors import TaskError
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.roms import REGISTER, registered_roms, shipped_roms

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
    registered = [
        KnownRom(Path(rom.path), sha256, rom.title.strip())
        for sha256, rom in registered_roms(home).items()
    ]
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
