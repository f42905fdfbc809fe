"""Names of `pyboy.api`: what looks at a console's picture, tiles, objects and memory."""

from dmglab.pyboy.api import constants
from dmglab.pyboy.api.gameshark import GameShark
from dmglab.pyboy.api.screen import Screen
from dmglab.pyboy.api.sprite import Sprite
from dmglab.pyboy.api.tile import Tile
from dmglab.pyboy.api.tilemap import TileMap

__all__ = ["GameShark", "Screen", "Sprite", "Tile", "TileMap", "constants"]
