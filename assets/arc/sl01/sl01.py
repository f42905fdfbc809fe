"""Slide: on ice the blue cell goes on until something stops it; stop on the green one.

ACTION1 to ACTION4 push it up, down, left, right; every cell of its way is a frame of the answer.
A red hole ends the game.
"""

from arcengine import ARCBaseGame, Camera, GameAction, Level, Sprite  # pyright: ignore

SLIDER, GOAL, WALL, HOLE, ICE = 9, 14, 3, 8, 10
LEVELS = (
    "S......\n.......\n.......\n.......\n.......\n.......\n......G",
    "#G....#\n...#...\n......S\n#......\n.......\n...#...\n.##....",
    ".......\n.S..#..\n.O..##.\n......#\n...#..G\n..#O...\n.#.....",
)
"""S slider, G goal, # wall, O hole; the edge stops too."""
NAMES = {"S": ("slider", SLIDER), "G": ("goal", GOAL), "#": ("wall", WALL), "O": ("hole", HOLE)}
MOVES = {
    GameAction.ACTION1: (0, -1),
    GameAction.ACTION2: (0, 1),
    GameAction.ACTION3: (-1, 0),
    GameAction.ACTION4: (1, 0),
}


def read_level(text: str) -> Level:
    rows = text.split("\n")
    sprites = []
    for y, row in enumerate(rows):
        for x, sign in enumerate(row):
            if sign in NAMES:
                name, colour = NAMES[sign]
                layer = 1 if name == "slider" else 0
                made = Sprite(pixels=[[colour]], name=name, layer=layer)
                sprites.append(made.set_position(x, y))
    return Level(sprites=sprites, grid_size=(len(rows[0]), len(rows)))


class Sl01(ARCBaseGame):
    def __init__(self, seed: int = 0) -> None:
        super().__init__(
            game_id="sl01",
            levels=[read_level(text) for text in LEVELS],
            camera=Camera(background=ICE, letter_box=5),
            available_actions=[1, 2, 3, 4],
            seed=seed,
        )

    def places(self, name: str) -> set[tuple[int, int]]:
        return {(it.x, it.y) for it in self.current_level.get_sprites_by_name(name)}

    def step(self) -> None:
        """One cell of the way: the engine renders it and calls again until the action is done."""
        slider = self.current_level.get_sprites_by_name("slider")[0]
        if self.action.id in MOVES and self.move(slider):
            if (slider.x, slider.y) not in self.places("hole"):
                return
            self.lose()
        elif (slider.x, slider.y) in self.places("goal"):
            self.next_level()
        self.complete_action()

    def move(self, slider: Sprite) -> bool:
        """Whether there was room for one cell more."""
        dx, dy = MOVES[self.action.id]
        width, height = self.current_level.grid_size or (0, 0)
        there = (slider.x + dx, slider.y + dy)
        inside = 0 <= there[0] < width and 0 <= there[1] < height
        if not inside or there in self.places("wall"):
            return False
        slider.set_position(*there)
        return True
