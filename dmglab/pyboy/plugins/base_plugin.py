"""`PyBoy.game_wrapper`: the generic one, base of those that users write, and where they register theirs."""

from __future__ import annotations

import io
import random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmglab.pyboy.api.constants import SPRITES, TILES_CGB
from dmglab.pyboy.api.sprite import Sprite
from dmglab.pyboy.utils import PyBoyException

WRAPPERS: list[type[PyBoyGameWrapper]] = []
"""Classes of wrappers that were registered, the last one first."""


class PyBoyGameWrapper:
    """View of any game as a matrix of tile numbers, `game_area`.

    A subclass sets `cartridge_title`; `register_game_wrapper` makes `PyBoy.game_wrapper` one for games of that title.
    """

    cartridge_title: str | None = None
    mapping_one_to_one = np.arange(TILES_CGB, dtype=np.uint32)

    def __init__(
        self,
        pyboy: Any,
        *_: Any,
        game_area_section: tuple[int, int, int, int] = (0, 0, 32, 32),
        game_area_follow_scxy: bool = False,
        **__: Any,
    ) -> None:
        self.pyboy = pyboy
        self.tilemap_background = pyboy.tilemap_background
        self.tilemap_window = pyboy.tilemap_window
        self.tilemap_use_background = True
        self.mapping: NDArray[np.uint32] = self.mapping_one_to_one
        self.sprite_offset = 0
        self.game_has_started = False
        self._saved_state = io.BytesIO()
        self._set_dimensions(*game_area_section, game_area_follow_scxy)

    def enabled(self) -> bool:
        """Return whether this wrapper is for the game that runs."""
        return self.cartridge_title is None or self.pyboy.cartridge_title == self.cartridge_title

    def post_tick(self) -> None:
        """Look at the console after each `PyBoy.tick`; for subclasses."""

    def start_game(self, timer_div: int | None = None) -> None:
        """Keep the present state for `reset_game`; set DIV to `timer_div`, or at random."""
        self.game_has_started = True
        self._saved_state = io.BytesIO()
        self.pyboy.save_state(self._saved_state)
        self._set_timer_div(timer_div)

    def reset_game(self, timer_div: int | None = None) -> None:
        """Return to the state that `start_game` kept. Raises PyBoyException before it."""
        if not self.game_has_started:
            raise PyBoyException("reset_game: call start_game first")
        self._saved_state.seek(0)
        self.pyboy.load_state(self._saved_state)
        self._set_timer_div(timer_div)

    def game_over(self) -> bool:
        """Return whether the game is lost; for subclasses."""
        raise NotImplementedError("game_over: this game's wrapper does not know; register one that does")

    def use_background(self, value: bool) -> None:
        """Take the tiles of the background, or if not `value` of the window."""
        self.tilemap_use_background = value

    def game_area_mapping(self, mapping: Any, sprite_offset: int) -> None:
        """Replace tile numbers by those of `mapping`, and add `sprite_offset` to those of objects."""
        self.mapping = np.asarray(mapping, dtype=np.uint32)
        self.sprite_offset = sprite_offset

    def game_area(self) -> NDArray[np.uint32]:
        """Return the numbers of the tiles in the area, objects over them, uint32[height, width]."""
        first_x, first_y, width, height = self.game_area_section
        scx, scy = self.pyboy.screen.get_tilemap_position()[0] if self.game_area_follow_scxy else (0, 0)
        tiles = (self.tilemap_background if self.tilemap_use_background else self.tilemap_window).identifiers()
        rows = np.arange(first_y + scy // 8, first_y + scy // 8 + height) % 32
        columns = np.arange(first_x + scx // 8, first_x + scx // 8 + width) % 32
        area = self.mapping[tiles[np.ix_(rows, columns)]]
        for sprite in self._sprites_on_screen():
            x = sprite.x // 8 - first_x
            for below, tile in enumerate(sprite.tiles):
                y = sprite.y // 8 - first_y + below
                if 0 <= x < width and 0 <= y < height:
                    area[y, x] = self.mapping[tile.tile_identifier] + self.sprite_offset
        return area

    def __call__(self) -> PyBoyGameWrapper:
        """Return this wrapper: it was a method in PyBoy 1."""
        return self

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.pyboy.cartridge_title}>\n{self.game_area()}"

    def _sprites_on_screen(self) -> list[Sprite]:
        sprites = [Sprite(self.pyboy, index) for index in range(SPRITES)]
        return [sprite for sprite in sprites if sprite.on_screen]

    def _set_dimensions(self, x: int, y: int, width: int, height: int, follow_scrolling: bool = True) -> None:
        self.shape = (width, height)
        self.game_area_section = (x, y, width, height)
        self.game_area_follow_scxy = follow_scrolling

    def _set_timer_div(self, timer_div: int | None) -> None:
        self.pyboy.machine.set_divider(random.getrandbits(8) if timer_div is None else timer_div & 0xFF)


def register_game_wrapper(wrapper: type[PyBoyGameWrapper]) -> type[PyBoyGameWrapper]:
    """Let `PyBoy.game_wrapper` be a `wrapper` for games of its `cartridge_title`; also a decorator of the class."""
    WRAPPERS.insert(0, wrapper)
    return wrapper
