"""Check of one record by itself against docs/reference/records.md."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from trainer_core.lab.manifest_checks import RANGES
from trainer_core.wire import records
from trainer_core.wire.config import RunConfig
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.fields import check_field
from trainer_core.wire.metric_names import FLAT_SCALARS, metric, scalars
from trainer_core.wire.spec import NATIVE_ID

OWED: tuple[str, ...] = (
    *(name for name in FLAT_SCALARS if metric(name).group != "policy" and not name.startswith("reward_p")),
    "grad_norm",
    "learning_rate",
)
"""Scalars required in every update record of our own trainer; losses and values depend on the algorithm, and logs from
before December 2026 have no percentiles of rewards."""
OWED_META = ("task", "algo", "config", "codec", "device", "num_envs")
OWED_META_OF_A_TRAINING = ("argv", "versions")
"""Fields required besides OWED_META, except in a run made from an imported checkpoint."""
SECTIONS = {"emulate", "observe", "forward", "learn", "log"}
MODES = ("greedy", "sample", "leave_loops")
REASONS = ("periodic", "best", "request", "stop", "final", "imported")
ENTROPY_SLACK = 0.02
"""Tolerance for half precision, which rounds log-probabilities to eight bits."""
FIELDS = {spec.name: spec for spec in dataclasses.fields(RunConfig)}
OWN_BOUNDS: dict[str, tuple[float | None, float | None]] = {
    "approx_kl": (-1e-3, None),
    "dist_p90": (None, 1 + 1e-6),
    "learning_rate": (0.0, FIELDS["learning_rate"].metadata["max"]),
}
"""Bounds of our own trainer's scalars besides those of wire/metric_names.py: goal distances are shares, and no learning
rate is above the greatest that a run may be given."""
SPREADS = (
    ("reward_min", "reward_mean", "reward_max"),
    ("advantage_min", "advantage_mean", "advantage_max"),
    ("return_min", "return_mean", "return_max"),
    ("value_min", "value_mean", "value_max"),
    ("reward_p10", "reward_p50", "reward_p90"),
    ("dist_p10", "dist_p50", "dist_p90"),
)
EVAL_LIMITS = {
    "success_rate": 1.0,
    "pass_at_1": 1.0,
    "pass_at_n": 1.0,
    "median_steps_to_goal": None,
    "wall_time_s": None,
}
_SHA256 = re.compile(r"[0-9a-f]{64}")


def explain(line: bytes, reason: str) -> str:
    """Return the reason why `line` is no record: `reason`, or a clearer one for NaN, infinity and broken JSON."""
    if len(line) > records.MAX_LINE_BYTES:
        return reason
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return f"torn or not JSON: {reason}"
    for word in (b"NaN", b"Infinity"):
        if word in line:
            return f"{word.decode()} is not a number a record may hold: {reason}"
    return reason


def line_findings(line: bytes) -> Iterator[str]:
    """Yield the faults of a line that the decoder accepts: repeated keys, a missing version, blanks."""
    if line != line.strip():
        yield "blanks around the record: a line ends with one \\n, without \\r"
    doubled: set[str] = set()

    def note(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            counts = Counter(name for name, _ in pairs)
            doubled.update(name for name in found if counts[name] > 1)
        return found

    try:
        top = json.loads(line, object_pairs_hook=note)
    except (ValueError, RecursionError) as error:  # in a field that this version does not know
        yield f"cannot be read whole: {error}"
        return
    if doubled:
        yield f"{', '.join(sorted(doubled))} stands there twice"
    if "v" not in top:
        yield "lacks v, the schema's version"


def findings(record: records.Record, native: bool, num_actions: int) -> Iterator[str]:
    """Yield each fault of `record`; `native` when our own trainer wrote it.

    `num_actions` is that of the codec that the run's meta record names.
    """
    if record.time < 0:
        yield f"time is {record.time:g}, expected at least 0"
    match record:
        case records.MetaRecord() if native:
            yield from _meta(record)
        case records.UpdateRecord():
            yield from _update(record, native, num_actions)
        case records.EvalRecord():
            yield from _eval(record, native)
        case records.EpisodeRecord():
            yield from _episode(record, num_actions)
        case records.CheckpointRecord():
            yield from _checkpoint(record, native)
        case records.ErrorRecord():
            if not record.kind:
                yield "the error has no kind"
            yield from _inside("receipt", record.receipt)
        case _:
            pass


def _meta(record: records.MetaRecord) -> Iterator[str]:
    """Yield the faults of our own trainer's meta record, such as missing data that is needed to repeat the run."""
    for name in OWED_META:
        if not getattr(record, name):
            yield f"the meta record of a {NATIVE_ID} run lacks {name}"
    config = record.config
    if config.get("seed", record.seed) != record.seed:
        yield f"seed is {record.seed}, its configuration says {config['seed']}"
    envs = config.get("num_envs", record.num_envs)
    if not isinstance(envs, int) or envs < 1 or record.num_envs % envs:
        yield f"num_envs is {record.num_envs}, no multiple of its configuration's {envs}"
    yield from _ranges(record)


def _ranges(record: records.MetaRecord) -> Iterator[str]:
    """Yield the configuration values of a meta record that are out of range.

    Keys of other versions and algorithms of plug-ins are ignored.
    """
    for name, value in record.config.items():
        if name in FIELDS and name != "algo":
            try:
                check_field(FIELDS[name], value)
            except ConfigError as error:
                yield f"its configuration: {error}"
            except TypeError:
                yield f"its configuration: {name} is no {FIELDS[name].type}"
    stacked = FIELDS["stack_k"].metadata
    told: tuple[tuple[str, tuple[float, float]], ...] = (
        ("stack_k", (stacked["min"], stacked["max"])),
        ("frames_per_step", RANGES["codec.frames_per_step"]),
        ("release_after_frames", (1, max(1, record.frames_per_step))),
    )
    for name, (low, high) in told:
        if value := getattr(record, name):  # 0 = not given
            yield from _bounds(name, value, low, high)
    if record.stack_k and record.config.get("stack_k", record.stack_k) != record.stack_k:
        yield f"stack_k is {record.stack_k}, its configuration says otherwise"


def _update(record: records.UpdateRecord, native: bool, num_actions: int) -> Iterator[str]:
    found = scalars(record)
    if native and (missing := {*OWED} - found.keys()):
        yield f"lacks {', '.join(sorted(missing))}"
    for name, value in found.items():
        yield from _bounds(name, value, metric(name).low, metric(name).high)
    if native:
        for name in OWN_BOUNDS.keys() & found.keys():
            yield from _bounds(name, found[name], *OWN_BOUNDS[name])
        most = math.log(num_actions) + ENTROPY_SLACK
        for name, low, high in (("entropy_mean", -ENTROPY_SLACK, most), ("entropy_loss", -most, ENTROPY_SLACK)):
            if name in found:
                yield from _bounds(name, found[name], low, high)
    for names in SPREADS:
        there = [found[name] for name in names if name in found]
        slack = 1e-6 * max(1.0, *map(abs, there)) if there else 0.0
        if any(a > b + slack for a, b in itertools.pairwise(there)):
            yield f"{', '.join(names[:-1])} and {names[-1]} are out of order"
    if {"value_mean", "vpred_mean"} <= found.keys() and not math.isclose(
        found["value_mean"], found["vpred_mean"], rel_tol=1e-6, abs_tol=1e-9
    ):
        yield "value_mean and vpred_mean differ, and are the same"
    if native or record.action_hist:
        yield from _histogram(record.action_hist, num_actions)
    if any(seconds < 0 for seconds in record.time_split.values()):
        yield "time_split holds negative seconds"
    if native and set(record.time_split) != SECTIONS:
        yield f"time_split has {', '.join(sorted(record.time_split))}, expected five sections"
    yield from _episode_rates(found, sum(record.action_hist))


def _episode_rates(found: dict[str, float], steps: int) -> Iterator[str]:
    """Yield contradictions between an update's rates of goals and time limits and its number of ended episodes."""
    if {"done_rate", "trunc_rate", "reset_rate"} <= found.keys():
        ends = found["done_rate"] + found["trunc_rate"]
        if not math.isclose(ends, found["reset_rate"], rel_tol=1e-6, abs_tol=1e-9):
            yield f"reset_rate is {found['reset_rate']:g}, done_rate and trunc_rate add to {ends:g}"
    if "episodes" in found:
        ended = found.get("reset_rate", 0.0) * steps
        if steps and "reset_rate" in found and abs(ended - found["episodes"]) > 0.5:
            yield f"episodes is {found['episodes']:g}, reset_rate says {ended:g}"
        if not found["episodes"] and found.get("success_rate"):
            yield "success_rate is not 0 although no episode ended"
        if not found["episodes"] and found.get("success_rate_demo_starts"):
            yield "success_rate_demo_starts is not 0 although no episode ended"


def _histogram(histogram: list[int], num_actions: int) -> Iterator[str]:
    if len(histogram) != num_actions:
        yield f"action_hist has {len(histogram)} bins, expected {num_actions}"
    if not sum(histogram):
        yield "action_hist must count at least one action"


def _eval(record: records.EvalRecord, native: bool) -> Iterator[str]:
    outside = [
        finding for name, high in EVAL_LIMITS.items() for finding in _bounds(name, getattr(record, name), 0.0, high)
    ]
    if outside:
        yield from outside
        return
    if not 1 <= record.distinct_starts <= record.episodes:
        yield f"{record.episodes} episodes from {record.distinct_starts} starts"
        return
    if record.mode not in MODES:
        yield f"mode is {record.mode!r}, expected {' or '.join(MODES)}"
    if record.n != record.episodes // record.distinct_starts:
        yield f"n is {record.n}, {record.episodes} episodes from {record.distinct_starts} starts"
    if native and record.mode == "greedy" and record.n != 1:
        yield f"greedy play begins once in each start, n is {record.n}"
    if record.pass_at_1 != record.success_rate:
        yield f"pass_at_1 is {record.pass_at_1:g}, success_rate {record.success_rate:g}"
    if record.pass_at_n < record.pass_at_1 - 1e-6 or (record.n == 1 and record.pass_at_n != record.pass_at_1):
        yield f"pass_at_n is {record.pass_at_n:g} where pass_at_1 is {record.pass_at_1:g}"
    for name, of in (("success_rate", record.episodes), ("pass_at_n", record.distinct_starts)):
        whole = getattr(record, name) * of
        if abs(whole - round(whole)) > 1e-4 * of:
            yield f"{name} is {getattr(record, name):g}, no share of {of}"
    if (record.median_steps_to_goal > 0) != (record.success_rate > 0):
        yield "median_steps_to_goal counts successes: both or none are 0"


def _episode(record: records.EpisodeRecord, num_actions: int) -> Iterator[str]:
    if record.mode not in MODES:
        yield f"mode is {record.mode!r}, expected {' or '.join(MODES)}"
    if len(record.actions) != min(record.steps, records.MAX_LOGGED_ACTIONS) or not record.actions:
        yield f"{len(record.actions)} actions of {record.steps} steps"
    if any(action >= num_actions for action in record.actions):
        yield f"actions name buttons beyond {num_actions - 1}"
    yield from _inside("gif", record.gif)


def _checkpoint(record: records.CheckpointRecord, native: bool) -> Iterator[str]:
    if not record.path:
        yield "the checkpoint has no path"
    yield from _inside("path", record.path)
    if not _SHA256.fullmatch(record.sha256):
        yield f"sha256 is {record.sha256[:12]!r}..., not 64 hexadecimal digits"
    for name in ("success_rate", "leaving_success_rate", "sampled_success_rate"):
        yield from _bounds(name, getattr(record, name), 0.0, 1.0)
    if not -1 <= record.validated_env_steps <= record.env_steps:
        yield (f"rates are of {record.validated_env_steps} steps, the checkpoint of {record.env_steps}")
    if record.reason not in REASONS:
        yield f"reason is {record.reason!r}, expected one of {', '.join(REASONS)}"
    if native and record.path != f"checkpoints/{record.env_steps:012d}":
        yield f"path is {record.path!r}, the checkpoint is of {record.env_steps} steps"


def _inside(name: str, path: str) -> Iterator[str]:
    """Yield a finding if `path`, the record's field `name`, leads out of the run's directory."""
    if path.startswith("/") or ".." in PurePosixPath(path).parts:
        yield f"{name} is {path!r}, expected a path inside the run's directory"


def _bounds(name: str, value: float, low: float | None, high: float | None) -> Iterator[str]:
    if (low is not None and value < low) or (high is not None and value > high):
        bounds = [f"at least {low:g}"] if low is not None else []
        bounds += [f"at most {high:g}"] if high is not None else []
        yield f"{name} is {value:g}, expected {' and '.join(bounds)}"
