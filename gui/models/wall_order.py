"""Which Game Boy is where on the env wall, and which stand still."""

from __future__ import annotations

import time

import numpy as np

from trainer_core.wire.records import WallEvent

SORTS = ("env", "success", "dist")
SETTLE_S = 2.0
"""Tiles keep their places for this long: a wall that is sorted anew all the time shows nothing."""


class WallOrder:
    """Of the envs that are watched; what a trainer does not tell does not sort."""

    def __init__(self) -> None:
        self.by = "env"
        self.told: WallEvent | None = None
        self.frozen: dict[int, np.ndarray] = {}
        """The picture at which an env was frozen, by env. Only the wall stands still."""
        self._order: list[int] = []
        self._next = 0.0

    def forget(self) -> None:
        """Another run, or another number of envs, is watched."""
        self.told, self.frozen, self._order, self._next = None, {}, [], 0.0

    def sort_by(self, by: str) -> None:
        """`by` one of SORTS: the number, most successes first, least distance first."""
        self.by, self._next = by, 0.0

    def order(self, count: int) -> list[int]:
        """Env at each place of a wall of `count`."""
        now = time.monotonic()
        if len(self._order) != count or now >= self._next:
            self._next = now + SETTLE_S
            self._order = sorted(range(count), key=self._key)
        return self._order

    def toggle_frozen(self, env: int, picture: np.ndarray) -> None:
        if self.frozen.pop(env, None) is None:
            self.frozen[env] = picture.copy()

    def pictures(self, pictures: np.ndarray) -> np.ndarray:
        """`pictures` u8[N, H, W(, 3)] in the wall's order, frozen ones as they were."""
        order = self.order(len(pictures))
        shown = pictures[order]
        for place, env in enumerate(order):
            frozen = self.frozen.get(env)
            if frozen is not None and frozen.shape == shown.shape[1:]:
                shown[place] = frozen
        return shown

    def words(self, env: int) -> str:
        """Distance and successes of an env; empty where the trainer tells none."""
        told = self.told
        if told is None or env >= len(told.dist):
            return ""
        return f"{told.dist[env]:.2f}  {told.successes[env]}/{told.episodes[env]}"

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
