"""A Game Boy's four shades as numbers, and the greys that files show them in."""

from __future__ import annotations

MAX_SHADE = 3
"""Shades go from 0, the lightest, to this."""
GREY_LEVELS = (255, 170, 85, 0)
"""8-bit grey of each shade."""
