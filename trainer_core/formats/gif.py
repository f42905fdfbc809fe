"""Export of pictures as an animated GIF, with Pillow and numpy only, written atomically.

GIF counts time in centiseconds and Pillow rounds delays down to them; viewers slow delays under 2 cs. At 59.7 frames a
second a frame lasts 1.675 cs. So pictures are shown for 2 cs or more, each picture is the one on the screen when its
time begins, and the GIF lasts as long as the game did, within one delay.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from trainer_core.lab.recording import (
    FRAMES_PER_SECOND,
    HEIGHT,
    PICTURE_BYTES,
    PICTURES,
    WIDTH,
    read_recording,
    unpack_picture,
)
from trainer_core.wire.errors import LabError
from trainer_core.wire.regular_files import check_target
from trainer_core.wire.shades import GREY_LEVELS, SCREENS

CENTISECOND_S = 0.01
DEFAULT_DELAY_CS = 2
MAX_DELAY_CS = 6000
"""One picture a minute."""
MAX_SCALE = 8
GREENS = ((224, 248, 208), (136, 192, 112), (52, 104, 86), (8, 24, 32))
GREYS = tuple((level, level, level) for level in GREY_LEVELS)
PALETTES = {"green": GREENS, "grey": GREYS} | {
    f"screen-{name}": tuple((shade >> 16, shade >> 8 & 0xFF, shade & 0xFF) for shade in shades)
    for name, shades in SCREENS.items()
}
"""Palettes of files, pale greens and greys, and those of the app's screens."""


def picked_frames(frames: int, delay_cs: int) -> list[int]:
    """Return the frame on the screen at every multiple of `delay_cs`, for as long as the game ran."""
    frame_s = 1 / FRAMES_PER_SECOND
    count = max(1, round(frames * frame_s / (delay_cs * CENTISECOND_S)))
    return [min(frames - 1, int(index * delay_cs * CENTISECOND_S / frame_s)) for index in range(count)]


def export_gif(
    recording: Path,
    out: Path,
    *,
    scale: int = 2,
    palette: str = "green",
    delay_cs: int = DEFAULT_DELAY_CS,
    on_progress: Callable[[float], None] = lambda share: None,
) -> dict[str, float | int | str]:
    """Write `out`, reopen it and return its measured properties.

    Raises LabError for impossible options or a GIF whose content differs from what was written, and ProtocolError when
    `recording` is no finished recording.
    """
    if not 1 <= scale <= MAX_SCALE:
        raise LabError(f"scale {scale}: give 1 to {MAX_SCALE}")
    if not DEFAULT_DELAY_CS <= delay_cs <= MAX_DELAY_CS:
        raise LabError(
            f"delay {delay_cs} cs: give {DEFAULT_DELAY_CS}, below which viewers slow down, to {MAX_DELAY_CS}"
        )
    check_target(out)
    manifest = read_recording(recording)
    if not manifest.is_game_boy or manifest.pictures:
        raise LabError(f"{recording}: no Game Boy's pictures; `dmglab export` writes them too")
    chosen = picked_frames(manifest.frames, delay_cs)
    pictures = np.memmap(recording / PICTURES, np.uint8, "r", shape=(manifest.frames, PICTURE_BYTES))

    def images() -> Iterator[Image.Image]:
        for done, frame in enumerate(chosen):
            if done % 30 == 0:
                on_progress(0.9 * done / len(chosen))
            yield shades_image(_unpacked(pictures[frame]), PALETTES[palette], scale)

    try:
        save_gif(out, images(), delay_cs)
    except OSError as error:
        raise LabError(f"{out}: cannot be written: {error.strerror or error}") from None
    on_progress(0.95)
    return check_gif(out, pictures, chosen, scale, delay_cs)


def true_delays(pictures: int, frames_per_picture: int) -> list[int]:
    """Return delays in centiseconds, each within 1 cs of the exact one and their sum within 0.5 cs."""
    exact = 100 * frames_per_picture / FRAMES_PER_SECOND
    ends = [round(index * exact) for index in range(pictures + 1)]
    return [after - before for before, after in itertools.pairwise(ends)]


def save_gif(out: Path, images: Iterator[Image.Image], delay_cs: int | list[int]) -> None:
    """Write `images` into `out` one by one, `delay_cs` each, or one delay per image.

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


def check_gif(
    path: Path, pictures: np.ndarray, chosen: list[int], scale: int, delay_cs: int
) -> dict[str, float | int | str]:
    """Check the written GIF: size, pixels of the first and last picture, total time.

    Pillow merges equal neighbours into one longer picture, so the count may be less, but not the time.
    """
    with Image.open(path) as gif:
        total_ms, count = 0, getattr(gif, "n_frames", 1)
        for index in range(count):
            gif.seek(index)
            total_ms += gif.info.get("duration", delay_cs * 10)
            if index in (0, count - 1):
                frame = chosen[0] if index == 0 else chosen[-1]
                _same_shades(path, gif, pictures[frame], scale)
        width, height = gif.size
    if (width, height) != (WIDTH * scale, HEIGHT * scale):
        raise LabError(f"{path}: {width}x{height} was written, {WIDTH * scale} wide was asked for")
    if count > 1 and total_ms != len(chosen) * delay_cs * 10:
        raise LabError(f"{path}: lasts {total_ms} ms, expected {len(chosen) * delay_cs * 10}")
    return {
        "gif": str(path),
        "frames": count,
        "duration_ms": total_ms,
        "width": width,
        "height": height,
        "size_bytes": path.stat().st_size,
    }


def shades_image(shades: np.ndarray, colours: Sequence[tuple[int, int, int]], scale: int = 1) -> Image.Image:
    """Return `shades` u8[H, W] as an image with the palette `colours`, every pixel `scale` wide."""
    if scale > 1:
        shades = shades.repeat(scale, 0).repeat(scale, 1)
    image = Image.fromarray(shades)
    image.putpalette([level for colour in colours for level in colour])
    return image


def _same_shades(path: Path, gif: Image.Image, packed: np.ndarray, scale: int) -> None:
    shown = np.asarray(gif.convert("L"))[::scale, ::scale]
    expected = _unpacked(packed)
    levels = [np.unique(shown[expected == shade]) for shade in range(4)]
    used = [int(found[0]) for found in levels if len(found)]
    if any(len(found) > 1 for found in levels) or used != sorted(set(used), reverse=True):
        raise LabError(f"{path}: the pictures read back differ from the recording")


def _unpacked(packed: np.ndarray) -> np.ndarray:
    """Return the u8[144, 160] shades of one packed picture."""
    return np.frombuffer(unpack_picture(packed.tobytes()), np.uint8).reshape(HEIGHT, WIDTH)
