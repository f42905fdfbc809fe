"""A part of a recording in every format: the pictures asked for, at the speed asked for."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from trainer_core.envs.recording_writer import RecordingWriter
from trainer_core.envs.single_game import TinyGame
from trainer_core.formats import video
from trainer_core.formats.gif import GREYS
from trainer_core.formats.video import Clip, chosen_frames, export_clip, find_ffmpeg
from trainer_core.lab.recording import FRAMES_PER_SECOND
from trainer_core.wire.errors import LabError

FRAMES = 48


def shades_of(frame: int) -> np.ndarray:
    """A picture that tells its number."""
    picture = np.zeros((144, 160), np.uint8)
    picture[:, : frame * 3] = 3
    picture[:8, -8:] = 1 + frame % 2
    return picture


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    writer = RecordingWriter(tmp_path / "r", TinyGame(), mode="human", checkpoint="", checkpoint_sha256="")
    for frame in range(FRAMES):
        writer.add_frame(shades_of(frame), 0)
    return writer.finish()


def read_back(image: Image.Image) -> np.ndarray:
    levels = np.asarray(image.convert("L"))[::2, ::2]
    return np.searchsorted([-level[0] for level in GREYS], -levels.astype(int)).astype(np.uint8)


def test_png_files_are_the_frames_one_by_one(recording: Path, tmp_path: Path) -> None:
    found = export_clip(recording, tmp_path / "out", Clip(first=5, last=9, palette="grey"))
    assert (found["pictures"], found["width"], found["height"]) == (5, 320, 288)
    files = sorted((tmp_path / "out").iterdir())
    assert [file.name for file in files] == [f"frame_{number:05}.png" for number in range(5)]
    for number, file in enumerate(files):
        with Image.open(file) as image:
            np.testing.assert_array_equal(read_back(image), shades_of(5 + number))


def test_four_shades_are_read_back_to_the_pixel_and_many_colours_nearly(tmp_path: Path) -> None:
    grey, path = Image.fromarray(shades_of(9) * 85), tmp_path / "read.png"
    grey.save(path)
    video._same_picture(tmp_path, path, grey)
    grey.putpixel((80, 70), 1)
    grey.save(path)
    grey.putpixel((80, 70), 2)
    with pytest.raises(LabError, match="differs from the recording"):
        video._same_picture(tmp_path, path, grey)
    pixels = np.random.default_rng(1).integers(0, 256, (144, 160, 3)).astype(np.uint8)
    colours, gif = Image.fromarray(pixels), tmp_path / "read.gif"
    colours.quantize(256).save(gif)
    video._same_picture(tmp_path, gif, colours)
    with pytest.raises(LabError, match="differs from the recording"):
        video._same_picture(tmp_path, gif, Image.fromarray(255 - pixels))


@pytest.mark.parametrize("suffix", [".gif", ".apng"])
def test_moving_pictures_last_as_long_as_the_game_did(recording: Path, tmp_path: Path, suffix: str) -> None:
    out = tmp_path / f"clip{suffix}"
    found = export_clip(recording, out, Clip(palette="grey"))
    assert found["seconds"] == pytest.approx(FRAMES / FRAMES_PER_SECOND, abs=0.02)
    with Image.open(out) as image:
        np.testing.assert_array_equal(read_back(image), shades_of(0))
        image.seek(image.n_frames - 1)  # pyright: ignore[reportAttributeAccessIssue]  # of both formats
        last = read_back(image)
        np.testing.assert_array_equal(last, shades_of(46 if suffix == ".gif" else 47))
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_speed_takes_every_so_manieth_frame() -> None:
    assert chosen_frames(10, 19, 1.0, FRAMES_PER_SECOND) == list(range(10, 20))
    assert chosen_frames(10, 19, 2.0, FRAMES_PER_SECOND) == [10, 12, 14, 16, 18]
    assert chosen_frames(0, 3, 0.5, FRAMES_PER_SECOND) == [0, 0, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(
    ("clip", "name", "said"),
    [
        (Clip(first=3, last=2), "a.gif", "frames 3 to 2"),
        (Clip(last=FRAMES), "a.gif", "has 0 to 47"),
        (Clip(speed=0), "a.gif", "speed 0"),
        (Clip(), "a.webm", "give .gif, .apng, .mp4"),
        (Clip(), "r", "is there already"),
        (Clip(), "r/recording.json/x.gif", "x.gif: "),
    ],
)
def test_what_cannot_be_asked_is_one_line(recording: Path, tmp_path: Path, clip: Clip, name: str, said: str) -> None:
    with pytest.raises(LabError, match=said):
        export_clip(recording, tmp_path / name, clip)


def test_without_an_encoder_mp4_says_what_to_install(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(video, "find_ffmpeg", lambda: "")
    with pytest.raises(LabError, match="install it, or"):
        export_clip(recording, tmp_path / "a.mp4", Clip())


def test_an_encoder_that_fails_leaves_no_file_and_its_last_words(
    recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "ffmpeg"
    broken.write_text("#!/bin/sh\necho no such encoder >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setattr(video, "find_ffmpeg", lambda: str(broken))
    with pytest.raises(LabError, match="ffmpeg: no such encoder"):
        export_clip(recording, tmp_path / "a.mp4", Clip())
    assert not list(tmp_path.glob("*.mp4"))
    assert not list(tmp_path.glob(".*"))


def test_the_package_is_found_where_the_system_has_no_ffmpeg(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    package = types.SimpleNamespace(get_ffmpeg_exe=lambda: "/somewhere/ffmpeg")
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", package)
    assert find_ffmpeg() == "/somewhere/ffmpeg"


@pytest.mark.skipif(not find_ffmpeg(), reason="no ffmpeg")
def test_an_mp4_is_read_back_by_a_decoder(recording: Path, tmp_path: Path) -> None:
    found = export_clip(recording, tmp_path / "a.mp4", Clip(scale=2))
    assert (found["written"], found["width"]) == (FRAMES, 320)
