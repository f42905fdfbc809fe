"""GIF, APNG and PNG as recordings: colours as they are, a Game Boy's four shades as shades."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image, UnidentifiedImageError

from trainer_core.exports.gif import PALETTES
from trainer_core.play.clips.writer import ClipWriter
from trainer_core.protocol.errors import LabError
from trainer_core.protocol.recording import FRAMES_PER_SECOND, HEIGHT, MAX_FRAMES, MAX_SIDE, WIDTH
from trainer_core.protocol.regular_files import open_regular

NO_DELAY_MS = 100.0
"""Of a picture that names no time or none at all, as browsers do."""


def animation(path: Path, out: Path) -> Path:
    """Make a recording of it. Raises LabError naming what is wrong with the file."""
    writer, frames, at_ms, is_color = None, 0, 0.0, False
    try:
        for picture, lasts_ms in pictures_of(path):
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
    except UnidentifiedImageError:
        raise LabError(
            f"{path}: no GIF, APNG or PNG, whatever it is called; open one of those"
        ) from None
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError) as error:
        raise LabError(f"{path}: no animation that can be read: {error}") from None
    if writer is None:
        raise LabError(f"{path}: holds no picture")
    return writer.finish(frames, source=f"{path.suffix[1:].upper()} {path.name}")


def pictures_of(path: Path) -> Iterator[tuple[np.ndarray, float]]:
    """(u8[H, W, 3], milliseconds on the screen) of each picture."""
    with open_regular(path) as file, Image.open(file, formats=("GIF", "PNG")) as image:
        if max(image.size) > MAX_SIDE * 8:
            raise LabError(f"{path}: {image.size[0]}x{image.size[1]} pixels are too many")
        # A Game Boy's screen that was enlarged is made small again; others are shown as they are.
        scale = image.width // WIDTH if image.size == _enlarged(image.width // WIDTH) else 1
        for index in range(getattr(image, "n_frames", 1)):
            image.seek(index)
            picture = np.asarray(image.convert("RGB"))[::scale, ::scale]
            yield picture, float(image.info.get("duration") or NO_DELAY_MS)


def _enlarged(scale: int) -> tuple[int, int]:
    return WIDTH * scale, HEIGHT * scale


def shades_of(picture: np.ndarray) -> np.ndarray | None:
    """u8[H, W] shades of a picture in one of our palettes; None for any other."""
    if picture.shape[:2] != (HEIGHT, WIDTH):
        return None
    for palette in PALETTES.values():
        apart = (picture[:, :, None] == np.array(palette, np.uint8)).all(-1)
        if apart.any(-1).all():
            return apart.argmax(-1).astype(np.uint8)
    return None
