"""Export of pictures as an animated GIF, with Pillow and numpy only, written atomically.

GIF counts time in centiseconds and Pillow rounds delays down to them; viewers slow delays under 2 cs. At 59.7 frames a
second a frame lasts 1.675 cs. So pictures are shown for 2 cs or more, each picture is the one on the screen when its
time begins, and the GIF lasts as long as the game did, within one delay.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from trainer_core.lab.recording import FRAMES_PER_SECOND
from trainer_core.wire.shades import GREY_LEVELS, SCREENS

CENTISECOND_S = 0.01
DEFAULT_DELAY_CS = 2
MAX_SCALE = 8
GREENS = ((224, 248, 208), (136, 192, 112), (52, 104, 86), (8, 24, 32))
GREYS = tuple((level, level, level) for level in GREY_LEVELS)
PALETTES = {"green": GREENS, "grey": GREYS} | {
    f"screen-{name}": tuple((shade >> 16, shade >> 8 & 0xFF, shade & 0xFF) for shade in shades)
    for name, shades in SCREENS.items()
}
"""Palettes of files, pale greens and greys, and those of the app's screens."""


def true_delays(pictures: int, frames_per_picture: int) -> list[int]:
    """Return the delays in centiseconds of `pictures` pictures, each shown for `frames_per_picture` Game Boy frames.

    Each is within 1 cs of the exact delay, their sum within 0.5 cs.
    """
    exact = 100 * frames_per_picture / FRAMES_PER_SECOND
    ends = [round(index * exact) for index in range(pictures + 1)]
    return [after - before for before, after in itertools.pairwise(ends)]


def save_gif(out: Path, images: Iterator[Image.Image], delay_cs: int | list[int]) -> None:
    """Write `images` one by one as an animated GIF `out`; `delay_cs` is the delay of all, or one for each.

    Raises OSError when it cannot be written, and leaves no partial file.
    """
    delays_ms = delay_cs * 10 if isinstance(delay_cs, int) else [10 * delay for delay in delay_cs]
    partial = out.with_name(f".{out.name}.tmp")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        first = next(images)
        first.save(
            partial,
            format="GIF",
            save_all=True,
            append_images=images,
            duration=delays_ms,
            loop=0,
            optimize=False,
            disposal=1,
        )
        partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)


def picture_image(picture: np.ndarray) -> Image.Image:
    """Return an image, grey shades or colours, of shades u8[H, W] or colours u8[H, W, 3]."""
    return shades_image(picture, GREYS) if picture.ndim == 2 else Image.fromarray(picture)


def shades_image(shades: np.ndarray, colours: Sequence[tuple[int, int, int]], scale: int = 1) -> Image.Image:
    """Return `shades` u8[H, W] as an image with the palette `colours`, every pixel `scale` wide."""
    if scale > 1:
        shades = shades.repeat(scale, 0).repeat(scale, 1)
    image = Image.fromarray(shades)
    image.putpalette([level for colour in colours for level in colour])
    return image
