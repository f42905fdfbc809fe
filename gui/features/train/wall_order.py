"""Places of the environments on the wall, and the environments that keep an old picture."""

from __future__ import annotations

import time

import numpy as np

from gui.kit.words import tr
from trainer_core.wire.records import WallEvent

SORTS = ("env", "success", "dist")
SETTLE_S = 2.0
"""Seconds between two sorts of the tiles, so that they do not move all the time."""


BLANK_S = 1.0
"""Most seconds for which a screen of one shade, off or fading, is shown as it was before."""


class WallOrder:
    """Order of the tiles of the wall; without data from the trainer they are in the order of the environments."""

    def __init__(self) -> None:
        self.by = "env"
        self.told: WallEvent | None = None
        self.frozen: dict[int, np.ndarray] = {}
        """Last picture by environment index of tiles that the user froze; the environments themselves go on."""
        self._order: list[int] = []
        self._next = 0.0
        self._seen = np.empty((0, 0, 0), np.uint8)
        self._seen_at = np.empty(0)

    def forget(self) -> None:
        """Discard all data, because another run or another number of environments is watched."""
        self.told, self.frozen, self._order, self._next = None, {}, [], 0.0
        self._seen_at = np.full(len(self._seen_at), -np.inf)

    def sort_by(self, by: str) -> None:
        """Sort the tiles by a key of SORTS: index, most successes first, or least distance first."""
        self.by, self._next = by, 0.0

    def order(self, count: int) -> list[int]:
        """Return the environment index at each place of a wall of `count` tiles."""
        now = time.monotonic()
        if len(self._order) != count or now >= self._next:
            self._next = now + SETTLE_S
            self._order = sorted(range(count), key=self._key)
        return self._order

    def toggle_frozen(self, env: int, picture: np.ndarray) -> None:
        if self.frozen.pop(env, None) is None:
            self.frozen[env] = picture.copy()

    def pictures(self, pictures: np.ndarray) -> np.ndarray:
        """Return `pictures` u8[N, H, W(, 3)] by environment, with old pictures of frozen and of briefly blank ones."""
        pictures = self._without_blanks(pictures)
        frozen = {env: old for env, old in self.frozen.items() if env < len(pictures)}
        shown = pictures.copy() if frozen else pictures
        for env, old in frozen.items():
            if old.shape == shown.shape[1:]:
                shown[env] = old
        return shown

    def _without_blanks(self, pictures: np.ndarray) -> np.ndarray:
        """Return `pictures` with each one of a single shade as it was up to BLANK_S ago."""
        now = time.monotonic()
        if self._seen.shape != pictures.shape:
            self._seen, self._seen_at = pictures.copy(), np.full(len(pictures), -np.inf)
        pixels = pictures.reshape(len(pictures), pictures.shape[1] * pictures.shape[2], -1)
        blank = (pixels == pixels[:, :1]).all(axis=(1, 2))
        self._seen[~blank], self._seen_at[~blank] = pictures[~blank], now
        old = blank & (now - self._seen_at < BLANK_S)
        return np.where(old.reshape(-1, *[1] * (pictures.ndim - 1)), self._seen, pictures) if old.any() else pictures

    def words(self, env: int) -> str:
        """Return how many of an environment's episodes reached the goal; empty if the trainer does not send it."""
        told = self.told
        if told is None or env >= len(told.dist):
            return ""
        return tr("{goals} of {episodes}", goals=told.successes[env], episodes=told.episodes[env])

    def _key(self, env: int) -> tuple[float, int]:
        told = self.told
        if told is None or env >= len(told.dist):
            return 0.0, env
        match self.by:
            case "success":
                return -told.successes[env] / max(1, told.episodes[env]), env
            case "dist":
                return told.dist[env], env
        return 0.0, env
