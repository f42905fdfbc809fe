"""Recording of a player: every frame's picture and the buttons that produced it.

    <folder>/pictures.bin    5,760 bytes a frame: 160x144 shades, 4 a byte, leftmost pixel in the
                             low bits; other sizes and colours where the manifest says so
    <folder>/buttons.bin     one joypad mask a frame
    <folder>/shown.bin       only if a picture may stay for several frames: u32, little endian,
                             for each picture the first frame that shows it
    <folder>/steps.jsonl     RecordedStep below, one a line: the frames of each agent step and its
                             result
    <folder>/recording.json  Recording below, written last: a folder without it is unfinished, and
                             has unfinished.json, from which lab.unfinished_recordings recovers it

Frames count from 0: frame n is the picture after n + 1 frames of play, reached with mask n held. Replaying buttons.bin
from the start state gives pictures.bin again, byte for byte, when the game is put into the state of each of `jumps` at
its frame. A recording without `state` (a GIF, another environment's pictures) can only be viewed.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import itertools
import os
import sys
import zlib
from array import array
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from trainer_core.wire.buttons import ALL_ACTIONS
from trainer_core.wire.errors import BAD_JSON, ProtocolError
from trainer_core.wire.regular_files import open_regular, read_regular

WIDTH, HEIGHT = 160, 144
PICTURE_BYTES = WIDTH * HEIGHT // 4
FRAMES_PER_SECOND = 4194304 / 70224
MAX_FRAMES = 36_000
"""Greatest number of frames of a recording: ten minutes, whose pictures take 207 MB."""
PICTURES, BUTTONS, STEPS, SHOWN, MANIFEST = (
    "pictures.bin",
    "buttons.bin",
    "steps.jsonl",
    "shown.bin",
    "recording.json",
)
COMPRESSED = ".gz"
"""End of the name of a file that the storage policy has compressed."""
MAX_SIDE = 1024
"""Greatest width and height in pixels; pictures of other environments may be larger than a Game Boy's."""
_LOW_SHADES = int.from_bytes(b"\x03" * PICTURE_BYTES)


VERSION = 1
MAX_STEP_BYTES = 4096
FileName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,100}$")]
FileNameOrNone = Annotated[str, Meta(pattern=r"^([A-Za-z0-9_][A-Za-z0-9_.-]{0,100})?$")]


class Jump(msgspec.Struct, kw_only=True, frozen=True):
    """Change of the game's state between two frames that no button caused: an episode began, or a state was loaded."""

    frame: Annotated[int, Meta(ge=1, le=MAX_FRAMES)]
    """First frame that follows from `state`."""
    state: FileName


class Recording(msgspec.Struct, kw_only=True, frozen=True):
    v: int = VERSION
    task: str
    rom_sha256: str
    state: FileNameOrNone
    """File in the folder with the console's state before the first frame; "" if there is none."""
    frames: Annotated[int, Meta(ge=1, le=MAX_FRAMES)]
    checkpoint: str = ""
    checkpoint_sha256: str = ""
    mode: Literal["human", "greedy", "sample", "leave_loops", "script"] = "human"
    """Source of the buttons: a human, a policy, or a script."""
    created_at: float
    success: bool = False
    jumps: tuple[Jump, ...] = ()
    """Jumps in the order of their frames. Between them the buttons alone determine the pictures."""
    parent: str = ""
    """Name of the recording whose beginning this one shares; "" = none."""
    forked_at: Annotated[int, Meta(ge=0, le=MAX_FRAMES)] = 0
    """First frame that may differ from the parent's."""
    width: Annotated[int, Meta(ge=1, le=MAX_SIDE)] = WIDTH
    height: Annotated[int, Meta(ge=1, le=MAX_SIDE)] = HEIGHT
    format: Literal["shades", "rgb888"] = "shades"
    """Format of pictures.bin: shades, four pixels a byte, or rgb888, three bytes a pixel."""
    pictures: Annotated[int, Meta(ge=0, le=MAX_FRAMES)] = 0
    """Number of pictures in shown.bin; 0 = one a frame, without that file."""
    source: str = ""
    """Description of the source; "" = played here."""
    cursor: Annotated[int, Meta(ge=0, le=MAX_FRAMES)] = 0
    """Frame at which the recording is opened."""

    @property
    def picture_bytes(self) -> int:
        """Bytes of one picture in pictures.bin."""
        pixels = self.width * self.height
        return 3 * pixels if self.format == "rgb888" else -(-pixels // 4)

    def segment_at(self, frame: int) -> tuple[int, str]:
        """Return (first frame, file of the state before it) of the segment between jumps that holds `frame`."""
        for jump in reversed(self.jumps):
            if jump.frame <= frame:
                return jump.frame, jump.state
        return 0, self.state


class RecordedStep(msgspec.Struct, kw_only=True, frozen=True):
    """Line of steps.jsonl: one agent step. Frames of an unfinished step have no line."""

    step: Annotated[int, Meta(ge=1, le=2**31)]
    """Number of the step in its episode, from 1."""
    first_frame: int
    """First frame of the step in the recording; 0 if the step began before the recording."""
    last_frame: int
    """Last frame, whose picture was scored."""
    action: Annotated[int, Meta(ge=-1, lt=len(ALL_ACTIONS))] = -1
    """Number of the action in its codec (wire/buttons.py), -1 none."""
    reward: float = 0.0
    dist: float = 0.0
    success: bool = False
    done: bool = False
    trunc: bool = False
    terms: dict[str, float] = {}
    """Terms of the reward: step_cost, shaping, bonus. Empty if the step was not scored."""
    value: float | None = None
    """Return that the policy's critic expected when the step began; None without one."""


class _EndedStep(msgspec.Struct, frozen=True):
    """Step in the old format of steps.jsonl, which has no `first_frame` and `last_frame`."""

    frame: Annotated[int, Meta(ge=0, le=MAX_FRAMES)]
    """Number of frames at the end of the step: its last frame plus 1."""


def write_recording(folder: Path, recording: Recording) -> None:
    """Finish a recording by writing its manifest atomically."""
    partial = folder / f"{MANIFEST}.tmp"
    with partial.open("wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(recording)))
        file.flush()
        os.fsync(file.fileno())
    partial.replace(folder / MANIFEST)


def read_recording(folder: Path) -> Recording:
    """Return the manifest of a recording, after unpacking its pictures if they are compressed.

    Raises ProtocolError when it is unfinished or its files are cut short.
    """
    path = folder / MANIFEST
    try:
        recording = msgspec.json.decode(read_regular(path), type=Recording)
        _unpack(folder / PICTURES, (recording.pictures or recording.frames) * recording.picture_bytes)
        pictures = _size_of(folder / PICTURES)
        buttons = _size_of(folder / BUTTONS)
    except OSError as error:
        raise ProtocolError(f"{error.filename}: not a finished recording ({error.strerror})") from None
    except BAD_JSON as error:
        raise ProtocolError(f"{path}: {error}") from None
    if recording.v != VERSION:
        raise ProtocolError(f"{path}: version {recording.v} is not {VERSION}: update DMG Lab to read it")
    if recording.format == "shades" and recording.width * recording.height % 4:
        raise ProtocolError(f"{path}: {recording.width}x{recording.height} shades do not fill bytes")
    count = recording.pictures or recording.frames
    if pictures != count * recording.picture_bytes or buttons != recording.frames:
        raise ProtocolError(f"{folder}: pictures or buttons do not match {recording.frames} frames")
    return recording


def _unpack(path: Path, size: int) -> None:
    """Replace `path`'s gzip file by `path`, of `size` bytes, if only the former is there.

    Raises OSError, also for a damaged file or another size.
    """
    packed = path.with_name(f"{path.name}{COMPRESSED}")
    if path.exists() or not packed.exists():
        return
    partial = path.with_name(f"{path.name}.tmp")
    try:
        with open_regular(packed) as source, gzip.open(source) as data, partial.open("wb") as out:
            while piece := data.read(min(1 << 20, size + 1 - out.tell())):
                out.write(piece)
            if out.tell() != size:
                raise OSError(errno.EFBIG, f"not the {size} bytes that the manifest says", str(packed))
        partial.replace(path)
        packed.unlink()
    except (EOFError, zlib.error) as error:
        raise OSError(errno.EIO, str(error), str(packed)) from None
    finally:
        partial.unlink(missing_ok=True)


def read_shown(folder: Path, recording: Recording) -> array[int] | None:
    """Return, for each picture, the first frame that shows it; None if each frame has a picture of its own.

    Raises ProtocolError for a file that does not fit the manifest.
    """
    if not recording.pictures:
        return None
    path = folder / SHOWN
    try:
        data = read_regular(path, 4 * MAX_FRAMES)
    except OSError as error:
        raise ProtocolError(f"{path}: {error.strerror}") from None
    if len(data) != 4 * recording.pictures:
        raise ProtocolError(f"{path}: {len(data)} bytes for {recording.pictures} pictures")
    first = array("I", data)
    if sys.byteorder == "big":
        first.byteswap()
    rising = all(before < after for before, after in itertools.pairwise(first))
    if first[0] != 0 or not rising or first[-1] >= recording.frames:
        raise ProtocolError(f"{path}: the pictures' first frames do not rise from 0")
    return first


def read_buttons(folder: Path, recording: Recording) -> bytes:
    """Return the joypad mask of each frame, one byte each. Raises ProtocolError for a file that does not fit the
    manifest."""
    try:
        return read_regular(folder / BUTTONS, recording.frames)
    except OSError as error:
        raise ProtocolError(f"{error.filename}: {error.strerror}") from None


def _size_of(path: Path) -> int:
    with open_regular(path) as file:
        return os.fstat(file.fileno()).st_size


def encode_step(step: RecordedStep) -> bytes:
    """Return `step` as one line of steps.jsonl, newline included."""
    return msgspec.json.encode(step) + b"\n"


def read_steps(folder: Path, recording: Recording) -> list[RecordedStep]:
    """Return the agent steps of a recording in order; none if it has no steps.jsonl.

    Raises ProtocolError naming the line that is no step of `recording`.
    """
    path = folder / STEPS
    steps: list[RecordedStep] = []
    try:
        lines = read_regular(path, MAX_STEP_BYTES * recording.frames).splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise ProtocolError(f"{path}: cannot be read: {error.strerror}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        begun = steps[-1].last_frame + 1 if steps else 0
        try:
            step = _decode_step(line, begun)
        except BAD_JSON as error:
            raise ProtocolError(f"{path}, line {number}: {error}") from None
        if not begun <= step.first_frame <= step.last_frame < recording.frames:
            raise ProtocolError(
                f"{path}, line {number}: frames {step.first_frame} to {step.last_frame} do not "
                f"follow {begun - 1} in a recording of {recording.frames}"
            )
        steps.append(step)
    return steps


def _decode_step(line: bytes, begun: int) -> RecordedStep:
    """Return the step in a line of steps.jsonl; one in the old format begins at frame `begun`."""
    if b'"first_frame"' in line:
        return msgspec.json.decode(line, type=RecordedStep)
    ended = msgspec.json.decode(line, type=_EndedStep).frame
    fields = msgspec.json.decode(line) | {"first_frame": begun, "last_frame": ended - 1}
    return msgspec.convert(fields, RecordedStep)


def list_recordings(root: Path) -> list[Path]:
    """Return the finished recordings below `root`, oldest first.

    The folders of a home's runs, perhaps thousands, are skipped: training writes no recordings.
    """
    found: list[tuple[float, Path]] = []
    for name, folders, files in os.walk(root):
        folder = Path(name)
        if folder.name == "training" and "runs" in folders:
            folders.remove("runs")
        if MANIFEST in files:
            with contextlib.suppress(OSError):  # it is being removed
                found.append(((folder / MANIFEST).stat().st_mtime, folder))
    return [folder for _, folder in sorted(found)]


def pack_picture(shades: bytes) -> bytes:
    """Return `shades`, one a byte, packed 4 to a byte, the leftmost in the low bits; their number is a multiple of
    4."""
    # One large number for every fourth pixel: four shifts pack the whole picture.
    quarters = (int.from_bytes(shades[pixel::4]) << 2 * pixel for pixel in range(4))
    return sum(quarters).to_bytes(len(shades) // 4)


def unpack_picture(packed: bytes) -> bytes:
    """Return the shades that `pack_picture` packed, one a byte."""
    size = len(packed)
    low = _LOW_SHADES if size == PICTURE_BYTES else int.from_bytes(b"\x03" * size)
    shades, together = bytearray(4 * size), int.from_bytes(packed)
    for pixel in range(4):
        shades[pixel::4] = (together >> 2 * pixel & low).to_bytes(size)
    return bytes(shades)


def refuse_pictures_only(folder: Path, recording: Recording) -> None:
    """Raise ProtocolError if the recording has no start state, so that its buttons cannot be pressed again."""
    if not recording.state:
        raise ProtocolError(
            f"{folder}: holds pictures only, from {recording.source or 'elsewhere'}; there is no "
            "console to press its buttons on"
        )
