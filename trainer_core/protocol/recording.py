"""A recording: what a player showed, frame by frame, and the buttons that made it.

    <folder>/pictures.bin    5,760 bytes a frame: 160x144 shades, 4 a byte, leftmost pixel in the
                             low bits; or as `screen` of recording.json says
    <folder>/buttons.bin     one joypad mask a frame
    <folder>/steps.jsonl     RecordedStep below, one a line: the frames of each agent step, and what
                             they came to
    <folder>/recording.json  Recording below, written last: a folder without it is unfinished

Frames count from 0: frame n is the picture after n + 1 frames of play, reached with mask n held.
Replaying buttons.bin from the start state gives pictures.bin again, byte for byte, when the game is
put into the state of each of `jumps` at its frame.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from trainer_core.protocol.errors import ProtocolError
from trainer_core.protocol.regular_files import open_regular, read_regular

WIDTH, HEIGHT = 160, 144
PICTURE_BYTES = WIDTH * HEIGHT // 4
FRAMES_PER_SECOND = 4194304 / 70224
MAX_FRAMES = 36_000
"""Ten minutes; its pictures take 207 MB."""
PICTURES, BUTTONS, STEPS, MANIFEST = (
    "pictures.bin", "buttons.bin", "steps.jsonl", "recording.json",
)  # fmt: skip
VERSION = 1
MAX_STEP_BYTES = 4096
FileName = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,100}$")]


class ScreenShape(msgspec.Struct, frozen=True):
    """Size and colours of a game's pictures."""

    width: Annotated[int, Meta(ge=1, le=1024)] = WIDTH
    height: Annotated[int, Meta(ge=1, le=1024)] = HEIGHT
    bits: Literal[2, 4, 8] = 2
    """Of a pixel in pictures.bin; `width` pixels fill whole bytes."""
    palette: tuple[Annotated[int, Meta(ge=0, le=0xFFFFFF)], ...] = ()
    """0xRRGGBB of each value; empty = the four shades of a Game Boy, in the viewer's colours."""

    @property
    def picture_bytes(self) -> int:
        return self.width * self.height * self.bits // 8

    @property
    def colours(self) -> tuple[tuple[int, int, int], ...]:
        """(red, green, blue) of each value; empty for the shades of a Game Boy."""
        return tuple((rgb >> 16, rgb >> 8 & 255, rgb & 255) for rgb in self.palette)


GAME_BOY = ScreenShape()


class Jump(msgspec.Struct, kw_only=True, frozen=True):
    """Before a frame the game was put into another state: an episode began, a state was loaded."""

    frame: Annotated[int, Meta(ge=1, le=MAX_FRAMES)]
    """The first frame that follows from `state`."""
    state: FileName


class Recording(msgspec.Struct, kw_only=True, frozen=True):
    v: int = VERSION
    task: str
    rom_sha256: str
    state: FileName
    """The console's state before the first frame, a file of the folder."""
    frames: Annotated[int, Meta(ge=1, le=MAX_FRAMES)]
    checkpoint: str = ""
    checkpoint_sha256: str = ""
    mode: Literal["human", "greedy", "sample", "script"] = "human"
    """Who pressed: a person, a policy, or a program that knows the way."""
    created_at: float
    success: bool = False
    jumps: tuple[Jump, ...] = ()
    """In the order of their frames. Between them buttons alone make the pictures."""
    screen: ScreenShape = GAME_BOY

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
    action: Annotated[int, Meta(ge=-1, le=6)] = -1
    """Index into buttons7.v1, -1 none."""
    reward: float = 0.0
    dist: float = 0.0
    success: bool = False
    done: bool = False
    trunc: bool = False


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
        raise ProtocolError(
            f"{error.filename}: not a finished recording ({error.strerror})"
        ) from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise ProtocolError(f"{path}: {error}") from None
    if recording.v != VERSION:
        raise ProtocolError(
            f"{path}: version {recording.v} is not {VERSION}: update DMG Lab to read it"
        )
    screen = recording.screen
    if screen.width * screen.bits % 8 or (screen.palette and len(screen.palette) < 1 << screen.bits):
        raise ProtocolError(f"{path}: a picture of {screen.width} pixels of {screen.bits} bits")
    if pictures != recording.frames * screen.picture_bytes or buttons != recording.frames:
        raise ProtocolError(f"{folder}: pictures or buttons do not match {recording.frames} frames")
    return recording


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
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
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


def pack_picture(values: bytes, bits: int = 2) -> bytes:
    """Pixels, one a byte, as `bits` bits each: leftmost in the low bits of a byte."""
    # One large number for every fourth (second) pixel: few shifts pack the whole picture.
    each = 8 // bits
    parts = (int.from_bytes(values[pixel::each]) << bits * pixel for pixel in range(each))
    return sum(parts).to_bytes(len(values) // each)


def unpack_picture(packed: bytes, bits: int = 2) -> bytes:
    """The pixels of `pack_picture`'s bytes, one a byte."""
    each, together = 8 // bits, int.from_bytes(packed)
    values = bytearray(len(packed) * each)
    low = int.from_bytes(bytes(((1 << bits) - 1,)) * len(packed))
    for pixel in range(each):
        values[pixel::each] = (together >> bits * pixel & low).to_bytes(len(packed))
    return bytes(values)
