"""Pocket Quest in a batch of emulators, and somebody who knows the village.

The walker walks to squares, talks, and keeps every button it pressed. It reads positions from memory
and plans on the map of world.py. Scripts use it to record the play-through and the ways into later
stages; policies never see any of this.
"""

from __future__ import annotations

from collections import deque
from pathlib import Path

import world
from generate import paint
from kit import game_batch

ROM = Path(__file__).resolve().parent / "pocket_quest.gb"
WINDOW_TEXT = slice(0x1C00, 0x1C00 + 18 * 32)  # tiles of boxes and menus, offset in the row
MARKS = (4 * 32 + 18, 15 * 32 + 18)  # the blinking mark inside a box, on a full page
WRAM_OFFSET = 0x8000  # row offset = address - 0x8000 in work RAM

FACINGS = ("DOWN", "UP", "LEFT", "RIGHT")
MOVES = {"DOWN": (0, 1), "UP": (0, -1), "LEFT": (-1, 0), "RIGHT": (1, 0)}
ACTOR_BYTES = 12
PATIENCE = 400  # actions until a walk counts as lost


class GameBatch(game_batch.GameBatch):
    """N copies of Pocket Quest."""

    def __init__(self, num_envs: int) -> None:
        super().__init__(ROM, num_envs)
        at = {name: address - WRAM_OFFSET for name, address in self.addresses.items()}
        player = at["actors"]
        self._bytes = [
            at["room"],
            at["room"] + 1,
            player,
            player + 1,
            player + 2,
            player + 3,
            at["dialogue_open"],
            at["shadow_bgp"],
            at["story"],
        ]

    def keys(self) -> list[tuple]:
        """What decides the future apart from chance: place, dialogue, fade, story."""
        rows = self.emulator.batch.ram.numpy()
        text = rows[:, WINDOW_TEXT].copy()
        text[:, MARKS] = 0
        variables = rows[:, self._bytes]
        opened = variables[:, 6]
        return [(*v.tolist(), t.tobytes() if o else b"") for v, t, o in zip(variables, text, opened, strict=True)]


def place(key: tuple) -> tuple[int, int, int, int] | None:
    """(room pointer, x, y, facing) if the player stands at rest and free to act, else None."""
    low, high, x, y, facing, steps, dialogue, palette = key[:8]
    if steps or dialogue or palette != 0xE4:
        return None
    return high << 8 | low, x, y, facing


class LostError(RuntimeError):
    """A walk that does not arrive."""


class Walker:
    """Plays env 0 of a batch of one."""

    def __init__(self, game: GameBatch) -> None:
        self.game = game
        self.actions: list[str] = []
        self.solid = [paint(room)[1] for room in world.ROOMS]

    def press(self, *names: str) -> None:
        self.game.press(*names)
        self.actions += names

    @property
    def room(self) -> str:
        return world.ROOMS[self.game.variable("room_number")].name

    @property
    def story(self) -> int:
        return self.game.variable("story")

    @property
    def resting(self) -> bool:
        """The player stands and may act."""
        return place(self.game.keys()[0]) is not None

    def actor(self, number: int) -> tuple[int, int, int]:
        """(x, y, facing)"""
        row = self.game.emulator.peek(0, self.game.addresses["actors"] + ACTOR_BYTES * number, 3)
        return int(row[0]), int(row[1]), int(row[2])

    def _way(self, goal: tuple[int, int], avoid_people: bool) -> list[str]:
        """Shortest way to a square, around people."""
        solid = self.solid[self.game.variable("room_number")]
        people = {self.actor(k)[:2] for k in range(1, self.game.variable("actor_count"))}
        blocked = people if avoid_people else set()
        warps = {(w.x, w.y) for w in world.ROOMS[self.game.variable("room_number")].warps if w.when == 255}
        start = self.actor(0)[:2]
        came: dict[tuple[int, int], tuple[str, tuple[int, int]]] = {}
        queue = deque([start])
        while queue and goal not in came:
            x, y = queue.popleft()
            for name, (dx, dy) in MOVES.items():
                to = x + dx, y + dy
                if not (0 <= to[1] < len(solid) and 0 <= to[0] < len(solid[0])):
                    continue
                if solid[to[1]][to[0]] or to in blocked or to in came or to == start:
                    continue
                if to in warps and to != goal:
                    continue
                came[to] = (name, (x, y))
                queue.append(to)
        way, at = [], goal
        while at in came:
            name, at = came[at]
            way.append(name)
        return way[::-1]

    def walk(self, x: int, y: int) -> None:
        """Go to a square; stops early when a door leads to another room."""
        room = self.room
        for _ in range(PATIENCE):
            if self.room != room or (self.resting and self.actor(0)[:2] == (x, y)):
                break
            way = self._way((x, y), avoid_people=True) or self._way((x, y), avoid_people=False)
            self.press(way[0] if way and self.resting else "B")
        else:
            raise LostError(f"{room}: no way to ({x}, {y})")
        self.settle()

    def settle(self) -> None:
        """Wait out fades; B does nothing in a room."""
        for _ in range(20):
            if self.resting:
                return
            self.press("B")
        raise LostError(f"{self.room}: never at rest")

    def face(self, name: str) -> None:
        if self.actor(0)[2] != FACINGS.index(name):
            self.press(name)

    def read(self, name: str) -> None:
        """Face something and talk until the box closes."""
        self.face(name)
        self.press("A")
        self.read_on()

    def read_on(self) -> None:
        """Turn pages until the box closes or the errand ends."""
        for _ in range(40):
            if self.resting or self.story == world.END:
                return
            self.press("A")
        raise LostError(f"{self.room}: the talk does not end")

    def talk_to(self, number: int) -> None:
        """Follow a person who may wander, and talk."""
        for _ in range(PATIENCE):
            (x, y, _), (ax, ay, _) = self.actor(0), self.actor(number)
            for name, (dx, dy) in MOVES.items():
                if (x + dx, y + dy) == (ax, ay):
                    self.face(name)
                    self.press("A")
                    if not self.resting:
                        self.read_on()
                        return
                    break
            else:
                near = [(ax + dx, ay + dy) for dx, dy in MOVES.values()]
                ways = [w for w in (self._way(to, True) for to in near) if w]
                if ways:
                    self.press(min(ways, key=len)[0])
                else:
                    self.press("B")
        raise LostError(f"{self.room}: person {number} was never met")
