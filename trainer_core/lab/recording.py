"""A recording: what a player showed, frame by frame, and the buttons that made it.

    <folder>/pictures.bin    5,760 bytes a frame: 160x144 shades, 4 a byte, leftmost pixel in the
                             low bits; other sizes and colours where the manifest says so
    <folder>/buttons.bin     one joypad mask a frame
    <folder>/shown.bin       only where a picture may stay for several frames: u32, little endian,
                             a picture: the first frame that shows it
    <folder>/steps.jsonl     RecordedStep below, one a line: the frames of each agent step, and what
                             they came to
    <folder>/recording.json  Recording below, written last: a folder without it is unfinished, and
                             has unfinished.json, from which protocol.unfinished recovers it

Frames count from 0: frame n is the picture after n + 1 frames of play, reached with mask n held.
Replaying buttons.bin from the start state gives pictures.bin again, byte for byte, when the game is
put into the state of each of `jumps` at its frame. What has no `state` (a GIF, another
environment's pictures) can be looked at, not pressed again.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
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
"""Ten minutes; its pictures take 207 MB."""
PICTURES, BUTTONS, STEPS, SHOWN, MANIFEST = (
    "pictures.bin",
    "buttons.bin",
    "steps.jsonl",
    "shown.bin",
    "recording.json",
)
MAX_SIDE = 1024
"""Pixels; a picture of another environment may be larger than a Game Boy's."""
_LOW_SHADES = int.from_bytes(b"\x03" * PICTURE_BYTES)


VERSION = 1
MAX_STEP_BYTES = 4096
FileName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,100}$")]
FileNameOrNone = Annotated[str, Meta(pattern=r"^([A-Za-z0-9_][A-Za-z0-9_.-]{0,100})?$")]


class Jump(msgspec.Struct, kw_only=True, frozen=True):
    """Before a frame the game was put into another state: an episode began, a state was loaded."""

    frame: Annotated[int, Meta(ge=1, le=MAX_FRAMES)]
    """The first frame that follows from `state`."""
    state: FileName


class Recording(msgspec.Struct, kw_only=True, frozen=True):
    v: int = VERSION
    task: str
    rom_sha256: str
    state: FileNameOrNone
    """The console's state before the first frame, a file of the folder; "" where there is none."""
    frames: Annotated[int, Meta(ge=1, le=MAX_FRAMES)]
    checkpoint: str = ""
    checkpoint_sha256: str = ""
    mode: Literal["human", "greedy", "sample", "leave_loops", "script"] = "human"
    """Who pressed: a person, a policy, or a program that knows the way."""
    created_at: float
    success: bool = False
    jumps: tuple[Jump, ...] = ()
    """In the order of their frames. Between them buttons alone make the pictures."""
    parent: str = ""
    """Name of the recording whose beginning this one shares; "" = of none."""
    forked_at: Annotated[int, Meta(ge=0, le=MAX_FRAMES)] = 0
    """The first frame in which it may differ from its parent."""
    width: Annotated[int, Meta(ge=1, le=MAX_SIDE)] = WIDTH
    height: Annotated[int, Meta(ge=1, le=MAX_SIDE)] = HEIGHT
    format: Literal["shades", "rgb888"] = "shades"
    """Four shades a byte, or three bytes a pixel."""
    pictures: Annotated[int, Meta(ge=0, le=MAX_FRAMES)] = 0
    """How many pictures shown.bin speaks of; 0 = one a frame, without that file."""
    source: str = ""
    """What it was made from, in words; "" = played here."""
    cursor: Annotated[int, Meta(ge=0, le=MAX_FRAMES)] = 0
    """The frame that it is about: where it is opened."""

    @property
    def picture_bytes(self) -> int:
        """Of one picture in pictures.bin."""
        pixels = self.width * self.height
        return 3 * pixels if self.format == "rgb888" else -(-pixels // 4)

    @property
    def is_game_boy(self) -> bool:
        """Whether its pictures are a Game Boy's screens."""
        return (self.width, self.height, self.format) == (WIDTH, HEIGHT, "shades")

    def segment_at(self, frame: int) -> tuple[int, str]:
        """(first frame, file of the state before it) of the piece that `frame` belongs to."""
        for jump in reversed(self.jumps):
            if jump.frame <= frame:
                return jump.frame, jump.state
        return 0, self.state


class RecordedStep(msgspec.Struct, kw_only=True, frozen=True):
    """One agent step. Frames that belong to no finished step have no line."""

    step: Annotated[int, Meta(ge=1, le=2**31)]
    """Number of the step in its episode, from 1."""
    first_frame: int
    """First frame of the recording that belongs to the step; 0 where it had begun before."""
    last_frame: int
    """Its last frame: the picture that was judged."""
    action: Annotated[int, Meta(ge=-1, lt=len(ALL_ACTIONS))] = -1
    """Index into buttons7.v1, -1 none."""
    reward: float = 0.0
    dist: float = 0.0
    success: bool = False
    done: bool = False
    trunc: bool = False
    terms: dict[str, float] = {}
    """What the reward is made of: step_cost, shaping, bonus. Empty where nobody judged."""
    value: float | None = None
    """Return that the policy's critic expected when the step began; None without one."""


class _EndedStep(msgspec.Struct, frozen=True):
    """What lines said of frames before they named a step's first and last one."""

    frame: Annotated[int, Meta(ge=0, le=MAX_FRAMES)]
    """How many frames there were when the step had ended: its last one plus 1."""


def write_recording(folder: Path, recording: Recording) -> None:
    """Finish a recording: its manifest appears whole or not at all."""
    partial = folder / f"{MANIFEST}.tmp"
    with partial.open("wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(recording)))
        file.flush()
        os.fsync(file.fileno())
    partial.replace(folder / MANIFEST)


def read_recording(folder: Path) -> Recording:
    """Raises ProtocolError when the folder is no finished recording or its files are cut short."""
    path = folder / MANIFEST
    try:
        recording = msgspec.json.decode(read_regular(path), type=Recording)
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


def read_shown(folder: Path, recording: Recording) -> array[int] | None:
    """The first frame of each picture; None where each frame has its own. Raises ProtocolError."""
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
    """A joypad mask a frame. Raises ProtocolError."""
    try:
        return read_regular(folder / BUTTONS, recording.frames)
    except OSError as error:
        raise ProtocolError(f"{error.filename}: {error.strerror}") from None


def _size_of(path: Path) -> int:
    with open_regular(path) as file:
        return os.fstat(file.fileno()).st_size


def encode_step(step: RecordedStep) -> bytes:
    """One line of steps.jsonl, newline included."""
    return msgspec.json.encode(step) + b"\n"


def read_steps(folder: Path, recording: Recording) -> list[RecordedStep]:
    """The steps in order; none where the recording has no file of them.

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
    """A line of either form; an old one is taken to begin where the step before it ended."""
    if b'"first_frame"' in line:
        return msgspec.json.decode(line, type=RecordedStep)
    ended = msgspec.json.decode(line, type=_EndedStep).frame
    fields = msgspec.json.decode(line) | {"first_frame": begun, "last_frame": ended - 1}
    return msgspec.convert(fields, RecordedStep)


def list_recordings(root: Path) -> list[Path]:
    """Finished recordings below `root`, oldest first.

    Training keeps none: the folders of a home's runs, thousands perhaps, are not looked through.
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
    """Shades, one a byte and a multiple of 4 of them, as 4 a byte, leftmost in the low bits."""
    # One large number for every fourth pixel: four shifts pack the whole picture.
    quarters = (int.from_bytes(shades[pixel::4]) << 2 * pixel for pixel in range(4))
    return sum(quarters).to_bytes(len(shades) // 4)


def unpack_picture(packed: bytes) -> bytes:
    """The shades of `pack_picture`'s bytes, one a byte."""
    size = len(packed)
    low = _LOW_SHADES if size == PICTURE_BYTES else int.from_bytes(b"\x03" * size)
    shades, together = bytearray(4 * size), int.from_bytes(packed)
    for pixel in range(4):
        shades[pixel::4] = (together >> 2 * pixel & low).to_bytes(size)
    return bytes(shades)


def refuse_pictures_only(folder: Path, recording: Recording) -> None:
    """Raises ProtocolError where no console's state says from where buttons could be pressed."""
    if not recording.state:
        raise ProtocolError(
            f"{folder}: holds pictures only, from {recording.source or 'elsewhere'}; there is no "
            "console to press its buttons on"
        )
