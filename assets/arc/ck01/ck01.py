"""Lights: put every red light out. ACTION6 at x, y changes the light that is clicked.

In the second level a click changes the neighbours to the left and right as well. ACTION5 lights all
of them again.
"""

from arcengine import ARCBaseGame, Camera, GameAction, Level, Sprite  # pyright: ignore

ON, OFF, FLOOR = 8, 4, 0
LEVELS = (({(2, 2), (5, 2), (4, 5)}, ((0, 0),)), ({(1, 3), (2, 3), (3, 3), (5, 6), (6, 6)}, ((-1, 0), (0, 0), (1, 0))))
"""Which lights burn at first, and what a click changes."""
SIDE = 8


def light(place: tuple[int, int], burns: bool) -> Sprite:
    made = Sprite(pixels=[[ON if burns else OFF]], name="on" if burns else "off")
    return made.set_position(*place)


def lights(burning: set[tuple[int, int]]) -> Level:
    cells = [(x, y) for y in range(1, SIDE - 1) for x in range(1, SIDE - 1)]
    return Level(sprites=[light(cell, cell in burning) for cell in cells], grid_size=(SIDE, SIDE))


class Ck01(ARCBaseGame):
    def __init__(self, seed: int = 0) -> None:
        super().__init__(
            game_id="ck01",
            levels=[lights(burning) for burning, _ in LEVELS],
            camera=Camera(background=FLOOR, letter_box=FLOOR),
            available_actions=[5, 6],
            seed=seed,
        )

    def burning(self) -> set[tuple[int, int]]:
        return {(it.x, it.y) for it in self.current_level.get_sprites_by_name("on")}

    def show(self, burning: set[tuple[int, int]]) -> None:
        for sprite in self.current_level.get_sprites():
            self.current_level.remove_sprite(sprite)
        for sprite in lights(burning).get_sprites():
            self.current_level.add_sprite(sprite)

    def step(self) -> None:
        first, changes = LEVELS[self.level_index]
        if self.action.id == GameAction.ACTION5:
            self.show(first)
        elif self.action.id == GameAction.ACTION6:
            data = self.action.data
            cell = self.camera.display_to_grid(data.get("x", 0), data.get("y", 0))
            if cell is not None:
                clicked = {(cell[0] + dx, cell[1] + dy) for dx, dy in changes}
                inside = {(x, y) for x, y in clicked if 1 <= x < SIDE - 1 and 1 <= y < SIDE - 1}
                self.show(self.burning() ^ inside)
        if not self.burning():
            self.next_level()
        self.complete_action()
