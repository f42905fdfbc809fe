"""Hardware of this computer: its GPU and the preset that fits it, found while the window is up."""

from __future__ import annotations

import importlib.metadata
import os

import msgspec
from PySide6.QtCore import QObject, Signal

from gui.kit.settings import Settings
from gui.kit.words import tr
from gui.state.bridge import Bridge, in_thread
from trainer_core.lab.presets import PRESETS, fitting_preset
from trainer_core.service import find_cards
from trainer_core.wire.checks import Gpu, size

CARDS = "hardware/gpus"
"""Setting with the GPUs found last, so that the next start begins with the preset that fits."""


class Hardware(QObject):
    changed = Signal()

    def __init__(self, bridge: Bridge, settings: Settings) -> None:
        super().__init__()
        self._bridge, self._settings = bridge, settings
        self.cards: list[Gpu] = settings.decoded(CARDS, list[Gpu], [])
        """NVIDIA GPUs in the order of cuda:N."""
        self.has_cuda = True
        """False if the installed PyTorch was built without CUDA, so that no GPU can train."""

    def look(self) -> None:
        """Look for GPUs without blocking; `changed` is emitted if others were found than at the last start."""
        self._bridge.spawn(self._look())

    async def _look(self) -> None:
        cards = await find_cards()
        has_cuda = not cards or await in_thread(torch_has_cuda)
        if (cards, has_cuda) != (self.cards, self.has_cuda):
            self.cards, self.has_cuda = cards, has_cuda
            self._settings.set(CARDS, msgspec.json.encode(cards).decode())
            self.changed.emit()

    @property
    def preset(self) -> str:
        """Name of the preset that fits this computer."""
        return fitting_preset(self.cards[0]["bytes"]) if self.cards and self.has_cuda else "laptop"

    @property
    def words(self) -> str:
        """Return one line on why `preset` fits, such as "NVIDIA H200, 140 GiB: 8,192 Game Boys"."""
        count = PRESETS[self.preset].fields["num_envs"]
        return tr("{hardware}: {count:,} Game Boys", hardware=self.name, count=count)

    @property
    def name(self) -> str:
        """Hardware that trains here, such as "2 CPU cores, no GPU"."""
        cores = tr("{cores} CPU cores", cores=os.cpu_count())
        if not self.cards:
            return tr("{cores}, no GPU", cores=cores)
        gpu = f"{self.cards[0]['name']}, {size(self.cards[0]['bytes'])}"
        if not self.has_cuda:
            return tr("{cores}; PyTorch here cannot use {gpu}", cores=cores, gpu=gpu)
        return gpu if self.preset != "laptop" else tr("{cores}, small GPU {gpu}", cores=cores, gpu=gpu)

    def devices(self) -> list[str]:
        """Return the devices that the form offers; cuda:0 also where no GPU was found."""
        return ["cpu", *(f"cuda:{number}" for number in range(max(1, len(self.cards))))]

    def device_words(self, device: str) -> str:
        """Return the text of a device such as `cpu` or `cuda:0` for the user."""
        if device == "cpu":
            return "CPU"  # the line above the form has its cores
        number = device.removeprefix("cuda:")
        if number.isdecimal() and int(number) < len(self.cards):
            card = self.cards[int(number)]
            return f"{card['name'].removeprefix('NVIDIA ')}, {size(card['bytes'])}"
        return device


def torch_has_cuda() -> bool:
    """Return whether the installed torch may use a GPU, by its version; True if it is not installed."""
    try:
        return not importlib.metadata.version("torch").endswith("+cpu")
    except importlib.metadata.PackageNotFoundError:
        return True
