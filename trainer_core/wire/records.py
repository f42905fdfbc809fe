"""The records of `train_log.jsonl`, which are also the events a worker streams on its pipe.

One JSON object a line, `type` first. `v` is the schema's major version: a changed or removed field
needs a new one, an added optional field does not (unknown fields are kept out, not refused).
Counters are cumulative over the whole run, resumes included.

Version 2: `update.stats` became `update.metrics`, and what only our own trainers measure became
optional, so that any trainer can write these records. `decode` reads version 1 as well.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from trainer_core.wire.errors import BAD_JSON, ProtocolError

SCHEMA_VERSION = 2
MAX_LINE_BYTES = 64 * 1024
MAX_LOGGED_ACTIONS = 2000
"""As many of an episode's actions stand in its record."""
COMPILING = "compiling the Game Boy"
"""So begins the detail of each StateEvent while kernels compile that are not in the cache."""
PREPARING = "preparing"
"""So begins the detail of each StateEvent while the consoles of a run are made."""
VALIDATING = "validating"
"""So begins the detail of each StateEvent while a run is validated in its trainer's own process."""
FINISHING = "finishing the update"
"""So begins the detail of each StateEvent while a stop waits for the update that is under way."""
NOT_CONFIRMED = "not confirmed"
"""So ends the detail of the StateEvent after a validation in which greedy play alone reached the
target: the run goes on, and is validated again soon."""
SAVING = "saving"
"""So begins the detail of the StateEvent that a checkpoint of a run that stops is being written."""

Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""A whole number of things, of 64 bits: what every reader of a log can hold."""
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class Record(msgspec.Struct, kw_only=True, frozen=True, tag_field="type"):
    """What every record carries. `seq` counts the lines of one run from 0 without gaps."""

    v: Count = SCHEMA_VERSION
    run_id: str
    seq: Count
    time: float
    """Unix time in seconds at which the record was made."""


class MetaRecord(Record, frozen=True, tag="meta"):
    """Line 1 of every log: all that is needed to run the same thing again.

    Only `runner` is asked of everybody; `native` runs state every field.
    """

    runner: str
    task: str = ""
    algo: str = ""
    config: dict[str, Any] = {}
    argv: list[str] = []
    git_sha: str = ""
    rom_sha256: str = ""
    starts_sha256: str = ""
    goal_sha256: str = ""
    codec: str = ""
    observation_rule: str = ""
    stack_k: Count = 0
    frames_per_step: Count = 0
    release_after_frames: Count = 0
    num_envs: Count = 0
    seed: Whole = 0
    device: str = ""
    device_name: str = ""
    versions: dict[str, str] = {}
    """python, torch, warp, cuda, driver, numpy, dmglab; absent ones as an empty string."""


class UpdateRecord(Record, frozen=True, tag="update"):
    """One point of every training curve, reduced on the device and synchronised once.

    Three numbers are asked of everybody. The other flat fields are absent (UNSET) where a trainer
    does not measure them; what has no field of its own is in `metrics`. wire/metric_names.py says
    what each name means, and its `scalars` gives them all alike.
    """

    env_steps: Count
    wall_time_s: float
    sps: float
    """Environment steps per second since the previous update record."""
    trace_id: str = ""
    update: Count | UnsetType = UNSET
    opt_steps: Count | UnsetType = UNSET
    updates_per_s: float | UnsetType = UNSET
    reward_mean: float | UnsetType = UNSET
    done_rate: float | UnsetType = UNSET
    trunc_rate: float | UnsetType = UNSET
    reset_rate: float | UnsetType = UNSET
    success_rate: float | UnsetType = UNSET
    episodes: Count | UnsetType = UNSET
    dist_p10: float | UnsetType = UNSET
    dist_p50: float | UnsetType = UNSET
    dist_p90: float | UnsetType = UNSET
    entropy_mean: float | UnsetType = UNSET
    value_mean: float | UnsetType = UNSET
    value_std: float | UnsetType = UNSET
    action_hist: list[Count] = []
    """How often each button was chosen; empty where a trainer does not count them."""
    policy_loss: float | UnsetType = UNSET
    value_loss: float | UnsetType = UNSET
    entropy_loss: float | UnsetType = UNSET
    approx_kl: float | UnsetType = UNSET
    clipfrac: float | UnsetType = UNSET
    vf_clipfrac: float | UnsetType = UNSET
    explained_variance: float | UnsetType = UNSET
    grad_norm: float | UnsetType = UNSET
    learning_rate: float | UnsetType = UNSET
    time_split: dict[str, float] = {}
    """Seconds spent since the previous record, by section of the loop."""
    metrics: dict[str, float] = {}
    """Every further scalar by its name."""


class EpisodeRecord(Record, frozen=True, tag="episode"):
    """A sample episode kept for a person to look at; files lie beside it in `episodes/`."""

    env_steps: Count
    start_index: Count
    mode: str
    """greedy, sample or leave_loops."""
    success: bool
    steps: Count
    episode_return: float
    actions: list[Count]
    gif: str = ""
    """Path relative to the run directory; empty when no picture was made."""
    task: str = ""
    """The one that was played; empty in records of before November 2026."""


class EvalRecord(Record, frozen=True, tag="eval"):
    """Validation on starts that training never saw."""

    env_steps: Count
    task: str
    mode: str
    episodes: Count
    distinct_starts: Count
    success_rate: float
    pass_at_1: float
    pass_at_n: float
    n: Count
    median_steps_to_goal: float
    """0 when no episode reached the goal."""
    mean_return: float
    wall_time_s: float
    is_part: bool = False
    """Of one task of several; the record of all of them together follows it."""


class CheckpointRecord(Record, frozen=True, tag="checkpoint"):
    """Announced only after the directory was fsynced and renamed into place."""

    env_steps: Count
    path: str
    """Relative to the run directory, for example checkpoints/000000204800."""
    sha256: str
    size_bytes: Count
    success_rate: float
    """Of the newest greedy validation."""
    reason: str
    """periodic, best, stop, final or request."""
    leaving_success_rate: float = 0.0
    """Of play that leaves loops, in the same validation."""
    sampled_success_rate: float = 0.0
    """Of drawn play, in the same validation."""
    validated_env_steps: int = -1
    """Of the weights that had these rates; -1 where that is not told."""


class ResumeRecord(Record, frozen=True, tag="resume"):
    """The run goes on from a checkpoint; counters continue from it."""

    env_steps: Count
    update: Count
    checkpoint: str
    previous_seq: Count
    """seq of the last complete line that was found in the log."""


class ErrorRecord(Record, frozen=True, tag="error"):
    """The run stopped on its own account; `receipt` is the folder that reproduces it."""

    kind: str
    message: str
    receipt: str = ""
    env_steps: Count = 0


class StateEvent(Record, frozen=True, tag="state"):
    """Where the process is; on the pipe only, never in the log."""

    state: str
    """A RunState value."""
    detail: str = ""
    progress: float = -1.0
    """0 to 1 where a share is known, -1 where it is not."""


class HeartbeatEvent(Record, frozen=True, tag="heartbeat"):
    """Sent at least every two seconds while the process is alive; on the pipe only."""

    env_steps: Count = 0


class AckEvent(Record, frozen=True, tag="ack"):
    """Answers one command by its id; on the pipe only."""

    id: Count
    ok: bool = True
    detail: str = ""


class PlayEvent(Record, frozen=True, tag="play"):
    """What the player just did, at most ten a second; on the player's pipe only."""

    step: Count
    episode: Count
    who: str
    """agent or human."""
    action: Whole
    reward: float
    dist: float
    success: bool
    done: bool
    trunc: bool
    speed: float
    """Measured speed: 1.0 is 59.7 frames a second."""
    recording_frames: Count = 0
    note: str = ""
    """How the game stands, in its own words: levels and actions of an ARC game."""
    hung: str = ""
    """Why a Game Boy's processor will never run again; empty while it may."""


class PolicyEvent(Record, frozen=True, tag="policy"):
    """What a policy thinks at the beginning of a step, at most ten a second; on the player's pipe.

    It speaks of the step that begins with it: the PlayEvent and the recorded step of that number
    have the same action.
    """

    step: Count
    """Number of the step that begins, from 1 in each episode."""
    action: Whole
    probabilities: tuple[float, ...]
    """Of the codec's actions, in their order (wire/buttons.py)."""
    value: float | None = None
    """Return that the critic expects; None where the trainer has none."""


class SaliencyEvent(Record, frozen=True, tag="saliency"):
    """What the policy looks at when a step begins, while asked for; on the player's pipe.

    The picture is cut into `rows` times `columns` equal patches.
    """

    step: Count
    """As in PolicyEvent: the step that begins."""
    rows: Count
    columns: Count
    weights: tuple[float, ...]
    """Row by row: how far the logits move when the patch is covered, see host/saliency.py."""


class VersusSide(msgspec.Struct, frozen=True):
    """One of two policies that play side by side."""

    checkpoint: str
    steps: Count
    """Of its episode so far; it stands still once that is over."""
    action: Whole
    """Of its last step, -1 before the first."""
    dist: float
    episode_return: float
    success: bool
    over: bool
    wins: Count
    """Episodes that it won: it alone reached the goal, or in fewer steps."""


class VersusEvent(Record, frozen=True, tag="versus"):
    """How two policies stand that play in lockstep, at most ten a second; on the player's pipe."""

    episode: Count
    start: Count
    """Start state that both began the episode in."""
    draws: Count
    """Episodes that neither won."""
    sides: tuple[VersusSide, VersusSide]
    """In the order of the two pictures in frames.bin."""


class WallEvent(Record, frozen=True, tag="wall"):
    """Of the envs whose pictures a worker shows, at most four a second; only while watched."""

    dist: tuple[float, ...]
    """Goal distance of each env's last step."""
    successes: tuple[int, ...]
    """Episodes of each env that reached the goal since it is watched."""
    episodes: tuple[int, ...]
    """Episodes of each env that ended since it is watched."""


class BeliefsEvent(Record, frozen=True, tag="beliefs"):
    """The mind of an agent that has one, a few times a second; on the pipe only.

    Sent by a player, and by a worker whose runner has the capability `beliefs`.
    """

    episode: Count
    step: Count
    """Steps of that episode so far."""
    beliefs: list[str]
    """As the agent's language writes them, sorted; `[who]` behind one that somebody told it."""
    intentions: list[str]
    """What it is about to do, goals from the outermost in: `leave > judge(up)`."""
    messages: list[str] = []
    """The last ones that it or its company heard, oldest first: `WHO tell WHAT to WHOM`."""


class RollEvent(Record, frozen=True, tag="roll"):
    """How much of a recording that is edited was played as its buttons stand; player's pipe."""

    frames: Count
    known: Count
    """Frames from the first on whose pictures are known."""
    differs: Whole = -1
    """First frame whose recorded picture is not what its buttons make, -1 none."""


class SoundEvent(Record, frozen=True, tag="sound"):
    """Whether the player's sound is heard, once it knows; on the player's pipe."""

    device: str
    """What plays it; empty where nothing does."""
    reason: str = ""
    """Why nothing does."""


LogRecord = MetaRecord | UpdateRecord | EpisodeRecord | EvalRecord | CheckpointRecord | ResumeRecord | ErrorRecord
Event = (
    LogRecord
    | StateEvent
    | HeartbeatEvent
    | AckEvent
    | PlayEvent
    | PolicyEvent
    | SaliencyEvent
    | VersusEvent
    | WallEvent
    | BeliefsEvent
    | SoundEvent
    | RollEvent
)
RECORD_TYPES: tuple[type[Record], ...] = (
    MetaRecord,
    UpdateRecord,
    EpisodeRecord,
    EvalRecord,
    CheckpointRecord,
    ResumeRecord,
    ErrorRecord,
    StateEvent,
    HeartbeatEvent,
    AckEvent,
    PlayEvent,
    PolicyEvent,
    SaliencyEvent,
    VersusEvent,
    WallEvent,
    BeliefsEvent,
    SoundEvent,
    RollEvent,
)

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Event)


def encode(record: Record) -> bytes:
    """One JSON line, newline included.

    Raises ProtocolError when a number is NaN or infinite or the line is longer than 64 KiB:
    a log that can lie is worse than a run that stops.
    """
    bad = _first_non_finite(msgspec.to_builtins(record), "")
    if bad:
        raise ProtocolError(f"{type(record).__name__}{bad} is not a finite number")
    line = _encoder.encode(record) + b"\n"
    if len(line) > MAX_LINE_BYTES:
        raise ProtocolError(f"{type(record).__name__} is {len(line)} bytes, limit {MAX_LINE_BYTES}")
    return line


def decode(line: bytes | str) -> Event:
    """The record in one line. Raises ProtocolError naming what is wrong with it."""
    if len(line) > MAX_LINE_BYTES:
        raise ProtocolError(f"not a record: {len(line)} bytes, limit {MAX_LINE_BYTES}")
    try:
        record = _decoder.decode(line)
    except BAD_JSON as error:
        raise ProtocolError(f"not a record: {str(error)[:400]}") from None
    if record.v < 1:
        raise ProtocolError(f"schema version {record.v} never was; versions count from 1")
    if record.v > SCHEMA_VERSION:
        raise ProtocolError(f"schema version {record.v} is newer than {SCHEMA_VERSION}: update DMG Lab to read it")
    return _upgraded(record, line) if record.v < SCHEMA_VERSION else record


class _Stats(msgspec.Struct):
    """What version 1 called `metrics`."""

    stats: dict[str, float] = {}


def _upgraded(record: Event, line: bytes | str) -> Event:
    """A record of version 1 as one of version 2."""
    changes: dict[str, Any] = {"v": SCHEMA_VERSION}
    if isinstance(record, UpdateRecord):
        try:
            changes["metrics"] = msgspec.json.decode(line, type=_Stats).stats
        except BAD_JSON as error:
            raise ProtocolError(f"not a record: {str(error)[:400]}") from None
    return msgspec.structs.replace(record, **changes)


def _first_non_finite(value: Any, path: str) -> str:
    if isinstance(value, float):
        return "" if math.isfinite(value) else (path or ".value")
    if isinstance(value, dict):
        items = ((f"{path}.{key}", item) for key, item in value.items())
    elif isinstance(value, list | tuple):
        items = ((f"{path}[{i}]", item) for i, item in enumerate(value))
    else:
        return ""
    return next((bad for key, item in items if (bad := _first_non_finite(item, key))), "")
