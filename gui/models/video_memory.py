"""Tiles, maps and sprites as they lie in video memory: pictures of memory.bin's bytes.

Formats after Pan Docs, "VRAM Tile Data", "VRAM Tile Maps" and "Object Attribute Memory".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trainer_core.wire.frames import BASE

OAM, LCDC, SCY, SCX, BGP, OBP0, WY, WX = (0xFE00, 0xFF40, 0xFF42, 0xFF43, 0xFF47, 0xFF48, 0xFF4A, 0xFF4B)
TILES_A_ROW = 16


class Sprite(NamedTuple):
    x: int
    """Of its left edge on the screen; as for y, less what the hardware adds."""
    y: int
    tile: int
    flags: int


def at(memory: np.ndarray, address: int) -> int:
    return int(memory[address - BASE])


def tiles(memory: np.ndarray) -> np.ndarray:
    """u8[384, 8, 8] of colour numbers 0 to 3: every tile from 8000 on."""
    rows = memory[:0x1800].reshape(384, 8, 2)
    low, high = (np.unpackbits(rows[..., plane, None], axis=-1) for plane in (0, 1))
    return low | high << 1


def shades_of(palette: int) -> np.ndarray:
    """u8[4]: the shade of each colour number, as a palette register has them."""
    return np.array([palette >> 2 * number & 3 for number in range(4)], np.uint8)


def tile_sheet(memory: np.ndarray) -> np.ndarray:
    """u8[192, 128] of shades, sixteen tiles a row, by the background's palette."""
    sheet = tiles(memory).reshape(-1, TILES_A_ROW, 8, 8).swapaxes(1, 2)
    return shades_of(at(memory, BGP))[sheet.reshape(-1, TILES_A_ROW * 8)]


def tile_map(memory: np.ndarray, is_window: bool) -> np.ndarray:
    """u8[256, 256] of shades: the whole background or window as LCDC chooses map and tiles."""
    lcdc = at(memory, LCDC)
    begin = 0x9C00 if lcdc & (0x40 if is_window else 0x08) else 0x9800
    numbers = memory[begin - BASE : begin - BASE + 0x400].astype(np.int32)
    if not lcdc & 0x10:  # counted from 9000, with a sign
        numbers = np.where(numbers < 128, numbers + 256, numbers)
    drawn = tiles(memory)[numbers].reshape(32, 32, 8, 8).swapaxes(1, 2).reshape(256, 256)
    return shades_of(at(memory, BGP))[drawn]


def sprites(memory: np.ndarray) -> list[Sprite]:
    """The forty, in the order of OAM."""
    entries = memory[OAM - BASE : OAM - BASE + 160].reshape(40, 4).tolist()
    return [Sprite(x - 8, y - 16, tile, flags) for y, x, tile, flags in entries]


def sprite_sheet(memory: np.ndarray) -> np.ndarray:
    """u8[144, 160] of shades: the sprites where they are on the screen, the first on top.

    Behind them is the shade that they have least of, so that white ones are seen as well.
    """
    empty = 255
    sheet = np.full((144 + 32, 160 + 16), empty, np.uint8)
    is_tall = bool(at(memory, LCDC) & 4)
    drawn = tiles(memory)
    for sprite in reversed(sprites(memory)):
        numbers = (sprite.tile & 0xFE, sprite.tile | 1) if is_tall else (sprite.tile,)
        picture = np.concatenate([drawn[number] for number in numbers])
        picture = picture[::-1] if sprite.flags & 0x40 else picture
        picture = picture[:, ::-1] if sprite.flags & 0x20 else picture
        shades = shades_of(at(memory, OBP0 + (sprite.flags >> 4 & 1)))[picture]
        x, y = sprite.x + 8, sprite.y + 16
        if x < 168 and y < 160:
            place = sheet[y : y + len(picture), x : x + 8]
            shown = picture[:, : place.shape[1]][: place.shape[0]]
            place[shown != 0] = shades[: place.shape[0], : place.shape[1]][shown != 0]
    counts = np.bincount(sheet[sheet != empty], minlength=4)
    sheet[sheet == empty] = int(counts[:4].argmin())
    return sheet[16:160, 8:168]
