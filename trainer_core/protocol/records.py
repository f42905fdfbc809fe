"""The records of `train_log.jsonl`, which are also the events a worker streams on its pipe.

One JSON object a line, `type` first. `v` is the schema's major version: a changed or removed field
needs a new one, an added optional field does not (unknown fields are kept out, not refused).
Counters are cumulative over the whole run, resumes included.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from trainer_core.protocol.errors import ProtocolError

SCHEMA_VERSION = 1
NUM_ACTIONS = 7
MAX_LINE_BYTES = 64 * 1024


class Record(msgspec.Struct, kw_only=True, frozen=True, tag_field="type"):
    """What every record carries. `seq` counts the lines of one run from 0 without gaps."""

    v: int = SCHEMA_VERSION
    run_id: str
    seq: int
    time: float
    """Unix time in seconds at which the record was made."""


class MetaRecord(Record, frozen=True, tag="meta"):
    """Line 1 of every log: all that is needed to run the same thing again."""

    runner: str
    task: str
    algo: str
    config: dict[str, Any]
    argv: list[str]
    git_sha: str
    rom_sha256: str
    starts_sha256: str
    goal_sha256: str
    codec: str
    observation_rule: str
    stack_k: int
    frames_per_step: int
    release_after_frames: int
    num_envs: int
    seed: int
    device: str
    device_name: str
    versions: dict[str, str]
    """python, torch, warp, cuda, driver, numpy, dmglab; absent ones as an empty string."""


class UpdateRecord(Record, frozen=True, tag="update"):
    """One learner update, reduced on the device and synchronised once."""

    trace_id: str
    update: int
    env_steps: int
    opt_steps: int
    wall_time_s: float
    sps: float
    """Environment steps per second since the previous update record."""
    updates_per_s: float
    reward_mean: float
    """Mean reward per environment step."""
    done_rate: float
    """Share of environment steps that reached the goal."""
    trunc_rate: float
    """Share of environment steps that ran into the horizon."""
    reset_rate: float
    success_rate: float
    """done / (done + trunc) over the record's episodes, 0 when none ended."""
    episodes: int
    dist_p10: float
    dist_p50: float
    dist_p90: float
    entropy_mean: float
    value_mean: float
    value_std: float
    action_hist: list[int]
    policy_loss: float
    value_loss: float
    entropy_loss: float
    approx_kl: float
    clipfrac: float
    vf_clipfrac: float
    explained_variance: float
    grad_norm: float
    learning_rate: float
    time_split: dict[str, float]
    """Seconds spent since the previous record in emulate, observe, forward, learn, log."""
    stats: dict[str, float] = {}
    """Further named scalars: mean, min and max of rewards, advantages, returns, values."""


class EpisodeRecord(Record, frozen=True, tag="episode"):
    """A sample episode kept for a person to look at; files lie beside it in `episodes/`."""

    env_steps: int
    start_index: int
    mode: str
    """greedy or sample."""
    success: bool
    steps: int
    episode_return: float
    actions: list[int]
    gif: str = ""
    """Path relative to the run directory; empty when no picture was made."""


class EvalRecord(Record, frozen=True, tag="eval"):
    """Validation on starts that training never saw."""

    env_steps: int
    task: str
    mode: str
    episodes: int
    distinct_starts: int
    success_rate: float
    pass_at_1: float
    pass_at_n: float
    n: int
    median_steps_to_goal: float
    """0 when no episode reached the goal."""
    mean_return: float
    wall_time_s: float


class CheckpointRecord(Record, frozen=True, tag="checkpoint"):
    """Announced only after the directory was fsynced and renamed into place."""

    env_steps: int
    path: str
    """Relative to the run directory, for example checkpoints/000000204800."""
    sha256: str
    size_bytes: int
    success_rate: float
    reason: str
    """periodic, best, stop, final or request."""


class ResumeRecord(Record, frozen=True, tag="resume"):
    """The run goes on from a checkpoint; counters continue from it."""

    env_steps: int
    update: int
    checkpoint: str
    previous_seq: int
    """seq of the last complete line that was found in the log."""


class ErrorRecord(Record, frozen=True, tag="error"):
    """The run stopped on its own account; `receipt` is the folder that reproduces it."""

    kind: str
    message: str
    receipt: str = ""
    env_steps: int = 0


class StateEvent(Record, frozen=True, tag="state"):
    """Where the process is; on the pipe only, never in the log."""

    state: str
    """A RunState value."""
    detail: str = ""
    progress: float = -1.0
    """0 to 1 where a share is known, -1 where it is not."""


class HeartbeatEvent(Record, frozen=True, tag="heartbeat"):
    """Sent at least every two seconds while the process is alive; on the pipe only."""

    env_steps: int = 0


class AckEvent(Record, frozen=True, tag="ack"):
    """Answers one command by its id; on the pipe only."""

    id: int
    ok: bool = True
    detail: str = ""


class PlayEvent(Record, frozen=True, tag="play"):
    """What the player just did, at most ten a second; on the player's pipe only."""

    step: int
    episode: int
    who: str
    """agent or human."""
    action: int
    reward: float
    dist: float
    success: bool
    done: bool
    trunc: bool
    speed: float
    """Measured speed: 1.0 is 59.7 frames a second."""
    recording_frames: int = 0


LogRecord = (
    MetaRecord
    | UpdateRecord
    | EpisodeRecord
    | EvalRecord
    | CheckpointRecord
    | ResumeRecord
    | ErrorRecord
)
Event = LogRecord | StateEvent | HeartbeatEvent | AckEvent | PlayEvent
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
    try:
        record = _decoder.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ProtocolError(f"not a record: {error}") from None
    if record.v > SCHEMA_VERSION:
        raise ProtocolError(
            f"schema version {record.v} is newer than {SCHEMA_VERSION}: update DMG Lab to read it"
        )
    return record


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
