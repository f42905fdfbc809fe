"""Games of the user: open a ROM, play it, find its file after it was moved."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage

from gui.features.games.model import RomCard, RomLibrary, is_zip, roms_in, unpack
from gui.features.play.controller import PlayController
from gui.kit.boxes import later
from gui.kit.screen import Palette, image_of
from gui.kit.words import tr
from gui.state.bridge import Bridge, in_thread
from gui.state.notices import FILE_OPENED, Notices
from gui.state.session import Navigation, Place, Session
from trainer_core.lab.roms import ROM_SUFFIXES, has_rom_header, sha256_of_rom
from trainer_core.service import run_job
from trainer_core.wire.regular_files import is_regular

PICTURES_AFTER_MS = 8000
"""Milliseconds after a game starts before thumbnails are made: until then the game gets the whole CPU."""


class LibraryController(QObject):
    file_wanted = Signal(str, object)
    """Title of a file dialog for a ROM, and the function that takes the chosen path. The window shows the dialog."""
    looked_for = Signal()
    """The user is about to choose a game."""
    stage_wanted = Signal(str, object)
    """Path of a ROM and the Stage of its known game of which the user wants to make a task."""

    def __init__(
        self,
        bridge: Bridge,
        session: Session,
        library: RomLibrary,
        playing: PlayController,
        navigation: Navigation,
        notices: Notices,
        palette: Palette,
    ) -> None:
        super().__init__()
        self._bridge, self._session, self._playing = bridge, session, playing
        self._navigation, self._notices, self._palette = navigation, notices, palette
        self.library = library
        self._pictured: set[str] = set()
        """Keys of the games whose thumbnails were requested; a game whose thumbnail failed is not tried again."""
        self._photo = later(self, self.take_pictures, PICTURES_AFTER_MS)
        session.tasks_changed.connect(library.reload)  # a stage of a known game may be made now
        playing.started.connect(self._on_started)
        playing.changed.connect(self._on_playing)
        playing.rom_refused.connect(self._on_refused)

    # -- opening ----------------------------------------------------------------------------

    def look(self) -> None:
        """Signal `looked_for` because the user opened a list of games, and make missing thumbnails."""
        self.looked_for.emit()
        self.take_pictures()

    def ask_open(self) -> None:
        self.looked_for.emit()
        self.file_wanted.emit(tr("Open a ROM"), self.open_rom)

    def open_rom(self, path: Path) -> None:
        """Play a ROM file; once it plays, add it to the games under its hash."""
        path = Path(path).expanduser().absolute()
        if is_zip(path):
            self._offer_unpacking(path)
            return
        if problem := why_no_rom(path):
            self._tell(f"{path.name}: {problem} ({path.parent})", tr("Open another..."), self.ask_open)
            return
        if str(path) == self._session.rom:
            self._playing.play_game()
        else:
            self._session.set_rom(str(path))

    def _offer_unpacking(self, path: Path) -> None:
        """Show a notice whose button unpacks a ROM from a zip archive into the archive's folder."""
        found = roms_in(path)
        if not found:
            text = tr("{path}: a zip archive without a .gb file in it", path=path)
            self._tell(text, tr("Open another..."), self.ask_open)
            return
        name = found[0]
        self._notices.tell(
            tr("A zip archive"),
            tr("{name} is inside {path}", name=name, path=path)
            + (tr(", the first of {count} ROMs", count=len(found)) if found[1:] else ""),
            "warn",
            tr("Unpack next to it and play"),
            lambda: self._unpack(path, name),
            subject=FILE_OPENED,
        )

    def _unpack(self, path: Path, name: str) -> None:
        work = in_thread(unpack, path, name)
        self._bridge.spawn(work, title=tr("The ROM was not unpacked"), then=self.open_rom)

    def _on_refused(self, reason: str) -> None:
        self._tell(reason, tr("Open another..."), self.ask_open)

    def play(self, key: str) -> None:
        """Play the game with this key if its file still has the hash it was added with."""
        card = self.library.card(key)
        if card is None:
            return
        if card.lacks_rom:
            self.locate(key)
            return
        if card.shipped:
            self.open_rom(card.path)
            return
        self._bridge.spawn(in_thread(sha256_of_rom, card.path), then=lambda found: self._on_hashed(card, found))

    def play_selected(self) -> None:
        self.play(self.library.selected)

    def refusal(self) -> str:
        card = self.library.card(self.library.selected)
        if card is None:
            return tr("Choose a game first")
        return tr("Its ROM is missing") if card.lacks_rom else ""

    @property
    def has_stages(self) -> bool:
        """True if the selected game is a known one whose ROM the user has."""
        card = self.library.card(self.library.selected)
        return card is not None and card.profile is not None and not card.lacks_rom

    def stage_refusal(self) -> str:
        """Return why no stage of the selected game can be made; empty when one can."""
        card = self.library.card(self.library.selected)
        if card is None or not self.has_stages:
            return tr("Choose one of the listed games")
        return card.problem or ("" if card.stages else tr("Every stage has a task"))

    def make_stage(self) -> None:
        """Play the selected game and begin a task of its next stage."""
        card = self.library.card(self.library.selected)
        if card is not None and card.stages and not self.stage_refusal():
            self.stage_wanted.emit(str(card.path), card.stages[0])

    def _on_hashed(self, card: RomCard, found: str) -> None:
        if found == card.key:
            self.open_rom(card.path)
            return
        what = tr("is missing") if not is_regular(card.path) else tr("is a different file now")
        text = f"{card.title} {what}: {card.path}"
        self._tell(text, tr("Locate..."), lambda: self.locate(card.key))
        self.library.reload()

    # -- moved games ------------------------------------------------------------------------

    def locate(self, key: str) -> None:
        """Ask the user where the file of a game was moved to."""
        card = self.library.card(key)
        if card is not None:
            self.file_wanted.emit(tr("Locate {title}", title=card.title), lambda path: self._found(card, path))

    def locate_selected(self) -> None:
        self.locate(self.library.selected)

    def locate_refusal(self) -> str:
        card = self.library.card(self.library.selected)
        if card is None:
            return tr("Choose a game first")
        return tr("Included in DMG Lab") if card.shipped else ""

    @property
    def lacks_rom(self) -> bool:
        """True if the selected game is a known one whose ROM is missing."""
        card = self.library.card(self.library.selected)
        return card is not None and card.lacks_rom

    def forget_refusal(self) -> str:
        return tr("Its ROM is missing") if self.lacks_rom else self.locate_refusal()

    def _found(self, card: RomCard, path: Path) -> None:
        kind, wanted = ("sha1", card.profile.sha1) if card.lacks_rom and card.profile else ("sha256", card.key)

        def check(found: str) -> None:
            if found == wanted:
                self.open_rom(path)
                return
            text = tr(
                "{path} is not {title}: {kind} {value}..., not {wanted}...",
                path=path,
                title=card.title,
                kind={"sha1": "SHA-1", "sha256": "SHA-256"}[kind],
                value=found[:12] or tr("without a ROM"),
                wanted=wanted[:12],
            )
            self._tell(text, tr("Locate..."), lambda: self.locate(card.key))

        self._bridge.spawn(in_thread(sha256_of_rom, Path(path), kind), then=check)

    def forget_selected(self) -> None:
        """Remove the selected game from the list; its file is not deleted."""
        card = self.library.card(self.library.selected)
        if card is not None and not self.forget_refusal():
            self._rom("remove", card.key, then=lambda found: self.library.reload())

    # -- while it plays ---------------------------------------------------------------------

    def _on_started(self) -> None:
        request = self._playing.request
        if request is None or not self._playing.is_rom:
            return
        self._photo.start()
        self._notices.withdraw(FILE_OPENED)
        path = Path(request.task)
        card = self.library.card_of(path)
        if card is not None and card.shipped:
            self.library.note_played(card.key)
            return
        self._rom("add", str(path), then=self._on_registered)

    def _on_registered(self, found: dict[str, Any]) -> None:
        row = found["roms"][0]
        self.library.note_played(row["sha256"])
        for warning in row.get("warnings", ())[:1]:
            self._notices.tell(row["title"] or tr("This ROM"), warning, "warn")

    def _on_playing(self) -> None:
        """Select in the session the game that plays, after another ROM failed to start."""
        playing, rom = self._playing, self._session.rom
        if rom and playing.error and not playing.busy and (playing.request is None or playing.request.task != rom):
            plays_on = playing.request.task if playing.request and playing.is_rom else ""
            self._session.set_rom(plays_on)

    def take_pictures(self) -> None:
        """Make a thumbnail of each game that has none, in a process of its own."""
        missing = [
            card
            for card in self.library.cards
            if not card.problem and card.key not in self._pictured and not self.library.thumbnail(card.key).is_file()
        ]
        if not missing or self._bridge.closing:
            return
        self._pictured |= {card.key for card in missing}
        pairs = [(str(card.path), str(self.library.thumbnail(card.key))) for card in missing]
        argv = [sys.executable, "-m", "trainer_core.play.title_pictures"]
        work = run_job(
            [*argv, *(word for pair in pairs for word in pair)], on_progress=lambda share: self.library.changed.emit()
        )
        self._bridge.spawn(work, title=tr("Pictures of the games"), then=self._on_pictures)

    def picture_of(self, card: RomCard) -> QImage | None:
        """Return a game's thumbnail in the chosen screen colours; None while it has none."""
        picture = self.library.thumbnail(card.key)
        found = QImage(str(picture)) if is_regular(picture) else QImage()  # opening a pipe would block
        if found.isNull():
            return None
        grey = found.convertToFormat(QImage.Format.Format_Grayscale8)
        width, height, row = grey.width(), grey.height(), grey.bytesPerLine()
        levels = np.frombuffer(grey.constBits(), np.uint8, height * row).reshape(height, row)
        return image_of(self._palette, 3 - levels[:, :width] // 64)

    def _on_pictures(self, found: dict[str, Any]) -> None:
        if found.get("made"):
            self.library.changed.emit()

    # -- inside -----------------------------------------------------------------------------

    def show(self) -> None:
        self._navigation.show(Place.GAMES)

    def _rom(self, verb: str, what: str, then: Callable[[dict[str, Any]], object]) -> None:
        home = str(self._bridge.home.root)
        argv = [sys.executable, "-m", "trainer_core.cli.main", "rom", verb, what, "--home", home]
        self._bridge.spawn(run_job(argv), title=tr("The list of ROMs"), then=then)

    def _tell(self, text: str, action: str, act: Callable[[], object]) -> None:
        self._notices.tell(tr("This ROM cannot be played"), text, "error", action, act, subject=FILE_OPENED)


def why_no_rom(path: Path) -> str:
    """Return why the file is no Game Boy ROM, by suffix, size and header; empty when it may be one."""
    if path.is_dir():
        return tr("this is a folder; choose a .gb file")
    if not path.is_file():
        return tr("there is no such file")
    if path.stat().st_size == 0:
        return tr("the file is empty")
    if path.suffix.lower() not in ROM_SUFFIXES:
        return tr("not a .gb file; DMG Lab plays Game Boy ROMs")
    if not has_rom_header(path):
        return tr("not a Game Boy ROM: the logo and the checksum of its header are wrong")
    return ""
