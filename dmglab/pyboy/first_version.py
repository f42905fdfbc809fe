"""Names of PyBoy 1, and what to use in place of parts that are not here."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any


def _override(pyboy: Any) -> Callable[[int, int, int], None]:
    return lambda bank, address, value: pyboy.memory.__setitem__((bank, address), value)


def _support(pyboy: Any) -> Callable[[], Any]:
    screen = SimpleNamespace(
        screen_ndarray=lambda: pyboy.screen.ndarray[..., :3],
        screen_image=lambda: pyboy.screen.image,
        raw_screen_buffer=lambda: pyboy.screen.ndarray.tobytes(),
        tilemap_position=pyboy.screen.get_tilemap_position,
        tilemap_position_list=lambda: pyboy.screen.tilemap_position_list,
    )
    parts = SimpleNamespace(
        screen=lambda: screen,
        tilemap_background=lambda: pyboy.tilemap_background,
        tilemap_window=lambda: pyboy.tilemap_window,
        sprite=pyboy.get_sprite,
        sprite_by_tile_identifier=pyboy.get_sprite_by_tile_identifier,
        tile=pyboy.get_tile,
    )
    return lambda: parts


FIRST_VERSION: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "get_memory_value": ("memory[address]", lambda pyboy: pyboy.memory.__getitem__),
    "set_memory_value": ("memory[address] = value", lambda pyboy: pyboy.memory.__setitem__),
    "override_memory_value": ("memory[bank, address] = value", _override),
    "screen_image": ("screen.image", lambda pyboy: lambda: pyboy.screen.image),
    "screen_ndarray": ("screen.ndarray", lambda pyboy: lambda: pyboy.screen.ndarray[..., :3]),
    "botsupport_manager": ("screen, tilemap_background, get_sprite and get_tile", _support),
    "_rendering": ("tick(count, render)", lambda pyboy: lambda value: None),
    "is_paused": ("paused", lambda pyboy: lambda: pyboy.paused),
}
"""What replaces each name of PyBoy 1, and the function that makes it."""
INSTEAD = {
    "sgb": "there is no Super Game Boy",
    "rumble": "there is no rumble",
    "mb": "PyBoy's inside is not here; use memory, register_file, hook_register and pyboy.machine",
    "openai_gym": "PyBoy 1's Gym environment is not here; use gymnasium.make('dmglab:dmglab/TASK-v0'), or write one",
    "get_input": "give buttons with send_input",
    "_serial": "use dmglab.Emulator(rom, serial_capacity=4096).serial_output()",
    "plugin_manager": "plug-ins are not here; register a game wrapper with dmglab.pyboy.register_game_wrapper",
}
"""What to use in place of parts that are not here."""
