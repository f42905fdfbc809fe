"""Memory of the playing game: read while the memory dock is visible; search and watches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec
import numpy as np
from PySide6.QtCore import QObject, QTimer, Signal

from gui.features.play.controller import PlayController
from gui.kit.screen import FrameSource
from gui.kit.words import tr
from gui.state.bridge import Bridge
from trainer_core.lab import durable_files
from trainer_core.lab.paths import HomePaths
from trainer_core.wire import commands, records
from trainer_core.wire.errors import BAD_JSON
from trainer_core.wire.frames import BASE, MEMORY_FILE, MEMORY_SHAPE
from trainer_core.wire.regular_files import read_regular

CARTRIDGE = (0xA000, 0xC000)
RAM = (CARTRIDGE, (0xC000, 0xE000), (0xFF80, 0xFFFF))
"""Searched address ranges (begin, end): cartridge RAM, WRAM, HRAM; no echo RAM, VRAM or I/O registers."""
COMPARISONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "the same": np.equal,
    "changed": np.not_equal,
    "more": np.greater,
    "less": np.less,
}
"""Search conditions by name: functions of the present and the previous values."""
EQUAL = "the value"
"""Name of the search condition "equal to a typed number"."""
Kind = Literal["u8", "u16"]
MAX_WATCHES_BYTES = 4 << 20
MOST_WATCHES = 200
"""Most watched addresses of one game."""
LOOK_MS = 100


class MemorySearch:
    """Search for an address by its value; `left` masks the addresses from 8000h that still match."""

    def __init__(self) -> None:
        self.is_wide = False
        """True if values are 16 bits wide, little-endian."""
        self.before: np.ndarray | None = None
        """i32[32768], values at the previous comparison; None before the first."""
        self.left = np.zeros(0x8000, bool)
        self.restart()

    def restart(self) -> None:
        """Let every RAM address match again and forget the previous values."""
        self.before = None
        self.left[:] = False
        for begin, end in RAM:
            self.left[begin - BASE : end - BASE - self.is_wide] = True

    def set_wide(self, is_wide: bool) -> None:
        self.is_wide = is_wide
        self.restart()

    def values(self, memory: np.ndarray) -> np.ndarray:
        """Return the value at each address, i32[32768], for `memory`, u8[32768] from 8000h."""
        low = memory.astype(np.int32)
        return low | np.roll(low, -1) << 8 if self.is_wide else low

    def narrow(self, memory: np.ndarray, how: str, value: int = 0) -> int:
        """Keep the addresses whose value satisfies `how`, and return how many are left.

        `how` is EQUAL (to `value`), or a key of COMPARISONS, which compares with the values at the previous call.
        Without a previous call such a comparison keeps all addresses.
        """
        now = self.values(memory)
        cartridge = slice(CARTRIDGE[0] - BASE, CARTRIDGE[1] - BASE)
        if self.before is None and (memory[cartridge] == 0xFF).all():  # no cartridge RAM, or it is disabled
            self.left[cartridge] = False
        if how == EQUAL:
            self.left &= now == value
        elif self.before is not None:
            self.left &= COMPARISONS[how](now, self.before)
        self.before = now
        return int(self.left.sum())

    def found(self, most: int) -> list[int]:
        """Return the first `most` addresses that still match."""
        return [BASE + int(place) for place in np.flatnonzero(self.left)[:most]]


def parse_number(text: str, most: int | None = None) -> int:
    """Return the number in `text`, decimal or, after $ or 0x, hexadecimal, if it is from 0 to `most`.

    Raises ValueError with a one-line message.
    """
    plain = text.strip().lower()
    try:
        hexadecimal = plain.startswith("$")
        base = 10 if plain.isdecimal() else 0  # Python's base 0 refuses "007"
        number = int(plain[1:], 16) if hexadecimal else int(plain, base)
    except ValueError:
        what = tr("{text} is not a number: enter 12, $0C or 0x0C", text=text or tr("nothing"))
        raise ValueError(what) from None
    if most is not None and not 0 <= number <= most:
        raise ValueError(tr("{text} is not between 0 and {most}", text=text, most=most))
    return number


class Watch(msgspec.Struct, frozen=True):
    address: int
    kind: Kind = "u8"
    name: str = ""

    def read(self, memory: np.ndarray) -> int:
        """Return the watched value from `memory`, u8[32768] from 8000h."""
        place = self.address - BASE
        low = int(memory[place])
        return low | int(memory[(place + 1) % len(memory)]) << 8 if self.kind == "u16" else low


class MemoryWatches(QObject):
    """Watched addresses of each game, saved in `settings/watches.json` by the ROM's SHA-256.

    A damaged file counts as empty.
    """

    changed = Signal()

    def __init__(self, home: HomePaths) -> None:
        super().__init__()
        self._path = home.settings / "watches.json"
        self._rom = ""
        self.shown: list[Watch] = []
        """Watches of the playing game, sorted by address."""

    def turn_to(self, rom_sha256: str) -> None:
        """Load the watches of the game with this ROM hash into `shown`."""
        self._rom = rom_sha256
        self.shown = self._read().get(rom_sha256, [])
        self.changed.emit()

    def add(self, watch: Watch) -> None:
        """Add a watch to the playing game, replacing an existing one of the same address."""
        others = [each for each in self.shown if each.address != watch.address]
        self._keep(sorted([*others, watch], key=lambda each: each.address)[:MOST_WATCHES])

    def remove(self, address: int) -> None:
        self._keep([each for each in self.shown if each.address != address])

    def as_text(self, memory: np.ndarray | None) -> str:
        """Return one line per watch with tab-separated address, kind, value and name, for the clipboard."""
        return "\n".join(
            f"{watch.address:04X}\t{watch.kind}\t{'' if memory is None else watch.read(memory)}\t{watch.name}"
            for watch in self.shown
        )

    def _keep(self, watches: list[Watch]) -> None:
        self.shown = watches
        if self._rom:
            found = self._read() | {self._rom: watches}
            self._path.parent.mkdir(parents=True, exist_ok=True)
            durable_files.replace_file(self._path, msgspec.json.format(msgspec.json.encode(found)))
        self.changed.emit()

    def _read(self) -> dict[str, list[Watch]]:
        try:
            found = msgspec.json.decode(read_regular(self._path, MAX_WATCHES_BYTES), type=dict[str, list[Watch]])
        except (OSError, *BAD_JSON):
            return {}
        return {rom: [each for each in watches if BASE <= each.address <= 0xFFFF] for rom, watches in found.items()}


class MemoryController(QObject):
    """Reader of the playing game's memory; the player sends it only while a dock shows it."""

    changed = Signal()
    """New memory contents were read, or there is no memory to show any more."""

    def __init__(self, bridge: Bridge, playing: PlayController) -> None:
        super().__init__()
        self._bridge, self._playing = bridge, playing
        self.search, self.watches = MemorySearch(), MemoryWatches(bridge.home)
        self.memory: np.ndarray | None = None
        """u8[32768], the memory from 8000h; None while there is none to show."""
        self.frame = 0
        """Number of the frame at which `memory` was read."""
        self._source = FrameSource()
        self._is_watched = self._is_told = False
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self._look)
        playing.started.connect(self._on_started)
        playing.changed.connect(self._on_player)

    def watch(self, on: bool) -> None:
        """Start (`on`) or stop reading the memory of the playing game."""
        if on == self._is_watched:
            return
        self._is_watched = on
        if on:
            self._ask()
        elif self._is_told:
            self._is_told = False
            self._playing.player.send(commands.ShowMemory, on=False)
        self._timer.start() if on else self._timer.stop()

    def refusal(self) -> str:
        """Return why there is no memory to show; empty when there is."""
        if self.memory is not None:
            return ""
        if self._playing.refusal():
            return tr("No game is running")
        if self._playing.is_versus:
            return tr("Two policies play side by side")
        return tr("The memory of this game cannot be read")

    def _ask(self) -> None:
        """Ask the player to send its memory.

        A refusal (of games that are no Game Boy's) shows no banner, as the user clicked nothing.
        """
        if self._playing.is_active and not self._playing.is_versus:
            work = self._playing.player.request(commands.ShowMemory, on=True)
            self._bridge.spawn(work, then=self._on_told, failed=lambda reason: None)

    def _on_told(self, ack: records.AckEvent) -> None:
        directory = self._playing.player.directory
        if not ack.ok or directory is None:
            return
        self._is_told = True
        self._source.open(directory / MEMORY_FILE)
        self.watches.turn_to(ack.detail)
        self._look()

    def _on_started(self) -> None:
        self._forget()
        self.search.restart()
        if self._is_watched:
            self._ask()

    def _on_player(self) -> None:
        if not self._playing.is_active and self.memory is not None:
            self._forget()

    def _forget(self) -> None:
        self._source.open(None)
        self._is_told, self.memory = False, None
        self.changed.emit()

    def _look(self) -> None:
        found = self._source.latest() if self._is_told else None
        if found is not None and found[1].size == MEMORY_SHAPE.picture_bytes:
            self.frame, self.memory = found[0].frame, found[1].reshape(-1)
            self.changed.emit()
