"""Walk: bring the blue cell to the green one, around grey walls; three levels.

ACTION1 to ACTION4 go up, down, left, right. `seed` draws where walker, goal and walls stand.
"""

import random

from arcengine import ARCBaseGame, Camera, GameAction, Level, Sprite  # pyright: ignore

SIDE = 4
WALKER, GOAL, WALL, FLOOR = 9, 14, 3, 0
WALLS = (0, 1, 2)
"""Of each level."""
MOVES = {
    GameAction.ACTION1: (0, -1),
    GameAction.ACTION2: (0, 1),
    GameAction.ACTION3: (-1, 0),
    GameAction.ACTION4: (1, 0),
}


def reachable(start: tuple[int, int], walls: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Every cell that a walker at `start` can get to."""
    seen, edge = {start}, [start]
    while edge:
        x, y = edge.pop()
        for dx, dy in MOVES.values():
            cell = (x + dx, y + dy)
            if cell not in seen and cell not in walls and max(cell) < SIDE and min(cell) >= 0:
                seen.add(cell)
                edge.append(cell)
    return seen


def cell(colour: int, name: str, place: tuple[int, int]) -> Sprite:
    return Sprite(pixels=[[colour]], name=name).set_position(*place)


def draw_level(rng: random.Random, walls: int) -> Level:
    """A level that can be solved, with at least three steps to go."""
    while True:
        cells = [(x, y) for x in range(SIDE) for y in range(SIDE)]
        rng.shuffle(cells)
        start, goal, *rest = cells
        blocked = set(rest[:walls])
        far = abs(start[0] - goal[0]) + abs(start[1] - goal[1]) >= 3
        if far and goal in reachable(start, blocked):
            break
    sprites = [cell(WALL, "wall", place) for place in sorted(blocked)]
    sprites += [cell(GOAL, "goal", goal), cell(WALKER, "walker", start)]
    return Level(sprites=sprites, grid_size=(SIDE, SIDE))


class Wk01(ARCBaseGame):
    def __init__(self, seed: int = 0) -> None:
        rng = random.Random(seed)
        super().__init__(
            game_id="wk01",
            levels=[draw_level(rng, walls) for walls in WALLS],
            camera=Camera(background=FLOOR, letter_box=FLOOR),
            available_actions=[1, 2, 3, 4],
            seed=seed,
        )

    def step(self) -> None:
        walker = self.current_level.get_sprites_by_name("walker")[0]
        goal = self.current_level.get_sprites_by_name("goal")[0]
        walls = {(wall.x, wall.y) for wall in self.current_level.get_sprites_by_name("wall")}
        if self.action.id in MOVES:
            dx, dy = MOVES[self.action.id]
            there = (walker.x + dx, walker.y + dy)
            if there not in walls and max(there) < SIDE and min(there) >= 0:
                walker.set_position(*there)
        if (walker.x, walker.y) == (goal.x, goal.y):
            self.next_level()
        self.complete_action()
