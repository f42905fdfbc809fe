"""Checks of a task manifest: known keys, ranges of numbers, file names inside the task's folder."""

from __future__ import annotations

import difflib
import re
from functools import cache
from pathlib import Path
from typing import Any, get_args

import msgspec

from trainer_core.wire.errors import TaskError, shown

ID_RULE = "use lower-case letters, digits, _ and -, with / between parts"
SHA256_RULE = "no SHA-256: give 64 digits 0-9 a-f"
RANGES: dict[str, tuple[float, float]] = {
    "codec.frames_per_step": (1, 600),
    "codec.release_after_frames": (1, 600),
    "starts.count": (1, 65_536),
    "starts.heldout": (0, 65_535),
    "goal.hold_steps": (1, 10_000),
    "episode.horizon": (1, 100_000),
    "reward.step_cost": (0, 1_000),
    "reward.alpha": (0, 1_000),
    "reward.goal_bonus": (0, 1_000),
    "reward.novelty_bonus": (0, 1_000),
}
"""Least and greatest value of each number, inclusive. Ten seconds a step and 100,000 steps an episode are far beyond
what can be learned; rewards are far below where float32 loses a step's cost."""
TRAINING_RANGES: dict[str, tuple[float, float]] = {"gamma": (0, 1), "stack_k": (1, 8)}
"""Least and greatest values of a task's suggested training options; RunConfig accepts all of these."""

LONGEST_KEY = 40
"""Characters of an unknown key that are compared and shown: ours have 20 at most."""
LONGEST_NAME = 400
"""Characters of title, ROM name and path, which lists and messages show."""
MOST_PARTS = 16
"""Parts of a dotted key. The parser's time grows with their square; our keys have one."""
_PART = rb"""(?:[\w-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')"""
_LONG_KEY = re.compile(rb"(?<![\w-])(?:%s[ \t]*\.[ \t]*){%d}" % (_PART, MOST_PARTS))

_ID = re.compile(r"[a-z0-9_][a-z0-9_-]*(/[a-z0-9_][a-z0-9_-]*)*")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def is_task_id(text: str) -> bool:
    """Return whether `text` can be a task's id: a relative path that stays below the folder of tasks."""
    return len(text) <= 200 and _ID.fullmatch(text) is not None


def is_file_name(text: str) -> bool:
    """Return whether `text` is the name of a file in the task's own folder."""
    return 0 < len(text) <= 200 and not text.startswith(".") and not set(text) & set("/\\:\0")


def is_sha256(text: str) -> bool:
    return _SHA256.fullmatch(text) is not None


@cache
def _fields(kind: type) -> dict[str, Any]:
    """Return the type of each field of `kind` by its key, cached: msgspec evaluates the annotations at each call."""
    return {field.encode_name: field.type for field in msgspec.structs.fields(kind)}


def refuse_unknown_keys(path: Path, raw: dict[str, Any], kind: type, table: str = "") -> None:
    """Raise TaskError for a key of `raw`, read from `path`, that is no field of `kind`; it suggests the nearest
    field."""
    fields = _fields(kind)
    for key, value in raw.items():
        if key not in fields:
            near = difflib.get_close_matches(key[:LONGEST_KEY], fields, 1, 0.5)
            fix = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(fields)}"
            place = f"[{table}] " if table else ""
            raise TaskError(f"{path}: {place}unknown key '{shown(key, LONGEST_KEY)}'; {fix}")
        for inner in get_args(fields[key]) or (fields[key],):
            if isinstance(value, dict) and issubclass(inner, msgspec.Struct):
                refuse_unknown_keys(path, value, inner, key)


def refuse_long_keys(path: Path, data: bytes) -> None:
    """Raise TaskError if the TOML `data` has a dotted key of so many parts that parsing it could take seconds."""
    if _LONG_KEY.search(data):
        raise TaskError(f"{path}: a key of more than {MOST_PARTS} parts: no task manifest")


def check_ranges(path: Path, manifest: Any) -> None:
    """Raise TaskError naming the first number of `manifest` that is out of its range."""
    for name, (least, most) in RANGES.items():
        table, field = name.split(".")
        value = getattr(getattr(manifest, table), field)
        # NaN is in no range, and integers of 400 digits compare correctly.
        if not least <= value <= most:
            raise TaskError(f"{path}: {name} must lie in {least:,} to {most:,}, got {shown(value)}")
    for field, (least, most) in TRAINING_RANGES.items():
        value = getattr(manifest.training, field)
        if value is not None and not least <= value <= most:
            raise TaskError(f"{path}: training.{field} must lie in {least} to {most}, got {shown(value)}")
    tau = manifest.goal.tau
    if manifest.has_goal and not 0 < tau <= 1:
        raise TaskError(f"{path}: goal.tau must be above 0 and at most 1, the largest distance, got {shown(tau)}")
