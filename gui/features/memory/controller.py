"""Memory of the playing game: read while its dock is visible, searched, watched."""

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
"""Cartridge, work and high RAM: begin and end. Mirrors, video memory and registers are left out."""
COMPARISONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "the same": np.equal,
    "another": np.not_equal,
    "more": np.greater,
    "less": np.less,
}
"""Comparisons of a value with that at the previous search."""
EQUAL = "the value"
"""Comparison with a given number."""
Kind = Literal["u8", "u16"]
MAX_WATCHES_BYTES = 4 << 20
MOST_WATCHES = 200
"""Most watches per game."""
LOOK_MS = 100


class MemorySearch:
    """Search for the address of a value; `left` marks the candidates among memory.bin's addresses."""

    def __init__(self) -> None:
        self.is_wide = False
        """True if two bytes are one number, the low one first."""
        self.before: np.ndarray | None = None
        """i32[32768], values at the previous search; None before the first."""
        self.left = np.zeros(0x8000, bool)
        self.restart()

    def restart(self) -> None:
        """Make every address of RAM a candidate again."""
        self.before = None
        self.left[:] = False
        for begin, end in RAM:
            self.left[begin - BASE : end - BASE - self.is_wide] = True

    def set_wide(self, is_wide: bool) -> None:
        self.is_wide = is_wide
        self.restart()

    def values(self, memory: np.ndarray) -> np.ndarray:
        """Return `memory` u8[32768] as numbers i32[32768], one at each address."""
        low = memory.astype(np.int32)
        return low | np.roll(low, -1) << 8 if self.is_wide else low

    def narrow(self, memory: np.ndarray, how: str, value: int = 0) -> int:
        """Keep the candidates that match, and return how many are left. `how` is EQUAL or one of COMPARISONS.

        The first comparison has no earlier values: it stores the present ones and keeps all candidates.
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
        """Return the first candidates, `most` at most."""
        return [BASE + int(place) for place in np.flatnonzero(self.left)[:most]]


def parse_number(text: str, most: int | None = None) -> int:
    """Return a decimal number, or a hexadecimal one after $ or 0x, between 0 and `most`.

    Raises ValueError with a one-line message.
    """
    plain = text.strip().lower()
    try:
        hexadecimal = plain.startswith("$")
        base = 10 if plain.isdecimal() else 0  # Python's base 0 refuses "007"
        number = int(plain[1:], 16) if hexadecimal else int(plain, base)
    except ValueError:
        what = tr("{text} is no number: 12, $0C or 0x0C", text=text or tr("nothing"))
        raise ValueError(what) from None
    if most is not None and not 0 <= number <= most:
        raise ValueError(tr("{text} is not between 0 and {most}", text=text, most=most))
    return number


class Watch(msgspec.Struct, frozen=True):
    address: int
    kind: Kind = "u8"
    name: str = ""

    def read(self, memory: np.ndarray) -> int:
        """Return the watched value in `memory` u8[32768]."""
        place = self.address - BASE
        low = int(memory[place])
        return low | int(memory[(place + 1) % len(memory)]) << 8 if self.kind == "u16" else low


class MemoryWatches(QObject):
    """Watches by game in `settings/watches.json` (SHA-256 of a ROM). A damaged file reads as empty."""

    changed = Signal()

    def __init__(self, home: HomePaths) -> None:
        super().__init__()
        self._path = home.settings / "watches.json"
        self._rom = ""
        self.shown: list[Watch] = []
        """Watches of the playing game, by address."""

    def turn_to(self, rom_sha256: str) -> None:
        """Show the watches of another game."""
        self._rom = rom_sha256
        self.shown = self._read().get(rom_sha256, [])
        self.changed.emit()

    def add(self, watch: Watch) -> None:
        """Watch an address; an existing watch of it is replaced."""
        others = [each for each in self.shown if each.address != watch.address]
        self._keep(sorted([*others, watch], key=lambda each: each.address)[:MOST_WATCHES])

    def remove(self, address: int) -> None:
        self._keep([each for each in self.shown if each.address != address])

    def as_text(self, memory: np.ndarray | None) -> str:
        """Return a line per watch, with tabs: address, kind, value, name."""
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
    """Reader of the player's memory; while no dock shows it, the player sends none."""

    changed = Signal()
    """The memory was read again, or is gone."""

    def __init__(self, bridge: Bridge, playing: PlayController) -> None:
        super().__init__()
        self._bridge, self._playing = bridge, playing
        self.search, self.watches = MemorySearch(), MemoryWatches(bridge.home)
        self.memory: np.ndarray | None = None
        """u8[32768], the addresses from 8000 on; None while there is no memory to show."""
        self.frame = 0
        """Frame at which the memory was read."""
        self._source = FrameSource()
        self._is_watched = self._is_told = False
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self._look)
        playing.started.connect(self._on_started)
        playing.changed.connect(self._on_player)

    def watch(self, on: bool) -> None:
        """Begin or stop reading the memory."""
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
            return tr("Nothing plays")
        if self._playing.is_versus:
            return tr("Two policies play side by side")
        return tr("This game tells nothing of its memory")

    def _ask(self) -> None:
        """Request the memory; a refusal (games that are no Game Boy's) shows no banner, as nothing was clicked."""
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
