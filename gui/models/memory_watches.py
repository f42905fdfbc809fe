"""Addresses that a person watches in a game, kept by the hash of its ROM."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
from PySide6.QtCore import QObject, Signal

from trainer_core.lab import durable_files
from trainer_core.lab.paths import HomePaths
from trainer_core.wire.errors import BAD_JSON
from trainer_core.wire.frames import BASE
from trainer_core.wire.regular_files import read_regular

Kind = Literal["u8", "u16"]
MAX_BYTES = 4 << 20
MOST = 200
"""Watches a game."""


class Watch(msgspec.Struct, frozen=True):
    address: int
    kind: Kind = "u8"
    name: str = ""

    def read(self, memory: np.ndarray) -> int:
        """Its value in `memory` u8[32768]."""
        place = self.address - BASE
        low = int(memory[place])
        return low | int(memory[(place + 1) % len(memory)]) << 8 if self.kind == "u16" else low


class MemoryWatches(QObject):
    """`settings/watches.json`: SHA-256 of a ROM to its watches. A damaged file reads as empty."""

    changed = Signal()

    def __init__(self, home: HomePaths) -> None:
        super().__init__()
        self._path = home.settings / "watches.json"
        self._rom = ""
        self.shown: list[Watch] = []
        """Those of the game that plays, by address."""

    def turn_to(self, rom_sha256: str) -> None:
        """Show the watches of another game."""
        self._rom = rom_sha256
        self.shown = self._read().get(rom_sha256, [])
        self.changed.emit()

    def add(self, watch: Watch) -> None:
        """Watch an address; one that is watched already changes."""
        others = [each for each in self.shown if each.address != watch.address]
        self._keep(sorted([*others, watch], key=lambda each: each.address)[:MOST])

    def remove(self, address: int) -> None:
        self._keep([each for each in self.shown if each.address != address])

    def as_text(self, memory: np.ndarray | None) -> str:
        """A line a watch, with tabs: address, kind, value, name."""
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
            found = msgspec.json.decode(read_regular(self._path, MAX_BYTES), type=dict[str, list[Watch]])
        except (OSError, *BAD_JSON):
            return {}
        return {rom: [each for each in watches if BASE <= each.address <= 0xFFFF] for rom, watches in found.items()}
