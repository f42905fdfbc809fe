"""Numbers of a Game Boy's four shades, and the colours in which files and screens show them."""

from __future__ import annotations

MAX_SHADE = 3
"""Darkest shade; 0 is the lightest."""
GREY_LEVELS = (255, 170, 85, 0)
"""8-bit grey of each shade."""
SCREENS = {
    "dmg": (0x9BBC0F, 0x8BAC0F, 0x306230, 0x0F380F),
    "grey": (0xF8F8F8, 0xA8A8A8, 0x585858, 0x080808),
    "pocket": (0xC4CFA1, 0x8B956D, 0x4D533C, 0x1F1F1F),
    "light": (0x00B581, 0x009A71, 0x00694A, 0x004F3B),
}
"""0xRRGGBB of each shade on the app's screens; the last two are those of a Game Boy Pocket and a lit Game Boy Light,
measured on photographs."""
DEFAULT_SCREEN = "pocket"
"""Colours of the app's screens until the user chooses; the greens have the hue of the app's own colour."""
