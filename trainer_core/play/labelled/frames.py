"""Labelled frames of episodes whose buttons are known: pictures, watched bytes, tile maps, sprites.

Episodes run side by side on one batch of consoles and come out one by one. Label 0 of an episode is its start, label
n + 1 the frame after its n-th `buttons`. A picture is the last one that was completed; bytes are those of the moment.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from emulator import Cartridge, Emulator, EmulatorError
from emulator import constants as k
from emulator.launch.watched_memory import Watch
from emulator.rom.symbols import Symbols
from trainer_core.envs.demonstrations import Demonstration
from trainer_core.wire.errors import ConfigError

SCENE: dict[str, tuple[Any, tuple[int, ...]]] = {
    "tile_map": ((0x9800, 0x800), (2, 32, 32)),
    "sprites": ((0xFE00, 0xA0), (40, 4)),
    "registers": ((0xFF40, 12), (12,)),
}
"""What is watched in any game, and its shape: both tile maps, OAM as y, x, tile, flags, and LCDC to WX (FF40-FF4B)."""
BATCH_BYTES = 256 << 20
"""Most bytes of labels of one batch."""
MOST_CONSOLES = 1024
PICTURE = (144, 2, 20)
BYTES = 8 << 10
"""Bytes of a frame's picture and labels, about."""


@dataclass(frozen=True, slots=True)
class Labelled:
    """One episode of S steps."""

    number: int
    buttons: np.ndarray
    """u8[S, frames per step], the joypad mask of each frame."""
    pictures: np.ndarray
    """u8[S + 1, 144, 2, 20], as `Emulator.packed_screens`."""
    labels: dict[str, np.ndarray]
    """Of SCENE and of each watched group, u8[S + 1, ...]."""
    hash: str
    """Of pictures and SCENE, and of WRAM at the end: equal wherever the same buttons are played again."""


def shades_of(pictures: np.ndarray) -> np.ndarray:
    """Return pictures of bit planes, u8[..., 144, 2, 20], as shades u8[..., 144, 160]."""
    bits = np.unpackbits(pictures, axis=-1)
    return bits[..., 0, :] | bits[..., 1, :] << 1


def parse_watch(texts: Sequence[str]) -> dict[str, Any]:
    """Return groups for `Emulator.watch` of texts like `xy=D361+2`, `01:A000` or `hp=wPlayerHP+2`.

    Raises ConfigError for one that cannot be.
    """
    groups: dict[str, Any] = {}
    for text in texts:
        name, _, place = text.rpartition("=")
        place, plus, length = place.partition("+")
        name = name or place
        if name in groups or name in SCENE or not place or (plus and not length.isdecimal()):
            raise ConfigError(f"--watch {text[:60]}: give NAME=ADDRESS+LENGTH, like xy=D361+2, each name once")
        start = int(place, 16) if re.fullmatch("(0x)?[0-9A-Fa-f]{4}", place) else place
        groups[name] = (start, int(length)) if plus else start
    return groups


def label(
    cartridge: Cartridge,
    episodes: Sequence[Demonstration],
    *,
    every: int = 1,
    watch: Mapping[str, Any] | None = None,
    symbols: Path | None = None,
    device: str = "cpu",
    tell: Callable[[float], None] = lambda share: None,
) -> Iterator[Labelled]:
    """Play the episodes and yield their labels in order, one each `every` frames.

    `watch`: groups for `Emulator.watch`. Raises ConfigError for bytes that cannot be watched and for episodes without
    a whole step.
    """
    if not episodes:
        raise ConfigError("no episode to play")
    counts = [len(episode.masks) // every for episode in episodes]
    if not min(counts):
        raise ConfigError(f"episode {counts.index(0)} has no {every} frames: give a smaller --every")
    scene = {name: item for name, (item, _) in SCENE.items()}
    side_by_side = max(1, BATCH_BYTES // ((max(counts) + 1) * BYTES))
    try:
        emulator = Emulator(cartridge, min(len(episodes), side_by_side, MOST_CONSOLES), device)
    except EmulatorError as error:
        raise ConfigError(str(error)) from None
    try:
        watched = emulator.watch(Symbols(symbols) if symbols else None, **scene, **(watch or {}))
    except EmulatorError as error:
        raise ConfigError(f"--watch: {error}") from None
    with emulator:
        for begin in range(0, len(episodes), emulator.num_envs):
            yield from _batch(emulator, watched, episodes, counts, begin, every)
            tell(min(1.0, (begin + emulator.num_envs) / len(episodes)))


def _batch(
    emulator: Emulator, watched: Watch, episodes: Sequence[Demonstration], counts: list[int], begin: int, every: int
) -> Iterator[Labelled]:
    """Play the episodes from number `begin` on, one on each console."""
    some, n = episodes[begin : begin + emulator.num_envs], emulator.num_envs
    cache = emulator.state_cache([episode.start for episode in some])
    emulator.reset(None, cache, np.arange(n) % len(some))
    watched.update()
    steps = max(counts[begin : begin + n])
    pictures = np.empty((steps + 1, len(some), *PICTURE), np.uint8)
    labels = np.empty((steps + 1, len(some), watched.bytes.shape[1]), np.uint8)
    masks = np.zeros((steps * every, n), np.uint8)
    for console, episode in enumerate(some):
        part = episode.masks[: len(masks)]
        masks[: len(part), console] = part
    ends = [b""] * len(some)
    for step in range(steps + 1):
        for held in masks[(step - 1) * every : step * every] if step else ():
            emulator.run(held, 1)
        pictures[step] = emulator.packed_screens().numpy()[: len(some)]
        labels[step] = watched.bytes.numpy()[: len(some)]
        for console in range(len(some)):
            if counts[begin + console] == step:
                ends[console] = bytes(emulator.peek(console, k.WRAM, k.ECHO - k.WRAM))
    for console, end in enumerate(ends):
        count = counts[begin + console]
        shown, found = pictures[: count + 1, console].copy(), labels[: count + 1, console]
        parts = {name: found[:, part] for name, part in watched.slices.items()}
        for name, (_, shape) in SCENE.items():
            parts[name] = parts[name].reshape(-1, *shape)
        digest = hashlib.blake2b(shown.data, digest_size=16)
        for name in SCENE:
            digest.update(np.ascontiguousarray(parts[name]).data)
        digest.update(end)
        buttons = some[console].masks[: count * every].reshape(count, every)
        yield Labelled(begin + console, buttons, shown, parts, digest.hexdigest())
