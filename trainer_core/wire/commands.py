"""Commands a parent writes to a worker's or a player's standard input, one JSON object a line.

Each is answered by an AckEvent with the same `id`. The end of standard input means the parent is
gone: the process saves what it has and ends, its children with it.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from trainer_core.wire.errors import BAD_JSON, ProtocolError

MAX_LINE_BYTES = 64 * 1024
MAX_PATH = 4096
"""What Linux takes."""
WallEnvs = Annotated[int, Meta(ge=0, le=1024)]
Mask = Annotated[int, Meta(ge=0, le=255)]
RecordUntil = Literal["stopped", "episode"]
StartOrNext = Annotated[int, Meta(ge=-1, le=10**6)]


class Command(msgspec.Struct, kw_only=True, frozen=True, tag_field="cmd"):
    id: Annotated[int, Meta(ge=0, le=2**63 - 1)]


class Stop(Command, frozen=True, tag="stop"):
    """Finish the update, write a checkpoint, leave with status 0."""


class Pause(Command, frozen=True, tag="pause"):
    """Hold at the next update (worker) or frame (player)."""


class Unpause(Command, frozen=True, tag="resume"):
    """Go on after Pause; the wire calls it `resume`."""


class SaveCheckpoint(Command, frozen=True, tag="checkpoint"):
    """Write a checkpoint at the next update."""


class Watch(Command, frozen=True, tag="watch"):
    """Worker: copy the pictures of the first `envs` envs to frames.bin while on; 0 = off."""

    envs: WallEnvs


class SetSpeed(Command, frozen=True, tag="speed"):
    """Player: 1.0 is Game Boy speed, 0 is as fast as possible."""

    value: float


class StepOnce(Command, frozen=True, tag="step"):
    """Player: while paused, go on by one agent step (agent) or one frame (human)."""


class SetSound(Command, frozen=True, tag="sound"):
    """Player: how loud the game is, 0 (no sound is made at all) to 1, and which channels are heard.

    A SoundEvent says when a device plays, or why none does.
    """

    volume: Annotated[float, Meta(ge=0.0, le=1.0)]
    channels: Annotated[int, Meta(ge=0, le=15)] = 15
    """Bits 0-3: pulse 1, pulse 2, wave, noise."""


class SetButtons(Command, frozen=True, tag="buttons"):
    """Player: the buttons a person holds now, as a joypad mask (see wire.buttons)."""

    mask: Mask


class Click(Command, frozen=True, tag="click"):
    """Player: a click on a pixel of the picture; ARC-AGI-3's ACTION6, nothing for a Game Boy."""

    x: Annotated[int, Meta(ge=0, le=4095)]
    y: Annotated[int, Meta(ge=0, le=4095)]


class Takeover(Command, frozen=True, tag="takeover"):
    """Player: true hands the buttons to the person, false back to the agent."""

    human: bool


class Restart(Command, frozen=True, tag="restart"):
    """Player: begin a new episode, from start state `start` or the next one when -1."""

    start: StartOrNext = -1


class LoadPolicy(Command, frozen=True, tag="load"):
    """Player: play this checkpoint from now on; on failure the old policy stays."""

    checkpoint: str


class Record(Command, frozen=True, tag="record", omit_defaults=True):
    """Player: start or end a recording; the ack's detail is its folder when it ends."""

    on: bool
    until: RecordUntil = "stopped"
    """stopped: by this command only (or a full disk, or the longest that may be); episode: the
    end of the episode ends it too."""


class SaveState(Command, frozen=True, tag="save_state", omit_defaults=True):
    """Player: write the console's state to this path."""

    path: str
    begins_way: bool = False
    """The way that CaptureGoal keeps begins here."""


class LoadState(Command, frozen=True, tag="load_state"):
    """Player: go on from the state in this file, one of the same ROM; UndoLoad takes it back."""

    path: str


class UndoLoad(Command, frozen=True, tag="undo_load"):
    """Player: where the game was before the last LoadState; a second one is that load again."""


class PlayOn(Command, frozen=True, tag="play_on", omit_defaults=True):
    """Player: go to a frame of a recording of the same ROM and go on from there.

    The recorded buttons are pressed again, so the state is the one of that frame, exactly; the
    frames before it are history, to rewind through. UndoLoad takes it back.
    """

    recording: str
    """Folder of the recording."""
    frame: Annotated[int, Meta(ge=0, le=10**6)]
    branch: bool = False
    """Record from the recording's beginning on: what is played becomes a branch of it."""


class Seek(Command, frozen=True, tag="seek"):
    """Player in mode edit: show this frame of the recording, as its buttons stand now."""

    frame: Annotated[int, Meta(ge=0, le=10**6)]


class Splice(Command, frozen=True, tag="splice"):
    """Player in mode edit: other buttons from frame `first` on, in place of `removed` frames."""

    first: Annotated[int, Meta(ge=0, le=10**6)]
    removed: Annotated[int, Meta(ge=0, le=10**6)]
    masks: Annotated[str, Meta(pattern="^([0-9a-f]{2})*$", max_length=40_000)]
    """A joypad mask a frame, two hexadecimal digits each."""


class SaveBranch(Command, frozen=True, tag="save_branch"):
    """Player in mode edit: write the whole as a new recording to the folder `path`.

    It is what is edited from then on: changes after that make a branch of it.
    """

    path: str


class Rewind(Command, frozen=True, tag="rewind"):
    """Player: true runs backwards, frame by frame, as long as there is history; false goes on."""

    on: bool


class ShowSaliency(Command, frozen=True, tag="saliency"):
    """Player: while on, a SaliencyEvent says what the policy looks at. Refused where none can."""

    on: bool


class ShowMemory(Command, frozen=True, tag="memory"):
    """Player: while on, memory.bin has the Game Boy's memory; the ack's detail is its ROM's
    SHA-256. Refused where no Game Boy plays."""

    on: bool


class CaptureGoal(Command, frozen=True, tag="capture_goal", omit_defaults=True):
    """Player: write the present observation as a goal template to this path.

    The way here from the last state that `begins_way` goes to `way`, if one is given; the ack's
    detail is its frames, "" where there is none because a state was loaded since.
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
    """One JSON line, newline included."""
    return _encoder.encode(command) + b"\n"


def decode(line: bytes | str) -> AnyCommand:
    """The command in one line. Raises ProtocolError naming what is wrong with it."""
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
    """Raises ProtocolError for what no file can be called."""
    if "\0" in path or len(path.encode(errors="replace")) > MAX_PATH:
        raise ProtocolError(f"{name}: {path[:40]!r} is no path")
