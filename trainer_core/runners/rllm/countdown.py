"""Countdown task: reach a target by arithmetic on given numbers. Its questions, and their split.

Imports only the standard library: preflight uses it too.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from trainer_core.runners.rllm import COUNTDOWN
from trainer_core.runners.rllm.in_verl.dmglab_form import form as form
from trainer_core.wire.decoding import MOST_TEXT_BYTES
from trainer_core.wire.errors import ConfigError
from trainer_core.wire.regular_files import read_regular

SPLIT_SEED = 0
"""Constant seed, so that the held-out rows are the same for every run of the same data."""
HELD_OUT = 1 / 8
MAX_NUMBERS = 6

Row = dict[str, Any]
"""Question: dict with the keys question, nums, target, data_source that rLLM's SimpleWorkflow reads."""


def make_rows(largest: int) -> list[Row]:
    """Return questions on every pair of numbers 1 to `largest`, one per sum, product and non-negative difference.

    The question is `a,b=target`, for a model that reads characters.
    """
    found = {}
    for a in range(1, largest + 1):
        for b in range(1, largest + 1):
            for target in (a + b, a * b, *([a - b] if a >= b else [])):
                found[a, b, target] = _row(f"{a},{b}={target}", [a, b], target)
    return list(found.values())


def read_rows(path: Path) -> list[Row]:
    """Read questions from a JSON Lines file: `nums`, `target`, optional `question` (default: rLLM's wording).

    Raises ConfigError naming file and line.
    """
    try:
        lines = read_regular(path, MOST_TEXT_BYTES).decode().splitlines()
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no UTF-8 text"
        raise ConfigError(f"{path}: {reason}; --data takes a file of JSON lines") from None
    rows = [_read_row(f"{path}:{number}", line) for number, line in enumerate(lines, 1) if line.strip()]
    if len(rows) < 2:
        raise ConfigError(f"{path}: {len(rows)} rows; a part is held out, so it takes at least 2")
    return rows


def split(rows: list[Row]) -> tuple[list[Row], list[Row]]:
    """Return (training rows, held-out rows); an eighth is held out, at least one row."""
    shuffled = list(rows)
    random.Random(SPLIT_SEED).shuffle(shuffled)
    count = max(1, round(len(rows) * HELD_OUT))
    return shuffled[count:], shuffled[:count]


def _row(question: str, nums: list[int], target: int) -> Row:
    return {"question": question, "nums": nums, "target": target, "data_source": COUNTDOWN}


def _read_row(where: str, line: str) -> Row:
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError):
        raise ConfigError(f"{where}: no JSON; a row is {{'nums': [3, 4], 'target': 7}}") from None
    nums = raw.get("nums") if isinstance(raw, dict) else None
    target = raw.get("target") if isinstance(raw, dict) else None
    if not (
        isinstance(nums, list)
        and 2 <= len(nums) <= MAX_NUMBERS
        and all(type(number) is int and number >= 0 for number in nums)
        and type(target) is int
    ):
        raise ConfigError(
            f"{where}: no countdown row; it needs nums, 2 to {MAX_NUMBERS} whole numbers, and a whole target"
        )
    question = raw.get("question")
    if question is not None and not (isinstance(question, str) and question):
        raise ConfigError(f"{where}: its question is no text")
    return _row(question or _wording(nums, target), nums, target)


def _wording(nums: list[int], target: int) -> str:
    """Return the question in the words of rLLM's examples/countdown/prepare_countdown_data.py."""
    return (
        f"Using the numbers {', '.join(map(str, nums))}, find a way to reach the target number "
        f"{target}. You can use basic arithmetic operations (+, -, *, /) and each number can only "
        "be used once. Show your step-by-step calculation and output the final answer within "
        "<answer>...</answer>, for example <answer> (1 + 2) / 3 </answer>."
    )
