"""Records of `train_log.jsonl`, which are also the events that a worker writes on its pipe.

One JSON object a line, `type` first. `v` is the schema's major version: a changed or removed field needs a new one, an
added optional field does not (unknown fields are ignored, not refused). Counters are cumulative over the whole run,
resumes included.

Version 2: `update.stats` became `update.metrics`, and fields that only our own trainers measure became optional, so
that any trainer can write these records. `decode` reads version 1 as well.
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
"""Greatest number of an episode's actions in its record."""
COMPILING = "compiling the Game Boy"
"""Beginning of the detail of each StateEvent while kernels compile that are not in the cache."""
PREPARING = "preparing"
"""Beginning of the detail of each StateEvent while the consoles of a run are made."""
VALIDATING = "validating"
"""Beginning of the detail of each StateEvent while a run is validated in its trainer's own process."""
FINISHING = "finishing the update"
"""Beginning of the detail of each StateEvent while a stop waits for the present update."""
NOT_CONFIRMED = "not confirmed"
"""End of the detail of the StateEvent after a validation in which only greedy play reached the target: the run
continues, and is validated again soon."""
SAVING = "saving"
"""Beginning of the detail of the StateEvent while a run that stops writes its checkpoint."""

Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]
"""Count of 64 bits, which every reader of a log can hold."""
Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]


class Record(msgspec.Struct, kw_only=True, frozen=True, tag_field="type"):
    """Fields that all records have. `seq` counts the lines of one run's log from 0 without gaps."""

    v: Count = SCHEMA_VERSION
    run_id: str
    seq: Count
    time: float
    """Unix time in seconds at which the record was made."""


class LogLine(Record, kw_only=True, frozen=True):
    """Fields that all records of the log have besides those of every record."""

    trace_id: str = ""
    """`trace_of` the update that the record belongs to; empty in records written before December 2026, apart from
    updates."""


def trace_of(run_id: str, update: int) -> str:
    """Return the id that all records about the weights of a run after `update` updates share, and the checkpoint of
    these weights."""
    return f"{run_id}-{update}"


class MetaRecord(LogLine, frozen=True, tag="meta"):
    """First line of every log, with all data needed to repeat the run.

    Only `runner` is required; `native` runs fill every field.
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
    """Versions of python, torch, warp, cuda, driver, numpy, dmglab; an absent one is an empty string."""


class Mind(msgspec.Struct, frozen=True):
    """Beliefs and intentions of a BDI agent at the end of an update; the lists are shortened to fit into a line."""

    episode: Count
    step: Count
    beliefs: list[str]
    intentions: list[str]
    messages: list[str] = []


class UpdateRecord(LogLine, frozen=True, tag="update"):
    """Measurements of the updates since the previous record: one point of every training curve.

    The first three numbers are required. The other flat fields are UNSET where a trainer does not measure them; values
    without a field are in `metrics`. wire/metric_names.py describes each name; its `scalars` returns both alike.
    """

    env_steps: Count
    wall_time_s: float
    sps: float
    """Environment steps per second since the previous update record."""
    update: Count | UnsetType = UNSET
    opt_steps: Count | UnsetType = UNSET
    updates_per_s: float | UnsetType = UNSET
    reward_mean: float | UnsetType = UNSET
    reward_p10: float | UnsetType = UNSET
    reward_p50: float | UnsetType = UNSET
    reward_p90: float | UnsetType = UNSET
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
    """Number of times each action was chosen; empty where a trainer does not count them."""
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
    """Further scalars by name."""
    machine: dict[str, float] = {}
    """Shares of the whole machine in use: `cpu`, `memory`, `own_memory`, `disk`, `gpu`, `gpu_memory`."""
    mind: Mind | UnsetType = UNSET
    """Of a trainer whose agent has beliefs."""


class EpisodeRecord(LogLine, frozen=True, tag="episode"):
    """Episode that was stored for the user to look at; its files are in `episodes/` of the run."""

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
    """Task that was played; empty in records written before November 2026."""


class EvalRecord(LogLine, frozen=True, tag="eval"):
    """Result of one validation, on starts that are not used in training."""

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
    """Median number of steps of the episodes that reached the goal; 0 if none did."""
    mean_return: float
    wall_time_s: float
    is_part: bool = False
    """True for the result of one of several tasks; a record with the result over all tasks follows."""


class CheckpointRecord(LogLine, frozen=True, tag="checkpoint"):
    """Checkpoint, reported only after its directory was fsynced and renamed into place."""

    env_steps: Count
    path: str
    """Path of the checkpoint relative to the run directory, for example checkpoints/000000204800."""
    sha256: str
    size_bytes: Count
    success_rate: float
    """Success rate in the newest greedy validation."""
    reason: str
    """Reason for the checkpoint: periodic, best, stop, final or request."""
    leaving_success_rate: float = 0.0
    """Success rate with mode leave_loops in the same validation."""
    sampled_success_rate: float = 0.0
    """Success rate with mode sample in the same validation."""
    validated_env_steps: int = -1
    """Environment steps at which the weights that had these success rates were trained; -1 if unknown."""


class ResumeRecord(LogLine, frozen=True, tag="resume"):
    """Continuation of the run from a checkpoint, whose counters the record repeats."""

    env_steps: Count
    update: Count
    checkpoint: str
    previous_seq: Count
    """Sequence number of the last complete line in the log."""


class ErrorRecord(LogLine, frozen=True, tag="error"):
    """Failure of the run; `receipt` is the folder with the files that reproduce it."""

    kind: str
    message: str
    receipt: str = ""
    env_steps: Count = 0


class StateEvent(Record, frozen=True, tag="state"):
    """State of the process; on the pipe only, never in the log."""

    state: str
    """State of the run: a RunState value."""
    detail: str = ""
    progress: float = -1.0
    """Progress from 0 to 1, -1 if unknown."""


class HeartbeatEvent(Record, frozen=True, tag="heartbeat"):
    """Event without content, sent at least every two seconds to show that the process is running; on the pipe only."""

    env_steps: Count = 0


class AckEvent(Record, frozen=True, tag="ack"):
    """Answer to one command by its id; on the pipe only."""

    id: Count
    ok: bool = True
    detail: str = ""


class PlayEvent(Record, frozen=True, tag="play"):
    """Result of the player's last agent step, at most ten a second; on the player's pipe only."""

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
    """Status of the game in its own words: levels and actions of an ARC game."""
    hung: str = ""
    """Reason why a Game Boy's processor will never run again; empty while it may."""


class PolicyEvent(Record, frozen=True, tag="policy"):
    """Output of the playing policy at the beginning of a step, at most ten a second; on the player's pipe.

    The PlayEvent and the recorded step of the same number have the same action.
    """

    step: Count
    """Number of the step that begins, from 1 in each episode."""
    action: Whole
    probabilities: tuple[float, ...]
    """Probabilities of the codec's actions, in their order (wire/buttons.py)."""
    value: float | None = None
    """Return that the critic expects; None if the trainer has no critic."""


class SaliencyEvent(Record, frozen=True, tag="saliency"):
    """Influence of each part of the picture on the policy at a step, while ShowSaliency is on; on the player's pipe.

    The picture is cut into `rows` times `columns` equal patches.
    """

    step: Count
    """Number of the step that begins, as in PolicyEvent."""
    rows: Count
    columns: Count
    weights: tuple[float, ...]
    """Change of the logits when each patch is covered, row by row; see host/saliency.py."""


class VersusSide(msgspec.Struct, frozen=True):
    """State of one of two policies that play side by side."""

    checkpoint: str
    steps: Count
    """Steps of the episode so far; constant once the episode is over."""
    action: Whole
    """Action of the last step, -1 before the first."""
    dist: float
    episode_return: float
    success: bool
    over: bool
    wins: Count
    """Episodes won: only this policy reached the goal, or it needed fewer steps than the other."""


class VersusEvent(Record, frozen=True, tag="versus"):
    """State of two policies that play in lockstep, at most ten a second; on the player's pipe."""

    episode: Count
    start: Count
    """Start state in which both began the episode."""
    draws: Count
    """Episodes without a winner."""
    sides: tuple[VersusSide, VersusSide]
    """Both sides, in the order of the two pictures in frames.bin."""


class WallEvent(Record, frozen=True, tag="wall"):
    """State of the envs whose pictures a worker copies to frames.bin (command Watch), at most four a second."""

    dist: tuple[float, ...]
    """Goal distance of each env's last step."""
    successes: tuple[int, ...]
    """Episodes of each env that reached the goal since watching began."""
    episodes: tuple[int, ...]
    """Episodes of each env that ended since watching began."""


class BeliefsEvent(Record, frozen=True, tag="beliefs"):
    """Beliefs of an agent that has them, a few times a second; on the pipe only.

    Sent by a player, and by a worker whose runner has the capability `beliefs`.
    """

    episode: Count
    step: Count
    """Steps of the episode so far."""
    beliefs: list[str]
    """Beliefs as the agent's language writes them, sorted; `[SENDER]` follows one that another agent told."""
    intentions: list[str]
    """Intended actions, goals from the outermost in: `leave > judge(up)`."""
    messages: list[str] = []
    """Last messages that the agent or its teammates received, oldest first: `WHO tell WHAT to WHOM`."""


class RollEvent(Record, frozen=True, tag="roll"):
    """Progress of replaying an edited recording with its new buttons in mode edit; on the player's pipe."""

    frames: Count
    known: Count
    """Number of frames, counted from the first, whose pictures have been computed."""
    differs: Whole = -1
    """First frame whose recorded picture differs from the replayed one, -1 if none."""


class SoundEvent(Record, frozen=True, tag="sound"):
    """Device on which the player plays sound, sent once it is known; on the player's pipe."""

    device: str
    """Device that plays; empty if there is none."""
    reason: str = ""
    """Reason why no device plays."""


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
RECORD_TYPES: tuple[type[Record], ...] = Event.__args__

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Event)


def encode(record: Record) -> bytes:
    """Return the record as one JSON line, newline included.

    Raises ProtocolError when a number is NaN or infinite or the line is longer than 64 KiB: a run that stops is better
    than a log with wrong numbers.
    """
    bad = _first_non_finite(msgspec.to_builtins(record), "")
    if bad:
        raise ProtocolError(f"{type(record).__name__}{bad} is not a finite number")
    line = _encoder.encode(record) + b"\n"
    if len(line) > MAX_LINE_BYTES:
        raise ProtocolError(f"{type(record).__name__} is {len(line)} bytes, limit {MAX_LINE_BYTES}")
    return line


def decode(line: bytes | str) -> Event:
    """Return the record or event that one line of JSON holds. Raises ProtocolError naming the fault."""
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
    """Update record of version 1, of which only the field `stats`, now `metrics`, is read."""

    stats: dict[str, float] = {}


def _upgraded(record: Event, line: bytes | str) -> Event:
    """Return `record`, decoded from `line`, with the fields of version 1 converted to version 2."""
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
