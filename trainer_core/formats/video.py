"""Export of a recording as GIF, APNG, MP4 or a folder of PNGs, written atomically, then checked.

A GIF shows 50 pictures a second, the most that viewers can; the others show every frame of the Game Boy's 59.7.
"""

from __future__ import annotations

import copy
import importlib
import re
import shutil
import subprocess
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from trainer_core.formats.gif import CENTISECOND_S, DEFAULT_DELAY_CS, PALETTES, shades_image
from trainer_core.formats.gif import save_gif as write_gif
from trainer_core.lab.recording import (
    FRAMES_PER_SECOND,
    PICTURES,
    Recording,
    read_recording,
    read_shown,
    unpack_picture,
)
from trainer_core.wire.errors import LabError
from trainer_core.wire.regular_files import check_target


class RecordedPictures:
    """Pictures of the recording in `folder`, by frame. Raises ProtocolError when it is none."""

    def __init__(self, folder: Path) -> None:
        self.recording: Recording = read_recording(folder)
        self._shown = read_shown(folder, self.recording)
        count = self.recording.pictures or self.recording.frames
        size = self.recording.picture_bytes
        self._packed = np.memmap(folder / PICTURES, np.uint8, "r", shape=(count, size))

    def __len__(self) -> int:
        return self.recording.frames

    def picture(self, frame: int) -> np.ndarray:
        """Return the picture on the screen in `frame`: u8[H, W] shades 0..3, or u8[H, W, 3] colours."""
        number = frame if self._shown is None else bisect_right(self._shown, frame) - 1
        packed, about = self._packed[number], self.recording
        if about.format == "rgb888":
            return packed.reshape(about.height, about.width, 3)
        shades = np.frombuffer(unpack_picture(packed.tobytes()), np.uint8)
        return shades.reshape(about.height, about.width)

    def image(self, frame: int, palette: str, scale: int) -> Image.Image:
        """Return the picture as an image, every pixel `scale` wide; `palette` applies to shades only."""
        picture = self.picture(frame)
        if picture.ndim == 2:
            return shades_image(picture, PALETTES[palette], scale)
        return Image.fromarray(picture.repeat(scale, 0).repeat(scale, 1))


FORMATS = {".gif": "GIF", ".apng": "APNG", ".mp4": "MP4", "": "PNG sequence"}
"""Format by the suffix of the path; no suffix means a folder."""
MAX_SPEED = 16.0
X264 = ("-c:v", "libx264", "-preset", "medium", "-crf", "12", "-pix_fmt", "yuv420p", "-movflags", "+faststart")


@dataclass(frozen=True, slots=True)
class Clip:
    """Part of a recording to export, with speed, size and colours."""

    first: int = 0
    last: int = -1
    """Last frame; -1 = the recording's last."""
    speed: float = 1.0
    scale: int = 2
    palette: str = "green"


def find_ffmpeg() -> str:
    """Return a program that encodes MP4: the system's, or that of the package imageio-ffmpeg; or ""."""
    if found := shutil.which("ffmpeg"):
        return found
    try:
        return str(importlib.import_module("imageio_ffmpeg").get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        return ""


def export_clip(
    recording: Path, out: Path, clip: Clip, on_progress: Callable[[float], None] = lambda share: None
) -> dict[str, Any]:
    """Write `out` in the format of its suffix, reopen it and return its measured properties.

    Raises LabError for invalid options and for files that cannot be written or read back.
    """
    suffix = out.suffix.lower()
    if suffix not in FORMATS:
        raise LabError(f"{out}: give .gif, .apng, .mp4, or a name without suffix for PNGs")
    recorded = RecordedPictures(recording)
    manifest = recorded.recording
    last = manifest.frames - 1 if clip.last == -1 else clip.last
    if not 0 <= clip.first <= last < manifest.frames:
        raise LabError(f"frames {clip.first} to {last}: the recording has 0 to {manifest.frames - 1}")
    if not 0 < clip.speed <= MAX_SPEED:
        raise LabError(f"speed {clip.speed:g}: give more than 0, at most {MAX_SPEED:g}")
    rate = 1 / (DEFAULT_DELAY_CS * CENTISECOND_S) if suffix == ".gif" else FRAMES_PER_SECOND
    frames = chosen_frames(clip.first, last, clip.speed, rate)
    pictures = _Pictures(recorded, frames, clip, on_progress)
    write = {".gif": _gif, ".apng": _apng, ".mp4": _mp4, "": _pngs}[suffix]
    try:
        if suffix:
            check_target(out)
        elif out.exists():
            raise LabError(f"{out}: is there already; choose another name")
        out.parent.mkdir(parents=True, exist_ok=True)
        write(out, pictures, rate)
    except OSError as error:
        raise LabError(f"{out}: cannot be written: {error.strerror or error}") from None
    on_progress(0.95)
    return {"out": str(out), "format": FORMATS[suffix], "pictures": len(frames), **check_clip(out, pictures, rate)}


class _Pictures:
    """Iterable over the pictures of a clip as images; each iteration draws them again."""

    def __init__(
        self,
        recorded: RecordedPictures,
        frames: list[int],
        clip: Clip,
        on_progress: Callable[[float], None] = lambda share: None,
    ) -> None:
        """Prepare the pictures of `frames` of `recorded`, with the palette and scale of `clip`.

        Iterating reports the share done to `on_progress`.
        """
        self._recorded, self._frames, self._clip = recorded, frames, clip
        self._on_progress = on_progress

    def __len__(self) -> int:
        return len(self._frames)

    def __iter__(self) -> Iterator[Image.Image]:
        for number in range(len(self._frames)):
            if number % 30 == 0:
                self._on_progress(0.9 * number / len(self._frames))
            yield self.image(number)

    def image(self, number: int) -> Image.Image:
        return self._recorded.image(self._frames[number], self._clip.palette, self._clip.scale)

    def rest(self) -> _Pictures:
        """Return all pictures but the first: Pillow iterates twice over those of an APNG."""
        made = copy.copy(self)
        made._frames = self._frames[1:]
        return made


def chosen_frames(first: int, last: int, speed: float, rate: float) -> list[int]:
    """Return the number of the frame for each picture of a clip from `first` to `last` with `rate` pictures a
    second."""
    step = speed * FRAMES_PER_SECOND / rate
    count = max(1, round((last - first + 1) / step))
    return [min(last, first + int(index * step)) for index in range(count)]


def check_clip(out: Path, pictures: _Pictures, rate: float) -> dict[str, Any]:
    """Reopen the file `out`, check its size, first picture and duration, and return these properties. Raises
    LabError."""
    shown, first = len(pictures), pictures.image(0)
    if out.is_dir():
        files = sorted(out.glob("*.png"))
        size, count, seconds = _size_of(files[-1]), len(files), len(files) / rate
        _same_picture(out, files[0], first)
    elif out.suffix.lower() == ".mp4":
        size, count = _probe_mp4(out)
        seconds = count / rate
    else:
        _same_picture(out, out, first)
        with Image.open(out) as image:
            size, count, total = image.size, getattr(image, "n_frames", 1), 0.0
            for index in range(count):
                image.seek(index)
                total += float(image.info.get("duration", 0.0))
        seconds = total / 1000
    if size != first.size:
        raise LabError(f"{out}: {size[0]} x {size[1]} was written in place of {first.size}")
    off = abs(seconds - shown / rate)
    if shown > 1 and count > 1 and off > max(0.1, 0.02 * shown / rate):
        raise LabError(f"{out}: lasts {seconds:.2f} s, {shown / rate:.2f} s were recorded")
    return {"width": size[0], "height": size[1], "written": count, "seconds": round(seconds, 2)}


def _same_picture(out: Path, file: Path, wanted: Image.Image) -> None:
    """Raise LabError unless the first picture of `file` is `wanted`, approximately so if it has many colours."""
    with Image.open(file) as image:
        apart = np.abs(np.asarray(image.convert("RGB"), np.int16) - np.asarray(wanted.convert("RGB")))
    # A GIF has 256 colours a picture; four shades are exact in every format.
    if apart.mean() > (24 if wanted.mode == "RGB" else 0):
        raise LabError(f"{out}: the picture read back differs from the recording")


# -- the formats -------------------------------------------------------------------------------


def _gif(out: Path, pictures: _Pictures, rate: float) -> None:
    write_gif(out, iter(pictures), DEFAULT_DELAY_CS)


def _apng(out: Path, pictures: _Pictures, rate: float) -> None:
    partial = out.with_name(f".{out.name}.tmp")
    try:
        pictures.image(0).save(
            partial, format="PNG", save_all=True, append_images=pictures.rest(), duration=1000 / rate, loop=0
        )
        partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)


def _pngs(out: Path, pictures: _Pictures, rate: float) -> None:
    # A fixed name, so that the next export removes what a killed one left.
    partial = out.with_name(f".{out.name}.tmp")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        for number, image in enumerate(pictures):
            image.save(partial / f"frame_{number:05}.png")
        partial.replace(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _mp4(out: Path, pictures: _Pictures, rate: float) -> None:
    """Encode `pictures` as MP4 by piping them to ffmpeg. Raises LabError with ffmpeg's last line when it fails."""
    ffmpeg = find_ffmpeg()
    if not ffmpeg:
        raise LabError("MP4 needs ffmpeg: install it, or `pip install imageio-ffmpeg`")
    partial = out.with_name(f".{out.name}.tmp.mp4")
    width, height = pictures.image(0).size
    argv = [ffmpeg, "-y", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24",
            "-s", f"{width}x{height}", "-r", f"{rate:.6f}", "-i", "-", *X264,
            str(partial)]  # fmt: skip
    try:
        with tempfile.TemporaryFile() as said:
            encoder = subprocess.Popen(argv, stdin=subprocess.PIPE, stderr=said)
            assert encoder.stdin is not None
            try:
                for image in pictures:
                    encoder.stdin.write(image.convert("RGB").tobytes())
                encoder.stdin.close()
            except BrokenPipeError:
                pass  # its message is read below
            if encoder.wait():
                said.seek(0)
                lines = said.read().decode("utf-8", "replace").strip().splitlines()
                raise LabError(f"{out}: ffmpeg: {lines[-1] if lines else 'failed'}")
        partial.replace(out)
    finally:
        partial.unlink(missing_ok=True)


def _probe_mp4(out: Path) -> tuple[tuple[int, int], int]:
    """Decode an MP4 file; return ((width, height), number of pictures)."""
    argv = [find_ffmpeg(), "-i", str(out), "-f", "null", "-"]
    said = subprocess.run(argv, capture_output=True, check=False).stderr.decode("utf-8", "replace")
    size = re.search(r"Video:.*?(\d{2,5})x(\d{2,5})", said)
    counts = re.findall(r"frame=\s*(\d+)", said)
    if size is None or not counts:
        raise LabError(f"{out}: cannot be read back")
    return (int(size[1]), int(size[2])), int(counts[-1])


def _size_of(path: Path) -> tuple[int, int]:
    with Image.open(path) as image:
        return image.size
