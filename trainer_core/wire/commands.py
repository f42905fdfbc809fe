"""Commands that a parent writes to a worker's or a player's standard input, one JSON object a line.

Each is answered by an AckEvent with the same `id`. The end of standard input means that the parent has ended: the
process saves its state and ends, with its children.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from trainer_core.wire.errors import BAD_JSON, ProtocolError

MAX_LINE_BYTES = 64 * 1024
MAX_PATH = 4096
"""Longest path in bytes that Linux accepts."""
WallEnvs = Annotated[int, Meta(ge=0, le=1024)]
Mask = Annotated[int, Meta(ge=0, le=255)]
RecordUntil = Literal["stopped", "episode"]
StartOrNext = Annotated[int, Meta(ge=-1, le=10**6)]


class Command(msgspec.Struct, kw_only=True, frozen=True, tag_field="cmd"):
    id: Annotated[int, Meta(ge=0, le=2**63 - 1)]


class Stop(Command, frozen=True, tag="stop"):
    """Worker: finish the present update, write a checkpoint, exit with status 0."""


class Pause(Command, frozen=True, tag="pause"):
    """Worker: pause before the next update. Player: pause before the next frame."""


class Unpause(Command, frozen=True, tag="resume"):
    """Worker and player: continue after Pause. Its name in JSON is `resume`."""


class SaveCheckpoint(Command, frozen=True, tag="checkpoint"):
    """Worker: write a checkpoint after the present update."""


class Watch(Command, frozen=True, tag="watch"):
    """Worker: copy the pictures of the first `envs` envs to frames.bin while on; 0 = off."""

    envs: WallEnvs


class SetSpeed(Command, frozen=True, tag="speed"):
    """Player: set the speed; 1.0 is Game Boy speed, 0 is as fast as possible."""

    value: float


class StepOnce(Command, frozen=True, tag="step"):
    """Player: while paused, advance by one agent step if the agent plays, by one frame if the user does."""


class SetSound(Command, frozen=True, tag="sound"):
    """Player: set the volume, 0 (no sound is computed) to 1, and the channels that are played.

    A SoundEvent names the device that plays, or the reason why there is no sound.
    """

    volume: Annotated[float, Meta(ge=0.0, le=1.0)]
    channels: Annotated[int, Meta(ge=0, le=15)] = 15
    """Bits 0-3: pulse 1, pulse 2, wave, noise."""


class SetButtons(Command, frozen=True, tag="buttons"):
    """Player: set the buttons that the user holds now, as a joypad mask (see wire.buttons)."""

    mask: Mask


class Click(Command, frozen=True, tag="click"):
    """Player: click on a pixel of the picture; ARC-AGI-3's ACTION6, ignored by a Game Boy."""

    x: Annotated[int, Meta(ge=0, le=4095)]
    y: Annotated[int, Meta(ge=0, le=4095)]


class Takeover(Command, frozen=True, tag="takeover"):
    """Player: true gives the buttons to the user, false back to the agent."""

    human: bool


class Restart(Command, frozen=True, tag="restart"):
    """Player: begin a new episode, from start state `start` or the next one when -1."""

    start: StartOrNext = -1


class LoadPolicy(Command, frozen=True, tag="load"):
    """Player: play this checkpoint from now on; on failure the old policy continues."""

    checkpoint: str


class Record(Command, frozen=True, tag="record", omit_defaults=True):
    """Player: start or end a recording; the ack's detail is its folder when it ends."""

    on: bool
    until: RecordUntil = "stopped"
    """stopped: end by this command only (or at a full disk, or at the greatest length); episode: end with the episode,
    too."""


class SaveState(Command, frozen=True, tag="save_state", omit_defaults=True):
    """Player: write the console's state to this path."""

    path: str
    begins_way: bool = False
    """Begin here the sequence of joypad masks, one a frame, that a later CaptureGoal writes to its `way`."""


class LoadState(Command, frozen=True, tag="load_state"):
    """Player: continue from the state in this file, of the same ROM; UndoLoad undoes it."""

    path: str


class UndoLoad(Command, frozen=True, tag="undo_load"):
    """Player: return to the game as it was before the last LoadState; a second one repeats the load."""


class PlayOn(Command, frozen=True, tag="play_on", omit_defaults=True):
    """Player: go to a frame of a recording of the same ROM and continue from there.

    The recorded buttons are pressed again, so that the state is exactly that of the frame; the frames before it can be
    rewound. UndoLoad undoes it.
    """

    recording: str
    """Folder of the recording."""
    frame: Annotated[int, Meta(ge=0, le=10**6)]
    branch: bool = False
    """Record from the recording's beginning on: the result is a branch of the recording."""


class Seek(Command, frozen=True, tag="seek"):
    """Player in mode edit: show this frame of the recording as the buttons edited so far produce it."""

    frame: Annotated[int, Meta(ge=0, le=10**6)]


class Splice(Command, frozen=True, tag="splice"):
    """Player in mode edit: replace the buttons of `removed` frames from frame `first` on."""

    first: Annotated[int, Meta(ge=0, le=10**6)]
    removed: Annotated[int, Meta(ge=0, le=10**6)]
    masks: Annotated[str, Meta(pattern="^([0-9a-f]{2})*$", max_length=40_000)]
    """One joypad mask per frame, two hexadecimal digits each."""


class SaveBranch(Command, frozen=True, tag="save_branch"):
    """Player in mode edit: write the edited recording as a new recording to the folder `path`.

    Editing continues on the new recording: later changes make a branch of it.
    """

    path: str


class Rewind(Command, frozen=True, tag="rewind"):
    """Player: while true, run backwards frame by frame, as far as the history goes; false continues forwards."""

    on: bool


class ShowSaliency(Command, frozen=True, tag="saliency"):
    """Player: while on, send SaliencyEvents, which tell the parts of the picture that the policy uses.

    Refused if the agent cannot compute them.
    """

    on: bool


class ShowMemory(Command, frozen=True, tag="memory"):
    """Player: while on, write the Game Boy's memory to memory.bin; the ack's detail is the ROM's SHA-256. Refused
    unless a Game Boy plays."""

    on: bool


class CaptureGoal(Command, frozen=True, tag="capture_goal", omit_defaults=True):
    """Player: write the present observation as a goal template to this path.

    If the path `way` is given, the joypad masks of all frames since the last SaveState with `begins_way` are written
    there. The ack's detail is the number of these frames, or "" if a state was loaded in between: then nothing is
    written to `way`.
    """

    path: str
    way: str = ""


AnyCommand = (
    Stop
    | Pause
    | Unpause
    | SaveCheckpoint
    | Watch
    | SetSpeed
    | SetSound
    | StepOnce
    | SetButtons
    | Click
    | Takeover
    | Restart
    | LoadPolicy
    | Record
    | SaveState
    | LoadState
    | UndoLoad
    | PlayOn
    | Rewind
    | Seek
    | Splice
    | SaveBranch
    | ShowSaliency
    | ShowMemory
    | CaptureGoal
)
COMMAND_TYPES: tuple[type[Command], ...] = AnyCommand.__args__

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AnyCommand)


def encode(command: Command) -> bytes:
    """Return the command as one JSON line, newline included."""
    return _encoder.encode(command) + b"\n"


def from_standard_input(process: str) -> Iterator[AnyCommand]:
    """Yield the commands on standard input until it ends; print a line that is none, as `process`'s complaint."""
    # Unbuffered: a thread inside a buffered reader aborts the interpreter when it shuts down.
    with open(0, "rb", buffering=0, closefd=False) as lines:
        for line in lines:
            try:
                command = decode(line)
            except ProtocolError as error:
                print(f"{process}: {error}", file=sys.stderr, flush=True)
                continue
            yield command


def decode(line: bytes | str) -> AnyCommand:
    """Return the command that one line of JSON holds. Raises ProtocolError naming the fault."""
    if len(line) > MAX_LINE_BYTES:
        raise ProtocolError(f"not a command: {len(line)} bytes, limit {MAX_LINE_BYTES}")
    try:
        command = _decoder.decode(line)
    except BAD_JSON as error:
        raise ProtocolError(f"not a command: {str(error)[:400]}") from None
    match command:
        case (
            SaveState(path=path)
            | LoadState(path=path)
            | CaptureGoal(path=path)
            | SaveBranch(path=path)
            | LoadPolicy(checkpoint=path)
            | PlayOn(recording=path)
        ):
            check_path(type(command).__name__, path)
        case SetSpeed(value=value) if not math.isfinite(value):
            raise ProtocolError(f"not a command: speed {value}")
    return command


def check_path(name: str, path: str) -> None:
    """Raise ProtocolError, calling the path `name`, if no file can have it: it is too long, or has a NUL."""
    if "\0" in path or len(path.encode(errors="replace")) > MAX_PATH:
        raise ProtocolError(f"{name}: {path[:40]!r} is no path")
