"""The rules of Mirror Moths, a solver, and a search for levels worth solving.

    python assets/games/mirror_moths/levels.py            writes levels.txt (takes a minute)
    python assets/games/mirror_moths/levels.py --check    solves what levels.txt holds

Two halves of five by eight squares. The moth on the left flies as the pad says, the moth on the
right left-right mirrored. Both must rest on the lamp of their half at the same time.

    .  floor     #  pot: nobody passes     x  thorns: both moths back to their places
    ~  leaf: falls when left, then a hole  p  plate     g  gate: open while somebody is on a plate
    m  a moth's place                      o  its lamp
"""

from __future__ import annotations

import random
import sys
from collections import deque
from pathlib import Path

WIDTH, HEIGHT, HALF = 10, 8, 5
FILE = Path(__file__).resolve().parent / "levels.txt"
MOVES = {"UP": (0, -1), "DOWN": (0, 1), "LEFT": (-1, 0), "RIGHT": (1, 0)}
SEED = 7
# What each level may hold besides pots, and the least number of moves that solves it.
PLAN = [
    ("", 6), ("", 9), ("", 12), ("x", 12), ("x", 13), ("xx", 14), ("~", 14), ("~~", 15),
    ("x~", 15), ("pg", 14), ("pg", 16), ("pgx", 16), ("pgx~", 17), ("pgg~", 18), ("xx~~", 19),
    ("pgx~~", 20),
]  # fmt: skip

Square = tuple[int, int]
State = tuple[Square, Square, frozenset[Square]]  # left moth, right moth, fallen leaves


class Level:
    """One level, from its rows."""

    def __init__(self, rows: list[str]) -> None:
        self.rows = rows
        self.kind = {(x, y): rows[y][x] for y in range(HEIGHT) for x in range(WIDTH)}
        self.moths = tuple(sorted(s for s, k in self.kind.items() if k == "m"))
        self.lamps = tuple(sorted(s for s, k in self.kind.items() if k == "o"))

    @property
    def start(self) -> State:
        left, right = sorted(self.moths)
        return left, right, frozenset()

    def move(self, state: State, name: str) -> State:
        """Where the moths are after one press."""
        dx, dy = MOVES[name]
        left, right, fallen = state
        is_open = "p" in (self.kind[left], self.kind[right])
        to = (self._to(left, dx, dy, fallen, is_open), self._to(right, -dx, dy, fallen, is_open))
        if "x" in (self.kind[to[0]], self.kind[to[1]]):
            return self.start
        left_behind = {a for a, b in zip((left, right), to, strict=True) if a != b}
        return *to, fallen | {s for s in left_behind if self.kind[s] == "~"}

    def _to(self, at: Square, dx: int, dy: int, fallen: frozenset[Square], is_open: bool) -> Square:
        x, y = at[0] + dx, at[1] + dy
        low = 0 if at[0] < HALF else HALF
        if not (low <= x < low + HALF and 0 <= y < HEIGHT):
            return at
        kind = self.kind[x, y]
        if kind == "#" or (x, y) in fallen or (kind == "g" and not is_open):
            return at
        return x, y

    def solved(self, state: State) -> bool:
        return (state[0], state[1]) == tuple(sorted(self.lamps))

    def distances(self) -> dict[State, list[str]]:
        """A shortest way from the start to every state, up to and with the solution."""
        found: dict[State, list[str]] = {self.start: []}
        queue = deque([self.start])
        while queue:
            state = queue.popleft()
            if self.solved(state):
                continue
            for name in MOVES:
                after = self.move(state, name)
                if after not in found:
                    found[after] = [*found[state], name]
                    queue.append(after)
        return found

    def solution(self, state: State | None = None) -> list[str]:
        """Fewest presses that light both lamps; empty if there are none."""
        start = state or self.start
        came: dict[State, tuple[State, str] | None] = {start: None}
        queue = deque([start])
        while queue:
            at = queue.popleft()
            if self.solved(at):
                way: list[str] = []
                while (step := came[at]) is not None:
                    at, name = step
                    way.append(name)
                return way[::-1]
            for name in MOVES:
                after = self.move(at, name)
                if after not in came:
                    came[after] = (at, name)
                    queue.append(after)
        return []


def propose(extras: str, dice: random.Random) -> Level:
    """A level by chance: a third of it pots, and the extras."""
    cells = [["."] * WIDTH for _ in range(HEIGHT)]
    for low in (0, HALF):
        places = [(x, y) for y in range(HEIGHT) for x in range(low, low + HALF)]
        dice.shuffle(places)
        for mark in "mo" + "#" * dice.randint(9, 13):
            x, y = places.pop()
            cells[y][x] = mark
    for mark in extras.replace("x", "xxx").replace("~", "~~"):
        while True:
            x, y = dice.randrange(WIDTH), dice.randrange(HEIGHT)
            if cells[y][x] == ".":
                cells[y][x] = mark
                break
    return Level(["".join(row) for row in cells])


def uses(level: Level, way: list[str], extras: str) -> bool:
    """The solution needs what the level holds: without a leaf or gate another is shorter."""
    if "g" not in extras:
        return True
    plain = Level([row.replace("g", "#") for row in level.rows])
    return len(plain.solution()) != len(way)


def search() -> list[Level]:
    dice, levels = random.Random(SEED), []
    for number, (extras, least) in enumerate(PLAN, 1):
        while True:
            level = propose(extras, dice)
            way = level.solution()
            if least <= len(way) <= least + 3 and uses(level, way, extras):
                break
        levels.append(level)
        print(f"level {number}: {len(way)} moves", file=sys.stderr)
    return levels


def load() -> list[Level]:
    return [Level(block.split("\n")) for block in FILE.read_text().strip().split("\n\n")]


def main() -> int:
    if "--check" in sys.argv:
        for number, level in enumerate(load(), 1):
            print(f"level {number}: {len(level.solution())} moves, {len(level.distances())} states")
        return 0
    FILE.write_text("\n\n".join("\n".join(level.rows) for level in search()) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
