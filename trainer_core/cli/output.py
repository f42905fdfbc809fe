"""Print for a person or for a program: sentences and tables, or one JSON object.

Names, reasons and titles may hold escape sequences of terminals; they are printed as visible text.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TextIO

from trainer_core.wire import records
from trainer_core.wire.errors import MOST_WORDS, shortened, visible

WIDEST, NARROWEST = 70, 24
"""Most letters of a cell between the first and last column; fewest of a last column that is cut for a terminal."""
_NUMBER = re.compile(r"[-+]?[\d,.]+(e[-+]?\d+)?%?( [A-Za-z]{1,3})?")


class Result(dict[str, Any]):
    """The result of a command: its JSON object, and the same as `text` for a person."""

    def __init__(self, found: Mapping[str, Any], text: str = "") -> None:
        """Set the JSON object and its text; without `text` a terminal shows the object's fields."""
        super().__init__(found)
        self.text = text


def in_words(event: records.Event) -> str:
    """Return one line about a validation or a checkpoint of a run, "" for any other event."""
    match event:
        case records.EvalRecord():
            of = f"{event.task}, " if event.is_part else ""
            steps = f", median {event.median_steps_to_goal:g} steps to the goal"
            return (
                f"{event.env_steps:>12,} steps  validation ({of}{event.mode}): "
                f"{event.success_rate:.3f} of {event.episodes} episodes"
                f"{steps if event.success_rate else ''}"
            )
        case records.CheckpointRecord():
            return f"{event.env_steps:>12,} steps  saved {event.path} ({event.reason})"
    return ""


def training_line(event: records.UpdateRecord) -> str:
    """Return the line that shows the progress of one of our own trainer's runs."""
    own = round((event.episodes or 0) * (1 - event.metrics.get("demo_start_share", 0.0)))
    return (
        f"{event.env_steps:>12,} steps  {event.sps:>9,.0f}/s  reward {event.reward_mean:+.4f}  "
        f"success {event.success_rate:.3f} of {own:<4}  entropy {event.entropy_mean:.2f}  dist {event.dist_p50:.3f}"
    )


def say(text: str) -> None:
    """Print lines on standard error without buffering."""
    print(_lines(text), file=sys.stderr, flush=True)


def print_result(result: Mapping[str, Any], as_text: bool) -> None:
    """Print the result of a command on standard output."""
    if not as_text:
        print(json.dumps(result))
    elif text := result.text if isinstance(result, Result) and result.text else fields(result):
        print(_lines(text))


def _lines(text: str) -> str:
    return "\n".join(map(visible, text.split("\n")))


def table(head: Sequence[str], rows: Iterable[Sequence[object]], empty: str = "") -> str:
    """Return rows as a text table under `head`, numbers to the right; `empty` for no rows.

    Empty columns are left out, and the last one is cut to fit a terminal.
    """
    last = len(head) - 1
    texts = [
        [shortened(cell(row[n]), WIDEST if 0 < n < last else MOST_WORDS) for n in range(len(head))] for row in rows
    ]
    if not texts:
        return empty
    filled = [number for number in range(len(head)) if any(row[number] for row in texts)]
    head, texts = [head[number] for number in filled], [[row[number] for number in filled] for row in texts]
    numbers = [all(not text or _NUMBER.fullmatch(text) for text in column) for column in zip(*texts, strict=True)]
    shown = [list(head), *texts]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    if on_terminal() and widths:
        room = shutil.get_terminal_size().columns - sum(widths[:-1]) - 2 * len(widths[:-1])
        widths[-1] = min(widths[-1], max(NARROWEST, room))
    lines = []
    for row in shown:
        aligned = zip(row, widths, numbers, strict=True)
        cells = (shortened(text, width).rjust(width if right else 0).ljust(width) for text, width, right in aligned)
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def fields(found: Mapping[str, Any]) -> str:
    """Return an object as lines of a label and a value; lists of objects as tables below."""
    labels = dict(_flat(found))
    width = max(map(len, labels), default=0)
    parts = ["\n".join(f"{label:<{width}}  {text}" for label, text in labels.items())]
    for name, rows in found.items():
        if rows and _is_table(rows):
            columns = list(dict.fromkeys(key for row in rows for key in row))
            body = table([_label(key) for key in columns], ([row.get(key) for key in columns] for row in rows))
            parts.append(f"{_label(name)}\n{body}")
    return "\n\n".join(filter(None, parts))


def _flat(found: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for key, value in found.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{_label(key)} ")
        elif key not in ("ok", "error") and value not in ("", None, []) and not _is_table(value):
            yield f"{before}{_label(key)}", cell(value)


def _is_table(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(row, dict) for row in value)


def _label(key: object) -> str:
    return visible(str(key)).replace("_", " ")


def cell(value: object) -> str:
    """Format a value for a table: yes and no, numbers of at most six digits, lists with commas."""
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:,.6g}"
        case int():
            return f"{value:,}"
        case list():
            return ", ".join(map(cell, value))
    return visible(str(value))


def trained_text(found: dict[str, Any]) -> str:
    """Return the result of a training as sentences."""
    why = f" ({found['reason']})" if found["reason"] else ""
    success = f", success {found['success_rate']:.3f}" if "success_rate" in found else ""
    lines = [
        f"Run {found['name']} ({found['run_id']}) is {found['state']}{why} after {found['env_steps']:,} steps{success}."
    ]
    lines += [f"checkpoint  {found['checkpoint']}"] if found["checkpoint"] else []
    return "\n".join([*lines, f"log         {found['log']}"])


def standard_output() -> TextIO:
    """Return standard output, also while it is redirected to standard error for libraries."""
    redirected = sys.stdout is sys.stderr and sys.__stdout__ is not None
    return sys.__stdout__ if redirected else sys.stdout  # type: ignore[return-value]


def on_terminal() -> bool:
    """Return True if standard output is a terminal, False for a pipe or a file."""
    return standard_output().isatty()
