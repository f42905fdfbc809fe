"""List of games: shipped ones, ROM files added by the user, and known games that need a cartridge of the user's own."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from PySide6.QtCore import QObject, Signal

from gui.kit.settings import Settings
from gui.kit.words import tr
from trainer_core.lab.paths import ASSETS, HomePaths
from trainer_core.lab.roms import (
    MAX_ROM_BYTES,
    ROM_SUFFIXES,
    Profile,
    Register,
    RegisteredRom,
    Stage,
    load_profiles,
    read_register,
)
from trainer_core.wire.decoding import open_zip, parsing
from trainer_core.wire.errors import LabError, shown
from trainer_core.wire.regular_files import is_regular, open_regular

ZIP_MAGIC = b"PK\x03\x04"
KEPT_GAMES = 100
"""Number of recently played games that are remembered."""


def is_zip(path: Path) -> bool:
    """Return whether the file's first bytes are those of a zip archive, whatever its name."""
    try:
        with path.open("rb") as file:
            return file.read(len(ZIP_MAGIC)) == ZIP_MAGIC
    except OSError:
        return False


def roms_in(path: Path) -> list[str]:
    """Return the names of the ROMs in a zip archive; empty for an unreadable one."""
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
    """Write the ROM `name` from a zip archive into the archive's folder and return the path.

    Existing files are not overwritten. Raises LabError when the archive is damaged or encrypted, OSError when the
    folder cannot be written.
    """
    with (
        parsing(tr("{path}: cannot be unpacked", path=path)),
        open_regular(path) as file,
        open_zip(file) as archive,
        archive.open(name) as member,
    ):
        data = member.read(MAX_ROM_BYTES + 1)  # the size in the archive's directory may be wrong
    plain = PurePosixPath(name.replace("\\", "/")).name
    place = path.with_name(plain)
    is_there = place != path and place.is_file() and place.stat().st_size == len(data)
    if is_there and place.read_bytes() == data:
        return place
    try:
        with place.open("xb") as file:
            file.write(data)
    except FileExistsError:
        raise LabError(
            tr("{place} already exists and is a different file; move it, then unpack", place=place)
        ) from None
    except OSError:
        place.unlink(missing_ok=True)
        raise
    return place


@dataclass(frozen=True, slots=True)
class RomCard:
    key: str
    """SHA-256 of the ROM; the path of a shipped game; the id of a known game whose ROM is missing."""
    path: Path
    title: str
    facts: str
    warnings: tuple[str, ...] = ()
    shipped: bool = False
    problem: str = ""
    """Reason why the game cannot be played, such as a missing file; empty when it can."""
    profile: Profile | None = None
    """Known game that this is; None for any other."""
    stages: tuple[Stage, ...] = ()
    """Stages of the known game of which no task was made yet, in their order."""

    @property
    def lacks_rom(self) -> bool:
        """True for a known game of which the user has registered no ROM."""
        return self.profile is not None and self.key == self.profile.id


class RomLibrary(QObject):
    """List of the games.

    It has the shipped games, the ROMs added by `dmglab rom add`, whose files stay where they are, and the known games
    of `assets/profiles` that may not be shipped.
    """

    changed = Signal()
    selection_changed = Signal()

    def __init__(self, home: HomePaths, settings: Settings) -> None:
        super().__init__()
        self._home, self._settings = home, settings
        self.cards: list[RomCard] = []
        self.selected = ""
        """Key of the selected game."""
        self.error = ""
        """Reason why roms.json, the list of added ROMs, cannot be read; empty when it can."""

    def reload(self) -> None:
        self.error = ""
        try:
            register = read_register(self._home)
        except LabError as error:
            register, self.error = Register({}, {}), str(error)
        profiles = {profile.sha1: profile for profile in self._profiles()}
        found = [self._card(sha256, rom, profiles.get(rom.sha1)) for sha256, rom in register.roms.items()]
        owned = {card.profile.id for card in found if card.profile is not None}
        found += [_missing_card(profile) for profile in profiles.values() if profile.id not in owned]
        found += [_bad_card(name, reason) for name, (_, reason) in register.bad.items()]
        found += [_shipped(path) for path in sorted(ASSETS.glob("games/*/*.gb"))]
        recent = {key: place for place, key in enumerate(self._recent())}
        self.cards = sorted(found, key=lambda card: (recent.get(card.key, KEPT_GAMES), card.lacks_rom, card.shipped))
        if self.card(self.selected) is None:
            self.selected = self.cards[0].key if self.cards else ""
        self.changed.emit()
        self.selection_changed.emit()

    def _profiles(self) -> list[Profile]:
        try:
            return load_profiles()
        except LabError as error:
            self.error = str(error)
            return []

    def _card(self, sha256: str, rom: RegisteredRom, profile: Profile | None) -> RomCard:
        """Return the list entry of a registered ROM, with the stages of its `profile` that are still to be made."""
        made, is_made = _card(sha256, rom), lambda stage: (self._home.tasks / stage.id / "task.toml").is_file()
        if profile is None:
            return made
        stages = tuple(stage for stage in profile.stages if not is_made(stage))
        count = len(profile.stages)
        told = tr("{made} of {count} stages created", made=count - len(stages), count=count)
        return replace(made, title=profile.title, facts=", ".join((told, made.facts)), profile=profile, stages=stages)

    def card(self, key: str) -> RomCard | None:
        return next((card for card in self.cards if card.key == key), None)

    def card_of(self, path: Path) -> RomCard | None:
        return next((card for card in self.cards if card.path == path), None)

    def look_again(self) -> None:
        """Read the list again if a file of it came or went since."""
        if any(bool(card.problem) is is_regular(card.path) for card in self.cards if not card.lacks_rom):
            self.reload()

    def forget_recent(self) -> None:
        """Forget which games were played; the games stay."""
        self._settings.remove("library/recent")
        self.reload()

    def recent(self, most: int = 8) -> list[RomCard]:
        """Return up to `most` games that were played, most recent first."""
        found = (self.card(key) for key in self._recent())
        return [card for card in found if card is not None][:most]

    def select(self, key: str) -> None:
        if key != self.selected:
            self.selected = key
            self.selection_changed.emit()

    def note_played(self, key: str) -> None:
        """Record that the game with this key was played now."""
        keys = [key, *(other for other in self._recent() if other != key)][:KEPT_GAMES]
        self._settings.set("library/recent", "\n".join(keys))
        self.selected = key
        self.reload()

    def thumbnail(self, key: str) -> Path:
        """Return the path of a game's thumbnail, a PNG file that may not exist yet."""
        name = hashlib.sha256(key.encode()).hexdigest()[:24]
        return self._home.root / "library" / f"{name}.png"

    def _recent(self) -> list[str]:
        return [key for key in self._settings.text("library/recent").split("\n") if key]


def _card(sha256: str, rom: RegisteredRom) -> RomCard:
    path = Path(rom.path)
    parts = ["" if rom.mapper == "NONE" else rom.mapper, tr("{value} KiB", value=rom.size >> 10) if rom.size else ""]
    parts.append(tr("{value} KiB of cartridge RAM", value=rom.ram_size >> 10) if rom.ram_size >= 1024 else "")
    return RomCard(
        key=sha256,
        path=path,
        title=rom.title.strip() or path.stem,
        facts=", ".join(part for part in parts if part),
        warnings=rom.warnings,
        problem="" if is_regular(path) else tr("{path} does not exist", path=path),
    )


def _missing_card(profile: Profile) -> RomCard:
    """Return the list entry of a known game of which the user has registered no ROM."""
    return RomCard(
        key=profile.id,
        path=Path(),
        title=profile.title,
        facts=tr("{count} stages are described; DMG Lab may not ship this game", count=len(profile.stages)),
        problem=tr("Missing: the ROM of your own cartridge, SHA-1 {sha1}", sha1=profile.sha1),
        profile=profile,
        stages=profile.stages,
    )


def _bad_card(name: str, reason: str) -> RomCard:
    """Return the list entry of a damaged record `name` in roms.json, with `reason` as its problem."""
    title = tr("Unreadable entry {name}", name=shown(name, 16))
    return RomCard(key=name, path=Path(shown(name)), title=title, facts="", problem=reason)


def _shipped(path: Path) -> RomCard:
    title = path.stem.replace("_", " ").title()
    size = path.stat().st_size >> 10
    return RomCard(
        key=str(path), path=path, title=title, facts=tr("{size} KiB, included in DMG Lab", size=size), shipped=True
    )
