"""Conversion of GIF, APNG and PNG to recordings, with their colours, or with shades for a Game Boy's four colours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from PIL import Image, ImageSequence, UnidentifiedImageError

from trainer_core.formats.gif import PALETTES
from trainer_core.lab.recording import FRAMES_PER_SECOND, HEIGHT, MAX_FRAMES, MAX_SIDE, WIDTH
from trainer_core.play.clips.writer import ClipWriter
from trainer_core.wire.decoding import parsing
from trainer_core.wire.errors import LabError
from trainer_core.wire.regular_files import open_regular

NO_DELAY_MS = 100.0
"""Milliseconds that a picture with delay 0 or without one is shown, as in browsers."""


MOST_ENLARGED = 8
"""Largest integer factor by which a Game Boy's screen may be enlarged and still be recognised."""


def animation(path: Path, out: Path, on_progress: Callable[[float], None] = lambda share: None) -> Path:
    """Convert an animation to a recording in the folder `out`; return the folder.

    Raises LabError naming what is wrong with the file.
    """
    writer, frames, at_ms, is_color = None, 0, 0.0, False
    with parsing(f"{path}: no animation that can be read"):
        for number, (picture, lasts_ms) in enumerate(pictures_of(path)):
            if number % 100 == 99:
                on_progress(min(1.0, frames / MAX_FRAMES))
            shades = shades_of(picture)
            if writer is None:
                is_color = shades is None
                shown = picture if shades is None else shades
                writer = ClipWriter(out, shown.shape[1], shown.shape[0], is_color)
            elif is_color:
                shown = picture
            elif shades is None:
                raise LabError(f"{path}: shows more than four shades after its first pictures")
            else:
                shown = shades
            writer.show(shown, round(at_ms * FRAMES_PER_SECOND / 1000))
            at_ms += lasts_ms
            frames = max(1, round(at_ms * FRAMES_PER_SECOND / 1000))
            if frames > MAX_FRAMES:
                raise LabError(f"{path}: longer than ten minutes")
    if writer is None:
        raise LabError(f"{path}: holds no picture")
    return writer.finish(frames, source=f"{path.suffix[1:].upper()} {path.name}")


def pictures_of(path: Path) -> Iterator[tuple[np.ndarray, float]]:
    """Yield (u8[H, W, 3], milliseconds on the screen) of each picture."""
    try:
        with open_regular(path) as file, Image.open(file, formats=("GIF", "PNG")) as image:
            yield from _shown(path, image)
    except UnidentifiedImageError:
        raise LabError(f"{path}: no GIF, APNG or PNG, whatever it is called; open one of those") from None
    except Image.DecompressionBombError as error:  # a direct subclass of Exception
        raise LabError(f"{path}: no animation that can be read: {error}") from None


def _shown(path: Path, image: Image.Image) -> Iterator[tuple[np.ndarray, float]]:
    # Enlarged Game Boy screens are reduced to their size; other pictures stay as they are.
    scale = image.width // WIDTH if image.size == _enlarged(image.width // WIDTH) else 1
    most = MAX_SIDE if scale == 1 else WIDTH * MOST_ENLARGED
    if max(image.size) > most:
        raise LabError(
            f"{path}: {image.size[0]}x{image.size[1]} pixels are too many; at most {MAX_SIDE} a side can be shown"
        )
    for index, shown in enumerate(ImageSequence.Iterator(image)):
        if index == MAX_FRAMES:
            raise LabError(f"{path}: more than {MAX_FRAMES} pictures; a recording has no more")
        picture = np.asarray(shown.convert("RGB"))[::scale, ::scale]
        yield picture, float(shown.info.get("duration") or NO_DELAY_MS)


def _enlarged(scale: int) -> tuple[int, int]:
    return WIDTH * scale, HEIGHT * scale


def shades_of(picture: np.ndarray) -> np.ndarray | None:
    """Return the shades u8[H, W] of a picture in one of our palettes; None for any other."""
    if picture.shape[:2] != (HEIGHT, WIDTH):
        return None
    for palette in PALETTES.values():
        apart = (picture[:, :, None] == np.array(palette, np.uint8)).all(-1)
        if apart.any(-1).all():
            return apart.argmax(-1).astype(np.uint8)
    return None
